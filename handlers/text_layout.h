// Text for people: names and sizes that fit, paragraphs, tables with lines of text below a row, and
// color where the terminal shows it.
#pragma once

#include <fade/handler.h>
#include <fade/kernel_name.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fade::handlers {

enum class Tone { plain, bold, dim, good, fair, bad };

/// Puts color around text, or nothing.
class Paint {
public:
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(Tone tone, const std::string &text) const {
    if (!on_ || tone == Tone::plain || text.empty()) return text;
    return std::string("\x1b[") + code(tone) + "m" + text + "\x1b[0m";
  }

private:
  static const char *code(Tone tone) {
    switch (tone) {
    case Tone::bold: return "1";
    case Tone::dim: return "2";
    case Tone::good: return "32";
    case Tone::fair: return "33";
    default: return "31";
    }
  }
  bool on_;
};

inline std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}
inline std::string percent(double value) {
  char text[32];
  // 99.9 is not 100, and something is not nothing.
  const bool is_near_end = (value > 99 && value < 100) || (value > 0 && value < 1);
  std::snprintf(text, sizeof text, is_near_end ? "%.1f%%" : "%.0f%%",
                value > 99.9 && value < 100 ? 99.9 : value);
  return text;
}
inline Tone toneOfPercent(double value) {
  return value >= 80 ? Tone::good : value >= 50 ? Tone::fair : Tone::bad;
}
/// "4 KiB", "1.5 MiB".
inline std::string humanSize(uint64_t bytes) {
  constexpr const char *units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<uint64_t>(value));
  return (whole ? std::to_string(static_cast<uint64_t>(value)) : decimal(value)) + units[unit];
}
/// "123456", "12.3M": exact up to seven digits.
inline std::string humanCount(uint64_t count) {
  if (count < 10'000'000) return std::to_string(count);
  constexpr const char *units[] = {"M", "G", "T", "P"};
  std::size_t unit = 0;
  auto value = static_cast<double>(count) / 1e6;
  for (; value >= 1000 && unit < 3; ++unit) value /= 1000;
  return decimal(value) + units[unit];
}
inline std::string plural(uint64_t n, const char *word) {
  return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

/// Nothing that a terminal would obey or that breaks a line.
inline std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return result;
}

/// A kernel's name in so many characters.
inline std::string shortName(std::string_view full, std::size_t width) {
  return fade::shortKernelName(full, width);
}

/// "kernel+0x44 ds_read_b32 v3…" in so many characters: a long name gives way to the instruction.
inline std::string fitted(std::string text, std::size_t width) {
  const auto plus = text.rfind("+0x");
  constexpr std::size_t rest = 20;
  if (text.size() > width && plus != std::string::npos && plus + rest > width && plus > 8)
    text = text.substr(0, 5) + "..." + text.substr(plus);
  if (text.size() > width && width > 3) text = text.substr(0, width - 3) + "...";
  return text;
}

/// "kernel.hip:12:5" in so many characters; `code`: what stands there if there is no line.
inline std::string placeText(std::string_view file, uint32_t line, uint32_t column,
                             std::size_t width, std::string_view code = {}) {
  if (file.empty() && line == 0 && !code.empty()) return fitted(printable(code), width);
  if (file.empty() && line == 0) return "(no source line)";
  std::string where = line == 0 ? "" : ":" + std::to_string(line);
  if (column != 0) where += ":" + std::to_string(column);
  const auto slash = file.rfind('/');
  std::string name = printable(file.substr(slash == std::string_view::npos ? 0 : slash + 1));
  const std::size_t room = width - std::min(width, where.size());
  if (name.size() > room && room > 3) name = "..." + name.substr(name.size() - (room - 3));
  return name + where;
}

/// Words in lines of at most `width` characters; `first` stands before the first line, `rest`
/// before the others.
inline std::string paragraph(std::string_view text, std::size_t width, const std::string &first,
                             const std::string &rest) {
  std::string result, line = first;
  bool is_empty = true;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_empty && line.size() + 1 + word.size() > width) {
      result += line + '\n';
      line = rest;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return result + line + '\n';
}

/// Columns as wide as they need to be, two blanks between them, or one if room is short.
class TextTable {
public:
  struct Cell {
    std::string text;
    Tone tone = Tone::plain;
    Cell(std::string what, Tone how = Tone::plain) : text(std::move(what)), tone(how) {}
    Cell(const char *what) : text(what) {}
    Cell(uint64_t value) : text(humanCount(value)) {}
  };

  /// The first `words` columns are words and stand to the left, the others are numbers.
  TextTable(std::vector<Cell> header, std::size_t words) : words_(words) {
    rows_.push_back({std::move(header), ""});
  }
  void row(std::vector<Cell> cells) { rows_.push_back({std::move(cells), ""}); }
  /// Whole lines below the last row.
  void below(const std::string &lines) { rows_.back().below += lines; }

  /// Empty if there is nothing but the header. The first column gives way, at its front, if the
  /// table would be wider than so many columns.
  std::string text(const Paint &paint, std::size_t columns = 100) const {
    if (rows_.size() == 1) return "";
    std::vector<std::size_t> widths(rows_.front().cells.size());
    for (const Row &row : rows_)
      for (std::size_t i = 0; i < row.cells.size(); ++i)
        widths[i] = std::max(widths[i], row.cells[i].text.size());
    std::size_t total = 2 * widths.size();
    for (const std::size_t width : widths) total += width;
    const bool is_tight = total > columns;
    if (is_tight) total -= widths.size() - 1;
    if (total > columns && widths[0] > kNarrowest)
      widths[0] = std::max(widths[0] - std::min(widths[0], total - columns), kNarrowest);
    std::string text;
    for (const Row &row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const Tone tone = &row == &rows_.front() ? Tone::bold : row.cells[i].tone;
        const std::string cell = cut(row.cells[i].text, widths[i]);
        const std::string blanks(widths[i] - cell.size(), ' ');
        line += i != 0 && is_tight ? " " : "  ";
        line += i < words_ ? paint(tone, cell) + blanks : blanks + paint(tone, cell);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n' + row.below;
    }
    return text;
  }

private:
  static constexpr std::size_t kNarrowest = 14;
  static std::string cut(const std::string &text, std::size_t width) {
    return text.size() <= width ? text : ".." + text.substr(text.size() - (width - 2));
  }

  struct Row {
    std::vector<Cell> cells;
    std::string below;
  };
  std::size_t words_;
  std::vector<Row> rows_;
};

} // namespace fade::handlers
