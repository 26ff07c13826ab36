// The variable that is read, in a store over all ranks; and what the limit needs to read it too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control.hpp"
#include "ddstore.h"
#include "limit_gather.h"
#include "options.hpp"

namespace bench {

// What a rank has.
struct Rank {
    const Options& options;
    Control& control;
    int me;
    dds_comm_t comm = nullptr;
    dds_store_t store = nullptr;
    Team all, readers;
    uint64_t exchanged = 0;  // calls of the limit of get_batch_all
    bool reads() const { return me < readers.size(); }
};

void must(int code, const char* call);  // exits with the library's own words

// Of libfabric, by which the store reaches some rank, or exits.
std::string provider_of(dds_store_t store, int ranks);

// Each rank's first row of `total` rows, and the total: size + 1 numbers.
std::vector<int64_t> cut(int64_t total, int ranks, bool uneven);

class Variable {
public:
    static constexpr const char* kName = "x";

    static uint64_t content_of(const Options& options, size_t row);

    Variable(Rank& rank, size_t row);  // collective
    ~Variable();                       // collective
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

    uint64_t content() const { return content_; }
    int64_t total() const { return first_.back(); }
    size_t row() const { return row_; }
    const std::vector<int64_t>& first() const { return first_; }

    // For the limit: where each rank's rows are in this process (shm).
    const limit_shards& shards();
    // Where they are in the ranks themselves (cma).
    struct Remote {
        int64_t pid;
        const char* base;
    };
    std::vector<Remote> remotes();  // collective
    const char* own() const { return data_; }

private:
    Rank& rank_;
    size_t row_;
    uint64_t content_;
    std::vector<int64_t> first_;
    char* data_ = nullptr;
    std::unique_ptr<char[]> kept_;  // cma: the rows stay the caller's
    limit_shards shards_ = {};
    std::vector<const char*> bases_;
    std::vector<uint16_t> buckets_;
};

}  // namespace bench
