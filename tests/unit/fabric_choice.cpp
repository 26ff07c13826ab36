// What the ranks take of what they offered: no library, no network.
#include "transport/fabric.hpp"
#include "unit.hpp"

namespace {

using namespace dds;
using namespace unit;

FabricOffer offer(const char* provider, uint32_t protocol = 11, uint32_t format = 3)
{
    FabricOffer made{{}, protocol, format, 0, 0};
    strncpy(made.provider, provider, sizeof made.provider - 1);
    return made;
}

FabricOffers offers(std::initializer_list<FabricOffer> all)
{
    FabricOffers made{};
    for (const FabricOffer& each : all)
        made.each[made.count++] = each;
    return made;
}

void the_first_of_rank_0_that_all_have_is_taken(void**)
{
    const FabricOffers ranks[] = {
        offers({offer("cxi"), offer("tcp"), offer("tcp;ofi_rxm")}),
        offers({offer("tcp;ofi_rxm"), offer("tcp")}),
        offers({offer("verbs;ofi_rxm"), offer("tcp;ofi_rxm"), offer("tcp")})};
    const auto agreed = fabric_agree(ranks);
    assert_true(bool(agreed));
    assert_string_equal(agreed->provider, "tcp");
}

void one_name_with_two_protocols_is_not_the_same(void**)
{
    const FabricOffers ranks[] = {offers({offer("tcp", 25), offer("tcp;ofi_rxm")}),
                                  offers({offer("tcp", 11), offer("tcp;ofi_rxm")})};
    assert_string_equal(fabric_agree(ranks)->provider, "tcp;ofi_rxm");
}

void addresses_of_two_kinds_are_not_the_same(void**)
{
    const FabricOffers ranks[] = {offers({offer("tcp", 25, 2), offer("tcp", 25, 3)}),
                                  offers({offer("tcp", 25, 3)})};
    assert_int_equal(fabric_agree(ranks)->addr_format, 3);
}

void nothing_in_common_names_ranks_and_providers(void**)
{
    const FabricOffers ranks[] = {offers({offer("cxi"), offer("tcp")}), offers({offer("tcp")}),
                                  offers({offer("net"), offer("psm3")})};
    const auto agreed = fabric_agree(ranks);
    assert_false(bool(agreed));
    assert_int_equal(agreed.error().code, DDS_ERR_UNSUPPORTED);
    assert_int_equal(agreed.error().rank, 2);
    assert_says(agreed.error().text, "rank 0 has cxi, tcp");
    assert_says(agreed.error().text, "rank 2 has net, psm3");
}

void a_rank_with_nothing_is_named(void**)
{
    const FabricOffers ranks[] = {offers({offer("tcp")}), offers({})};
    assert_says(fabric_agree(ranks).error().text, "rank 1 has nothing");
    const FabricOffers none[] = {offers({}), offers({offer("tcp")})};
    assert_says(fabric_agree(none).error().text, "rank 0 has nothing");
    assert_false(bool(fabric_agree({})));
}

// What came from another rank is not to be trusted: neither its count nor its end of text.
void a_damaged_offer_is_read_within_its_bounds(void**)
{
    FabricOffers damaged{};
    memset(&damaged, 0xff, sizeof damaged);
    const FabricOffers ranks[] = {offers({offer("tcp")}), damaged};
    assert_int_equal(fabric_agree(ranks).error().code, DDS_ERR_UNSUPPORTED);
}

}  // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_rank_0_that_all_have_is_taken),
        cmocka_unit_test(one_name_with_two_protocols_is_not_the_same),
        cmocka_unit_test(addresses_of_two_kinds_are_not_the_same),
        cmocka_unit_test(nothing_in_common_names_ranks_and_providers),
        cmocka_unit_test(a_rank_with_nothing_is_named),
        cmocka_unit_test(a_damaged_offer_is_read_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
