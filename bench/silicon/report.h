// Results: rows in named sections, printed as they come, kept as JSON and as aligned tables.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace fade::silicon {

using Value = std::variant<std::string, double, uint64_t>;

// A cell with the width of its column: lines are printed before the next ones are known.
struct Cell {
  std::string name;
  Value value;
  int width; // negative: aligned to the left
  bool is_share = false;
};

class Row {
public:
  Row &text(std::string name, std::string value, int width = 6) {
    return add({std::move(name), std::move(value), -width});
  }
  Row &number(std::string name, double value, int width = 6) {
    return add({std::move(name), value, width});
  }
  Row &count(std::string name, uint64_t value, int width = 6) {
    return add({std::move(name), value, width});
  }
  // Of the whole, which is 1; printed as a percentage.
  Row &share(std::string name, double value, int width = 6) {
    return add({std::move(name), value, width, true});
  }
  const std::vector<Cell> &cells() const { return cells_; }

private:
  Row &add(Cell cell) {
    cells_.push_back(std::move(cell));
    return *this;
  }
  std::vector<Cell> cells_;
};

// Three digits that matter, without an exponent.
std::string format(const Value &value);

class Report {
public:
  // Where results.json and table.txt go; empty: nowhere.
  explicit Report(std::string directory) : directory_(std::move(directory)) {}

  void set(const std::string &name, Value value); // about the whole run
  // Prints the row at once, and what there is to say about it. The rows of a section have the same
  // cells.
  void add(const std::string &section, Row row, const std::vector<std::string> &remarks = {});
  // Ends the process when nothing is reported for that long: a driver that hangs cannot be helped.
  // Calls `doing` to say what was going on.
  void watch(unsigned seconds, std::function<std::string()> doing);
  // Writes the files with what there is so far.
  void save() const;

private:
  struct Section {
    std::string name;
    std::vector<Row> rows;
  };
  void print(const std::string &text);
  std::string json() const;

  std::string directory_;
  std::vector<std::pair<std::string, Value>> about_;
  std::vector<Section> sections_;
  std::string printed_; // all of it, for table.txt
  std::atomic<uint64_t> lines_{0};
  std::jthread watcher_;
  mutable std::mutex mutex_; // several rings may report
};

} // namespace fade::silicon
