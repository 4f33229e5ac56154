#include "host_trace/database.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <filesystem>
#include <sqlite3.h>
#include <utility>

namespace fade::host_trace {
namespace {

constexpr int kPatience = 60'000; // ms, for another process that writes to the same file

} // namespace

std::string validUtf8(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = text[i] == '\0' ? 0 : utf8Length(text.substr(i));
    out += length == 0 ? "\xef\xbf\xbd" : text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

Statement::Statement(Database &database, std::string_view text) : database_(&database) {
  if (sqlite3_prepare_v2(database.handle_, text.data(), static_cast<int>(text.size()), &statement_,
                         nullptr) != SQLITE_OK)
    database.fail();
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement &Statement::operator=(Statement &&other) noexcept {
  std::swap(database_, other.database_);
  std::swap(statement_, other.statement_);
  return *this;
}

bool Statement::step() {
  if (!statement_) return false;
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_->fail();
  return code == SQLITE_ROW;
}

void Statement::reset() {
  if (statement_) (void)sqlite3_reset(statement_);
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::text(int column) const {
  const auto *bytes = reinterpret_cast<const char *>(sqlite3_column_text(statement_, column));
  if (!bytes) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Statement::bind(int place, int64_t value) {
  if (statement_ && sqlite3_bind_int64(statement_, place, value) != SQLITE_OK) database_->fail();
}

void Statement::bind(int place, std::string_view value) {
  // An empty text is no null.
  if (statement_ && sqlite3_bind_text(statement_, place, value.empty() ? "" : value.data(),
                                      static_cast<int>(value.size()), SQLITE_STATIC) != SQLITE_OK)
    database_->fail();
}

BulkInsert::BulkInsert(Database &database, std::string_view text) : one_(database, text) {
  constexpr std::string_view key = "VALUES ";
  const std::string_view row = text.substr(text.find(key) + key.size());
  std::string all(text);
  for (std::size_t i = 1; i < kRows; ++i) all.append(", ").append(row);
  many_ = Statement(database, all);
}

void BulkInsert::give(Statement &statement, std::size_t first, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Value &value = values_[first + i];
    const int place = static_cast<int>(i) + 1;
    if (value.size < 0)
      statement.bind(place, value.number);
    else
      statement.bind(place, std::string_view(texts_).substr(static_cast<std::size_t>(value.number),
                                                            static_cast<std::size_t>(value.size)));
  }
  (void)statement.step();
  statement.reset();
}

void BulkInsert::runAll() {
  give(many_, 0, values_.size());
  values_.clear();
  texts_.clear();
  rows_ = 0;
}

void BulkInsert::flush() {
  const std::size_t columns = rows_ == 0 ? 0 : values_.size() / rows_;
  for (std::size_t i = 0; i < rows_; ++i) give(one_, i * columns, columns);
  values_.clear();
  texts_.clear();
  rows_ = 0;
}

Result<std::unique_ptr<Database>> Database::open(const std::string &path, Access access) {
  auto opened = openWith(path, access == Access::read ? SQLITE_OPEN_READONLY
                                                      : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  // One who wrote to it was killed: what was half done has to be taken back before it is read.
  if (!opened && access == Access::read && std::filesystem::exists(path + "-journal"))
    return openWith(path, SQLITE_OPEN_READWRITE);
  return opened;
}

Result<std::unique_ptr<Database>> Database::openWith(const std::string &path, int flags) {
  // Nobody asks how much memory SQLite has, and nobody shares a database with another thread.
  static const int once = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)once;
  sqlite3 *handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK) return Error{path, "", 0, handle ? sqlite3_errmsg(handle) : "no memory"};
  sqlite3_busy_timeout(handle, kPatience);
  database->execute("PRAGMA trusted_schema = OFF"); // the file may be anyone's
  database->execute("PRAGMA schema_version"); // reads the file: whether it is a database at all
  if (Status status = database->status(); !status) return std::move(status).error();
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

void Database::execute(const std::string &text) {
  if (sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

int64_t Database::integer(const std::string &query) {
  Statement statement(*this, query);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const std::string &query) {
  Statement statement(*this, query);
  return statement.step() ? statement.text(0) : "";
}

bool Database::hasTable(const std::string &name) {
  Statement find(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql NOT "
                        "LIKE 'CREATE VIRTUAL%'");
  find.bindAll(name);
  return find.step();
}

Status Database::status() const {
  if (error_.empty()) return Done{};
  return Error{path_, "", 0, error_};
}

void Database::fail() {
  if (error_.empty()) error_ = sqlite3_errmsg(handle_);
}

} // namespace fade::host_trace
