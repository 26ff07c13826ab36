// Arithmetic on sizes that come from outside: an overflow is an error, not a wrap.
#pragma once

#include <concepts>
#include <optional>

namespace dds {

template <std::integral T>
[[nodiscard]] std::optional<T> checked_add(T a, T b)
{
    T sum;
    if (__builtin_add_overflow(a, b, &sum))
        return std::nullopt;
    return sum;
}

template <std::integral T>
[[nodiscard]] std::optional<T> checked_mul(T a, T b)
{
    T product;
    if (__builtin_mul_overflow(a, b, &product))
        return std::nullopt;
    return product;
}

}  // namespace dds
