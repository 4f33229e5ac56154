// What the application gave to the GPU past FADE: counted while it happens, said at the end.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fade {

/// Any thread.
class Unseen {
public:
  enum class Kind {
    queue,      ///< of kernels, that could not be watched
    sdma_queue, ///< of copies, which the application writes packets to itself
    copy,       ///< several in one call, in a form that is not known
    prefetch,   ///< of memory that is managed
    packet,     ///< of a type that is not known
    cluster,    ///< a dispatch in clusters of workgroups, which cannot be captured
  };
  static constexpr std::size_t kKinds = 6;

  void add(Kind kind, uint64_t count = 1) noexcept {
    counts_[static_cast<std::size_t>(kind)].fetch_add(count, std::memory_order_relaxed);
  }
  /// A packet of a type unknown to FADE; `format`: of a vendor's packet, else 0.
  void addPacket(unsigned type, unsigned format) noexcept {
    add(Kind::packet);
    uint32_t none = kNoPacket;
    packet_.compare_exchange_strong(none, type << 8 | format, std::memory_order_relaxed);
  }
  uint64_t count(Kind kind) const noexcept {
    return counts_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  /// For people, one line each. `with_copies`: copies are recorded.
  std::vector<std::string> lines(bool with_copies) const;
  void clear() noexcept;

private:
  static constexpr uint32_t kNoPacket = UINT32_MAX;
  std::array<std::atomic<uint64_t>, kKinds> counts_{};
  std::atomic<uint32_t> packet_{kNoPacket}; ///< the first: type and format
};

/// Of the process.
Unseen &unseen() noexcept;

} // namespace fade
