#include "parquet/thrift.h"

namespace fade::parquet {

void appendVarint(std::string &to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

void appendZigzag(std::string &to, int64_t value) {
  appendVarint(to, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

void ThriftWriter::header(int field, uint8_t type) {
  const int step = field - last_[depth_];
  last_[depth_] = field;
  if (step > 0 && step <= 15) {
    bytes_.push_back(static_cast<char>(step << 4 | type));
    return;
  }
  bytes_.push_back(static_cast<char>(type));
  appendZigzag(bytes_, field);
}

void ThriftWriter::number(int field, int32_t value) {
  header(field, static_cast<uint8_t>(Type::i32));
  appendZigzag(bytes_, value);
}

void ThriftWriter::number(int field, int64_t value) {
  header(field, static_cast<uint8_t>(Type::i64));
  appendZigzag(bytes_, value);
}

void ThriftWriter::flag(int field, bool value) { header(field, value ? 1 : 2); }

void ThriftWriter::text(int field, std::string_view value) {
  header(field, static_cast<uint8_t>(Type::binary));
  element(value);
}

void ThriftWriter::begin(int field) {
  header(field, static_cast<uint8_t>(Type::structure));
  beginElement();
}

void ThriftWriter::list(int field, Type of, std::size_t count) {
  header(field, static_cast<uint8_t>(Type::list));
  const auto type = static_cast<uint8_t>(of);
  if (count < 15) {
    bytes_.push_back(static_cast<char>(count << 4 | type));
    return;
  }
  bytes_.push_back(static_cast<char>(0xf0 | type));
  appendVarint(bytes_, count);
}

void ThriftWriter::element(int32_t value) { appendZigzag(bytes_, value); }

void ThriftWriter::element(std::string_view value) {
  appendVarint(bytes_, value.size());
  bytes_ += value;
}

void ThriftWriter::beginElement() { last_[++depth_] = 0; }

void ThriftWriter::end() {
  bytes_.push_back(0);
  --depth_;
}

std::string ThriftWriter::take() {
  bytes_.push_back(0); // of the outermost struct
  return std::move(bytes_);
}

} // namespace fade::parquet
