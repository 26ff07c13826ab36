#include "store/shelf.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"
#include "store/record_name.hpp"

namespace dds {
namespace {

Error at(const std::string& where, Error error)
{
    error.text = where + ": " + error.text;
    return error;
}

}  // namespace

Result<Shelf> Shelf::open(const std::string& path)
{
    DDS_LET(directory, filecomm::Directory::open(path));
    return Shelf(std::move(directory));
}

Result<void> Shelf::put(const CoreRecord& record) const
{
    DDS_LET(bytes, write_record(record));
    return put(core_file(record.store), bytes);
}

Result<void> Shelf::put(const VariableRecord& record) const
{
    DDS_LET(bytes, write_record(record));
    return put(variable_file(record.name), bytes);
}

// By a name that says which process is at it: the directory's own temporary names begin as that one
// does, so whatever is left tells whose it was.
Result<void> Shelf::put(const std::string& file, const std::vector<std::byte>& bytes) const
{
    uint64_t number;
    if (!clock::random(&number, sizeof number))
        return fail(DDS_ERR_IO, "the system gives no random numbers");
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".%016llx.new", static_cast<unsigned long long>(number));
    const std::string written = process_stem(filecomm::this_process()) + suffix;
    if (auto done = directory_.write(written, bytes, {}); !done)
        return at(directory_.in_words(file), std::move(done).error());
    auto done = directory_.rename(written, file);
    if (!done)
        directory_.remove(written);
    return done;
}

// The bytes of a file, read once; nullopt where there are none, or not all.
Result<std::optional<std::vector<std::byte>>> Shelf::take(const std::string& name, Error& why) const
{
    using Taken = std::optional<std::vector<std::byte>>;
    const std::string where = directory_.in_words(name);
    DDS_LET(file, directory_.open_file(name));
    if (!file) {
        DDS_TRY(directory_.still_there());
        directory_.list("", 1);
        why = fail(DDS_ERR_NOTFOUND, "%s is not there", where.c_str());
        return Taken();
    }
    // The start first: nobody reads, or takes memory for, 64 MiB of something else.
    std::vector<std::byte> bytes(std::min<uint64_t>(file->bytes, kRecordHeader));
    why = fail(DDS_ERR_CORRUPT, "%s is not whole: not all of its %llu bytes can be read",
               where.c_str(), static_cast<unsigned long long>(file->bytes));
    DDS_LET(begun, directory_.read(*file, 0, bytes, name));
    if (!begun)
        return Taken();
    if (auto start = check_record_start(bytes, file->bytes); !start) {
        why = at(where, std::move(start).error());
        if (why.code == DDS_ERR_CORRUPT && may_yet_come(bytes, file->bytes))
            return Taken();
        return why;
    }
    bytes.resize(file->bytes);
    DDS_LET(ended,
            directory_.read(*file, kRecordHeader, std::span(bytes).subspan(kRecordHeader), name));
    return ended ? Taken(std::move(bytes)) : Taken();
}

template <class Record>
Result<std::optional<Record>> Shelf::look(const std::string& file,
                                          Result<Record> (*read)(std::span<const std::byte>),
                                          Error* why) const
{
    Error unused;
    Error& reason = why ? *why : unused;
    DDS_LET(bytes, take(file, reason));
    if (!bytes)
        return std::optional<Record>();
    auto record = read(*bytes);
    if (record)
        return std::optional<Record>(*std::move(record));
    reason = at(directory_.in_words(file), std::move(record).error());
    if (reason.code == DDS_ERR_CORRUPT && may_yet_come(*bytes, bytes->size()))
        return std::optional<Record>();
    return reason;
}

Result<std::optional<CoreRecord>> Shelf::look(const StoreId& store, Error* why) const
{
    const std::string file = core_file(store);
    DDS_LET(record, look(file, read_core_record, why));
    if (record && record->store != store)
        return fail(DDS_ERR_CORRUPT, "%s is the record of another store",
                    directory_.in_words(file).c_str());
    return std::move(record);
}

Result<std::optional<VariableRecord>> Shelf::look(const std::string& name, Error* why) const
{
    const std::string file = variable_file(name);
    DDS_LET(record, look(file, read_variable_record, why));
    if (record && record->name != name)
        return fail(DDS_ERR_CORRUPT, "%s is the record of variable \"%s\", not of \"%s\"",
                    directory_.in_words(file).c_str(), record->name.c_str(), name.c_str());
    return std::move(record);
}

void Shelf::remove(const StoreId& store) const { directory_.remove(core_file(store)); }

void Shelf::remove(const std::string& name) const { directory_.remove(variable_file(name)); }

int Shelf::sweep() const
{
    int removed = 0;
    for (const std::string& name : directory_.list("+")) {
        const auto process = process_of(name);
        struct stat st;
        if (!process || filecomm::life_of(*process) != filecomm::Life::dead ||
            fstatat(directory_.fd(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            st.st_uid != geteuid() || !(S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)))
            continue;
        directory_.remove(name);
        removed++;
    }
    return removed;
}

}  // namespace dds
