#include "parquet/writer.h"

#include "parquet/encodings.h"
#include "parquet/thrift.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <zstd.h>

namespace fade::parquet {
namespace {

using Type = ThriftWriter::Type;

// Numbers of the format (parquet.thrift).
constexpr int32_t kDataPage = 0, kDictionaryPage = 2;
constexpr int32_t kPlain = 0, kRle = 3, kDeltaBinaryPacked = 5, kRleDictionary = 8;
constexpr int32_t kInt32 = 1, kInt64 = 2, kByteArray = 6;
constexpr int32_t kRequired = 0, kOptional = 1;
constexpr int32_t kZstd = 6;
constexpr int32_t kUtf8 = 0; // of the older kind of type annotations
constexpr std::string_view kMagic = "PAR1";
constexpr int kCompression = 3;
// Bounds only help if they are short: a longer text is cut, and its upper bound left out.
constexpr std::size_t kLongestBound = 64;

void appendLittle(std::string &to, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

int32_t physical(ColumnType type) {
  return type == ColumnType::int32 ? kInt32 : type == ColumnType::int64 ? kInt64 : kByteArray;
}

} // namespace

void Column::add(int64_t value) {
  if (info_.is_optional) is_there_.push_back(1);
  numbers_.push_back(value);
  ++rows_;
}

void Column::add(std::string_view text) {
  if (info_.is_optional) is_there_.push_back(1);
  const auto [at, is_new] =
      known_.try_emplace(std::string(text), static_cast<uint32_t>(dictionary_.size()));
  if (is_new) dictionary_.emplace_back(text);
  indices_.push_back(at->second);
  ++rows_;
}

void Column::addNull() {
  is_there_.push_back(0);
  ++rows_;
}

std::string Column::dictionaryPage() const {
  std::string page;
  for (const std::string &text : dictionary_) {
    appendLittle(page, text.size(), 4);
    page += text;
  }
  return page;
}

std::string Column::dataPage() const {
  std::string page;
  if (info_.is_optional) {
    std::string levels;
    appendHybrid(levels, is_there_, 1);
    appendLittle(page, levels.size(), 4);
    page += levels;
  }
  if (info_.type != ColumnType::text) {
    appendDeltas(page, numbers_, info_.type == ColumnType::int32 ? 32 : 64);
    return page;
  }
  const unsigned bits = dictionary_.empty() ? 0 : bitsFor(dictionary_.size() - 1);
  page.push_back(static_cast<char>(bits));
  appendHybrid(page, indices_, bits);
  return page;
}

Column::Statistics Column::statistics() const {
  Statistics found;
  found.nulls = std::ranges::count(is_there_, 0u);
  if (info_.type == ColumnType::text) {
    if (dictionary_.empty()) return found;
    const auto [least, largest] = std::ranges::minmax_element(dictionary_);
    found.least = least->substr(0, kLongestBound);
    if (largest->size() <= kLongestBound) found.largest = *largest;
    return found;
  }
  if (numbers_.empty()) return found;
  const auto [least, largest] = std::ranges::minmax_element(numbers_);
  const unsigned bytes = info_.type == ColumnType::int32 ? 4 : 8;
  appendLittle(found.least, static_cast<uint64_t>(*least), bytes);
  appendLittle(found.largest, static_cast<uint64_t>(*largest), bytes);
  return found;
}

void Column::clear() {
  rows_ = 0;
  is_there_.clear();
  numbers_.clear();
  indices_.clear();
  dictionary_.clear();
  known_.clear();
}

Writer::Writer(std::string path, std::FILE *file, std::vector<Column> columns,
               std::size_t sorted_by)
    : path_(std::move(path)), file_(file, std::fclose), columns_(std::move(columns)),
      sorted_by_(sorted_by) {}

Result<Writer> Writer::create(const std::string &path, std::vector<ColumnInfo> columns,
                              std::size_t sorted_by) {
  std::FILE *file = std::fopen(path.c_str(), "wbe");
  if (!file) return Error{path, "", 0, std::strerror(errno)};
  std::vector<Column> all;
  for (ColumnInfo &info : columns) all.emplace_back(std::move(info));
  Writer writer(path, file, std::move(all), sorted_by);
  if (Status status = writer.put(kMagic); !status) return Error(status.error());
  return writer;
}

Status Writer::put(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    return Error{path_, "", 0, std::strerror(errno)};
  at_ += static_cast<int64_t>(bytes.size());
  return Done{};
}

Status Writer::endRow() {
  ++rows_;
  return columns_[0].rows() < kRowsOfGroup ? Done{} : writeGroup();
}

Status Writer::writePage(Chunk &chunk, const Column &column, bool is_dictionary) {
  const std::string plain = is_dictionary ? column.dictionaryPage() : column.dataPage();
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), kCompression);
  if (ZSTD_isError(size) != 0) return Error{path_, "", 0, ZSTD_getErrorName(size)};
  packed.resize(size);

  ThriftWriter header;
  header.number(1, is_dictionary ? kDictionaryPage : kDataPage);
  header.number(2, static_cast<int32_t>(plain.size()));
  header.number(3, static_cast<int32_t>(packed.size()));
  header.begin(is_dictionary ? 7 : 5);
  if (is_dictionary) {
    header.number(1, static_cast<int32_t>(column.dictionary_.size()));
    header.number(2, kPlain);
  } else {
    header.number(1, static_cast<int32_t>(column.rows()));
    header.number(2, column.info_.type == ColumnType::text ? kRleDictionary : kDeltaBinaryPacked);
    header.number(3, kRle);
    header.number(4, kRle);
  }
  header.end();
  const std::string head = header.take();
  (is_dictionary ? chunk.dictionary_at : chunk.data_at) = at_;
  chunk.plain_bytes += static_cast<int64_t>(head.size() + plain.size());
  chunk.bytes += static_cast<int64_t>(head.size() + packed.size());
  if (Status status = put(head); !status) return status;
  return put(packed);
}

Status Writer::writeGroup() {
  Group group;
  group.rows = static_cast<int64_t>(columns_[0].rows());
  for (Column &column : columns_) {
    Chunk chunk;
    chunk.first_at = at_;
    chunk.values = group.rows;
    chunk.statistics = column.statistics();
    if (column.info_.type == ColumnType::text)
      if (Status status = writePage(chunk, column, true); !status) return status;
    if (Status status = writePage(chunk, column, false); !status) return status;
    column.clear();
    group.chunks.push_back(std::move(chunk));
  }
  groups_.push_back(std::move(group));
  return Done{};
}

std::string Writer::footer(const Facts &facts) const {
  ThriftWriter out;
  out.number(1, int32_t{2}); // version
  out.list(2, Type::structure, columns_.size() + 1);
  out.beginElement(); // the root
  out.text(4, "schema");
  out.number(5, static_cast<int32_t>(columns_.size()));
  out.end();
  for (const Column &column : columns_) {
    out.beginElement();
    out.number(1, physical(column.info_.type));
    out.number(3, column.info_.is_optional ? kOptional : kRequired);
    out.text(4, column.info_.name);
    if (column.info_.type == ColumnType::text) {
      out.number(6, kUtf8);
      out.begin(10); // the newer kind: a union, of which STRING is the first
      out.begin(1);
      out.end();
      out.end();
    }
    out.end();
  }
  out.number(3, static_cast<int64_t>(rows_));
  out.list(4, Type::structure, groups_.size());
  for (const Group &group : groups_) {
    int64_t plain_bytes = 0, bytes = 0;
    out.beginElement();
    out.list(1, Type::structure, group.chunks.size());
    for (std::size_t i = 0; i < group.chunks.size(); ++i) {
      const Chunk &chunk = group.chunks[i];
      const ColumnInfo &info = columns_[i].info_;
      const bool is_text = info.type == ColumnType::text;
      plain_bytes += chunk.plain_bytes;
      bytes += chunk.bytes;
      out.beginElement();
      out.number(2, int64_t{0}); // there is no copy of the metadata outside of the footer
      out.begin(3);
      out.number(1, physical(info.type));
      out.list(2, Type::i32, is_text ? 3 : 2);
      out.element(kRle);
      out.element(is_text ? kRleDictionary : kDeltaBinaryPacked);
      if (is_text) out.element(kPlain);
      out.list(3, Type::binary, 1);
      out.element(std::string_view(info.name));
      out.number(4, kZstd);
      out.number(5, chunk.values);
      out.number(6, chunk.plain_bytes);
      out.number(7, chunk.bytes);
      out.number(9, chunk.data_at);
      if (chunk.dictionary_at >= 0) out.number(11, chunk.dictionary_at);
      out.begin(12);
      out.number(3, chunk.statistics.nulls);
      if (!chunk.statistics.largest.empty()) out.text(5, chunk.statistics.largest);
      if (!chunk.statistics.least.empty()) out.text(6, chunk.statistics.least);
      out.end();
      out.end();
      out.end();
    }
    out.number(2, plain_bytes);
    out.number(3, group.rows);
    out.list(4, Type::structure, 1);
    out.beginElement();
    out.number(1, static_cast<int32_t>(sorted_by_));
    out.flag(2, false); // ascending
    out.flag(3, false);
    out.end();
    out.number(5, group.chunks[0].first_at);
    out.number(6, bytes);
    out.end();
  }
  out.list(5, Type::structure, facts.size());
  for (const auto &[key, value] : facts) {
    out.beginElement();
    out.text(1, key);
    out.text(2, value);
    out.end();
  }
  out.text(6, "FADE");
  out.list(7, Type::structure, columns_.size()); // bounds are in the order of each type
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out.beginElement();
    out.begin(1);
    out.end();
    out.end();
  }
  return out.take();
}

Status Writer::close(const Facts &facts) {
  if (columns_[0].rows() != 0)
    if (Status status = writeGroup(); !status) return status;
  const std::string end = footer(facts);
  std::string length;
  appendLittle(length, end.size(), 4);
  for (const std::string_view part : {std::string_view(end), std::string_view(length), kMagic})
    if (Status status = put(part); !status) return status;
  if (std::fclose(file_.release()) != 0) return Error{path_, "", 0, std::strerror(errno)};
  return Done{};
}

} // namespace fade::parquet
