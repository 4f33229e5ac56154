// Kernels of random instructions with random operands. What they compute does not matter: each ends
// in one of the known ways, and nothing outside of the device's memory is touched (sanitizers
// watch).
#include "../support/test_device.h"

#include "isa/decoder.h"
#include "semantics/opcodes.h"

#include <gtest/gtest.h>

namespace fade::sim {
namespace {

constexpr unsigned longest = 20; // bytes of an instruction

class Random {
public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 12345) {}
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>(state_ * 0x2545f4914f6cdd1d >> 32);
  }
  uint32_t below(uint32_t bound) { return next() % bound; }

private:
  uint64_t state_;
};

// A kernel descriptor, a prologue that fills registers, random code, the end of the program.
class RandomKernel {
public:
  RandomKernel(const Arch &arch, uint64_t data, uint64_t seed)
      : arch_(arch), data_(static_cast<uint32_t>(data)),
        data_high_(static_cast<uint32_t>(data >> 32)), random_(seed),
        wave32_(arch.gfx10_up && random_.below(2)) {
    descriptor();
    prologue();
    const unsigned count = 1 + random_.below(4);
    Decoder decoder(arch_, wave32_ ? 32 : 64, opcodes());
    for (unsigned i = 0; i < count; i++) instruction(decoder);
    const uint32_t end = arch_.gfx11 ? 0xbfb00000 : 0xbf810000; // s_endpgm
    words_.insert(words_.end(), 64, end);
  }

  const std::vector<uint32_t> &words() const { return words_; }
  Random &random() { return random_; }

private:
  void descriptor() {
    words_.assign(64, 0);
    words_[4] = 256; // from here to the code
    if (arch_.has_agprs) words_[11] = 16;
    words_[12] = 31 | 0xf0u << 12 | 1u << 21 | 1u << 23;           // many registers, denormals
    words_[13] = random_.below(2) | 16u << 1 | 1u << 7 | 2u << 11; // private memory, ids
    words_[14] = 1u << 3 | (wave32_ ? 1u << 10 : 0);               // kernel arguments
  }

  // Small numbers, any bits, floats, addresses: the latter as halves of 64-bit pairs.
  uint32_t value(unsigned reg) {
    switch (random_.below(4)) {
    case 0: return random_.next();
    case 1: return random_.below(64);
    case 2:
      return random_.below(2) ? 0x3f800000 + random_.below(100) : 0x7f800000 + random_.below(3);
    default: return reg % 2 ? data_high_ : data_ + random_.below(1024) * 4;
    }
  }

  void prologue() {
    const uint32_t scalar_move = arch_.id == Gfx::gfx1030 ? 0xbe8003ff : 0xbe8000ff;
    for (uint32_t reg = 0; reg < 12; reg++)
      words_.insert(words_.end(), {0x7e0002ff | reg << 17, value(reg)});
    for (uint32_t reg = 0; reg < 24; reg++)
      words_.insert(words_.end(), {scalar_move | reg << 16, value(reg)});
  }

  // One that the device knows, found by trying. Half of them name low registers, which have values.
  void instruction(Decoder &decoder) {
    for (int attempt = 0; attempt < 1000; attempt++) {
      uint32_t w[longest / 4];
      for (uint32_t &x : w) x = random_.next();
      if (random_.below(3)) w[0] |= 0xc0000000; // vector and memory instructions, two words long
      if (random_.below(2)) w[1] &= 0x0f070f07;
      const auto *bytes = reinterpret_cast<const uint8_t *>(w);
      const auto r = decoder.decode({bytes, longest}, 4 * words_.size());
      if (!r.known) continue;
      words_.insert(words_.end(), w, w + r.instruction.size / 4);
      return;
    }
  }

  const Arch &arch_;
  uint32_t data_, data_high_;
  Random random_;
  bool wave32_;
  std::vector<uint32_t> words_;
};

class RandomCodeTest : public testing::TestWithParam<const char *> {};

TEST_P(RandomCodeTest, AnyCodeEndsInAKnownWayAndHarmsNothing) {
  using End = DispatchResult::Status;
  TestDevice device(GetParam(), 1);
  auto data = device.allocate<uint32_t>(4096), arguments = device.allocate<uint32_t>(256);
  auto code = device.allocate<uint32_t>(1024);
  std::array<int, 8> ends{};
  for (uint64_t seed = 0; seed < 400; seed++) {
    RandomKernel kernel(device.arch(), data.va, seed);
    std::copy(kernel.words().begin(), kernel.words().end(), code.data);
    Dispatch d;
    d.grid = {1 + kernel.random().below(130), 1, 1};
    d.workgroup = {64 + 64 * kernel.random().below(2), 1, 1};
    d.group_segment_size = 4096 * kernel.random().below(2);
    d.private_segment_size = 64 * kernel.random().below(2);
    d.kernel_object = code.va;
    d.kernarg_address = arguments.va;
    d.packet_address = arguments.va + 512;
    const DispatchResult result = device.executor().run(d);
    EXPECT_NE(result.status, End::stopped) << seed;
    EXPECT_EQ(result.message.empty(), result.status == End::ok) << seed << ": " << result.message;
    ends[static_cast<size_t>(result.status)]++;
  }
  // Most of it runs; some of it reads where nothing is.
  EXPECT_GT(ends[static_cast<size_t>(End::ok)], 200);
  EXPECT_GT(ends[static_cast<size_t>(End::memory_fault)], 10);
}

INSTANTIATE_TEST_SUITE_P(, RandomCodeTest,
                         testing::Values("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace fade::sim
