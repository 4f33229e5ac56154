// What a kernel asks of the host while it is replayed, in memory that the kernel may write.
#include "replay/hostcall_packet.h"
#include "replay/hostcalls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace fade::replay {
namespace {

constexpr uint64_t kAddress = 0x100000, kPackets = 64;

/// A buffer as a kernel has it.
class Hostcall : public testing::Test {
protected:
  Hostcall() {
    space.map(kAddress, (size + 4095) & ~uint64_t{4095}, memory.get());
    Hostcalls::layOut(memory.get(), kAddress, kPackets);
  }
  HostcallHeader &header(uint64_t index) {
    return *reinterpret_cast<HostcallHeader *>(memory.get() + (buffer->headers - kAddress) +
                                               index * sizeof(HostcallHeader));
  }

  const uint64_t size = Hostcalls::bufferSize(kPackets);
  const std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(size + 4096);
  HostcallBuffer *const buffer = reinterpret_cast<HostcallBuffer *>(memory.get());
  sim::AddressSpace space;
};

/// A word that the kernel changes as soon as it was read.
struct ChangingWord {
  uint64_t first, later;
  mutable int reads = 0;
  operator uint64_t() const volatile { // NOLINT(google-explicit-constructor)
    reads = reads + 1;
    return reads == 1 ? first : later;
  }
};
struct ChangingBuffer {
  ChangingWord headers, payloads, index_mask;
};

// A capture may come from anybody, and its kernel may write anything anywhere at any time.
TEST_F(Hostcall, AKernelThatOverwritesTheBufferMeanwhileDoesNoHarm) {
  constexpr uint64_t nowhere = 0x7fff'0000'0000;
  header(3) = {5, 0xf0, 2, 1};
  const ChangingBuffer changing{
      {buffer->headers, nowhere}, {buffer->payloads, nowhere}, {kPackets - 1, nowhere}};
  const auto packet = readPacket(space, changing, 3 + kPackets);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->control, &header(3).control);
  EXPECT_EQ(packet->payload, buffer->payloads + 3 * kHostcallPayloadBytes);
  EXPECT_EQ(packet->next, 5u);
  EXPECT_EQ(packet->lanes, 0xf0u);
  EXPECT_EQ(packet->service, 2u);
  for (const ChangingWord *word : {&changing.headers, &changing.payloads, &changing.index_mask})
    EXPECT_EQ(word->reads, 1);
}

TEST_F(Hostcall, PacketsThatLieNowhereOrAskewAreNone) {
  HostcallBuffer changed = *buffer;
  changed.headers = 0x7fff'0000'0000;
  EXPECT_FALSE(readPacket(space, changed, kPackets));
  changed.headers = buffer->headers + 4; // no atomics there
  EXPECT_FALSE(readPacket(space, changed, kPackets));
  EXPECT_TRUE(readPacket(space, *buffer, kPackets));
}

TEST_F(Hostcall, PacketsAreAnsweredAlsoWhenTheBufferWasOverwrittenBefore) {
  uint64_t asked_for = 0;
  const auto calls = Hostcalls::create(space, kAddress, [&](uint64_t bytes) {
    asked_for = bytes;
    std::atomic_ref(buffer->headers).store(0x7fff'0000'0000); // by another wave
    return uint64_t{0};
  });
  ASSERT_TRUE(calls);
  HostcallHeader &first = header(0);
  first = {0, 1, 3, 1};
  reinterpret_cast<uint64_t *>(memory.get() + (buffer->payloads - kAddress))[1] = 4096;
  calls->start();
  std::atomic_ref(buffer->ready_stack).store(kPackets, std::memory_order_release);
  while (std::atomic_ref(first.control).load(std::memory_order_acquire) != 0)
    std::this_thread::yield();
  // The next one is not found, and that is all.
  std::atomic_ref(buffer->ready_stack).store(kPackets, std::memory_order_release);
  while (std::atomic_ref(buffer->ready_stack).load() != 0) std::this_thread::yield();
  calls->stop();
  EXPECT_EQ(asked_for, 4096u);
  EXPECT_FALSE(calls->isStuck());
}

} // namespace
} // namespace fade::replay
