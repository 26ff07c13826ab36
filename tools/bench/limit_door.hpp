// The limit of coming to the rows of another job: what any reader must have of each owner.  On a node
// that is a descriptor of their memory from a socket, mapped; over libfabric an endpoint, and a read
// of one byte, which sets the connection up and proves the key.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "variable.hpp"

namespace bench {

// An owner's end, which serves while it is there.
class Door {
public:
    virtual ~Door() = default;
};
std::unique_ptr<Door> open_socket_door(const Rank& rank, const Variable& variable);
std::unique_ptr<Door> open_fabric_door(const Rank& rank, const Variable& variable);

// The reader's, to all owners.
class Access {
public:
    virtual ~Access() = default;
    virtual void connect() = 0;  // and come to their rows
    virtual void again() = 0;    // to those of one more variable
    virtual void leave() = 0;
    virtual std::string words(bool connects) const = 0;
};
std::unique_ptr<Access> make_socket_access(const Options& options);
// `first`: each rank's first row of `row` bytes.
std::unique_ptr<Access> make_fabric_access(const Rank& rank, size_t row,
                                           const std::vector<int64_t>& first);

// Where an owner's door is.
std::string door_of(const Options& options, int rank);

}  // namespace bench
