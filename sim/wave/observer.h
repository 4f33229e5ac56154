// A seam for listeners: what memory instructions touched and which blocks were entered.
#pragma once

#include <cstdint>
#include <span>

namespace fade::sim {

struct WaveInfo {
  uint64_t dispatch;      // running number of the dispatch on this executor
  uint64_t kernel_object; // address of the kernel descriptor
  uint32_t workgroup[3];
  uint32_t wave_in_group;
  uint8_t lanes; // 32 or 64
};

struct MemoryAccess {
  enum class Kind : uint8_t { load, store, atomic };
  enum class Space : uint8_t { global, lds, scratch };
  uint64_t pc;
  uint64_t exec; // lanes that take part, after bounds checks of the instruction itself
  std::span<const uint64_t> addresses; // one per lane; LDS: byte offset in the workgroup's LDS
  uint32_t size;                       // bytes per lane
  Kind kind;
  Space space;
};

// Called on worker threads, several at once. An observer must be thread-safe and must not throw.
class Observer {
public:
  virtual ~Observer() = default;
  virtual void memory(const WaveInfo &wave, const MemoryAccess &access) = 0;
  virtual void block(const WaveInfo &wave, uint64_t pc, uint64_t exec) = 0;
};

} // namespace fade::sim
