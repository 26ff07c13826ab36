// The card that goes round in dds_add and dds_create, and how two of them are compared.
#pragma once

#include "store/store.hpp"

namespace dds {

struct VariableCard {
    int64_t nrows, disp;
    int64_t shape[8];
    uint64_t meta_hash;
    uint32_t meta_bytes;
    uint32_t flags;
    int32_t type, memory, ndim;
    uint16_t name_bytes;
    char name[256];
};
static_assert(sizeof(VariableCard) <= Control::kMailbox);

// Check what one rank can check for itself; `type_bytes` is the element's size.
Result<VariableCard> make_card(const VariableSpec& spec);
// MISMATCH names both ranks and both values.
Result<void> compare_cards(const VariableCard& first, int first_rank, const VariableCard& other,
                           int other_rank);
// ARG unless it is 1 to 255 bytes of UTF-8.
Result<void> check_name(const char* name);
size_t type_size(int type);  // 0: no type

}  // namespace dds
