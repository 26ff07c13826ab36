// Requests: reads that are started here and waited for there.
#include "store/request.hpp"

#include "api/handles.hpp"
#include "api/visit.hpp"
#include "base/clock.hpp"
#include "store/read.hpp"

namespace {

using namespace dds;

using RequestHandles = Handles<Request, dds_request_t, 3>;

RequestHandles& handles()
{
    static auto* all = new RequestHandles("request");
    return *all;
}
[[maybe_unused]] auto& made_at_load = handles();

// A step of a request within its store, which may be gone.
Result<Step> step_of(Request& request)
{
    if (request.ended())
        return Step::ended;
    const Visit visit(request.token());
    if (!visit)
        return visit.refusal();
    return request.step();
}

// The request's own end: the handle is NULL and its code is returned.
Result<void> close(dds_request_t* handle, Request& request)
{
    Result<void> result = request.result();
    DDS_LET(taken, handles().take(*handle));
    *handle = nullptr;
    return result;
}

// Steps the open ones among n requests until one, or each, has ended.
class Several final : public Operation {
public:
    Several(int n, dds_request_t* requests, bool all) : all_(all)
    {
        for (int i = 0; i < n; i++)
            open_.push_back(requests[i]);
    }

    Result<Step> step() override
    {
        bool moved = false, every = true;
        for (size_t i = 0; i < open_.size(); i++) {
            if (!open_[i])
                continue;
            DDS_LET(request, handles().get(open_[i]));
            // A store that is gone ends its requests: that is their result, not ours.
            const auto step = step_of(*request);
            if (!step && !request->ended())
                request->end(step.error());
            if (request->ended()) {
                if (!all_) {
                    first_ = static_cast<int>(i);
                    return Step::ended;
                }
                continue;
            }
            every = false;
            moved = moved || *step == Step::moved;
        }
        return every ? Step::ended : moved ? Step::moved : Step::idle;
    }

    int first() const { return first_; }

private:
    bool all_;
    int first_ = -1;
    std::vector<dds_request_t> open_;
};

Result<int64_t> wait_ms(int n, dds_request_t* requests, int timeout_ms)
{
    if (timeout_ms < 0)
        return fail(DDS_ERR_ARG,
                    "timeout_ms is %d: give a positive one, or 0 for the deadline of reads",
                    timeout_ms);
    if (timeout_ms > 0)
        return timeout_ms;
    for (int i = 0; i < n; i++) {
        if (!requests[i])
            continue;
        DDS_LET(request, handles().get(requests[i]));
        const Visit visit(request->token());
        // A request ends by itself at its deadline; this only has to come after it.
        if (visit)
            return visit.store().read_ms() + 1000;
    }
    return 1000;
}

Result<void> wait_for(Several& several, int64_t ms)
{
    DDS_LET(waited, wait(several, {.timeout_ms = ms, .park_max_ns = clock::kMillisecond / 4}));
    if (waited == Waited::timeout)
        return fail(DDS_ERR_TIMEOUT, "the read has not ended within %lld ms and goes on",
                    static_cast<long long>(ms));
    if (waited == Waited::interrupted)
        return fail(DDS_ERR_INTERRUPTED, "interrupted while waiting for a read, which goes on");
    return {};
}

Result<void> check_list(int n, dds_request_t* requests)
{
    if (n < 0 || (n > 0 && !requests))
        return fail(DDS_ERR_ARG, "%d requests at %p", n, static_cast<void*>(requests));
    for (int i = 0; i < n; i++)
        if (requests[i])
            DDS_TRY(handles().get(requests[i]));
    return {};
}

Result<void> start(Store& store, const Visit& visit, const char* name, int64_t n,
                   const int64_t* rows, void* out, size_t out_bytes, int32_t* status,
                   dds_request_t* request)
{
    if (!request)
        return null_argument("request");
    if (!name)
        return null_argument("name");
    Variable* v = look_up(store, visit.reader(), name);
    if (!v)
        return no_variable(store, name);
    if (!fits(*v, n, out, out_bytes) || (!rows && n))
        return bad_buffer(*v, n, rows, out, out_bytes);
    if (const int64_t bad = first_bad(v->mapped, n, rows); bad < n)
        return bad_row(store, *v, rows[bad], bad);
    if (v->mapped.whole) {
        auto ended = std::make_shared<Request>();
        int64_t own = 0;
        gather_rows(v->mapped, n, rows, static_cast<std::byte*>(out), own, true);
        count_rows(visit.reader(), *v, n, own);
        if (status)
            std::fill_n(status, n, DDS_SUCCESS);
        *request = handles().put(std::move(ended));
        return {};
    }
    std::shared_ptr<Variable> held = store.table().share(name);
    if (held.get() != v)  // a drop in another thread came between; it waits for us
        return no_variable(store, name);
    DDS_LET(read,
            WireRead::start(store, std::move(held), n, rows, static_cast<std::byte*>(out), status));
    *request = handles().put(Request::start(store, visit.handle(), std::move(read)));
    return {};
}

}  // namespace

extern "C" {

int dds_iget_batch(dds_store_t store, const char* name, int64_t n, const int64_t* rows, void* out,
                   size_t out_bytes, int32_t* status, dds_request_t* request)
{
    return visiting(store, [&](Store& opened, const Visit& visit) {
        return start(opened, visit, name, n, rows, out, out_bytes, status, request);
    });
}

int dds_wait(dds_request_t* request, int timeout_ms) { return dds_waitall(1, request, timeout_ms); }

int dds_test(dds_request_t* request, int* done)
{
    return guarded([&]() -> Result<void> {
        if (!request || !done)
            return null_argument(request ? "done" : "request");
        DDS_TRY(check_list(1, request));
        Several one(1, request, true);
        DDS_LET(step, one.step());
        *done = step == Step::ended;
        if (!*done || !*request)
            return {};
        DDS_LET(found, handles().get(*request));
        return close(request, *found);
    });
}

int dds_waitall(int n, dds_request_t* requests, int timeout_ms)
{
    return guarded([&]() -> Result<void> {
        DDS_TRY(check_list(n, requests));
        DDS_LET(ms, wait_ms(n, requests, timeout_ms));
        Several all(n, requests, true);
        Result<void> first = wait_for(all, ms);
        // Those that have ended are closed also where others have not.
        for (int i = 0; i < n; i++) {
            if (!requests[i])
                continue;
            DDS_LET(request, handles().get(requests[i]));
            if (!request->ended())
                continue;
            Result<void> result = close(&requests[i], *request);
            if (first && !result)
                first = std::move(result);
        }
        return first;
    });
}

int dds_waitany(int n, dds_request_t* requests, int timeout_ms, int* index)
{
    return guarded([&]() -> Result<void> {
        if (!index)
            return null_argument("index");
        DDS_TRY(check_list(n, requests));
        DDS_LET(ms, wait_ms(n, requests, timeout_ms));
        Several any(n, requests, false);
        DDS_TRY(wait_for(any, ms));
        *index = any.first();
        if (any.first() < 0)
            return {};
        DDS_LET(request, handles().get(requests[any.first()]));
        return close(&requests[any.first()], *request);
    });
}

int dds_cancel(dds_request_t* request)
{
    return guarded([&]() -> Result<void> {
        if (!request)
            return null_argument("request");
        if (!*request)
            return {};
        DDS_LET(found, handles().get(*request));
        if (const Visit visit(found->token()); visit)
            found->end({DDS_ERR_STATE, -1, "the request was cancelled"});
        DDS_LET(taken, handles().take(*request));
        *request = nullptr;
        return {};
    });
}
}
