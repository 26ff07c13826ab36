#include "limit_fabric.hpp"

namespace bench {

std::unique_ptr<FabricLimit> FabricLimit::make(Rank&, const Variable&)
{
    die("--path fabric: this program was built without libfabric's headers");
}

}  // namespace bench
