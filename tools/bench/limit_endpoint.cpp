// An owner shows its rows by an endpoint whose place it leaves in a file, as a record has it; the
// reader, which has read those before the clock starts, opens an endpoint of its own.
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "fabric_target.hpp"
#include "limit_door.hpp"

namespace bench {
namespace {

constexpr const char* kHere = "127.0.0.1";

class FabricDoor final : public Door {
public:
    FabricDoor(const Rank& rank, const Variable& variable)
        : domain_(rank.control.provider, kHere),
          target_(domain_, variable, rank.me, nullptr),
          path_(door_of(rank.options, rank.me))
    {
        std::ofstream file(path_, std::ios::binary);
        file.write(reinterpret_cast<const char*>(&target_.place()), sizeof(FabricPlace));
        if (!file.flush())
            die("cannot write %s", path_.c_str());
    }
    ~FabricDoor() override { unlink(path_.c_str()); }

private:
    FabricDomain domain_;
    FabricTarget target_;
    std::string path_;
};

class FabricAccess final : public Access {
public:
    FabricAccess(const Rank& rank, size_t row, const std::vector<int64_t>& first)
        : provider_(rank.control.provider)
    {
        for (int owner = 0; owner < rank.options.ranks; owner++) {
            const std::string path = door_of(rank.options, owner);
            std::ifstream file(path, std::ios::binary);
            FabricPlace place;
            if (!file.read(reinterpret_cast<char*>(&place), sizeof place))
                die("cannot read %s", path.c_str());
            place.base += static_cast<uint64_t>(first[static_cast<size_t>(owner)]) * row;
            places_.push_back(place);
        }
        contexts_.resize(places_.size());
    }

    void connect() override
    {
        domain_ = std::make_unique<FabricDomain>(provider_, kHere);
        end_ = std::make_unique<FabricEnd>(*domain_);
        if (domain_->info().domain_attr->mr_mode & FI_MR_LOCAL)
            landing_ = domain_->land(byte_, sizeof byte_, end_->endpoint.get());
        for (const FabricPlace& place : places_)
            owners_.push_back(end_->insert(place.address()));
        again();
    }
    void again() override
    {
        size_t open = 0;
        for (size_t i = 0; i < places_.size(); i++) {
            ssize_t code;
            while ((code = fi_read(end_->endpoint.get(), byte_, 1,
                                   landing_ ? fi_mr_desc(landing_.get()) : nullptr, owners_[i],
                                   places_[i].base, places_[i].key, &contexts_[i])) == -FI_EAGAIN)
                open -= take(0);
            if (code < 0)
                die("fi_read: error %zd", -code);
            open++;
        }
        while (open > 0)
            open -= take(100);
    }
    void leave() override
    {
        owners_.clear();
        landing_.reset();
        end_.reset();
        domain_.reset();
    }
    std::string words(bool connects) const override
    {
        return std::string(connects ? "endpoint and " : "") + "fi_read of a byte of each shard, " +
               provider_;
    }

private:
    size_t take(int timeout_ms)
    {
        fi_cq_entry entries[64];
        const ssize_t n = fi_cq_sread(end_->queue.get(), entries, 64, nullptr, timeout_ms);
        if (n < 0 && n != -FI_EAGAIN)
            die("fi_cq_sread: error %zd", -n);
        return n > 0 ? static_cast<size_t>(n) : 0;
    }

    std::string provider_;
    std::vector<FabricPlace> places_;
    std::vector<fi_context2> contexts_;
    std::unique_ptr<FabricDomain> domain_;
    std::unique_ptr<FabricEnd> end_;
    Closed<fid_mr> landing_;
    std::vector<fi_addr_t> owners_;
    char byte_[1];
};

}  // namespace

std::unique_ptr<Door> open_fabric_door(const Rank& rank, const Variable& variable)
{
    return std::make_unique<FabricDoor>(rank, variable);
}

std::unique_ptr<Access> make_fabric_access(const Rank& rank, size_t row,
                                           const std::vector<int64_t>& first)
{
    return std::make_unique<FabricAccess>(rank, row, first);
}

}  // namespace bench
