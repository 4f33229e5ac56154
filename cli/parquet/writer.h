// A Parquet file, written row by row with a bounded amount of memory: a flat table of numbers and
// texts that DuckDB, Spark, ClickHouse, Arrow and pandas read.
//
//   "PAR1"
//   row group: per column  [dictionary page] data page     each compressed with zstd
//   row group …
//   footer: schema, places and statistics of all pages, as a Thrift struct; its length; "PAR1"
//
// Numbers are stored as differences, texts as numbers in a dictionary of their row group.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fade::parquet {

/// Rows of a group. DuckDB gives a thread at least that many at a time.
inline constexpr std::size_t kRowsOfGroup = 122'880;

enum class ColumnType : uint8_t { int32, int64, text };

struct ColumnInfo {
  std::string name;
  ColumnType type = ColumnType::int64;
  bool is_optional = false; ///< has nulls
};

/// The values of one column in the row group that is being filled.
class Column {
public:
  explicit Column(ColumnInfo info) : info_(std::move(info)) {}

  void add(int64_t value);
  void add(std::string_view text);
  void addNull(); ///< of an optional column

private:
  friend class Writer;
  struct Statistics {
    std::string least, largest;
    int64_t nulls = 0;
  };

  std::size_t rows() const { return rows_; }
  std::string dictionaryPage() const;
  std::string dataPage() const;
  Statistics statistics() const;
  void clear();

  ColumnInfo info_;
  std::size_t rows_ = 0;
  std::vector<uint32_t> is_there_; ///< of an optional column: 0 or 1 per row
  std::vector<int64_t> numbers_;
  std::vector<uint32_t> indices_; ///< of texts in the dictionary
  std::vector<std::string> dictionary_;
  std::unordered_map<std::string, uint32_t> known_;
};

class Writer {
public:
  using Facts = std::vector<std::pair<std::string, std::string>>;

  /// `sorted_by`: the index of the column by which rows of a group are in ascending order.
  static Result<Writer> create(const std::string &path, std::vector<ColumnInfo> columns,
                               std::size_t sorted_by);

  /// The value of each column has to be added, then the row ended.
  Column &column(std::size_t index) { return columns_[index]; }
  Status endRow();
  /// Without it the file is none. `facts`: keys and values in the file's metadata.
  Status close(const Facts &facts);

  uint64_t rows() const { return rows_; }

private:
  struct Chunk {
    int64_t dictionary_at = -1, data_at = 0, first_at = 0;
    int64_t values = 0, plain_bytes = 0, bytes = 0;
    Column::Statistics statistics;
  };
  struct Group {
    int64_t rows = 0;
    std::vector<Chunk> chunks;
  };

  Writer(std::string path, std::FILE *file, std::vector<Column> columns, std::size_t sorted_by);

  Status writeGroup();
  Status writePage(Chunk &chunk, const Column &column, bool is_dictionary);
  Status put(std::string_view bytes);
  std::string footer(const Facts &facts) const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file_;
  std::vector<Column> columns_;
  std::size_t sorted_by_;
  std::vector<Group> groups_;
  int64_t at_ = 0; ///< bytes written
  uint64_t rows_ = 0;
};

} // namespace fade::parquet
