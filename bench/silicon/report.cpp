#include "report.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

namespace fade::silicon {

std::string format(const Value &value) {
  if (const auto *text = std::get_if<std::string>(&value)) return *text;
  if (const auto *n = std::get_if<uint64_t>(&value)) return std::to_string(*n);
  const double v = std::get<double>(value);
  char digits[32];
  const double size = std::fabs(v);
  std::snprintf(digits, sizeof digits, "%.*f",
                size >= 100 || size == 0 ? 0
                : size >= 10             ? 1
                : size >= 1              ? 2
                                         : 3,
                v);
  return digits;
}

namespace {

std::string textOf(const Cell &cell) {
  if (!cell.is_share) return format(cell.value);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.1f %%", 100 * std::get<double>(cell.value));
  return digits;
}

// One line of a table: what `get` makes of each cell.
template <typename F> std::string lineOf(const Row &row, F &&get) {
  std::string line;
  for (const Cell &cell : row.cells()) {
    const std::string text = get(cell);
    const auto width = std::max(static_cast<std::size_t>(std::abs(cell.width)), cell.name.size());
    const std::string gap(width - std::min(width, text.size()), ' ');
    line += (line.empty() ? "" : " ") + (cell.width < 0 ? text + gap : gap + text);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

} // namespace

void Report::print(const std::string &text) {
  std::cout << text << std::flush;
  printed_ += text;
}

void Report::set(const std::string &name, Value value) {
  {
    const std::lock_guard lock(mutex_);
    print(name + ": " + format(value) + "\n");
    about_.emplace_back(name, std::move(value));
  }
  save();
}

void Report::watch(unsigned seconds, std::function<std::string()> doing) {
  watcher_ = std::jthread([this, seconds, doing = std::move(doing)](const std::stop_token &stop) {
    using Steady = std::chrono::steady_clock;
    uint64_t seen = 0;
    auto since = Steady::now();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (const uint64_t now = lines_; now != std::exchange(seen, now)) since = Steady::now();
      if (Steady::now() - since < std::chrono::seconds(seconds)) continue;
      std::fprintf(stderr, "%s: nothing was reported for %u seconds\n", doing().c_str(), seconds);
      std::fflush(nullptr);
      std::_Exit(3);
    }
  });
}

void Report::add(const std::string &section, Row row, const std::vector<std::string> &remarks) {
  ++lines_;
  {
    const std::lock_guard lock(mutex_);
    auto at = std::find_if(sections_.begin(), sections_.end(),
                           [&](const Section &s) { return s.name == section; });
    if (at == sections_.end()) {
      at = sections_.insert(at, {section, {}});
      print("\n" + section + "\n" + lineOf(row, [](const Cell &cell) { return cell.name; }));
    }
    print(lineOf(row, textOf));
    for (const std::string &remark : remarks) print("  " + remark + "\n");
    at->rows.push_back(std::move(row));
  }
  save();
}

std::string Report::json() const {
  JsonWriter json;
  const auto put = [&](std::string_view name, const Value &value) {
    std::visit([&](const auto &v) { json.field(name, v); }, value);
  };
  json.object([&] {
    for (const auto &[name, value] : about_) put(name, value);
    for (const Section &section : sections_)
      json.list(section.name, [&] {
        for (const Row &row : section.rows)
          json.object([&] {
            for (const Cell &cell : row.cells()) put(cell.name, cell.value);
          });
      });
  });
  return json.take();
}

void Report::save() const {
  if (directory_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::ofstream(directory_ + "/results.json") << json();
  std::ofstream(directory_ + "/table.txt") << printed_;
}

} // namespace fade::silicon
