// What waves did last, kept while records pass.
#include "stream/last_records.h"

#include <gtest/gtest.h>

namespace fade {
namespace {

/// A stream of whole records, as a batch has them.
class Stream {
public:
  void begin(uint32_t wave) {
    fade_wave_begin record{};
    record.header = {0, sizeof record / 8, FADE_RECORD_WAVE_BEGIN, 0};
    record.mask = 1;
    record.wave = wave;
    record.workgroup_x = wave / 2;
    put(record);
  }
  void access(uint32_t wave, uint64_t address) {
    fade_record record{};
    record.header = {7, sizeof record / 8, FADE_RECORD_ACCESS, FADE_ENCODING_UNIFORM};
    record.mask = 1;
    record.value = address;
    record.wave = wave;
    put(record);
  }
  /// With an address for each of 64 lanes.
  void scattered(uint32_t wave, uint64_t address) {
    fade_record record{};
    constexpr uint64_t lanes = 64;
    record.header = {7, static_cast<uint8_t>(sizeof record / 8 + lanes - 1), FADE_RECORD_ACCESS,
                     FADE_ENCODING_RAW};
    record.mask = UINT64_MAX;
    record.value = address;
    record.wave = wave;
    put(record);
    for (uint64_t lane = 1; lane < lanes; ++lane) put(address + lane * lane);
  }
  void end(uint32_t wave) {
    fade_wave_end record{};
    record.header = {0, sizeof record / 8, FADE_RECORD_WAVE_END, 0};
    record.mask = 1;
    record.wave = wave;
    put(record);
  }
  /// As the analysis does it with a batch that starts at that position.
  void giveTo(LastRecords &last, uint64_t position = 0) const {
    LastRecords::Scan scan;
    giveTo(last, position, scan);
  }
  void giveTo(LastRecords &last, uint64_t position, LastRecords::Scan &scan) const {
    RecordCursor cursor(bytes_);
    Record record;
    for (std::size_t at = 0; cursor.next(record) == RecordCursor::Status::record;
         at = cursor.offset())
      scan.see(record, at);
    last.add(scan, bytes_, position);
  }

private:
  template <typename T> void put(const T &record) {
    const auto *from = reinterpret_cast<const std::byte *>(&record);
    bytes_.insert(bytes_.end(), from, from + sizeof record);
  }
  std::vector<std::byte> bytes_;
};

std::vector<uint64_t> addressesOf(const LastRecords::Wave &wave) {
  std::vector<uint64_t> addresses;
  for (const auto &kept : wave.records) {
    RecordCursor cursor(kept.bytes);
    Record record;
    if (cursor.next(record) == RecordCursor::Status::record) addresses.push_back(record.base());
  }
  return addresses;
}

TEST(LastRecords, WavesThatHaveNotEndedAreKeptWithTheirLastTwoRecordsOfABatch) {
  LastRecords last;
  Stream stream;
  for (const uint32_t wave : {0u, 1u, 2u}) stream.begin(wave);
  for (uint64_t i = 0; i < 5; ++i)
    for (const uint32_t wave : {0u, 1u, 2u}) stream.access(wave, 100 * wave + i);
  stream.end(1);
  stream.giveTo(last);
  const auto waves = last.unended();
  ASSERT_EQ(waves.size(), 2u);
  EXPECT_EQ(waves[0].number, 0u);
  EXPECT_EQ(addressesOf(waves[0]), (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(addressesOf(waves[1]), (std::vector<uint64_t>{203, 204}));
  EXPECT_EQ(waves[1].begin.size(), sizeof(fade_wave_begin));
}

TEST(LastRecords, BatchesMayComeInAnyOrder) {
  LastRecords last;
  Stream early, late, end;
  early.begin(5);
  early.begin(6);
  early.access(5, 1);
  early.access(6, 10);
  late.access(5, 2);
  late.access(5, 3);
  late.access(5, 4);
  end.end(6);
  end.giveTo(last, 3000);
  late.giveTo(last, 2000);
  early.giveTo(last, 1000);
  const auto waves = last.unended();
  ASSERT_EQ(waves.size(), 1u);
  EXPECT_EQ(addressesOf(waves[0]), (std::vector<uint64_t>{1, 3, 4}));
}

TEST(LastRecords, FourAreKeptOverManyBatchesAndLongOnesAreWhole) {
  LastRecords last;
  LastRecords::Scan scan; // the same for all batches, as a worker has it
  for (uint64_t i = 0; i < 10; ++i) {
    Stream stream;
    if (i % 2 == 0)
      stream.scattered(9, i << 20);
    else
      stream.access(9, i << 20);
    stream.access(static_cast<uint32_t>(100 + i), i);
    stream.giveTo(last, 1000 * i, scan);
  }
  Stream old;
  old.access(9, 42);
  old.giveTo(last, 1, scan);
  const auto waves = last.unended();
  ASSERT_EQ(waves.size(), 11u);
  EXPECT_EQ(addressesOf(waves[0]), (std::vector<uint64_t>{6u << 20, 7u << 20, 8u << 20, 9u << 20}));
  RecordCursor cursor(waves[0].records[2].bytes);
  Record record;
  ASSERT_EQ(cursor.next(record), RecordCursor::Status::record);
  uint64_t highest = 0;
  record.forEachLane([&](uint32_t, uint64_t address) { highest = std::max(highest, address); });
  EXPECT_EQ(highest, (8u << 20) + 63 * 63);
}

TEST(LastRecords, MemoryIsBoundedAndWavesThatEndMakeRoom) {
  LastRecords last;
  const auto step = static_cast<uint32_t>(500);
  for (uint32_t first = 0; first < 20'000; first += step) {
    Stream begins, ends;
    for (uint32_t i = first; i < first + step; ++i) begins.begin(i);
    for (uint32_t i = first; i < first + step; ++i) begins.access(i, i);
    begins.giveTo(last, first);
    if (first >= 15'000) continue; // the last 5000 do not end
    for (uint32_t i = first; i < first + step; ++i) ends.end(i);
    ends.giveTo(last, first + 1);
  }
  const auto waves = last.unended();
  EXPECT_EQ(waves.size(), LastRecords::kMostWaves);
  EXPECT_GE(waves.front().number, 15'000u);
}

} // namespace
} // namespace fade
