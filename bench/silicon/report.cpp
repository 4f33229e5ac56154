#include "report.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

namespace fade::silicon {

std::string format(const Value &value) {
  if (const auto *text = std::get_if<std::string>(&value)) return *text;
  if (const auto *n = std::get_if<uint64_t>(&value)) return std::to_string(*n);
  if (const auto *b = std::get_if<bool>(&value)) return *b ? "yes" : "no";
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

void Report::set(const std::string &name, Value value) {
  const std::lock_guard lock(mutex_);
  about_.add(name, std::move(value));
}

void Report::say(const std::string &line) {
  const std::lock_guard lock(mutex_);
  std::cout << line << std::endl;
}

void Report::add(const std::string &section, Row row) {
  std::string line = section + ":";
  for (const auto &[name, value] : row.cells()) line += " " + name + " " + format(value);
  {
    const std::lock_guard lock(mutex_);
    auto at = std::find_if(sections_.begin(), sections_.end(),
                           [&](const Section &s) { return s.name == section; });
    if (at == sections_.end()) at = sections_.insert(at, {section, {}});
    at->rows.push_back(std::move(row));
    std::cout << line << std::endl;
  }
  save();
}

std::string Report::tables() const {
  std::string text;
  for (const auto &[name, value] : about_.cells()) text += name + ": " + format(value) + "\n";
  for (const Section &section : sections_) {
    text += "\n" + section.name + "\n";
    std::vector<std::vector<std::string>> lines(1);
    std::vector<bool> is_text;
    for (const auto &[name, value] : section.rows.front().cells()) {
      lines.front().push_back(name);
      is_text.push_back(std::holds_alternative<std::string>(value));
    }
    for (const Row &row : section.rows) {
      auto &line = lines.emplace_back();
      for (const auto &[name, value] : row.cells()) line.push_back(format(value));
    }
    std::vector<std::size_t> widths(is_text.size());
    for (const auto &line : lines)
      for (std::size_t i = 0; i < std::min(line.size(), widths.size()); ++i)
        widths[i] = std::max(widths[i], line[i].size());
    for (const auto &line : lines) {
      std::string out;
      for (std::size_t i = 0; i < std::min(line.size(), widths.size()); ++i) {
        const std::string gap(widths[i] - line[i].size(), ' ');
        out += (i ? "  " : "") + (is_text[i] ? line[i] + gap : gap + line[i]);
      }
      out.erase(out.find_last_not_of(' ') + 1);
      text += out + "\n";
    }
  }
  return text;
}

std::string Report::json() const {
  JsonWriter json;
  const auto put = [&](const Row &row) {
    for (const auto &[name, value] : row.cells())
      std::visit([&, key = std::string_view(name)](const auto &v) { json.field(key, v); }, value);
  };
  json.object([&] {
    put(about_);
    for (const Section &section : sections_)
      json.list(section.name, [&] {
        for (const Row &row : section.rows) json.object([&] { put(row); });
      });
  });
  return json.take();
}

void Report::save() const {
  if (directory_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::ofstream(directory_ + "/results.json") << json();
  std::ofstream(directory_ + "/table.txt") << tables();
}

} // namespace fade::silicon
