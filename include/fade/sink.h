// Where a handler's results go: text for people, JSON lines or CSV, as the user asked for.
#pragma once

#include "csv_writer.h"
#include "handler_abi.h"
#include "json_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

// A copy is as good as the original.
class Sink {
public:
  explicit Sink(const fade_host &host) : host_(&host) {}

  bool isText() const { return host_->format == FADE_FORMAT_TEXT; }
  bool isJson() const { return host_->format == FADE_FORMAT_JSON; }
  bool isCsv() const { return host_->format == FADE_FORMAT_CSV; }

  bool hasColor() const { return hasFlag(FADE_HOST_COLOR); }
  bool sharesSites() const { return hasFlag(FADE_HOST_SHARES_SITES); }
  // Characters in a line of text: between 60 and 100.
  uint32_t columns() const {
    const uint32_t wanted = has(&host_->columns) ? host_->columns : 0;
    return wanted == 0 ? 100 : std::clamp(wanted, 60u, 100u);
  }

  // Whole lines, each with its '\n'. They are not torn apart by other writers.
  void write(std::string_view lines) const {
    host_->write(host_->context, lines.data(), lines.size());
  }
  // A line for people. Where the output is for programs it becomes an object or row of type "text",
  // which the report shows.
  void line(std::string_view text) const {
    if (isJson()) {
      JsonWriter json;
      json.object([&] {
        json.field("type", "text");
        json.field("version", FADE_REPORT_VERSION);
        json.field("text", text);
      });
      return write(json.take());
    }
    if (isCsv()) {
      CsvWriter csv;
      csv.row("text", FADE_REPORT_VERSION, text);
      return write(csv.take());
    }
    write(std::string(text) + '\n');
  }
  // A table, whatever the format: text in columns, a JSON line of type "table", or rows of CSV. The
  // report shows it. Cells that a row does not have are empty; columns of numbers stand to the
  // right.
  void table(std::string_view title, std::span<const std::string> columns,
             std::span<const std::vector<std::string>> rows) const;

  bool writeFile(const std::string &path, std::string_view contents) const {
    return host_->write_file(host_->context, path.c_str(), contents.data(), contents.size()) != 0;
  }
  void warn(const std::string &text) const { host_->warn(host_->context, text.c_str()); }

private:
  using Rows = std::span<const std::vector<std::string>>;

  bool hasFlag(fade_u32 flag) const { return has(&host_->flags) && (host_->flags & flag) != 0; }
  // A FADE that is older than this header has a shorter struct.
  template <typename T> bool has(const T *field) const {
    const auto *end = reinterpret_cast<const char *>(field + 1);
    return end - reinterpret_cast<const char *>(host_) <= std::ptrdiff_t{host_->size};
  }
  static std::string_view cell(const std::vector<std::string> &row, std::size_t i) {
    return i < row.size() ? std::string_view(row[i]) : std::string_view();
  }
  static std::string tableText(std::string_view title, std::span<const std::string> columns,
                               Rows rows);

  const fade_host *host_;
};

inline void Sink::table(std::string_view title, std::span<const std::string> columns,
                        Rows rows) const {
  if (isText()) return write(tableText(title, columns, rows));
  if (isJson()) {
    JsonWriter json;
    json.object([&] {
      json.field("type", "table");
      json.field("version", FADE_REPORT_VERSION);
      json.field("title", title);
      json.list("columns", [&] {
        for (const std::string &column : columns) json.value(column);
      });
      json.list("rows", [&] {
        for (const auto &row : rows)
          json.list([&] {
            for (std::size_t i = 0; i < columns.size(); ++i) json.value(cell(row, i));
          });
      });
    });
    return write(json.take());
  }
  CsvWriter csv;
  std::vector<std::string> fields{"type", "version", "title"};
  fields.insert(fields.end(), columns.begin(), columns.end());
  csv.list(fields);
  for (const auto &row : rows) {
    fields = {"table", std::to_string(FADE_REPORT_VERSION), std::string(title)};
    for (std::size_t i = 0; i < columns.size(); ++i) fields.emplace_back(cell(row, i));
    csv.list(fields);
  }
  write(csv.take());
}

inline std::string Sink::tableText(std::string_view title, std::span<const std::string> columns,
                                   Rows rows) {
  std::vector<std::size_t> widths;
  std::vector<bool> is_number;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(columns[i].size());
    is_number.push_back(true);
    for (const auto &row : rows) {
      widths[i] = std::max(widths[i], cell(row, i).size());
      if (cell(row, i).find_first_not_of("0123456789.,+-% ") != std::string_view::npos)
        is_number[i] = false;
    }
  }
  std::string text = std::string(title) + '\n';
  const auto line = [&](auto &&of) {
    std::string made;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string value(of(i)), gap(widths[i] - value.size(), ' ');
      made += "  " + (is_number[i] ? gap + value : value + gap);
    }
    made.erase(made.find_last_not_of(' ') + 1);
    text += made + '\n';
  };
  line([&](std::size_t i) { return std::string_view(columns[i]); });
  for (const auto &row : rows) line([&](std::size_t i) { return cell(row, i); });
  return text;
}

} // namespace fade
