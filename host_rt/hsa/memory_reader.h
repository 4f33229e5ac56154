// Reads memory of GPUs while their queues stand still, through a staging buffer in host memory.
#pragma once

#include "hsa/visible_memory.h"

#include <chrono>
#include <functional>
#include <span>

namespace fade {

class MemoryReader {
public:
  static constexpr std::size_t kPiece = std::size_t{8} << 20;

  /// `patience`: for one piece, before another way is tried.
  MemoryReader(const Agents &agents, std::chrono::milliseconds patience)
      : agents_(agents), patience_(patience) {}
  ~MemoryReader();
  MemoryReader(const MemoryReader &) = delete;
  MemoryReader &operator=(const MemoryReader &) = delete;

  /// Hands out all pages of a region, piece by piece. False if it cannot be read, or `use` says no.
  using Use = std::function<bool(std::span<const uint8_t> pages)>;
  bool read(const VisibleRegion &region, const Use &use);

private:
  bool readHost(const VisibleRegion &region, const Use &use);
  bool readDevice(const VisibleRegion &region, const Use &use);
  bool makeStages();
  bool startCopy(unsigned slot, const VisibleRegion &region, uint64_t offset, std::size_t size);
  bool waitFor(unsigned slot);
  bool copyPlainly(unsigned slot, const VisibleRegion &region, uint64_t offset, std::size_t size);

  const Agents &agents_;
  const std::chrono::milliseconds patience_;
  struct Stage {
    uint8_t *memory = nullptr;
    hsa_signal_t done{};
    bool is_under_way = false;
  };
  Stage stages_[2];
  bool engine_works_ = true; ///< copies by the engine come to an end
  std::vector<uint8_t> buffer_;
};

} // namespace fade
