// MemoryAnalysis: bank conflicts of LDS. Every number is worked out by hand from the rules: LDS has
// 32 banks of 4 bytes, serves lanes in sets by access size, and each set costs one extra cycle for
// every distinct dword beyond the first in its fullest bank.
#include "memory_analysis_fixture.h"

namespace fade::testing {
namespace {

TEST_F(MemoryAnalysisTest, LdsColumnOf64FloatsHas62Conflicts) {
  stream.wave();
  stream.affine(ldsLoad(), 0, 64 * 4);
  EXPECT_EQ(lds()["conflicts"], 62);
}

TEST_F(MemoryAnalysisTest, PaddedLdsColumnHasNone) {
  stream.wave();
  stream.affine(ldsLoad(), 0, 65 * 4);
  EXPECT_EQ(lds()["conflicts"], 0);
}

TEST_F(MemoryAnalysisTest, LdsRowHasNone) {
  stream.wave();
  stream.affine(ldsLoad(), 0x40, 4);
  EXPECT_EQ(lds()["conflicts"], 0);
}

TEST_F(MemoryAnalysisTest, LdsBroadcastHasNone) {
  stream.wave();
  stream.affine(ldsLoad(), 0x40, 0);
  EXPECT_EQ(lds()["conflicts"], 0);
}

TEST_F(MemoryAnalysisTest, LdsStrideOfTwoFloatsHasOneConflictPerHalf) {
  stream.wave();
  stream.affine(ldsLoad(), 0, 8); // 32 lanes on 16 banks
  EXPECT_EQ(lds()["conflicts"], 2);
}

TEST_F(MemoryAnalysisTest, Lds8ByteRowIsServedInQuartersWithoutConflict) {
  stream.wave();
  stream.affine(ldsLoad(8), 0, 8);
  EXPECT_EQ(lds()["conflicts"], 0);
}

TEST_F(MemoryAnalysisTest, Lds8ByteAccessCountsBothItsDwords) {
  stream.wave();
  stream.affine(ldsLoad(8), 0, 128); // 16 lanes on banks 0 and 1, four times
  EXPECT_EQ(lds()["conflicts"], 4 * 15);
}

TEST_F(MemoryAnalysisTest, Lds16ByteRowHasNoConflict) {
  stream.wave();
  stream.affine(ldsLoad(16), 0, 16);
  // Each set has eight lanes on four banks each: lanes 0-3 on banks 0-15, lanes 20-23 on 16-31.
  EXPECT_EQ(lds()["conflicts"], 0);
}

TEST_F(MemoryAnalysisTest, Lds16ByteStrideOf32BytesMeetsInPairs) {
  stream.wave();
  stream.affine(ldsLoad(16), 0, 32);
  // Lanes 0-3: banks 0-3, 8-11, 16-19, 24-27; lanes 20-23: 640 bytes further, the same banks.
  EXPECT_EQ(lds()["conflicts"], 8 * 1);
}

TEST_F(MemoryAnalysisTest, Lds16ByteStrideOf128BytesMeetsInOneGroupOfBanks) {
  stream.wave();
  stream.affine(ldsLoad(16), 0, 128);
  EXPECT_EQ(lds()["conflicts"], 8 * 7);
}

TEST_F(MemoryAnalysisTest, LdsColumnInWave32Has31Conflicts) {
  target = "gfx1030";
  stream.wave(0, true);
  stream.affine(ldsLoad(), 0, 128, kWave32);
  EXPECT_EQ(lds()["conflicts"], 31);
}

TEST_F(MemoryAnalysisTest, LdsBytesInOneDwordDoNotConflict) {
  stream.wave();
  stream.affine(ldsLoad(1), 0, 1); // 32 lanes on 8 banks, one dword each
  EXPECT_EQ(lds()["conflicts"], 0);
}

TEST_F(MemoryAnalysisTest, MisalignedLdsDwordsCountInBothBanks) {
  stream.wave();
  // Each lane has the last 2 bytes of a dword and the first 2 of the next: dwords 32 i and 32 i
  // + 1.
  stream.affine(ldsLoad(4), 2, 128);
  EXPECT_EQ(lds()["conflicts"], 62);
}

TEST_F(MemoryAnalysisTest, TwelveByteLdsRowIsServedInEighths) {
  stream.wave();
  stream.affine(ldsLoad(12), 0, 12);
  // {0-3,20-23}: dwords 0-11 and 60-71, banks 0-11 and 28-31,0-7: banks 0-7 twice. {4-7,16-19}:
  // 12-23 and 48-59, banks 12-23 and 16-27. {8-11,28-31}: 24-35 and 84-95, banks 24-31,0-3 and
  // 20-31. {12-15,24-27}: 36-47 and 72-83, banks 4-15 and 8-19. One each; upper half: the same.
  EXPECT_EQ(lds()["conflicts"], 8);
}

TEST_F(MemoryAnalysisTest, Gfx950HasTwiceTheBanks) {
  target = "gfx950";
  stream.wave();
  stream.affine(ldsLoad(), 0, 256); // 64 lanes, all in bank 0 of 64
  const json memory = run();
  EXPECT_EQ(memory["banks"], 64);
  EXPECT_EQ(memory["lds"][0]["conflicts"], 63);
}

} // namespace
} // namespace fade::testing
