#include "transport/nic_map.hpp"

#include <algorithm>

namespace dds {
namespace {

constexpr size_t kMostName = 63;

// The part of the text before the next `mark`, and behind it what is left.
std::string_view cut(std::string_view& text, char mark)
{
    const size_t at = std::min(text.find(mark), text.size());
    const std::string_view part = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return part;
}

std::string shown(std::string_view text)
{
    constexpr size_t kShown = 40;
    std::string part(text.substr(0, kShown));
    std::ranges::replace_if(
        part, [](char c) { return c < 0x20 || c == 0x7f; }, '?');
    return "'" + part + (text.size() > kShown ? "...'" : "'");
}

bool is_name(std::string_view text)
{
    return !text.empty() && text.size() <= kMostName &&
           std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != '/'; });
}

// What stands in the text, for its errors.
struct Piece {
    CpuRange cpus;
    std::string_view nic;
    size_t number, at;
};

class Parser {
public:
    Parser(std::string_view text, const char* from) : text_(text), from_(from) {}

    Result<NicMap> parse()
    {
        size_t number = 0;
        for (std::string_view left = text_; !left.empty();)
            DDS_TRY(entry(cut(left, ';'), ++number));
        DDS_TRY(no_overlap());
        std::map<std::string, std::vector<CpuRange>> ranges;
        for (const Piece& piece : pieces_)
            ranges[std::string(piece.nic)].push_back(piece.cpus);
        NicMap map{{}, from_};
        for (auto& [nic, its] : ranges)
            map.cpus.emplace(nic, unite(std::move(its)));
        return map;
    }

private:
    Error wrong(std::string_view piece, size_t number, const std::string& what) const
    {
        return fail(DDS_ERR_ARG,
                    "%s: piece %zu, %s at byte %zu: %s; a map is like hsn0=0-15,64-79;hsn1=16-31, "
                    "and `cpu_nic_map --env` writes that of a machine",
                    from_, number, shown(piece).c_str(),
                    static_cast<size_t>(piece.data() - text_.data()), what.c_str());
    }

    Result<void> entry(std::string_view piece, size_t number)
    {
        std::string_view list = piece;
        const std::string_view nic = cut(list, '=');
        if (nic.size() == piece.size())
            return wrong(piece, number, "it has no '='");
        if (!is_name(nic))
            return wrong(piece, number,
                         shown(nic) + " is no interface's name of 1 to " +
                             std::to_string(kMostName) + " printable bytes");
        for (bool more = true; more;) {
            more = list.find(',') != list.npos;  // behind a last comma there is an empty one
            const std::string_view text = cut(list, ',');
            const auto range = parse_range(text);
            if (!range)
                return wrong(piece, number,
                             shown(text) + " is neither a CPU, 0 to " + std::to_string(kMostCpu) +
                                 ", nor an ascending range of them");
            pieces_.push_back(
                {*range, nic, number, static_cast<size_t>(piece.data() - text_.data())});
        }
        return {};
    }

    // Sorted by their first CPU, what overlaps is next to a neighbour or to the furthest before it.
    Result<void> no_overlap()
    {
        std::ranges::stable_sort(pieces_, {}, [](const Piece& piece) { return piece.cpus.first; });
        const Piece* furthest = nullptr;
        for (const Piece& piece : pieces_) {
            if (furthest && piece.cpus.first <= furthest->cpus.last && piece.nic != furthest->nic) {
                const Piece& later = piece.number > furthest->number ? piece : *furthest;
                const Piece& former = &later == &piece ? *furthest : piece;
                std::string_view rest = text_.substr(later.at);
                return wrong(cut(rest, ';'), later.number,
                             "CPU " + std::to_string(piece.cpus.first) + " has " +
                                 shown(former.nic) + " already, by piece " +
                                 std::to_string(former.number));
            }
            if (!furthest || piece.cpus.last > furthest->cpus.last)
                furthest = &piece;
        }
        return {};
    }

    std::string_view text_;
    const char* from_;
    std::vector<Piece> pieces_;
};

}  // namespace

Result<NicMap> parse_nic_map(std::string_view text, const char* from)
{
    return Parser(text, from).parse();
}

}  // namespace dds
