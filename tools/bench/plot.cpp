#include "plot.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>

namespace bench {
namespace {

constexpr double kWidth = 760, kHeight = 470, kLeft = 80, kRight = 30, kTop = 60, kBottom = 70;
constexpr const char* kColours[] = {"#0b6e99", "#b3541e"};  // the library, the limit

class Svg {
public:
    explicit Svg(FILE* file) : file_(file)
    {
        put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\""
            "sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            kWidth, kHeight);
    }
    ~Svg() { put("</svg>\n"); }

    void line(double x, double y, double to_x, double to_y)
    {
        put("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x, y, to_x,
            to_y);
    }
    void text(double x, double y, const char* anchor, const std::string& words)
    {
        put("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#333\">%s</text>\n", x, y,
            anchor, words.c_str());
    }
    void curve(const std::vector<std::pair<double, double>>& points, const char* colour,
               bool dashed)
    {
        put("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour,
            dashed ? " stroke-dasharray=\"6 4\"" : "");
        for (const auto& [x, y] : points)
            put("%.1f,%.1f ", x, y);
        put("\"/>\n");
        for (const auto& [x, y] : points)
            put("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y, colour);
    }

private:
    [[gnu::format(printf, 2, 3)]] void put(const char* format, ...)
    {
        va_list args;
        va_start(args, format);
        vfprintf(file_, format, args);
        va_end(args);
    }
    FILE* file_;
};

// A logarithmic axis between two powers of ten.
struct Axis {
    double from, to, at, length;  // exponents; pixels

    static Axis over(double least, double most, double at, double length)
    {
        const double from = std::floor(std::log10(least)), to = std::ceil(std::log10(most));
        return {from, to > from ? to : from + 1, at, length};
    }
    double operator()(double value) const
    {
        return at + length * (std::log10(value) - from) / (to - from);
    }
};

std::string in_words(double value, const char* unit)
{
    char text[64];
    snprintf(text, sizeof text, "%g %s", value, unit);
    return text;
}

void grid(Svg& svg, const Axis& x, const Axis& y)
{
    for (double e = x.from; e <= x.to; e++) {
        const double at = x(std::pow(10, e));
        svg.line(at, kTop, at, kHeight - kBottom);
        svg.text(at, kHeight - kBottom + 18, "middle", in_words(std::pow(10, e), "B"));
    }
    for (double e = y.from; e <= y.to; e++) {
        const double at = y(std::pow(10, e));
        svg.line(kLeft, at, kWidth - kRight, at);
        svg.text(kLeft - 8, at + 4, "end", in_words(std::pow(10, e), "us"));
    }
    svg.text((kLeft + kWidth - kRight) / 2, kHeight - 28, "middle", "bytes of a row");
}

void draw(Svg& svg, const Options& options, const std::vector<Line>& lines)
{
    double least = 1e300, most = 0;
    for (const Line& line : lines) {
        least = std::min({least, line.us_per_row(), line.limit_us_per_row()});
        most = std::max({most, line.us_per_row(), line.limit_us_per_row()});
    }
    const auto [small, big] = std::minmax_element(
        lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.row < b.row; });
    const Axis x = Axis::over(static_cast<double>(small->row), static_cast<double>(big->row), kLeft,
                              kWidth - kLeft - kRight);
    const Axis y = Axis::over(least, most, kHeight - kBottom, kTop + kBottom - kHeight);
    grid(svg, x, y);

    std::map<int64_t, std::vector<const Line*>> by_batch;
    for (const Line& line : lines)
        by_batch[line.batch].push_back(&line);
    for (const auto& [batch, group] : by_batch) {
        std::vector<std::pair<double, double>> product, limit;
        for (const Line* line : group) {
            product.emplace_back(x(static_cast<double>(line->row)), y(line->us_per_row()));
            limit.emplace_back(x(static_cast<double>(line->row)), y(line->limit_us_per_row()));
            char ratio[16];
            snprintf(ratio, sizeof ratio, "%.2f", line->outcome.ratio);
            svg.text(product.back().first, product.back().second - 10, "middle", ratio);
        }
        svg.curve(limit, kColours[1], true);
        svg.curve(product, kColours[0], false);
    }
    const std::string title = "us a row: " + options.what + ", " + options.path + ", " +
                              std::to_string(options.ranks) + " ranks";
    svg.text(kLeft, 24, "start", title);
    svg.text(kLeft, 44, "start",
             "solid: library, dashed: limit of this machine; numbers: their ratio");
}

}  // namespace

bool write_plot(const std::string& file, const Options& options, const std::vector<Line>& lines)
{
    FILE* out = fopen(file.c_str(), "w");
    if (!out) {
        fprintf(stderr, "ddstore-bench: %s: %s\n", file.c_str(), strerror(errno));
        return false;
    }
    if (Svg svg(out); !lines.empty())
        draw(svg, options, lines);
    const bool whole = !ferror(out);
    return fclose(out) == 0 && whole;
}

}  // namespace bench
