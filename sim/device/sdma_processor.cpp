#include "device/sdma_processor.h"

#include "base/clock.h"
#include "base/failures.h"
#include "base/trace.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace fade::sim {
namespace {

enum Op : uint8_t {
  op_nop = 0,
  op_copy = 1,
  op_write = 2,
  op_fence = 5,
  op_trap = 6,
  op_poll_regmem = 8,
  op_atomic = 10,
  op_const_fill = 11,
  op_timestamp = 13,
  op_gcr = 17,
};
enum CopySub : uint8_t { copy_linear_sub = 0, copy_rect_sub = 4 };

// Low five bits of the operation; bit 5 chooses 64 bits.
enum AtomicOp : uint8_t {
  atomic_swap = 7,
  atomic_add = 15,
  atomic_sub = 16,
  atomic_and = 21,
  atomic_or = 22,
  atomic_xor = 23,
};

template <class T> bool apply_atomic(uint8_t op, T *at, T value) {
  switch (op) {
  case atomic_swap: __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST); return true;
  case atomic_add: __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST); return true;
  case atomic_sub: __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST); return true;
  case atomic_and: __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST); return true;
  case atomic_or: __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST); return true;
  case atomic_xor: __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST); return true;
  default: return false;
  }
}

bool poll_met(uint8_t function, uint32_t value, uint32_t reference) {
  switch (function) {
  case 0: return true;
  case 1: return value < reference;
  case 2: return value <= reference;
  case 3: return value == reference;
  case 4: return value != reference;
  case 5: return value >= reference;
  case 6: return value > reference;
  default: return false;
  }
}

} // namespace

SdmaProcessor::SdmaProcessor(QueueHost &host, const QueueSpec &spec, bool is_gfx12)
    : host_(host), memory_(host.memory()), id_(spec.id), is_gfx12_(is_gfx12),
      read_index_(memory_.at<uint64_t>(spec.read_pointer)), doorbell_(spec.doorbell) {
  set_ring(spec.ring, spec.ring_bytes);
}

bool SdmaProcessor::set_ring(uint64_t address, uint64_t size) {
  auto *ring = size >= 4 ? memory_.translate(address, size) : nullptr;
  if (!ring) return false;
  ring_va_ = address;
  ring_dwords_ = size / 4;
  ring_ = ring;
  return true;
}

bool SdmaProcessor::has_work() const {
  uint64_t written = *doorbell_; // bytes, never wraps
  return !halted_ && written != doorbell_unrung && position_ < written;
}

uint32_t SdmaProcessor::dword(uint32_t i) const {
  uint32_t value;
  std::memcpy(&value, ring_.load() + (position_ / 4 + i) % ring_dwords_ * 4, sizeof value);
  return value;
}

PacketProcessor::Step SdmaProcessor::step() {
  if (halted_) return Step::halted;
  if (!has_work()) return Step::idle;
  std::atomic_thread_fence(std::memory_order_acquire); // the doorbell comes after the packet
  Outcome outcome = execute();
  if (outcome.step == Step::halted) halted_ = true;
  if (outcome.step != Step::progressed) return outcome.step;
  position_ += uint64_t{outcome.dwords} * 4;
  __atomic_store_n(read_index_, position_.load(), __ATOMIC_RELEASE);
  return Step::progressed;
}

SdmaProcessor::Outcome SdmaProcessor::execute() {
  uint8_t op = dword(0) & 0xff, sub = dword(0) >> 8 & 0xff;
  switch (op) {
  case op_nop: return {Step::progressed, 1 + (dword(0) >> 16 & 0x3fff)};
  case op_copy:
    return sub == copy_linear_sub ? copy_linear() : sub == copy_rect_sub ? copy_rect() : unknown();
  case op_write: return sub == 0 ? write_linear() : unknown();
  case op_fence: return fence();
  case op_trap: return trap();
  case op_poll_regmem: return poll();
  case op_atomic: return atomic();
  case op_const_fill: return fill();
  case op_timestamp: return timestamp();
  case op_gcr: // writes back and invalidates the caches of the compute units
    host_.release(Reach::system);
    host_.acquire(Reach::system);
    return {Step::progressed, 5};
  default: return unknown();
  }
}

SdmaProcessor::Outcome SdmaProcessor::copy_linear() {
  uint64_t bytes = uint64_t{dword(1) & 0x3fffffff} + 1;
  uint64_t from = address(3), to = address(5);
  if (trace().packets)
    say("queue %u: sdma copy 0x%" PRIx64 " <- 0x%" PRIx64 ", %" PRIu64 " bytes", id_, to, from,
        bytes);
  const Failure failure = failures().at_copy();
  if (failure == Failure::copyhang) return {Step::halted};
  if (failure != Failure::copy && !copy(to, from, bytes)) return {Step::halted};
  return {Step::progressed, 7};
}

SdmaProcessor::Outcome SdmaProcessor::copy_rect() {
  uint32_t element = 1u << (dword(0) >> 29);
  struct Side {
    uint64_t base, pitch, slice; // bytes
  };
  const uint32_t of_xy = is_gfx12_ ? 0xffff : 0x3fff, of_z = is_gfx12_ ? 0x3fff : 0x7ff,
                 of_slice = is_gfx12_ ? ~0u : 0xfffffff, pitch_at = is_gfx12_ ? 16 : 13;
  auto side = [&](uint32_t i) {
    uint64_t pitch = (uint64_t{dword(i + 3) >> pitch_at} + 1) * element;
    uint64_t slice = (uint64_t{dword(i + 4) & of_slice} + 1) * element;
    uint64_t x = dword(i + 2) & of_xy, y = dword(i + 2) >> 16 & of_xy, z = dword(i + 3) & of_z;
    return Side{address(i) + x * element + y * pitch + z * slice, pitch, slice};
  };
  Side from = side(1), to = side(6);
  uint64_t width = (uint64_t{dword(11) & of_xy} + 1) * element;
  uint32_t rows = (dword(11) >> 16 & of_xy) + 1, slices = (dword(12) & of_z) + 1;
  if (trace().packets)
    say("queue %u: sdma copy rectangle 0x%" PRIx64 " <- 0x%" PRIx64 ", %" PRIu64 " bytes x %u x %u",
        id_, to.base, from.base, width, rows, slices);
  for (uint32_t z = 0; z < slices; ++z)
    for (uint32_t y = 0; y < rows; ++y)
      if (!copy(to.base + z * to.slice + y * to.pitch, from.base + z * from.slice + y * from.pitch,
                width))
        return {Step::halted};
  return {Step::progressed, 13};
}

SdmaProcessor::Outcome SdmaProcessor::write_linear() {
  uint64_t to = address(1);
  uint32_t count = (dword(3) & 0xfffff) + 1;
  if (trace().packets) say("queue %u: sdma write 0x%" PRIx64 ", %u dwords", id_, to, count);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t value = dword(4 + i);
    uint64_t bad = 0;
    if (!memory_.write(to + uint64_t{i} * 4, &value, 4, &bad))
      return fault(bad, true), Outcome{Step::halted};
  }
  host_.written(to, uint64_t{count} * 4);
  return {Step::progressed, 4 + count};
}

SdmaProcessor::Outcome SdmaProcessor::fence() {
  auto *at = target<uint32_t>(address(1));
  if (!at) return {Step::halted};
  if (trace().packets) say("queue %u: sdma fence 0x%" PRIx64 " = %u", id_, address(1), dword(3));
  __atomic_store_n(at, dword(3), __ATOMIC_RELEASE);
  return {Step::progressed, 4};
}

SdmaProcessor::Outcome SdmaProcessor::trap() {
  if (trace().packets) say("queue %u: sdma trap, event %u", id_, dword(1) & 0xfffffff);
  host_.set_event(dword(1) & 0xfffffff);
  return {Step::progressed, 2};
}

SdmaProcessor::Outcome SdmaProcessor::poll() {
  bool memory = dword(0) >> 31;
  if (memory) {
    auto *at = memory_.at<uint32_t>(address(1));
    if (!at) return fault(address(1), false), Outcome{Step::halted};
    uint32_t value = __atomic_load_n(at, __ATOMIC_ACQUIRE) & dword(4);
    if (!poll_met(dword(0) >> 28 & 7, value, dword(3))) return {Step::waiting};
  } // else a register: only used to flush the host data path, which needs no flush here
  if (trace().packets)
    say("queue %u: sdma %s 0x%" PRIx64, id_, memory ? "poll" : "flush", memory ? address(1) : 0);
  return {Step::progressed, 6};
}

SdmaProcessor::Outcome SdmaProcessor::atomic() {
  uint8_t operation = dword(0) >> 25;
  uint64_t to = address(1), value = address(3);
  bool known;
  if (operation & 32) {
    auto *at = target<uint64_t>(to);
    if (!at) return {Step::halted};
    known = apply_atomic<uint64_t>(operation & ~32, at, value);
  } else {
    auto *at = target<uint32_t>(to);
    if (!at) return {Step::halted};
    known = apply_atomic<uint32_t>(operation, at, static_cast<uint32_t>(value));
  }
  if (!known) return unknown();
  if (trace().packets)
    say("queue %u: sdma atomic %u at 0x%" PRIx64 " with %" PRId64, id_, operation, to,
        static_cast<int64_t>(value));
  return {Step::progressed, 8};
}

SdmaProcessor::Outcome SdmaProcessor::fill() {
  uint32_t size = 1u << (dword(0) >> 30); // of the value: 1, 2 or 4 bytes
  if (size > 4) return unknown();
  uint64_t to = address(1), bytes = (dword(4) & 0x3fffffff) / size * size + uint64_t{size};
  uint32_t value = dword(3);
  if (trace().packets)
    say("queue %u: sdma fill 0x%" PRIx64 " with 0x%x, %" PRIu64 " bytes", id_, to, value, bytes);
  uint32_t pattern[256];
  for (size_t i = 0; i < sizeof pattern; i += size)
    std::memcpy(reinterpret_cast<std::byte *>(pattern) + i, &value, size);
  for (uint64_t done = 0; done < bytes;) {
    uint64_t n = std::min<uint64_t>(bytes - done, sizeof pattern), bad = 0;
    if (!memory_.write(to + done, pattern, n, &bad)) return fault(bad, true), Outcome{Step::halted};
    done += n;
  }
  host_.written(to, bytes);
  return {Step::progressed, 5};
}

SdmaProcessor::Outcome SdmaProcessor::timestamp() {
  auto *at = target<uint64_t>(address(1));
  if (!at) return {Step::halted};
  if (trace().packets) say("queue %u: sdma timestamp to 0x%" PRIx64, id_, address(1));
  __atomic_store_n(at, gpu_clock(), __ATOMIC_RELEASE);
  return {Step::progressed, 3};
}

// There is no error code for copy queues. The runtime learns of it as of a fault at the packet.
SdmaProcessor::Outcome SdmaProcessor::unknown() {
  say("%s: queue %u: SDMA packet 0x%08x is one that the software GPU does not know",
      host_.arch().name, id_, dword(0));
  host_.memory_fault(ring_va_ + position_ % (ring_dwords_ * 4), false);
  return {Step::halted};
}

bool SdmaProcessor::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  while (bytes) {
    auto source = memory_.find(from);
    if (!source) return fault(from, false), false;
    auto destination = memory_.find(to);
    if (!destination || !destination->writable) return fault(to, true), false;
    uint64_t n = std::min({bytes, source->end() - from, destination->end() - to});
    std::memmove(destination->at(to), source->at(from), n);
    host_.written(to, n);
    to += n, from += n, bytes -= n;
  }
  std::atomic_thread_fence(std::memory_order_release);
  return true;
}

template <class T> T *SdmaProcessor::target(uint64_t va) {
  auto region = memory_.find(va);
  if (!region || !region->writable || !region->contains(va, sizeof(T)) || va % sizeof(T)) {
    fault(va, true);
    return nullptr;
  }
  return reinterpret_cast<T *>(region->at(va));
}

void SdmaProcessor::fault(uint64_t va, bool write) {
  say("%s: queue %u: SDMA %s address 0x%" PRIx64 ", which is not mapped", host_.arch().name, id_,
      write ? "writes" : "reads", va);
  host_.memory_fault(va, write);
}

} // namespace fade::sim
