// The bytes of jumps, of both processors, worked out by hand from the manuals.
#include "hip/entry_code.h"

#include <cstring>
#include <gtest/gtest.h>

namespace fade::hip {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kFunction = 0x10000, kStub = 0x20000, kWrapper = 0x1122334455667788;

Bytes tail(const Bytes &stub) { return {stub.begin() + kStubOriginal, stub.end()}; }

#ifdef FADE_HAS_ZYDIS

TEST(EntryCodeX86, PushesAndMovesAreDisplacedAndTheRestIsJumpedTo) {
  // push %rbp; mov %rsp,%rbp; push %r15; push %r14
  const Bytes code = {0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x41, 0x56};
  const auto made = entryCodeX86(code, kFunction, kStub, kWrapper);
  ASSERT_TRUE(made);
  // 0x10005 + 0xfffb is the stub
  EXPECT_EQ(made->entry, (Bytes{0xe9, 0xfb, 0xff, 0x00, 0x00}));
  EXPECT_EQ(Bytes(made->stub.begin(), made->stub.begin() + 14),
            (Bytes{0xff, 0x25, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}));
  // Six bytes, then a jump at 0x20016 that ends at 0x2001b and goes to 0x10006.
  EXPECT_EQ(tail(made->stub),
            (Bytes{0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0xe9, 0xeb, 0xff, 0xfe, 0xff}));
}

TEST(EntryCodeX86, DistancesFromTheInstructionAreMovedWithIt) {
  // lea 0x1000(%rip),%rdi: means 0x11007
  const auto made =
      entryCodeX86(Bytes{0x48, 0x8d, 0x3d, 0, 0x10, 0, 0, 0xc3}, kFunction, kStub, kWrapper);
  ASSERT_TRUE(made);
  // At 0x20010, the next is at 0x20017: 0x11007 - 0x20017 = -0xf010
  Bytes moved = tail(made->stub);
  moved.resize(7);
  EXPECT_EQ(moved, (Bytes{0x48, 0x8d, 0x3d, 0xf0, 0x0f, 0xff, 0xff}));
}

TEST(EntryCodeX86, AFunctionThatOnlyJumpsOnNeedsNoJumpBack) {
  // jmp to 0x10105
  const auto made = entryCodeX86(Bytes{0xe9, 0, 1, 0, 0, 0x90}, kFunction, kStub, kWrapper);
  ASSERT_TRUE(made);
  // At 0x20010, the next is at 0x20015: 0x10105 - 0x20015 = -0xff10
  EXPECT_EQ(tail(made->stub), (Bytes{0xe9, 0xf0, 0x00, 0xff, 0xff}));
}

TEST(EntryCodeX86, InstructionsOfEveryKnownKindHaveTheirLength) {
  const std::vector<Bytes> kinds = {
      {0xf3, 0x0f, 0x1e, 0xfa, 0x55},       // endbr64; push
      {0x48, 0x83, 0xec, 0x18, 0x53},       // sub $0x18,%rsp; push
      {0x48, 0x81, 0xec, 0x88, 0, 0, 0},    // sub $0x88,%rsp
      {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, // movabs
      {0xb8, 1, 0, 0, 0},                   // mov $1,%eax
      {0x89, 0x7c, 0x24, 0xfc, 0x53},       // mov %edi,-4(%rsp); push
      {0x8b, 0x04, 0x25, 1, 0, 0, 0},       // mov 1,%eax
      {0x8b, 0x84, 0x24, 1, 0, 0, 0},       // mov 1(%rsp),%eax
      {0x66, 0x0f, 0x6e, 0xc7, 0x53},       // movd %edi,%xmm0; push
      {0x66, 0x41, 0x0f, 0x6e, 0xc0},       // movd %r8d,%xmm0
      {0x31, 0xc0, 0x31, 0xd2, 0x50},       // xor, xor, push
      // Immediates of 16 bits.
      {0x66, 0xc7, 0x45, 0xfc, 0x34, 0x12},          // movw $0x1234,-4(%rbp)
      {0x66, 0xc7, 0x44, 0x24, 0xfe, 0x34, 0x12},    // movw $0x1234,-2(%rsp)
      {0x66, 0x81, 0xc1, 0x34, 0x12},                // add $0x1234,%cx
      {0x66, 0xb8, 0x34, 0x12, 0x55},                // mov $0x1234,%ax; push
      {0x66, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},    // movabs: the last prefix counts
      {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, // mov %fs:0x28,%rax
      {0xc5, 0xf8, 0x77, 0xc5, 0xf8, 0x28, 0xc1},    // vzeroupper; vmovaps
      {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07},          // vmovups (%rdi),%zmm0
      {0xf2, 0x0f, 0x10, 0x47, 0x08},                // movsd 8(%rdi),%xmm0
      {0x80, 0x7f, 0x08, 0x01, 0x53},                // cmpb $1,8(%rdi); push
  };
  for (Bytes code : kinds) {
    const std::size_t size = code.size();
    code.resize(16, 0x06); // no instruction
    const auto made = entryCodeX86(code, kFunction, kStub, kWrapper);
    ASSERT_TRUE(made) << made.error().what << ", " << int(code[0]);
    code.resize(size);
    const Bytes rest = tail(made->stub);
    EXPECT_EQ(Bytes(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size)), code);
    EXPECT_EQ(rest.size(), size + 5);
  }
}

TEST(EntryCodeX86, WhatCannotBeMovedIsRefused) {
  const auto refuses = [](const Bytes &code, uint64_t function = kFunction, uint64_t stub = kStub) {
    return !entryCodeX86(code, function, stub, kWrapper);
  };
  EXPECT_TRUE(refuses({0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0})); // a call
  EXPECT_TRUE(refuses({0x83, 0xff, 0x0a, 0x77, 0x10, 0x53}));       // a conditional jump
  EXPECT_TRUE(refuses({0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90}));       // it ends before the jump would
  EXPECT_TRUE(refuses({0x55, 0x55, 0x55}));                         // as does what is known of it
  EXPECT_TRUE(refuses({}));
  const Bytes pushes(8, 0x55);
  EXPECT_FALSE(refuses(pushes));
  EXPECT_TRUE(refuses(pushes, kFunction + 4)); // the jump would not be stored at once
  EXPECT_FALSE(refuses(pushes, kFunction + 3));
  EXPECT_TRUE(refuses(pushes, kFunction, kFunction + (uint64_t{1} << 32))); // too far
}

TEST(EntryCodeX86, DistancesBeforeAnImmediateAreMovedToo) {
  // movl $1,0x1000(%rip): means 0x1100a
  const auto made =
      entryCodeX86(Bytes{0xc7, 0x05, 0, 0x10, 0, 0, 1, 0, 0, 0, 0xc3}, kFunction, kStub, kWrapper);
  ASSERT_TRUE(made);
  // At 0x20010, the next is at 0x2001a: 0x1100a - 0x2001a = -0xf010
  Bytes moved = tail(made->stub);
  moved.resize(10);
  EXPECT_EQ(moved, (Bytes{0xc7, 0x05, 0xf0, 0x0f, 0xff, 0xff, 1, 0, 0, 0}));
}

TEST(EntryCodeX86, AFunctionThatJumpsIntoItsFirstBytesIsRefused) {
  // push %rbp; mov %rsp,%rbp; push %rbx; dec %edi; then a jump; ret
  const auto with = [](const Bytes &jump) {
    Bytes code = {0x55, 0x48, 0x89, 0xe5, 0x53, 0xff, 0xcf};
    code.insert(code.end(), jump.begin(), jump.end());
    code.push_back(0xc3);
    return entryCodeX86(code, kFunction, kStub, kWrapper);
  };
  EXPECT_FALSE(with({0x75, 0xf8}));                         // jne to +1
  EXPECT_FALSE(with({0x75, 0xfb}));                         // jne to +4
  EXPECT_FALSE(with({0x0f, 0x85, 0xf4, 0xff, 0xff, 0xff})); // jne to +1, in 32 bits
  EXPECT_TRUE(with({0x75, 0xfc}));                          // jne to +5, behind them
  EXPECT_TRUE(with({0xeb, 0xf7}));                          // jmp to its beginning: as a call
  EXPECT_TRUE(with({0xe8, 0xf4, 0xff, 0xff, 0xff}));        // a call of itself
}

#else

TEST(EntryCodeX86, WithoutADecoderAllIsRefused) {
  EXPECT_FALSE(entryCodeX86(Bytes(8, 0x55), kFunction, kStub, kWrapper));
}

#endif

Bytes bytesOf(const std::vector<uint32_t> &words) {
  Bytes bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

TEST(EntryCodeArm64, TheFirstInstructionIsDisplaced) {
  // stp x29, x30, [sp, #-16]!
  const auto made = entryCodeArm64(bytesOf({0xa9bf7bfd, 0x910003fd}), kFunction, kStub, kWrapper);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->entry, bytesOf({0x14004000})); // b +0x10000
  // ldr x16, .+8; br x16; the wrapper; the instruction; b from 0x20014 to 0x10004: -0x10010
  EXPECT_EQ(made->stub,
            bytesOf({0x58000050, 0xd61f0200, 0x55667788, 0x11223344, 0xa9bf7bfd, 0x17ffbffc}));
}

TEST(EntryCodeArm64, ABranchIsMadeAnewFromTheStub) {
  // b +0x100
  const auto made = entryCodeArm64(bytesOf({0x14000040}), kFunction, kStub, kWrapper);
  ASSERT_TRUE(made);
  // From 0x20010 to 0x10100: -0xff10
  EXPECT_EQ(tail(made->stub), bytesOf({0x17ffc03c}));
}

TEST(EntryCodeArm64, InstructionsThatDependOnTheirPlaceAreRefused) {
  for (const uint32_t word :
       {0x90000000u, 0x10000000u, 0x94000001u, 0x54000040u, 0x54000050u, 0xb4000040u, 0x36000040u,
        0x58000040u, 0x74000040u, 0xf3800040u, 0x55000040u})
    EXPECT_FALSE(entryCodeArm64(bytesOf({word}), kFunction, kStub, kWrapper)) << std::hex << word;
  EXPECT_FALSE(entryCodeArm64(bytesOf({0xa9bf7bfd}), kFunction, kFunction + (128 << 20), kWrapper));
  EXPECT_FALSE(entryCodeArm64(Bytes{1, 2}, kFunction, kStub, kWrapper));
}

} // namespace
} // namespace fade::hip
