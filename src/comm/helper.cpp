#include "comm/helper.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace dds::filecomm {
namespace {

constexpr auto kGrace = std::chrono::seconds(1);

}  // namespace

struct Helper::Shared {
    std::shared_ptr<Task> task;
    std::mutex mutex;
    std::condition_variable for_caller, for_helper;
    std::optional<Result<Step>> end;  // how the task ended
    bool over = false;                // the thread touches the task no more
    bool asked = false;
    std::optional<Report> report;
    std::optional<Error> stop;

    void work();
    Result<Step> step_safely();
    bool wait_until_over(std::unique_lock<std::mutex>& lock)
    {
        return for_caller.wait_for(lock, kGrace, [&] { return over; });
    }
};

// Nothing above catches what the standard library throws in a thread of ours.
Result<Step> Helper::Shared::step_safely()
{
    try {
        return task->step();
    } catch (const std::bad_alloc&) {
        return fail(DDS_ERR_NOMEM, "no memory for a collective call");
    } catch (const std::exception& e) {
        return fail(DDS_ERR_INTERNAL, "a collective call: %s", e.what());
    }
}

void Helper::Shared::work()
{
    std::unique_lock lock(mutex);
    while (!over) {
        lock.unlock();
        auto step = step_safely();
        const bool ended = !step || *step == Step::ended;
        const int64_t nap = ended || *step == Step::moved ? 0 : task->nap();
        if (ended)
            task.reset();  // and what it holds open, before anybody hears of the end
        lock.lock();
        if (ended) {
            end = std::move(step);
            over = true;
        } else if (!asked && !stop && nap > 0) {
            for_helper.wait_for(lock, std::chrono::nanoseconds(nap), [&] { return asked || stop; });
        }
        if (asked && !ended) {
            lock.unlock();
            Report answer{task->missing(), task->doubt()};
            lock.lock();
            report = std::move(answer);
        }
        if (stop && !ended) {
            lock.unlock();
            task->give_up(*stop);
            task.reset();
            lock.lock();
            over = true;
        }
        asked = false;
        for_caller.notify_all();
    }
}

void* Helper::run(void* at)
{
    never_log_here();
    const std::unique_ptr<std::shared_ptr<Shared>> shared(
        static_cast<std::shared_ptr<Shared>*>(at));
    (*shared)->work();
    return nullptr;
}

Result<std::unique_ptr<Helper>> Helper::start(std::shared_ptr<Task> task)
{
    auto shared = std::make_shared<Shared>();
    shared->task = std::move(task);
    auto given = std::make_unique<std::shared_ptr<Shared>>(shared);
    // The program's signals are for the program's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const int error = pthread_create(&thread, &detached, run, given.get());
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error)
        return fail(DDS_ERR_LIMIT, "cannot start a thread for file work (error %d; `ulimit -u`)",
                    error);
    static_cast<void>(given.release());
    return std::unique_ptr<Helper>(new Helper(std::move(shared)));
}

Helper::~Helper()
{
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->over && !shared_->stop) {
        shared_->stop = fail(DDS_ERR_PEER, "a collective call was left");
        shared_->for_helper.notify_all();
    }
}

Result<Step> Helper::step()
{
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->end)
        return Step::idle;
    return *shared_->end;
}

void Helper::park(int64_t ns)
{
    std::unique_lock lock(shared_->mutex);
    shared_->for_caller.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return shared_->over; });
}

std::optional<Helper::Report> Helper::report()
{
    std::unique_lock lock(shared_->mutex);
    shared_->report.reset();
    shared_->asked = true;
    shared_->for_helper.notify_all();
    shared_->for_caller.wait_for(lock, kGrace, [&] { return shared_->over || shared_->report; });
    return shared_->report;
}

bool Helper::give_up(const Error& why)
{
    std::unique_lock lock(shared_->mutex);
    if (!shared_->stop)
        shared_->stop = why;
    shared_->for_helper.notify_all();
    return shared_->wait_until_over(lock);
}

bool Helper::finish()
{
    std::unique_lock lock(shared_->mutex);
    return shared_->wait_until_over(lock);
}

}  // namespace dds::filecomm
