// Which providers of libfabric a forked child may open, from what its parent saw: no library, no card.
#include "transport/fabric_fork.hpp"

#include <functional>

#include "unit.hpp"

namespace {

using namespace dds;
using namespace unit;

ForkFacts on_linux(const char* kernel)
{
    ForkFacts facts;
    facts.kernel = kernel;
    return facts;
}

void assert_allowed(const char* provider, const ForkFacts& facts)
{
    const auto verdict = may_open_in_child(provider, facts);
    if (!verdict)
        fail_msg("%s: %s", provider, verdict.error().text.c_str());
}

void assert_refused(const char* provider, const ForkFacts& facts, const char* what,
                    const char* remedy)
{
    const auto verdict = may_open_in_child(provider, facts);
    if (verdict)
        fail_msg("%s was allowed where '%s'", provider, what);
    assert_int_equal(verdict.error().code, DDS_ERR_UNSUPPORTED);
    for (const char* words : {what, remedy, "on the node of the rows", "threads", "not forked"})
        assert_says(verdict.error().text, words);
    assert_says(verdict.error().text, std::string(provider).substr(0, 5));
}

void software_providers_are_never_refused(void**)
{
    for (const char* provider : {"tcp", "tcp;ofi_rxm", "net", "psm3", "opx"})
        for (const char* monitor : {"", "kdreg2"})
            for (const char* kernel : {"", "3.10.0", "6.1.0"}) {
                ForkFacts facts = on_linux(kernel);
                facts.monitor = monitor;
                facts.kdreg2 = true;
                assert_allowed(provider, facts);
            }
}

void cxi_needs_what_fork_workers_sets(void**)
{
    ForkFacts facts = on_linux("6.1.0");
    assert_refused("cxi", facts, "CXI_FORK_SAFE", "DDSTORE_FORK_WORKERS=1");
    facts.efa_safe = facts.ibv_safe = true;  // which are others' business
    assert_refused("cxi", facts, "CXI_FORK_SAFE", "DDSTORE_FORK_WORKERS=1");
    facts.cxi_safe = true;
    assert_allowed("cxi", facts);
}

void cxi_is_refused_under_kdreg2_whatever_else_holds(void**)
{
    ForkFacts facts = on_linux("6.1.0");
    for (const bool safe : {false, true}) {
        facts.cxi_safe = safe;
        facts.monitor = "kdreg2";
        assert_refused("cxi", facts, "FI_MR_CACHE_MONITOR=kdreg2", "FI_MR_CACHE_MONITOR=memhooks");
        facts.monitor.clear();
        facts.kdreg2 = true;
        assert_refused("cxi", facts, "/dev/kdreg2", "FI_MR_CACHE_MONITOR=memhooks");
    }
    for (const char* monitor : {"memhooks", "userfaultfd", "uffd", "disabled"}) {
        facts.monitor = monitor;
        assert_allowed("cxi", facts);
    }
}

void efa_needs_its_variable_or_linux_5_13(void**)
{
    for (const char* old : {"5.12.19", "4.18.0-553.el8", "3.10.0", "junk", ""})
        assert_refused("efa", on_linux(old), "Linux before 5.13", "FI_EFA_FORK_SAFE=1");
    for (const char* fresh : {"5.13.0-27-generic", "5.100.1", "6.1.0", "10.0"})
        assert_allowed("efa", on_linux(fresh));
    ForkFacts facts = on_linux("4.18.0");
    facts.efa_safe = true;
    assert_allowed("efa", facts);
    facts.efa_safe = false;
    facts.ibv_safe = true;
    assert_allowed("efa", facts);
}

void verbs_needs_its_variable_or_linux_5_12(void**)
{
    for (const char* provider : {"verbs", "verbs;ofi_rxm"}) {
        ForkFacts facts = on_linux("5.11.22");
        assert_refused(provider, facts, "Linux before 5.12", "RDMAV_FORK_SAFE=1");
        facts.efa_safe = facts.cxi_safe = true;
        assert_refused(provider, facts, "Linux before 5.12", "RDMAV_FORK_SAFE=1");
        facts.ibv_safe = true;
        assert_allowed(provider, facts);
        assert_allowed(provider, on_linux("5.12.0"));
    }
}

// In a process of its own, as it looks once.
void look_under(std::initializer_list<std::pair<const char*, const char*>> set,
                const std::function<bool(const ForkFacts&)>& right)
{
    const auto outcomes = in_processes(1, [&](int) -> Error {
        for (const char* name :
             {"CXI_FORK_SAFE", "CXI_FORK_SAFE_HP", "FI_EFA_FORK_SAFE", "RDMAV_FORK_SAFE",
              "IBV_FORK_SAFE", "FI_MR_CACHE_MONITOR", "DDSTORE_FORK_WORKERS"})
            unsetenv(name);
        for (const auto& [name, value] : set)
            setenv(name, value, 1);
        if (const auto prepared = prepare_for_forks(); !prepared)
            return prepared.error();
        const bool once = right(fork_facts());
        for (const auto& [name, value] : set)
            unsetenv(name);
        return once && prepare_for_forks() && right(fork_facts())
                   ? kFine
                   : Error{DDS_ERR_INTERNAL, -1, "not what was expected"};
    });
    assert_all(outcomes, DDS_SUCCESS);
}

bool is(const char* name, const char* value)
{
    const char* now = getenv(name);
    return now ? value && strcmp(now, value) == 0 : !value;
}

void fork_workers_makes_cxi_safe_and_overrides_nobody(void**)
{
    look_under({}, [](const ForkFacts& facts) {
        return !facts.cxi_safe && !facts.efa_safe && !facts.ibv_safe && facts.monitor.empty() &&
               is("CXI_FORK_SAFE", nullptr) && is("CXI_FORK_SAFE_HP", nullptr);
    });
    look_under({{"DDSTORE_FORK_WORKERS", "0"}}, [](const ForkFacts& facts) {
        return !facts.cxi_safe && is("CXI_FORK_SAFE", nullptr);
    });
    look_under({{"DDSTORE_FORK_WORKERS", "1"}}, [](const ForkFacts& facts) {
        return facts.cxi_safe && is("CXI_FORK_SAFE", "1") && is("CXI_FORK_SAFE_HP", "1");
    });
    bool kept = false;  // until the test takes it away
    look_under({{"DDSTORE_FORK_WORKERS", "1"}, {"CXI_FORK_SAFE", "yes"}},
               [&](const ForkFacts& facts) {
                   kept = kept || is("CXI_FORK_SAFE", "yes");
                   return facts.cxi_safe && kept;
               });
}

void the_environment_is_read_as_its_owners_read_it(void**)
{
    // Of libcxi's and libibverbs' a name is enough, libfabric's own says yes or no.
    look_under({{"CXI_FORK_SAFE", "0"}}, [](const ForkFacts& facts) { return facts.cxi_safe; });
    look_under({{"RDMAV_FORK_SAFE", ""}}, [](const ForkFacts& facts) { return facts.ibv_safe; });
    look_under({{"IBV_FORK_SAFE", "1"}}, [](const ForkFacts& facts) { return facts.ibv_safe; });
    for (const char* yes : {"1", "yes", "TRUE", "on"})
        look_under({{"FI_EFA_FORK_SAFE", yes}},
                   [](const ForkFacts& facts) { return facts.efa_safe; });
    for (const char* no : {"0", "no", "off", ""})
        look_under({{"FI_EFA_FORK_SAFE", no}},
                   [](const ForkFacts& facts) { return !facts.efa_safe; });
    look_under({{"FI_MR_CACHE_MONITOR", "kdreg2"}}, [](const ForkFacts& facts) {
        return facts.monitor == "kdreg2" && !facts.kernel.empty();
    });
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(software_providers_are_never_refused),
        cmocka_unit_test(cxi_needs_what_fork_workers_sets),
        cmocka_unit_test(cxi_is_refused_under_kdreg2_whatever_else_holds),
        cmocka_unit_test(efa_needs_its_variable_or_linux_5_13),
        cmocka_unit_test(verbs_needs_its_variable_or_linux_5_12),
        cmocka_unit_test(fork_workers_makes_cxi_safe_and_overrides_nobody),
        cmocka_unit_test(the_environment_is_read_as_its_owners_read_it),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
