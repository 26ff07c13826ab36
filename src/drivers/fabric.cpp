#include "drivers/fabric.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/dynlib.hpp"

namespace dds {
namespace {

// Structures only ever grow at their ends, and all that we use was there in ABI 1.3: with its
// functions one build runs on libfabric 1.9 to 2.x, whatever headers it was compiled with.  The
// interface that goes with it is 1.17's at most.
constexpr const char* kStructures = "FABRIC_1.3";
constexpr uint32_t kApi = FI_VERSION(1, 17);

ForkSafeMutex mutex;
const Fabric* loaded = nullptr;

template <class Function>
bool bind(const Dynlib& library, const char* name, const char* version, Function& function)
{
    function = reinterpret_cast<Function>(library.find(name, version));
    return function != nullptr;
}

}  // namespace

Result<const Fabric*> Fabric::get()
{
    const std::lock_guard lock(mutex);
    if (loaded)
        return loaded;
    auto library = Dynlib::open("libfabric.so.1");
    if (!library)
        return fail(DDS_ERR_UNSUPPORTED,
                    "%s: install libfabric (Debian: libfabric1) or put its folder in "
                    "LD_LIBRARY_PATH, or use method 0",
                    library.error().text.c_str());
    Fabric table{};
    const bool whole = bind(*library, "fi_getinfo", kStructures, table.getinfo) &&
                       bind(*library, "fi_freeinfo", kStructures, table.freeinfo) &&
                       bind(*library, "fi_dupinfo", kStructures, table.dupinfo) &&
                       bind(*library, "fi_fabric", "FABRIC_1.1", table.fabric) &&
                       bind(*library, "fi_version", "FABRIC_1.0", table.version) &&
                       bind(*library, "fi_strerror", "FABRIC_1.0", table.strerror) &&
                       bind(*library, "fi_tostr", "FABRIC_1.0", table.tostr);
    if (!whole)
        return fail(DDS_ERR_UNSUPPORTED,
                    "libfabric.so.1 lacks functions of the ABI %s: use libfabric 1.14 or later",
                    kStructures);
    library->keep();
    table.api =
        std::min({kApi, uint32_t{FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)}, table.version()});
    static Fabric kept;
    kept = table;
    loaded = &kept;
    return loaded;
}

Error Fabric::error(int64_t code, const char* what) const
{
    const int number = static_cast<int>(std::abs(code));
    if (number < FI_ERRNO_OFFSET)
        return fail_errno(number, "%s", what);
    return fail(DDS_ERR_IO, "%s: %s (libfabric %u.%u)", what, strerror(number), FI_MAJOR(version()),
                FI_MINOR(version()));
}

}  // namespace dds
