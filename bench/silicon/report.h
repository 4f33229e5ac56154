// Results: rows in named sections, printed as they come, kept as JSON and as aligned tables.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fade::silicon {

using Value = std::variant<std::string, double, uint64_t, bool>;

class Row {
public:
  Row &add(std::string name, Value value) {
    cells_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  Row &text(std::string name, std::string value) { return add(std::move(name), std::move(value)); }
  Row &number(std::string name, double value) { return add(std::move(name), value); }
  Row &count(std::string name, uint64_t value) { return add(std::move(name), value); }
  const std::vector<std::pair<std::string, Value>> &cells() const { return cells_; }

private:
  std::vector<std::pair<std::string, Value>> cells_;
};

// Three digits that matter, without an exponent.
std::string format(const Value &value);

class Report {
public:
  // Where results.json and table.txt go; empty: nowhere.
  explicit Report(std::string directory) : directory_(std::move(directory)) {}

  void set(const std::string &name, Value value); // about the whole run
  // Prints the row at once. The rows of a section have the same cells.
  void add(const std::string &section, Row row);
  // A line of its own about what goes on.
  void say(const std::string &line);
  // Writes the files with what there is so far.
  void save() const;
  std::string tables() const;

private:
  struct Section {
    std::string name;
    std::vector<Row> rows;
  };
  std::string json() const;

  std::string directory_;
  Row about_;
  std::vector<Section> sections_;
  mutable std::mutex mutex_; // several rings may report
};

} // namespace fade::silicon
