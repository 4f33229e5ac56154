// Tables for people: columns as wide as they need to be, with lines of text below a row.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace fade::handlers {

class TextTable {
public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back({std::move(header), ""}); }

  void row(std::vector<std::string> cells) { rows_.push_back({std::move(cells), ""}); }
  /// A line below the last row; nothing if it is empty.
  void below(const std::string &text, const char *mark) {
    if (!text.empty()) rows_.back().below += "      " + (mark + text) + '\n';
  }
  /// Empty if there is nothing but the header.
  std::string text() const {
    if (rows_.size() == 1) return "";
    std::vector<std::size_t> widths(rows_.front().cells.size());
    for (const Row &row : rows_)
      for (std::size_t i = 0; i < row.cells.size(); ++i)
        widths[i] = std::max(widths[i], row.cells[i].size());
    std::string text;
    for (const Row &row : rows_) {
      std::string line = "  ";
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const std::string blanks(widths[i] - row.cells[i].size(), ' ');
        // Words to the left, numbers to the right.
        line += i < kWords ? row.cells[i] + blanks : blanks + row.cells[i];
        line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n' + row.below;
    }
    return text;
  }

private:
  static constexpr std::size_t kWords = 2;
  struct Row {
    std::vector<std::string> cells;
    std::string below;
  };
  std::vector<Row> rows_;
};

inline std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}
inline std::string percent(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f%%", value);
  return text;
}

} // namespace fade::handlers
