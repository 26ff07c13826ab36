// What a fact is: for programs (JSON) and for people (text).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace info {

struct Value {
    std::string json, text;

    Value() : json("null"), text("none") {}
    Value(std::string_view words);
    Value(const std::string& words) : Value(std::string_view(words)) {}
    Value(const char* words) : Value(std::string_view(words)) {}
    Value(bool yes) : json(yes ? "true" : "false"), text(yes ? "yes" : "no") {}
    template <std::integral Number>
    Value(Number number) : json(std::to_string(number)), text(json)
    {
    }

    static Value raw(std::string json, std::string text)
    {
        Value value;
        value.json = std::move(json);
        value.text = std::move(text);
        return value;
    }
    Value as(std::string words) const  // the same with other words
    {
        Value copy = *this;
        copy.text = std::move(words);
        return copy;
    }
};

using Fields = std::vector<std::pair<std::string, Value>>;

Value list(const std::vector<Value>& values);
Value object(const Fields& fields);  // its text is that of its first field
Value bytes(uint64_t number);        // "1.5 GiB"

}  // namespace info
