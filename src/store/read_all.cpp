// dds_get_batch_all: publish, copy, collect.  The ranks' wait for each other hides behind the copy,
// and on a node no index and no row goes through anybody else's hands.
#include <optional>

#include "base/failpoint.hpp"
#include "store/contain.hpp"
#include "store/exchange.hpp"
#include "store/read.hpp"
#include "store/wire_read.hpp"

namespace dds {

Result<void> Store::get_batch_all(const char* name, int64_t n, const int64_t* rows, void* out,
                                  size_t out_bytes, Reader& reader)
{
    DDS_TRY(check_member("dds_get_batch_all"));
    DDS_LET(turn, agreement_->turn(collective_ms()));
    Variable* v = name ? look_up(*this, reader, name) : nullptr;
    const Result<void> mine = [&]() -> Result<void> {
        DDS_FAILPOINT("get_batch_all.begin");
        if (!v)
            return no_variable(*this, name);
        if (!fits(*v, n, out, out_bytes) || (n > 0 && !rows))
            return bad_buffer(*v, n, rows, out, out_bytes);
        if (const int64_t bad = first_bad(v->mapped, n, rows); bad < n)
            return bad_row(*this, *v, rows[bad], bad);
        return {};
    }();
    if (router_->collective())
        return exchange_rows(v, mine, n, rows, static_cast<std::byte*>(out), reader);
    agreement_->publish(Op::get_batch_all, v ? v->id : 0, mine);
    // What one rank reads whole may need a transport on another, which then may fail after the
    // arguments were good: all ranks hear of it, so all take the same rounds.
    if (!v || !v->wired_somewhere) {
        if (mine) {
            int64_t own = 0;
            gather_rows(v->mapped, n, rows, static_cast<std::byte*>(out), own, true);
            count_rows(reader, *v, n, own);
        }
        return agreement_->conclude(collective_ms());
    }
    DDS_TRY(agreement_->conclude(collective_ms()));
    const Result<void> read = [&]() -> Result<void> {
        DDS_LET(wired, WireRead::start(*this, table_.share(name), n, rows,
                                       static_cast<std::byte*>(out), nullptr));
        return wired->finish();
    }();
    return agreement_->round(Op::got_batch_all, read, {}, collective_ms());
}

// Where rows come from ranks that no load reaches, their owners take part.
Result<void> Store::exchange_rows(Variable* v, Result<void> mine, int64_t n, const int64_t* rows,
                                  std::byte* out, Reader& reader)
{
    struct Asked {
        int64_t longest;
    } asked{0};
    std::optional<Exchange> exchange;
    if (mine)
        mine = contain([&]() -> Result<void> {
            exchange.emplace(*comm_, *node_, *v, static_cast<size_t>(options_.max_exchange));
            exchange->ask(n, rows, out);
            asked.longest = exchange->longest();
            return {};
        });
    agreement_->publish(Op::get_batch_all, v ? v->id : 0, mine,
                        std::as_bytes(std::span(&asked, 1)));
    DDS_TRY(agreement_->conclude(collective_ms()));
    int64_t longest = 0;
    for (const int rank : agreement_->ranks())
        longest = std::max(longest, agreement_->card<Asked>(rank).longest);
    const Copied copied = copy_mapped(*v, n, rows, out);
    auto moved = contain([&] { return exchange->run(longest, collective_ms()); });
    if (!moved)
        return agreement_->abandon(std::move(moved).error());
    count_rows(reader, *v, n - exchange->rows(), copied.own);
    const auto wired = static_cast<uint64_t>(exchange->rows());
    static_cast<Counters*>(reader.counters)->add(DDS_PATH_MPI, wired, wired * v->mapped.row);
    if (v->mapped.profiled)
        Profile::add(v->profile.rows, wired);
    return {};
}

}  // namespace dds
