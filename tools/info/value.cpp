#include "value.hpp"

#include <cstdio>

namespace info {
namespace {

bool continues(unsigned char c) { return (c & 0xc0) == 0x80; }

// How many bytes of UTF-8 one character takes at the begin of `text`; 0: it is none.
size_t character(std::string_view text)
{
    const auto c = static_cast<unsigned char>(text[0]);
    const size_t length = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    if (length > text.size())
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!continues(static_cast<unsigned char>(text[i])))
            return 0;
    return length;
}

// Paths and variables of the environment may hold any byte: what is no UTF-8 becomes '?'.
std::string quoted(std::string_view text)
{
    std::string out = "\"";
    while (!text.empty()) {
        const size_t length = character(text);
        const auto c = static_cast<unsigned char>(text[0]);
        if (length == 0) {
            out += '?';
        } else if (c < 0x20 || c == 0x7f) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", c);
            out += escape;
        } else {
            if (c == '"' || c == '\\')
                out += '\\';
            out += text.substr(0, length);
        }
        text.remove_prefix(length ? length : 1);
    }
    return out + '"';
}

// On one line, whatever it holds.
std::string shown(std::string_view text)
{
    std::string line(text);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return line;
}

}  // namespace

Value::Value(std::string_view words) : json(quoted(words)), text(shown(words)) {}

Value list(const std::vector<Value>& values)
{
    Value all;
    all.json.clear();
    if (!values.empty())
        all.text.clear();
    for (const Value& value : values) {
        all.json += (all.json.empty() ? "" : ",") + value.json;
        all.text += (all.text.empty() ? "" : ", ") + value.text;
    }
    all.json = "[" + all.json + "]";
    return all;
}

Value object(const Fields& fields)
{
    Value all;
    all.json.clear();
    for (const auto& [name, value] : fields)
        all.json += (all.json.empty() ? "" : ",") + quoted(name) + ":" + value.json;
    all.json = "{" + all.json + "}";
    if (!fields.empty())
        all.text = fields.front().second.text;
    return all;
}

Value bytes(uint64_t number)
{
    const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    auto amount = static_cast<double>(number);
    size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < std::size(units); unit++)
        amount /= 1024;
    char text[48];
    snprintf(text, sizeof text, "%.*f %s", amount == static_cast<double>(int64_t(amount)) ? 0 : 1,
             amount, units[unit]);
    return Value(number).as(text);
}

}  // namespace info
