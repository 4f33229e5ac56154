// Thrift's compact protocol, written: what Parquet's headers and footer are made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fade::parquet {

/// Appends an unsigned number, seven bits to a byte, the lowest first.
void appendVarint(std::string &to, uint64_t value);
/// The same of a signed one: 0, -1, 1, -2, … become 0, 1, 2, 3, ….
void appendZigzag(std::string &to, int64_t value);

/// One struct and all that is in it. Fields of a struct come in ascending order of their numbers.
class ThriftWriter {
public:
  enum class Type : uint8_t { boolean = 1, i32 = 5, i64 = 6, binary = 8, list = 9, structure = 12 };

  void number(int field, int32_t value);
  void number(int field, int64_t value);
  void flag(int field, bool value);
  void text(int field, std::string_view value);
  /// A struct as a field; end() ends it.
  void begin(int field);
  /// A list as a field; what is in it follows: element() or beginElement() and end(), `count`
  /// times.
  void list(int field, Type of, std::size_t count);
  void element(int32_t value);
  void element(std::string_view value);
  void beginElement();
  void end();

  /// The bytes, when everything has ended.
  std::string take();

private:
  static constexpr int kDeepest = 8;

  void header(int field, uint8_t type);

  std::string bytes_;
  int last_[kDeepest] = {}; ///< number of the last field, by depth
  int depth_ = 0;
};

} // namespace fade::parquet
