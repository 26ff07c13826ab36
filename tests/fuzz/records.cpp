// The parser of records under any bytes: a target of libFuzzer, and of replay.cpp where there is none.
// Each input is read as it is, and again with its frame and checksums made right.  A record that is
// taken can be written, and reads back the same; no input makes it take more memory than three times
// its size and the words of an error.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "../unit/records.hpp"
#include "fuzz.hpp"

namespace {

constexpr size_t kWords = 4096;

size_t held = SIZE_MAX / 2, most_held = 0;  // of memory; what came before us may go

void expect(bool condition, const char* what)
{
    if (condition)
        return;
    fprintf(stderr, "records: %s\n", what);
    abort();
}

template <class Record>
bool look(const unit::Bytes& bytes, dds::Result<Record> (*read)(std::span<const std::byte>))
{
    const size_t before = most_held = held;
    const auto record = read(bytes);
    expect(most_held - before <= 3 * bytes.size() + kWords,
           "more memory than three times the file");
    if (!record) {
        const int code = record.error().code;
        expect(code == DDS_ERR_CORRUPT || code == DDS_ERR_VERSION, "an error of another class");
        expect(!record.error().text.empty(), "an error without words");
        return false;
    }
    const auto again = dds::write_record(*record);
    expect(bool(again), "a record that was taken cannot be written");
    const auto same = read(*again);
    expect(same && *same == *record, "a record reads back as another");
    return true;
}

bool look_both(const unit::Bytes& bytes)
{
    static_cast<void>(dds::may_yet_come(bytes, bytes.size()));
    const bool core = look(bytes, dds::read_core_record);
    const bool variable = look(bytes, dds::read_variable_record);
    expect(!core || !variable, "one file is two records");
    return core || variable;
}

void took(size_t bytes)
{
    held += bytes;
    most_held = std::max(most_held, held);
}

}  // namespace

// The sanitizer's own allocator calls back; elsewhere ours is the one.
#if DDS_SANITIZED
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void*);

namespace {
const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t bytes) { took(bytes); },
    [](const volatile void* memory) { held -= __sanitizer_get_allocated_size(memory); });
}  // namespace
#else
void* operator new(size_t bytes)
{
    void* memory = malloc(bytes ? bytes : 1);
    if (!memory)
        throw std::bad_alloc();
    took(malloc_usable_size(memory));
    return memory;
}
void operator delete(void* memory) noexcept
{
    held -= memory ? malloc_usable_size(memory) : 0;
    free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
#endif

// Of the two readings.
int inputs_taken(const unsigned char* data, size_t size)
{
    const auto* from = reinterpret_cast<const std::byte*>(data);
    unit::Bytes bytes(from, from + size);
#if DDS_SANITIZED
    expect(hooks != 0, "memory is not counted");
#endif
    int taken = look_both(bytes);
    if (bytes.size() > 9)
        bytes[8] = std::byte{1}, bytes[9] = std::byte{0};  // the major version that is known
    unit::seal(bytes);
    return taken + look_both(bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size)
{
    inputs_taken(data, size);
    return 0;
}
