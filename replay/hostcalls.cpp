#include "replay/hostcalls.h"

#include <bit>
#include <chrono>
#include <fmt/format.h>

namespace fade::replay {
namespace {

// As the device library has them.
struct Buffer {
  uint64_t headers, payloads, doorbell, free_stack, ready_stack, index_mask;
};
struct Header {
  uint64_t next, lanes;
  uint32_t service, control;
};
constexpr uint64_t kPayloadBytes = 64 * 64; // eight words of each lane
enum Service : uint32_t { kFunction = 1, kPrintf = 2, kMemory = 3 };

} // namespace

std::unique_ptr<Hostcalls> Hostcalls::create(sim::AddressSpace &space, uint64_t buffer,
                                             std::function<uint64_t(uint64_t)> allocate) {
  const auto *head = space.at<Buffer>(buffer);
  if (!head || !space.at<Header>(head->headers)) return nullptr;
  std::unique_ptr<Hostcalls> calls(new Hostcalls(space, buffer));
  calls->allocate_ = std::move(allocate);
  // The signal lies in memory of the runtime, which is not captured. A blank one does: nobody waits
  // for it.
  constexpr uint64_t page = 4096;
  const uint64_t at = head->doorbell & ~(page - 1);
  if (at != 0 && !space.find(head->doorbell)) {
    calls->doorbell_ = std::make_unique<std::byte[]>(2 * page);
    space.map(at, page, calls->doorbell_.get());
  }
  return calls;
}

Hostcalls::~Hostcalls() { stop(); }

void Hostcalls::start() {
  is_stopping_ = false;
  thread_ = std::thread([this] { serve(); });
}

void Hostcalls::stop() {
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Hostcalls::serve() {
  auto *head = space_.at<Buffer>(buffer_);
  while (head && !is_stopping_) {
    uint64_t packet = std::atomic_ref(head->ready_stack).exchange(0, std::memory_order_acquire);
    if (packet == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    // A stack of packets; a broken one must not keep this thread for ever.
    for (unsigned n = 0; packet != 0 && n < (1u << 20); ++n) {
      const uint64_t index = packet & head->index_mask;
      auto *header = space_.at<Header>(head->headers + index * sizeof(Header));
      if (!header) break;
      const uint64_t next = header->next;
      answer(index);
      std::atomic_ref(header->control).fetch_and(~1u, std::memory_order_release);
      packet = next;
    }
  }
}

void Hostcalls::answer(uint64_t index) {
  const auto *head = space_.at<Buffer>(buffer_);
  const auto *header = space_.at<Header>(head->headers + index * sizeof(Header));
  const uint32_t service = header->service;
  for (uint64_t lanes = header->lanes; lanes != 0; lanes &= lanes - 1) {
    auto *words = reinterpret_cast<uint64_t *>(
        space_.translate(head->payloads + index * kPayloadBytes +
                             static_cast<uint64_t>(std::countr_zero(lanes)) * 64,
                         64));
    if (!words) continue;
    const std::lock_guard lock(mutex_);
    ++served_[service];
    if (service == kMemory && words[0] == 0) {
      constexpr uint64_t most = uint64_t{1} << 32;
      const uint64_t size = std::min(words[1], most);
      words[0] = allocate_(size);
    } else if (service == kFunction) {
      is_stuck_ = true;
    }
  }
}

std::string Hostcalls::summary() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto &[service, lanes] : served_) {
    const char *name = service == kFunction ? "host function"
                       : service == kPrintf ? "printf"
                       : service == kMemory ? "memory for the heap"
                                            : "an unknown service";
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, lanes);
  }
  return text;
}

} // namespace fade::replay
