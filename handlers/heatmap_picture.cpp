#include "heatmap_picture.h"

#include "heatmap_totals.h"

#include <cmath>
#include <cstdarg>
#include <set>

namespace fade::handlers {
namespace {

// All in the units of the picture.
constexpr double kWidth = 1120, kLeft = 220, kRight = 24, kPlot = kWidth - kLeft - kRight;
constexpr double kStripTop = 92, kStripHeight = 20, kBandsTop = 122, kGap = 8;
constexpr double kMostHeight = 900, kLabelHeight = 16, kTallRow = 7, kLeastRow = 1;
constexpr std::size_t kMostBands = 24, kMostMarks = 4096, kMostLines = 60;
constexpr int kLevels = 6;

constexpr const char *kStyle = R"(<style>
svg{background:#fff;color:#1a1f26;font-family:system-ui,"Segoe UI",Helvetica,Arial,sans-serif}
text{fill:currentColor;font-size:12px}.title{font-size:17px;font-weight:600}
.soft{fill:#5c6773;font-size:11px}.end{text-anchor:end}.mid{text-anchor:middle}
.band{fill:#f1f3f5}.k0{fill:#c9d3dd}.k1{fill:#dde3e9}.rule{stroke:#9aa5b1;stroke-width:.5}
.edge{stroke:#5c6773;stroke-width:.5;stroke-dasharray:2 3}
.r{fill:#1769c2}.w{fill:#d9730d}.a{fill:#c2185b}
.l0{fill-opacity:.2}.l1{fill-opacity:.35}.l2{fill-opacity:.5}.l3{fill-opacity:.67}.l4{fill-opacity:.84}
@media(prefers-color-scheme:dark){svg{background:#14181d;color:#e6eaee}.soft{fill:#9aa5b1}
.band{fill:#1e242b}.k0{fill:#3a4653}.k1{fill:#2b343e}.rule,.edge{stroke:#6b7682}
.r{fill:#4aa3ff}.w{fill:#ff9d3c}.a{fill:#ff5c95}}
</style>
)";

[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...) {
  std::array<char, 512> text;
  va_list arguments;
  va_start(arguments, pattern);
  const int length = std::vsnprintf(text.data(), text.size(), pattern, arguments);
  va_end(arguments);
  return {text.data(), std::min(static_cast<std::size_t>(std::max(length, 0)), text.size() - 1)};
}

std::string xml(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const std::size_t length = utf8Length(text.substr(i));
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (length == 0 || static_cast<unsigned char>(c) < 0x20)
      result += '?';
    else
      result += text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string grouped(uint64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}
std::string humanTime(double ns) {
  if (ns < 1e3) return format("%.3g ns", ns);
  if (ns < 1e6) return format("%.3g \xc2\xb5s", ns / 1e3);
  if (ns < 1e9) return format("%.3g ms", ns / 1e6);
  return format("%.4g s", ns / 1e9);
}
std::string text(double x, double y, const char *kind, const std::string &what) {
  return format("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, kind) + xml(what) + "</text>\n";
}

/// The kernel's name without its parameters, as far as it fits; nothing if that would say nothing.
std::string labelOf(const std::string &kernel, const std::string &times, double width) {
  constexpr double kLetter = 7.2;
  constexpr std::size_t kFewest = 5;
  const auto room = static_cast<std::size_t>(width / kLetter);
  std::string name = kernel.substr(0, kernel.find('('));
  if (name.size() + times.size() <= room) return name + times;
  if (name.size() <= room) return name;
  return room < kFewest ? "" : name.substr(0, room - 1) + "\xe2\x80\xa6";
}

/// How strong a color is, by the logarithm of the count.
int levelOf(uint64_t count, uint64_t most) {
  if (most <= 1) return kLevels - 1;
  const double share = std::log2(static_cast<double>(count)) / std::log2(static_cast<double>(most));
  return std::clamp(static_cast<int>(share * kLevels), 0, kLevels - 1);
}

} // namespace

/// Puts the dispatch behind those before it, or beside them if it ran at the same time.
void HeatmapPicture::place(const Dispatch &dispatch, uint64_t &from, uint64_t &to) {
  uint64_t duration = std::max<uint64_t>(dispatch->bytes, 1); // if its times are not known
  from = end_;
  if (dispatch.hasTimes()) {
    duration = std::max<uint64_t>(dispatch->end_ns - dispatch->start_ns, 1);
    if (clock_end_ > dispatch->start_ns)
      from = end_ - std::min(end_, clock_end_ - dispatch->start_ns);
    clock_end_ = std::max(clock_end_, dispatch->end_ns);
  }
  to = from + duration;
  end_ = std::max(end_, to);
}

void HeatmapPicture::add(const Dispatch &dispatch, const TimeMap &map,
                         const AllocationFinder &allocations) {
  uint64_t from = 0, to = 0;
  place(dispatch, from, to);
  ++dispatches_;
  const std::string &kernel = dispatch.kernel().name();
  if (!marks_.empty() && marks_.back().kernel == kernel && marks_.back().to <= from) {
    marks_.back().to = to;
    ++marks_.back().dispatches;
  } else if (marks_.size() < kMostMarks) {
    marks_.push_back({kernel, dispatch->id, 1, from, to});
  }
  const auto bytes = static_cast<double>(std::max<uint64_t>(dispatch->bytes, 1));
  const auto timeOf = [&](uint64_t position) {
    const double share = std::min(1.0, static_cast<double>(position) / bytes);
    return from + static_cast<uint64_t>(share * static_cast<double>(to - from));
  };
  map.forEach([&](uint32_t index, uint64_t row, uint64_t step, const Counts &counts) {
    uint32_t number = 0;
    if (index != 0) {
      const Allocation allocation = allocations.allocation(index);
      number = allocation.number;
      allocations_.try_emplace(number, allocation);
    }
    // A long step of a dispatch is spread over those of the picture.
    const uint64_t start = timeOf(step * map.stepSize());
    const uint64_t end = std::max(timeOf((step + 1) * map.stepSize()), start + 1);
    const uint64_t pieces =
        std::clamp<uint64_t>((end - start) / map_.stepSize(), 1, TimeMap::kMostSteps);
    for (uint64_t i = 0; i < pieces; ++i) {
      Counts part;
      for (std::size_t kind = 0; kind < part.size(); ++kind)
        part[kind] = counts[kind] * (i + 1) / pieces - counts[kind] * i / pieces;
      map_.add(number, row, start + (end - start) * i / pieces, part);
    }
  });
}

std::vector<HeatmapPicture::Band> HeatmapPicture::bands() const {
  std::map<uint32_t, std::map<uint64_t, Row>> rows; // by allocation and number of row
  std::map<uint32_t, uint64_t> totals;
  map_.forEach([&](uint32_t number, uint64_t row, uint64_t step, const Counts &counts) {
    addTo(rows[number][row].steps[step], counts);
    totals[number] += sumOf(counts);
  });
  std::vector<Band> bands;
  for (auto &[number, own] : rows) {
    Band band;
    const bool known = number != 0;
    if (known) band.allocation = allocations_.at(number);
    band.total = totals[number];
    const uint64_t bytes =
        known ? TimeMap::rowSize(band.allocation.size, page_) : elsewhereRow(page_);
    if (known) {
      // From the first to the last that was touched; the gaps between them say something.
      const uint64_t first = own.begin()->first, last = own.rbegin()->first;
      for (uint64_t i = first; i <= last; ++i)
        band.rows.push_back({band.allocation.address + i * bytes, bytes, std::move(own[i].steps)});
    } else {
      for (auto &[row, cells] : own) {
        if (band.rows.size() < TimeMap::kRows)
          band.rows.push_back({row * bytes, bytes, std::move(cells.steps)});
        else
          for (const auto &[step, counts] : cells.steps)
            addTo(band.rows.back().steps[step], counts);
      }
    }
    bands.push_back(std::move(band));
  }
  // The most used ones, in order of address; what belongs to no allocation comes last.
  if (bands.size() > kMostBands) {
    std::ranges::sort(bands, std::greater<>(), [](const Band &band) {
      return std::pair(band.total, band.allocation.number);
    });
    bands.resize(kMostBands);
  }
  std::ranges::sort(bands, {}, [](const Band &band) {
    return band.allocation.number == 0 ? ~uint64_t{0} : band.allocation.address;
  });
  return bands;
}

double HeatmapPicture::xOf(double time) const {
  return kLeft + kPlot * time / static_cast<double>(std::max<uint64_t>(end_, 1));
}

std::string HeatmapPicture::cells(const std::vector<Band> &bands, const std::vector<double> &tops,
                                  double row_height, uint64_t most) const {
  // One path for each color keeps the file small.
  std::map<std::pair<int, int>, std::string> paths;
  const auto step = static_cast<double>(map_.stepSize());
  for (std::size_t b = 0; b < bands.size(); ++b) {
    const Band &band = bands[b];
    const double height =
        std::max(row_height, kLabelHeight / static_cast<double>(band.rows.size()));
    for (std::size_t r = 0; r < band.rows.size(); ++r)
      for (const auto &[at, counts] : band.rows[r].steps) {
        const auto strongest = std::max_element(counts.begin(), counts.end()) - counts.begin();
        const double x = xOf(static_cast<double>(at) * step);
        const double width = std::max(xOf(static_cast<double>(at + 1) * step) - x, 1.0);
        const double right = std::min(x + width, kLeft + kPlot);
        paths[{static_cast<int>(strongest), levelOf(sumOf(counts), most)}] +=
            format("M%.1f %.1fh%.1fv%.1fh%.1fz", x, tops[b] + static_cast<double>(r) * height,
                   right - x, height, x - right);
      }
  }
  std::string out = "<g shape-rendering=\"crispEdges\">\n";
  for (const auto &[color, path] : paths)
    out +=
        format("<path class=\"%c l%d\" d=\"", "rwa"[color.first], color.second) + path + "\"/>\n";
  return out + "</g>\n";
}

std::string HeatmapPicture::strip(double bottom) const {
  std::string out, edges;
  std::map<std::string, int> shades;
  for (const Mark &mark : marks_) {
    const double x = xOf(static_cast<double>(mark.from));
    const double width = std::max(xOf(static_cast<double>(mark.to)) - x, 0.5);
    const int shade = static_cast<int>(&mark - marks_.data()) % 2;
    const std::string times =
        mark.dispatches > 1 ? " \xc3\x97" + std::to_string(mark.dispatches) : "";
    out +=
        format("<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" class=\"k%d\"><title>",
               x, kStripTop, width, kStripHeight, shade) +
        xml(mark.kernel + times) + ", from dispatch " + std::to_string(mark.first_id) +
        "</title></rect>\n";
    out += text(x + width / 2, kStripTop + 14, "mid", labelOf(mark.kernel, times, width));
    if (marks_.size() <= kMostLines && &mark != marks_.data())
      edges += format("<path class=\"edge\" d=\"M%.1f %.0fV%.1f\"/>\n", x, kStripTop, bottom);
  }
  return out + edges;
}

std::string HeatmapPicture::labels(const std::vector<Band> &bands, const std::vector<double> &tops,
                                   double row_height) const {
  std::string out;
  for (std::size_t b = 0; b < bands.size(); ++b) {
    const Band &band = bands[b];
    const Allocation &own = band.allocation;
    const auto count = static_cast<double>(band.rows.size());
    const double height = count * std::max(row_height, kLabelHeight / count);
    const std::string where = own.number == 0
                                  ? "memory that is no allocation of the application"
                                  : hex(own.address) + " to " + hex(own.address + own.size);
    out +=
        format("<rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.1f\" class=\"band\"><title>",
               kLeft, tops[b], kPlot, height) +
        xml(own.name() + ": " + where + ", " + grouped(band.total) + " accesses") +
        "</title></rect>\n";
    const bool two_lines = height >= 30;
    out += text(kLeft - 10, tops[b] + (two_lines ? 12 : height / 2 + 4), "end", own.name());
    if (two_lines && own.number != 0)
      out += text(kLeft - 10, tops[b] + 26, "soft end", hex(own.address));
    if (height >= 44)
      out += text(kLeft - 10, tops[b] + 40, "soft end", grouped(band.total) + " accesses");
    if (height >= 58 && own.number != 0) {
      const uint64_t from = band.rows.front().address - own.address;
      const uint64_t to =
          std::min(band.rows.back().address + band.rows.back().bytes - own.address, own.size);
      out += text(kLeft - 10, tops[b] + 54, "soft end",
                  "+" + humanSize(from) + " to +" + humanSize(to));
    }
  }
  return out;
}

std::string HeatmapPicture::axis(double y) const {
  const auto end = static_cast<double>(std::max<uint64_t>(end_, 1));
  double step = std::pow(10, std::floor(std::log10(end)));
  while (end / step < 5) step /= end / step < 2.5 ? 5 : 2;
  std::string out = format("<path class=\"rule\" d=\"M%.0f %.1fh%.0f\"/>\n", kLeft, y, kPlot);
  for (double at = 0; at <= end * 1.0001; at += step) {
    out += format("<path class=\"rule\" d=\"M%.1f %.1fv5\"/>\n", xOf(at), y);
    out += text(xOf(at), y + 18, "soft mid", at == 0 ? "0" : humanTime(at));
  }
  return out + text(kLeft + kPlot / 2, y + 36, "soft mid",
                    "time while kernels ran (the gaps between them are left out)");
}

std::string HeatmapPicture::legend(uint64_t most) const {
  std::string out;
  double x = kLeft;
  constexpr std::array<std::pair<char, const char *>, 3> kinds = {
      {{'r', "reads"}, {'w', "writes"}, {'a', "atomics"}}};
  for (const auto &[mark, what] : kinds) {
    for (int level = 0; level < kLevels; ++level)
      out += format("<rect x=\"%.0f\" y=\"66\" width=\"13\" height=\"13\" class=\"%c l%d\"/>\n",
                    x + 13 * level, mark, level);
    out += text(x + 13 * kLevels + 7, 77, "", what);
    x += 160;
  }
  return out +
         text(x, 77, "soft",
              "1 to " + grouped(most) + " in a cell, logarithmic; color of the most frequent kind");
}

std::string HeatmapPicture::svg() const {
  const std::vector<Band> all = bands();
  std::size_t rows = 0;
  uint64_t most = 1, total = 0;
  for (const Band &band : all) {
    rows += band.rows.size();
    total += band.total;
    for (const Row &row : band.rows)
      for (const auto &[step, counts] : row.steps) most = std::max(most, sumOf(counts));
  }
  const double row_height = std::clamp(
      kMostHeight / static_cast<double>(std::max<std::size_t>(rows, 1)), kLeastRow, kTallRow);
  std::vector<double> tops;
  double y = kBandsTop;
  for (const Band &band : all) {
    tops.push_back(y);
    const auto count = static_cast<double>(band.rows.size());
    y += count * std::max(row_height, kLabelHeight / count) + kGap;
  }
  const std::size_t touched = allocations_.size() + (all.size() > allocations_.size() ? 1 : 0);
  std::string note = plural(dispatches_, "dispatch");
  if (dispatches_ != 1) note = std::to_string(dispatches_) + " dispatches";
  note += ", " + grouped(total) + " accesses to " + plural(allocations_.size(), "allocation");
  if (touched > all.size()) note += ", the " + std::to_string(all.size()) + " most used are shown";
  const double height = y + 52;
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
             "height=\"%.0f\" role=\"img\">\n",
             kWidth, height, kWidth, height) +
         kStyle + "<title>Memory accesses by address and time</title>\n" +
         text(kLeft, 28, "title", "Memory accesses by address and time") +
         text(kLeft, 48, "soft", note) + legend(most) + labels(all, tops, row_height) +
         cells(all, tops, row_height, most) + strip(y - kGap) +
         text(kLeft - 10, kStripTop + 14, "end", "kernel") + axis(y) + "</svg>\n";
}

} // namespace fade::handlers
