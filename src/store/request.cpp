#include "store/request.hpp"

#include "base/clock.hpp"

namespace dds {

std::shared_ptr<Request> Request::start(Store& store, uint64_t token,
                                        std::unique_ptr<WireRead> read)
{
    auto request = std::make_shared<Request>();
    request->token_ = token;
    request->store_ = &store;
    request->read_ = std::move(read);
    request->moved_ = clock::now();
    store.enlist(request);
    return request;
}

void Request::finish_locked(const Error& error)
{
    error_ = error;
    read_.reset();
    store_->delist(this);
}

Result<Step> Request::step()
{
    const std::lock_guard lock(mutex_);
    if (!read_)
        return Step::ended;
    DDS_LET(step, read_->step());
    if (step == Step::moved)
        moved_ = clock::now();
    if (step == Step::idle && clock::now() - moved_ > read_->patience_ms() * clock::kMillisecond) {
        read_->time_out();
        step = Step::ended;
    }
    if (step == Step::ended)
        finish_locked(Error(read_->result()));
    return step;
}

Result<void> Request::result()
{
    const std::lock_guard lock(mutex_);
    if (error_.code != DDS_SUCCESS)
        return error_;
    return {};
}

bool Request::ended()
{
    const std::lock_guard lock(mutex_);
    return !read_;
}

void Request::end(const Error& why)
{
    const std::lock_guard lock(mutex_);
    if (!read_)
        return;
    read_->abandon(why);
    finish_locked(why);
}

bool Request::reads(const Variable* variable)
{
    const std::lock_guard lock(mutex_);
    return read_ && (!variable || &read_->variable() == variable);
}

void Store::enlist(const std::shared_ptr<Request>& request)
{
    const std::lock_guard lock(requests_mutex_);
    requests_[request.get()] = request;
}

void Store::delist(Request* request)
{
    const std::lock_guard lock(requests_mutex_);
    requests_.erase(request);
}

void Store::end_requests(const Variable* variable, const char* why)
{
    std::vector<std::shared_ptr<Request>> open;
    {
        const std::lock_guard lock(requests_mutex_);
        for (const auto& [raw, weak] : requests_)
            if (auto request = weak.lock())
                open.push_back(std::move(request));
    }
    // Without the lock: a request that ends takes itself off the list.
    for (const auto& request : open)
        if (request->reads(variable))
            request->end(fail(DDS_ERR_STATE, "%s", why));
}

}  // namespace dds
