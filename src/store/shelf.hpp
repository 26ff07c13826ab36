// The directory where a core job leaves its records and readers of other jobs look for them.  Nothing
// here waits: a look is one look, and who waits for a record looks again.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/directory.hpp"
#include "store/record.hpp"

namespace dds {

class Shelf {
public:
    Shelf() = default;  // none: to be assigned to
    static Result<Shelf> open(const std::string& path);

    const filecomm::Directory& directory() const { return directory_; }

    // In one step: a reader finds the record before or this one.  Nothing of it is left where it
    // fails.
    Result<void> put(const CoreRecord& record) const;
    Result<void> put(const VariableRecord& record) const;

    // Nullopt: not there, or not whole yet, and `why` says so in words for the one who gives up.
    // What cannot become right by waiting is an error: PERM, CORRUPT, VERSION, IO.
    Result<std::optional<CoreRecord>> look(const StoreId& store, Error* why = nullptr) const;
    Result<std::optional<VariableRecord>> look(const std::string& name, Error* why = nullptr) const;

    void remove(const StoreId& store) const;
    void remove(const std::string& name) const;

    // Takes away what processes of this user that are dead left by a name of process_stem: files
    // half written, path sockets.  How many.
    int sweep() const;

private:
    explicit Shelf(filecomm::Directory directory) : directory_(std::move(directory)) {}

    Result<void> put(const std::string& file, const std::vector<std::byte>& bytes) const;
    Result<std::optional<std::vector<std::byte>>> take(const std::string& file, Error& why) const;
    template <class Record>
    Result<std::optional<Record>> look(const std::string& file,
                                       Result<Record> (*read)(std::span<const std::byte>),
                                       Error* why) const;

    filecomm::Directory directory_;
};

}  // namespace dds
