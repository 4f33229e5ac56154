#include "codeobj/msgpack_reader.h"

#include <bit>

namespace fade::codeobj {
namespace {

template <class T> std::optional<T> readBigEndian(ByteView bytes, uint64_t offset) {
  auto at = part(bytes, offset, sizeof(T));
  if (!at) return std::nullopt;
  uint64_t value = 0;
  for (uint8_t byte : *at) value = (value << 8) | byte;
  return static_cast<T>(value);
}

} // namespace

std::optional<uint64_t> MsgpackReader::Item::asUnsigned() const {
  if (kind == Kind::Unsigned) return number;
  if (kind == Kind::Signed && static_cast<int64_t>(number) >= 0) return number;
  return std::nullopt;
}

std::optional<MsgpackReader::Item> MsgpackReader::takeText(Kind kind, std::size_t header,
                                                           uint64_t length) {
  auto text = part(bytes_, position_ + header, length);
  if (!text) return std::nullopt;
  position_ += header + length;
  Item item;
  item.kind = kind;
  item.text = asText(*text);
  return item;
}

std::optional<MsgpackReader::Item> MsgpackReader::takeContainer(Kind kind, std::size_t header,
                                                                uint64_t elements) {
  // Every element takes at least a byte, so a count that cannot be true is refused before anyone
  // reserves for it.
  uint64_t least = kind == Kind::Map ? 2 * elements : elements;
  if (!part(bytes_, position_ + header, least)) return std::nullopt;
  position_ += header;
  Item item;
  item.kind = kind;
  item.elements = static_cast<uint32_t>(elements);
  return item;
}

template <class T> std::optional<MsgpackReader::Item> MsgpackReader::takeNumber(Kind kind) {
  auto value = readBigEndian<T>(bytes_, position_ + 1);
  if (!value) return std::nullopt;
  position_ += 1 + sizeof(T);
  Item item;
  item.kind = kind;
  item.number = static_cast<uint64_t>(static_cast<int64_t>(*value));
  if constexpr (std::is_unsigned_v<T>) item.number = *value;
  if (kind == Kind::Float)
    item.real = sizeof(T) == 4 ? std::bit_cast<float>(static_cast<uint32_t>(item.number))
                               : std::bit_cast<double>(item.number);
  return item;
}

std::optional<MsgpackReader::Item> MsgpackReader::next() {
  auto first = read<uint8_t>(bytes_, position_);
  if (!first) return std::nullopt;
  uint8_t tag = *first;
  Item item;
  auto simple = [&](Kind kind, uint64_t number) {
    ++position_;
    item.kind = kind;
    item.number = number;
    return item;
  };
  if (tag < 0x80) return simple(Kind::Unsigned, tag);
  if (tag < 0x90) return takeContainer(Kind::Map, 1, tag & 0xf);
  if (tag < 0xa0) return takeContainer(Kind::Array, 1, tag & 0xf);
  if (tag < 0xc0) return takeText(Kind::String, 1, tag & 0x1f);
  if (tag >= 0xe0) return simple(Kind::Signed, static_cast<uint64_t>(static_cast<int8_t>(tag)));

  auto count8 = read<uint8_t>(bytes_, position_ + 1);
  auto count16 = readBigEndian<uint16_t>(bytes_, position_ + 1);
  auto count32 = readBigEndian<uint32_t>(bytes_, position_ + 1);
  auto text = [&](Kind kind, std::size_t header, auto length) -> std::optional<Item> {
    return length ? takeText(kind, header, *length) : std::nullopt;
  };
  auto container = [&](Kind kind, std::size_t header, auto elements) -> std::optional<Item> {
    return elements ? takeContainer(kind, header, *elements) : std::nullopt;
  };
  switch (tag) {
  case 0xc0: return simple(Kind::Nil, 0);
  case 0xc2: return simple(Kind::Boolean, 0);
  case 0xc3: return simple(Kind::Boolean, 1);
  case 0xc4: return text(Kind::Binary, 2, count8);
  case 0xc5: return text(Kind::Binary, 3, count16);
  case 0xc6: return text(Kind::Binary, 5, count32);
  case 0xca: return takeNumber<uint32_t>(Kind::Float);
  case 0xcb: return takeNumber<uint64_t>(Kind::Float);
  case 0xcc: return takeNumber<uint8_t>(Kind::Unsigned);
  case 0xcd: return takeNumber<uint16_t>(Kind::Unsigned);
  case 0xce: return takeNumber<uint32_t>(Kind::Unsigned);
  case 0xcf: return takeNumber<uint64_t>(Kind::Unsigned);
  case 0xd0: return takeNumber<int8_t>(Kind::Signed);
  case 0xd1: return takeNumber<int16_t>(Kind::Signed);
  case 0xd2: return takeNumber<int32_t>(Kind::Signed);
  case 0xd3: return takeNumber<int64_t>(Kind::Signed);
  case 0xd9: return text(Kind::String, 2, count8);
  case 0xda: return text(Kind::String, 3, count16);
  case 0xdb: return text(Kind::String, 5, count32);
  case 0xdc: return container(Kind::Array, 3, count16);
  case 0xdd: return container(Kind::Array, 5, count32);
  case 0xde: return container(Kind::Map, 3, count16);
  case 0xdf: return container(Kind::Map, 5, count32);
  default: return std::nullopt; // extension types: no metadata uses them
  }
}

bool MsgpackReader::skip() {
  std::size_t start = position_;
  for (uint64_t pending = 1; pending != 0; --pending) {
    auto item = next();
    if (!item) {
      position_ = start;
      return false;
    }
    if (item->kind == Kind::Array) pending += item->elements;
    if (item->kind == Kind::Map) pending += 2 * uint64_t(item->elements);
  }
  return true;
}

} // namespace fade::codeobj
