#include "store/publisher.hpp"

namespace dds {

Result<std::unique_ptr<Publisher>> Publisher::open(const std::string& directory,
                                                   const StoreId& store, uint64_t incarnation)
{
    DDS_LET(shelf, Shelf::open(directory));
    shelf.sweep();  // what cannot be swept is in nobody's way
    DDS_LET(lobby, Lobby::open(shelf.directory().fd(), store, incarnation));
    return std::unique_ptr<Publisher>(new Publisher(std::move(shelf), std::move(lobby), store));
}

Publisher::~Publisher()
{
    while (!records_.empty())
        remove(records_.begin()->first);
    if (epoch_)
        shelf_.remove(store_);
}

Result<void> Publisher::put(CoreRecord record)
{
    record.store = store_;
    record.sequence = ++sequence_;
    DDS_TRY(shelf_.put(record));
    epoch_ = record.epoch;
    return {};
}

Result<void> Publisher::put(VariableRecord record)
{
    record.store = store_;
    record.epoch = epoch_;
    record.sequence = ++sequence_;
    DDS_TRY(shelf_.put(record));
    records_[record.name] = std::move(record);
    return {};
}

Result<void> Publisher::put_version(const std::string& name, int64_t version)
{
    VariableRecord record = records_.at(name);
    record.published = version;
    return put(std::move(record));
}

// The last publisher wins: another job's record of that name stays.
void Publisher::remove(std::string name)
{
    if (records_.erase(name) == 0)
        return;
    const auto found = shelf_.look(name);
    if (found && *found && (*found)->store == store_)
        shelf_.remove(name);
}

}  // namespace dds
