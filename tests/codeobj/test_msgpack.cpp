// The MessagePack reader against values written by msgpack-cxx.
#include "codeobj/msgpack_reader.h"

#include <gtest/gtest.h>
#include <limits>
#include <msgpack.hpp>

namespace fade::codeobj {
namespace {

using Kind = MsgpackReader::Kind;

class Packed {
public:
  template <class T> explicit Packed(const T &value) { msgpack::pack(buffer_, value); }
  ByteView bytes() const { return asBytes({buffer_.data(), buffer_.size()}); }

private:
  msgpack::sbuffer buffer_;
};

TEST(Msgpack, ReadsUnsignedNumbersOfEveryWidth) {
  for (std::uint64_t value :
       {0ull, 1ull, 127ull, 128ull, 255ull, 256ull, 65535ull, 65536ull, 0xffffffffull,
        0x100000000ull, std::numeric_limits<unsigned long long>::max()}) {
    Packed packed(value);
    MsgpackReader reader(packed.bytes());
    auto item = reader.next();
    ASSERT_TRUE(item) << value;
    EXPECT_EQ(item->asUnsigned(), value);
    EXPECT_EQ(reader.position(), packed.bytes().size());
  }
}

TEST(Msgpack, ReadsSignedNumbersOfEveryWidth) {
  for (std::int64_t value :
       {-1ll, -32ll, -33ll, -128ll, -129ll, -32768ll, -32769ll, -2147483649ll}) {
    Packed packed(value);
    auto item = MsgpackReader(packed.bytes()).next();
    ASSERT_TRUE(item) << value;
    EXPECT_EQ(item->kind, Kind::Signed);
    EXPECT_EQ(static_cast<std::int64_t>(item->number), value);
    EXPECT_EQ(item->asUnsigned(), std::nullopt);
  }
}

TEST(Msgpack, ReadsStringsOfEveryLength) {
  for (std::size_t length : {0, 1, 31, 32, 255, 256, 65535, 65536}) {
    std::string text(length, 'x');
    Packed packed(text);
    MsgpackReader reader(packed.bytes());
    auto item = reader.next();
    ASSERT_TRUE(item) << length;
    EXPECT_EQ(item->kind, Kind::String);
    EXPECT_EQ(item->text, text);
  }
}

TEST(Msgpack, ReadsBooleansNilAndFloats) {
  EXPECT_EQ(MsgpackReader(Packed(true).bytes()).next()->number, 1u);
  EXPECT_EQ(MsgpackReader(Packed(false).bytes()).next()->number, 0u);
  EXPECT_EQ(MsgpackReader(Packed(msgpack::type::nil_t()).bytes()).next()->kind, Kind::Nil);
  Packed real(2.5), single(0.25f);
  EXPECT_EQ(MsgpackReader(real.bytes()).next()->real, 2.5);
  EXPECT_EQ(MsgpackReader(single.bytes()).next()->real, 0.25);
}

TEST(Msgpack, SkipsANestedValueWhole) {
  std::map<std::string, std::vector<std::map<std::string, std::uint32_t>>> nested;
  for (int i = 0; i < 40; ++i)
    nested[std::to_string(i)] = {{{"a", 1}, {"b", 100000}}, {}, {{"c", 3}}};
  Packed packed(nested);
  MsgpackReader reader(packed.bytes());
  ASSERT_TRUE(reader.skip());
  EXPECT_EQ(reader.position(), packed.bytes().size());
}

TEST(Msgpack, EveryTruncationIsNoticedAndTheReaderStaysWhereItWas) {
  std::map<std::string, std::vector<std::string>> nested{{"one", {"two", "three"}}, {"four", {}}};
  Packed packed(nested);
  for (std::size_t size = 0; size < packed.bytes().size(); ++size) {
    std::vector<std::uint8_t> cut(packed.bytes().begin(),
                                  packed.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    MsgpackReader reader{ByteView(cut)};
    EXPECT_FALSE(reader.skip()) << size;
    EXPECT_EQ(reader.position(), 0u);
  }
}

TEST(Msgpack, DeepNestingTakesNoStack) {
  std::vector<std::uint8_t> bytes(1'000'000, 0x91); // arrays of one element
  bytes.push_back(0xc0);
  MsgpackReader reader{ByteView(bytes)};
  EXPECT_TRUE(reader.skip());
  EXPECT_EQ(reader.position(), bytes.size());
}

TEST(Msgpack, CountThatCannotBeTrueIsRefused) {
  std::vector<std::uint8_t> bytes = {0xdd, 0xff, 0xff, 0xff, 0xff, 0xc0};
  EXPECT_FALSE(MsgpackReader{ByteView(bytes)}.next());
  bytes[0] = 0xdf;
  EXPECT_FALSE(MsgpackReader{ByteView(bytes)}.next());
}

} // namespace
} // namespace fade::codeobj
