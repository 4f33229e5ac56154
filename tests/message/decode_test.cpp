#include <fade/decode.h>
#include <fade/encode.h>

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <span>

namespace {

using fade::Record;
using fade::RecordCursor;
using fade::RecordEncoder;
using Status = RecordCursor::Status;

constexpr uint64_t full64 = ~uint64_t{0};

std::vector<uint64_t> lanes(uint64_t base, int64_t stride) {
  std::vector<uint64_t> out(64);
  for (int64_t i = 0; i < 64; ++i) out[size_t(i)] = base + uint64_t(stride * i);
  return out;
}

// Encodes one access, decodes it and checks that lanes and addresses come back exactly.
Record roundTrip(RecordEncoder &encoder, uint64_t mask, const std::vector<uint64_t> &addresses,
                 std::optional<uint64_t> length = {}) {
  encoder.access(7, 3, mask, addresses, length);
  RecordCursor cursor(encoder.bytes());
  Record record;
  EXPECT_EQ(cursor.next(record), Status::record) << cursor.fault();
  uint64_t seen = 0;
  record.forEachLane([&](uint32_t lane, uint64_t address) {
    seen |= uint64_t{1} << lane;
    EXPECT_EQ(address, addresses[lane]) << "lane " << lane;
  });
  EXPECT_EQ(seen, mask);
  EXPECT_EQ(record.site(), 7u);
  EXPECT_EQ(record.wave(), 3u);
  Record none;
  EXPECT_EQ(cursor.next(none), Status::end);
  return record;
}

TEST(Encoding, CoalescedAccessOf64LanesIsAffineAndTakes32Bytes) {
  RecordEncoder encoder;
  const auto record = roundTrip(encoder, full64, lanes(0x7f0012345000, 4));
  EXPECT_EQ(record.encoding(), FADE_ENCODING_AFFINE);
  EXPECT_EQ(record.size(), 32u);
}

TEST(Encoding, CoalescedAccessUnderAnIrregularMaskStaysAffine) {
  RecordEncoder encoder;
  const auto record = roundTrip(encoder, 0x8000'0000'1000'0a50, lanes(0x1000, 4));
  EXPECT_EQ(record.encoding(), FADE_ENCODING_AFFINE);
  EXPECT_EQ(record.size(), 32u);
}

TEST(Encoding, NegativeStrideIsAffine) {
  RecordEncoder encoder;
  EXPECT_EQ(roundTrip(encoder, full64, lanes(0x100000, -128)).encoding(), FADE_ENCODING_AFFINE);
}

TEST(Encoding, OneAddressForAllLanesIsUniform) {
  RecordEncoder encoder;
  const auto record = roundTrip(encoder, 0xff00, lanes(0x1234, 0));
  EXPECT_EQ(record.encoding(), FADE_ENCODING_UNIFORM);
  EXPECT_EQ(record.size(), 32u);
}

TEST(Encoding, SingleLaneIsUniform) {
  RecordEncoder encoder;
  EXPECT_EQ(roundTrip(encoder, uint64_t{1} << 63, lanes(0x5, 9)).encoding(), FADE_ENCODING_UNIFORM);
}

TEST(Encoding, RowsOfATwoDimensionalBlockAreTiledAndTake40Bytes) {
  for (uint32_t width : {2u, 4u, 8u, 16u, 32u}) {
    std::vector<uint64_t> addresses(64);
    for (uint32_t i = 0; i < 64; ++i) addresses[i] = 0x10000 + 4 * (i % width) + 4096 * (i / width);
    RecordEncoder encoder;
    const auto record = roundTrip(encoder, full64, addresses);
    EXPECT_EQ(record.encoding(), FADE_ENCODING_TILED) << width;
    EXPECT_EQ(record.size(), 40u);
  }
}

TEST(Encoding, IrregularAccessTakesAtMost32BytesAnd4PerActiveLane) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> addresses(64);
    for (auto &a : addresses) a = 0x7f0000000000 + random() % (1u << 30);
    const uint64_t mask = random() & random() & random();
    if (mask == 0) continue;
    RecordEncoder encoder;
    const auto record = roundTrip(encoder, mask, addresses);
    EXPECT_LE(record.size(), 32 + 4 * record.laneCount());
  }
}

TEST(Encoding, AddressesFarApartAreRaw) {
  auto addresses = lanes(0x1000, 4);
  addresses[63] = 0x7fff'0000'0000;
  RecordEncoder encoder;
  const auto record = roundTrip(encoder, full64, addresses);
  EXPECT_EQ(record.encoding(), FADE_ENCODING_RAW);
  EXPECT_EQ(record.size(), 32u + 63 * 8);
}

TEST(Encoding, DeltasReachExactlyTwoGibibytes) {
  const std::vector<std::pair<int64_t, uint32_t>> cases = {{0x7fffffff, FADE_ENCODING_DELTA32},
                                                           {0x80000000, FADE_ENCODING_RAW},
                                                           {-0x80000000ll, FADE_ENCODING_DELTA32},
                                                           {-0x80000001ll, FADE_ENCODING_RAW}};
  for (auto [delta, encoding] : cases) {
    auto addresses = lanes(0x1'0000'0000, 0);
    addresses[5] += uint64_t(delta);
    RecordEncoder encoder;
    EXPECT_EQ(roundTrip(encoder, full64, addresses).encoding(), encoding) << delta;
  }
}

TEST(Encoding, LargestRecordIsARangeOf64RawAddresses) {
  auto addresses = lanes(0, 1);
  addresses[1] = uint64_t{1} << 60;
  RecordEncoder encoder;
  const auto record = roundTrip(encoder, full64, addresses, 12345);
  EXPECT_EQ(record.size(), FADE_RECORD_MAX);
  EXPECT_EQ(record.length(), 12345u);
  EXPECT_EQ(record.kind(), FADE_RECORD_RANGE);
}

TEST(Encoding, RandomMixturesComeBackExactly) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    const uint64_t mask = (random() & random()) | (uint64_t{1} << (random() % 64));
    auto addresses = lanes(random(), int64_t(random() % 512) - 256);
    const auto width = 1u << (random() % 6);
    const uint64_t row = round % 3 == 0 ? random() : round % 3 == 1 ? random() % 100000 : 0;
    for (uint32_t i = 0; i < 64; ++i) addresses[i] += row * (i / width);
    if (round % 5 == 0) addresses[random() % 64] ^= uint64_t{1} << (random() % 64);
    RecordEncoder encoder;
    if (round % 2)
      roundTrip(encoder, mask, addresses);
    else
      roundTrip(encoder, mask, addresses, random());
  }
}

TEST(Cursor, WalksAMixedStreamInOrder) {
  RecordEncoder encoder;
  fade_wave_begin begin{};
  begin.header.site = 2;
  begin.mask = full64;
  begin.wave = 9;
  begin.workgroup_x = 0xfffffffe;
  begin.module = 0x1122334455667788;
  encoder.waveBegin(begin);
  encoder.block(4, 9, 0xf0, 1000);
  encoder.access(5, 9, full64, lanes(0, 4));
  fade_wave_end end{};
  end.mask = full64;
  end.wave = 9;
  end.time = 77;
  encoder.waveEnd(end);

  RecordCursor cursor(encoder.bytes());
  Record record;
  ASSERT_EQ(cursor.next(record), Status::record);
  EXPECT_EQ(record.kind(), FADE_RECORD_WAVE_BEGIN);
  EXPECT_EQ(record.waveBegin().workgroup_x, 0xfffffffeu);
  EXPECT_EQ(record.waveBegin().module, 0x1122334455667788u);
  ASSERT_EQ(cursor.next(record), Status::record);
  EXPECT_EQ(record.kind(), FADE_RECORD_BLOCK);
  EXPECT_EQ(record.clock(), 1000u);
  EXPECT_EQ(record.mask(), 0xf0u);
  ASSERT_EQ(cursor.next(record), Status::record);
  EXPECT_TRUE(record.isAccess());
  ASSERT_EQ(cursor.next(record), Status::record);
  EXPECT_EQ(record.waveEnd().time, 77u);
  EXPECT_EQ(cursor.next(record), Status::end);
  EXPECT_EQ(cursor.offset(), encoder.bytes().size());
}

TEST(Cursor, StopsAtAZeroHeader) {
  RecordEncoder encoder;
  encoder.block(1, 1, 1, 1);
  auto bytes = encoder.take();
  bytes.resize(bytes.size() + 64);
  RecordCursor cursor(bytes);
  Record record;
  EXPECT_EQ(cursor.next(record), Status::record);
  EXPECT_EQ(cursor.next(record), Status::unpublished);
  EXPECT_EQ(cursor.offset(), 32u);
}

TEST(Cursor, SkipsKindsItDoesNotKnow) {
  std::vector<std::byte> bytes(48);
  const uint64_t header = FADE_HEADER(1, 6, 200, 0);
  std::memcpy(bytes.data(), &header, 8);
  RecordEncoder encoder;
  encoder.block(1, 1, 1, 1);
  bytes.insert(bytes.end(), encoder.bytes().begin(), encoder.bytes().end());
  RecordCursor cursor(bytes);
  Record record;
  ASSERT_EQ(cursor.next(record), Status::record);
  EXPECT_EQ(record.kind(), 200u);
  ASSERT_EQ(cursor.next(record), Status::record);
  EXPECT_EQ(record.kind(), FADE_RECORD_BLOCK);
}

/// Readers check site() of those that have one against the table of sites before they use it.
TEST(Kinds, EachOneNamesASiteOrIsAboutAWave) {
  const std::set<uint32_t> of_waves = {FADE_RECORD_WAVE_BEGIN, FADE_RECORD_WAVE_END,
                                       FADE_RECORD_WAVES};
  for (uint32_t kind = 1; kind <= FADE_RECORD_NEWEST; ++kind) {
    bool is_known = false;
    for (uint64_t words = sizeof(fade_record) / 8; words < 64 && !is_known; ++words) {
      std::vector<uint64_t> bytes(words, full64);
      bytes[0] = FADE_HEADER(1, words, kind, 0);
      RecordCursor cursor(std::as_bytes(std::span(bytes)));
      Record record;
      is_known = cursor.next(record) == Status::record;
      if (is_known) EXPECT_NE(record.hasSite(), of_waves.contains(kind)) << "kind " << kind;
    }
    EXPECT_TRUE(is_known) << "kind " << kind << " has no size";
  }
}

std::vector<std::byte> deltaRecord() {
  auto addresses = lanes(0x1000, 4);
  addresses[1] += 1;
  RecordEncoder encoder;
  encoder.access(1, 1, full64, addresses);
  return encoder.take();
}

TEST(Cursor, RefusesARecordCutShort) {
  const auto bytes = deltaRecord();
  for (std::size_t keep = 1; keep < bytes.size(); ++keep) {
    RecordCursor cursor{std::span(bytes).first(keep)};
    Record record;
    EXPECT_EQ(cursor.next(record), Status::malformed) << keep;
    EXPECT_STRNE(cursor.fault(), "");
    EXPECT_EQ(cursor.offset(), 0u);
  }
}

// Patches one field of a good record and expects it to be refused.
void expectRefused(std::size_t offset, std::initializer_list<uint8_t> patch) {
  auto bytes = deltaRecord();
  bytes.resize(2048);
  for (uint8_t b : patch) bytes[offset++] = std::byte{b};
  RecordCursor cursor(bytes);
  Record record;
  EXPECT_EQ(cursor.next(record), Status::malformed);
}

TEST(Cursor, RefusesASizeThatContradictsTheMask) { expectRefused(8, {0x00}); }
TEST(Cursor, RefusesASizeSmallerThanAnyRecord) { expectRefused(4, {3, 0}); }
TEST(Cursor, RefusesASizeLargerThanAnyRecord) { expectRefused(4, {0xff, 0xff}); }
TEST(Cursor, RefusesAnUnknownEncoding) { expectRefused(7, {5}); }
TEST(Cursor, RefusesKindZero) { expectRefused(6, {0}); }
TEST(Cursor, RefusesAnEmptyMask) { expectRefused(8, {0, 0, 0, 0, 0, 0, 0, 0}); }

TEST(Cursor, RefusesATileOfImpossibleWidth) {
  std::vector<uint64_t> addresses(64);
  for (uint32_t i = 0; i < 64; ++i) addresses[i] = 4 * (i % 16) + 4096 * (i / 16);
  for (uint32_t width : {0u, 1u, 3u, 64u, 0xffffffffu}) {
    RecordEncoder encoder;
    encoder.access(1, 1, full64, addresses);
    auto bytes = encoder.take();
    ASSERT_EQ(bytes.size(), 40u);
    std::memcpy(bytes.data() + 36, &width, 4);
    RecordCursor cursor(bytes);
    Record record;
    EXPECT_EQ(cursor.next(record), Status::malformed) << width;
  }
}

TEST(Cursor, RandomBytesNeverLeadOutsideTheRange) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    // An exactly sized heap block, so that a sanitizer would see any read beyond it.
    std::vector<std::byte> bytes(random() % 700);
    for (auto &b : bytes) b = std::byte(random());
    if (bytes.size() > 8) { // likely enough headers to get past the first checks
      bytes[4] = std::byte(bytes.size() / 8);
      bytes[5] = std::byte{0};
      bytes[6] = std::byte(random() % 6);
      bytes[7] = std::byte(random() % 6);
    }
    RecordCursor cursor(bytes);
    Record record;
    while (cursor.next(record) == Status::record)
      if (record.isAccess())
        record.forEachLane([](uint32_t lane, uint64_t) { ASSERT_LT(lane, 64u); });
    EXPECT_LE(cursor.offset(), bytes.size());
  }
}

} // namespace
