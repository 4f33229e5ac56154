// SQLite, as far as FADE uses it.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace fade::host_trace {

class Database;

/// What is not UTF-8, and zero bytes, replaced: Python, in which tools that read these files are
/// written, stops at such text.
std::string validUtf8(std::string_view text);

/// A statement that is run again and again with other values. What goes wrong is kept by the
/// database.
class Statement {
public:
  Statement() = default;
  Statement(Database &database, std::string_view text);
  ~Statement();
  Statement(Statement &&other) noexcept { *this = std::move(other); }
  Statement &operator=(Statement &&other) noexcept;

  /// Runs it with these values, for its effect.
  template <typename... T> void run(const T &...values) {
    bindAll(values...);
    (void)step();
    reset();
  }
  template <typename... T> void bindAll(const T &...values) {
    int place = 0;
    (bind(++place, values), ...);
  }
  /// Whether there is another row.
  bool step();
  void reset();
  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

private:
  friend class BulkInsert;
  void bind(int place, int64_t value);
  void bind(int place, uint64_t value) { bind(place, static_cast<int64_t>(value)); }
  void bind(int place, uint32_t value) { bind(place, static_cast<int64_t>(value)); }
  void bind(int place, int value) { bind(place, static_cast<int64_t>(value)); }
  void bind(int place, std::string_view value); ///< must stay until the statement is run
  void bind(int place, const std::string &value) { bind(place, std::string_view(value)); }
  void bind(int place, const char *value) { bind(place, std::string_view(value)); }

  Database *database_ = nullptr;
  sqlite3_stmt *statement_ = nullptr;
};

/// An INSERT of many rows: they are kept and given to SQLite a few dozen at a time, because
/// starting a statement costs more than a row of it does.
class BulkInsert {
public:
  BulkInsert() = default;
  /// `text`: INSERT INTO table VALUES (row), which says of one row what all have.
  BulkInsert(Database &database, std::string_view text);
  BulkInsert(BulkInsert &&) noexcept = default;
  BulkInsert &operator=(BulkInsert &&) noexcept = default;

  /// Texts need not stay.
  template <typename... T> void run(const T &...values) {
    (keep(values), ...);
    if (++rows_ == kRows) runAll();
  }
  /// What is kept becomes rows. Before anybody asks for them, or they are committed.
  void flush();

private:
  static constexpr std::size_t kRows = 32;
  struct Value {
    int64_t number = 0; ///< of a text its place in `texts_`
    int64_t size = -1;  ///< of a text
  };

  void keep(int64_t value) { values_.push_back({value}); }
  void keep(uint64_t value) { keep(static_cast<int64_t>(value)); }
  void keep(uint32_t value) { keep(static_cast<int64_t>(value)); }
  void keep(int value) { keep(static_cast<int64_t>(value)); }
  void keep(std::string_view value) {
    values_.push_back({static_cast<int64_t>(texts_.size()), static_cast<int64_t>(value.size())});
    texts_ += value;
  }
  void keep(const std::string &value) { keep(std::string_view(value)); }
  void keep(const char *value) { keep(std::string_view(value)); }
  void runAll();
  void give(Statement &statement, std::size_t first, std::size_t count);

  Statement one_, many_;
  std::vector<Value> values_;
  std::string texts_;
  std::size_t rows_ = 0;
};

class Database {
public:
  enum class Access { read, write };
  /// Makes the file if it is to be written and does not exist.
  static Result<std::unique_ptr<Database>> open(const std::string &path, Access access);
  ~Database();
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;

  /// One or more statements without values.
  void execute(const std::string &text);
  /// The first value of the first row; nothing found: 0 or "".
  int64_t integer(const std::string &query);
  std::string text(const std::string &query);
  /// A table, and no view that is called so.
  bool hasTable(const std::string &name);

  /// The first thing that went wrong since it was opened.
  Status status() const;
  bool hasFailed() const { return !error_.empty(); }

private:
  friend class Statement;
  static Result<std::unique_ptr<Database>> openWith(const std::string &path, int flags);
  Database(std::string path, sqlite3 *handle) : path_(std::move(path)), handle_(handle) {}
  void fail();

  const std::string path_;
  sqlite3 *handle_;
  std::string error_;
};

} // namespace fade::host_trace
