// What a kernel asks of the host while it is replayed, in memory that the kernel may write.
#include "replay/hostcalls.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

namespace fade::replay {
namespace {

/// As the device library has it.
struct Buffer {
  uint64_t headers, payloads, doorbell, free_stack, ready_stack, index_mask;
};
struct Header {
  uint64_t next, lanes;
  uint32_t service, control;
};

// A capture may come from anybody, and its kernel may write anything anywhere at any time.
TEST(Hostcalls, AKernelThatOverwritesTheBufferMeanwhileDoesNoHarm) {
  constexpr uint64_t address = 0x100000, packets = 64;
  const uint64_t size = Hostcalls::bufferSize(packets);
  const auto memory = std::make_unique<std::byte[]>(size + 4096);
  sim::AddressSpace space;
  space.map(address, (size + 4095) & ~uint64_t{4095}, memory.get());
  Hostcalls::layOut(memory.get(), address, packets);
  auto *buffer = reinterpret_cast<Buffer *>(memory.get());
  const uint64_t headers = buffer->headers;
  auto *header = reinterpret_cast<Header *>(memory.get() + (headers - address));
  const auto calls = Hostcalls::create(space, address, [](uint64_t) { return uint64_t{0}; });
  ASSERT_TRUE(calls);
  calls->start();
  header->service = 2;
  header->lanes = 1;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < until) {
    std::atomic_ref(buffer->headers).store(headers);
    std::atomic_ref(buffer->ready_stack).store(1ull << 32); // the packet 0
    for (int i = 0; i < 200; ++i)
      std::atomic_ref(buffer->headers).store(i % 2 == 0 ? 0x7fff'0000'0000 : headers);
  }
  calls->stop();
  EXPECT_FALSE(calls->isStuck());
}

} // namespace
} // namespace fade::replay
