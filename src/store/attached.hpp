// What a reader of another job has: where the records are, the run that it is pinned to by its first
// join, and the owners that it visits.  Private to the room.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/clock.hpp"
#include "node/visitor.hpp"
#include "store/shelf.hpp"
#include "store/variable_card.hpp"
#include "store/wire_read.hpp"

namespace dds {

struct Store::Attached {
    static constexpr int64_t kLook =
        100 * clock::kMillisecond;  // between two looks at the directory

    // To the run that the record is of; false: it is not there, or not any more.
    Result<bool> pin(Store& store, const VariableRecord& record);

    bool lost() const;  // an owner that we visit is gone

    Shelf shelf;
    std::mutex mutex;                 // of joins
    std::atomic<bool> joined{false};  // a variable: from now on the end of an owner matters
    std::optional<CoreRecord> core;
    std::optional<std::pair<StoreId, uint64_t>> only;  // the run that it must be
    std::unique_ptr<Visitors> visitors;
    Error why{DDS_ERR_NOTFOUND, -1, "it was never there"};  // a look found nothing

private:
    Result<void> meet(Store& store, const CoreRecord& found);
    static Result<std::unique_ptr<Transport>> open_wire(const Store& store, const CoreRecord& found,
                                                        bool one_node);
};

}  // namespace dds
