// cases FOLDER: writes tables whose values the test works out by itself (read_back_test.py).
#include "parquet/writer.h"

#include <cstdio>
#include <string>

using fade::Done;
using fade::Status;
using namespace fade::parquet;

namespace {

/// Any 64 bits, the same everywhere.
uint64_t mixed(uint64_t i) {
  i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
  i = (i ^ i >> 27) * 0x94d049bb133111ebu;
  return i ^ i >> 31;
}

bool write(const std::string &folder, uint64_t rows) {
  auto writer = Writer::create(folder + "/" + std::to_string(rows) + ".parquet",
                               {{"steps", ColumnType::int64, false},
                                {"any", ColumnType::int64, true},
                                {"small", ColumnType::int32, false},
                                {"few", ColumnType::text, false},
                                {"runs", ColumnType::text, true},
                                {"none", ColumnType::text, true},
                                {"ends", ColumnType::int64, true}},
                               0);
  if (!writer) return false;
  for (uint64_t i = 0; i < rows; ++i) {
    writer->column(0).add(static_cast<int64_t>(i * 1000 + mixed(i) % 1000));
    if (i % 3 == 0)
      writer->column(1).addNull();
    else
      writer->column(1).add(static_cast<int64_t>(mixed(i)));
    writer->column(2).add(int64_t{static_cast<int32_t>(mixed(i))});
    writer->column(3).add(std::string_view("text " + std::to_string(mixed(i) % 5)));
    if (i / 100 % 2 == 0)
      writer->column(4).addNull();
    else
      writer->column(4).add(std::string_view("\xc3\xa9" + std::to_string(i / 1000)));
    writer->column(5).addNull();
    if (i % 50 < 25)
      writer->column(6).add(i % 2 == 0 ? INT64_MAX : INT64_MIN);
    else
      writer->column(6).addNull();
    if (!writer->endRow()) return false;
  }
  return static_cast<bool>(writer->close({{"case", std::to_string(rows)}}));
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2) return 2;
  for (const uint64_t rows : {0, 1, 7, 8, 9, 31, 32, 33, 128, 129, 130, 1000, 122'880, 122'881})
    if (!write(arguments[1], rows)) return 1;
  // A disk that is full is said.
  auto full = Writer::create("/dev/full", {{"n", ColumnType::int64, false}}, 0);
  Status status = full ? Status(Done{}) : Status(full.error());
  for (int64_t i = 0; status && i < 300'000; ++i) {
    full->column(0).add(static_cast<int64_t>(mixed(static_cast<uint64_t>(i))));
    status = full->endRow();
  }
  if (status) status = full->close({});
  std::puts(status ? "written" : status.error().message().c_str());
  return 0;
}
