// What can be measured; a row of the table per --case.
#pragma once

#include <sys/mman.h>

#include "limit_mpi.hpp"
#include "report.hpp"
#include "variable.hpp"

namespace bench {

// Collective; what readers return is the same on all of them, the others' is not used.
using Case = Line (*)(Rank&, size_t row, int64_t batch);

Line read_rows(Rank&, size_t row, int64_t batch);     // get, get_batch
Line read_threads(Rank&, size_t row, int64_t batch);  // threads
Line read_all(Rank&, size_t row, int64_t batch);      // get_batch_all
Line add_rows(Rank&, size_t row, int64_t batch);      // add
Line visit_job(Rank&, size_t row, int64_t batch);     // attach, join
Line kernels(Rank&, size_t row, int64_t batch);       // the table that the library's rules are from

// What the limit of an MPI reads; with all that it needs of the ranks.
MpiShards mpi_shards(const Rank& rank, const Variable& variable);

// Memory that is there before the clock starts.
class Buffer {
public:
    explicit Buffer(size_t bytes);
    ~Buffer() { munmap(data_, bytes_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    char* data() const { return data_; }

private:
    size_t bytes_;
    char* data_;
};

// A reader's work on the variable, and the buffer that its `out` needs.
Job make_job(const Variable& variable, int64_t n, uint64_t seed);
size_t out_bytes(const Job& job);

// The best of the limit's sides for this job: all of them briefly, the best few again.
size_t choose(Team& team, Job& job, const std::vector<Side>& sides);

}  // namespace bench
