#include "replay/hostcalls.h"

#include "replay/hostcall_packet.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <fmt/format.h>

namespace fade::replay {
namespace {

using Buffer = HostcallBuffer;
using Header = HostcallHeader;
constexpr uint64_t kDoorbellAt = 2048, kHeadersAt = 4096; // in a buffer of our own
constexpr uint64_t kMostPackets = 16384;                  // waves that the largest cards hold
enum Service : uint32_t { kFunction = 1, kPrintf = 2, kMemory = 3 };
/// In the first word of a part of a message, of which printf sends several.
constexpr uint64_t kBeginsMessage = 1;

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

uint64_t Hostcalls::packetsFor(uint64_t work_items) {
  return std::min(std::bit_ceil(work_items / 32 + 64), kMostPackets);
}

uint64_t Hostcalls::bufferSize(uint64_t packets) {
  return kHeadersAt + packets * (sizeof(Header) + kHostcallPayloadBytes);
}

void Hostcalls::layOut(std::byte *memory, uint64_t address, uint64_t packets) {
  // All are on the stack of free ones. Names of packets are never 0: they have a tag above.
  const auto name = [&](uint64_t index) { return index + packets; };
  auto *headers = reinterpret_cast<Header *>(memory + kHeadersAt);
  for (uint64_t i = 0; i < packets; ++i) headers[i].next = i == 0 ? 0 : name(i - 1);
  *reinterpret_cast<Buffer *>(memory) = {address + kHeadersAt,
                                         address + kHeadersAt + packets * sizeof(Header),
                                         address + kDoorbellAt,
                                         name(packets - 1),
                                         0,
                                         packets - 1};
}

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
      const auto asked = readPacket(space_, *head, packet);
      if (!asked) break;
      answer(asked->service, asked->lanes, asked->payload);
      std::atomic_ref(*asked->control).fetch_and(~1u, std::memory_order_release);
      packet = asked->next;
    }
  }
}

void Hostcalls::answer(uint32_t service, uint64_t lanes, uint64_t payload) {
  for (; lanes != 0; lanes &= lanes - 1) {
    auto *words = reinterpret_cast<uint64_t *>(
        space_.translate(payload + static_cast<uint64_t>(std::countr_zero(lanes)) * 64, 64));
    if (!words) continue;
    const std::lock_guard lock(mutex_);
    if (service == kPrintf) {
      served_[service] += words[0] & kBeginsMessage;
      words[0] &= ~kBeginsMessage; // the next part of it comes with what stands here
    } else {
      ++served_[service];
    }
    if (service == kMemory && words[0] == 0) {
      constexpr uint64_t most = uint64_t{1} << 32;
      const uint64_t size = std::min(words[1], most);
      words[0] = allocate_(size);
    } else if (service == kFunction) {
      is_stuck_ = true;
    }
  }
}

bool Hostcalls::hasGivenMemory() const {
  const std::lock_guard lock(mutex_);
  return served_.contains(kMemory);
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
