#include "limit_door.hpp"
#include "limit_fabric.hpp"

namespace bench {

namespace {

[[noreturn]] void none()
{
    die("--path fabric: this program was built without libfabric's headers");
}

}  // namespace

std::unique_ptr<FabricLimit> FabricLimit::make(Rank&, const Variable&) { none(); }

std::unique_ptr<Door> open_fabric_door(const Rank&, const Variable&) { none(); }

std::unique_ptr<Access> make_fabric_access(const Rank&, size_t, const std::vector<int64_t>&)
{
    none();
}

}  // namespace bench
