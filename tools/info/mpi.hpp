// The MPI of this process: which there are, which one is taken, what it grants.
#pragma once

#include <optional>

#include "drivers/mpi_find.hpp"
#include "sheet.hpp"

namespace info {

// Who started this process, as far as its environment tells.
struct Launch {
    std::string by;  // "Open MPI's mpirun"; empty: nobody that is known
    int rank = 0, size = 1;
};
Launch launch();

class Mpi {
public:
    // Loads `name` unless it is empty, initialises the MPI that is there, and tells of it.
    Mpi(Sheet& sheet, const std::string& name);
    ~Mpi();  // finalises what it has initialised
    Mpi(const Mpi&) = delete;
    Mpi& operator=(const Mpi&) = delete;

    // The one that is live; its MPI_COMM_WORLD.
    explicit operator bool() const { return library_ && table_; }
    const char* path() const { return library_->path.c_str(); }
    const dds_mpi_table_t& table() const { return *table_; }
    uint64_t world() const { return world_; }

private:
    void choose(Sheet& sheet, const std::string& name);
    dds::Result<void> start();
    std::string level() const;

    std::optional<dds::mpi::Library> library_;
    std::optional<dds_mpi_table_t> table_;
    uint64_t world_ = 0;
    bool started_ = false;
};

}  // namespace info
