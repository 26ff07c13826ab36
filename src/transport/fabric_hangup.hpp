// Connections ended from below, for a provider that cannot bear to close an endpoint while a part of
// an answer has come.
#pragma once

#include <string>
#include <vector>

#include "drivers/fabric.hpp"

namespace dds {

// libfabric's tcp before 1.18 frees what it reads twice where it closes an endpoint in the middle of an
// answer, and dies of it (fixed in 1.17.1, which it does not tell from 1.17.0).  It ends an answer
// well whose connection ends.
bool must_hang_up(const Fabric& library, const std::string& provider);

// End the connections to those who listen at these addresses that the wait object `wakes` watches:
// those of one endpoint over tcp;ofi_rxm, of all of this process's over net, where the others find
// theirs ended and ask again.
void hang_up(int wakes, const std::vector<std::string>& addresses);

}  // namespace dds
