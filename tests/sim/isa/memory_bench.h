// The wave on a workbench, with memory: global buffers, LDS, private memory and counters.
#pragma once

#include "semantics/constants.h"
#include "wave/device_services.h"
#include "wave/memory_view.h"
#include "wave/stats.h"
#include "wave/workgroup.h"
#include "wave_bench.h"

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace fade::sim {

class MemoryBench : public WaveBench {
public:
  static constexpr uint32_t lds_bytes = 4096, private_bytes = 256;

  explicit MemoryBench(const std::string &cpu = "gfx90a", unsigned lanes = 0)
      : WaveBench(cpu, lanes), view_(space_), lds_(lds_bytes), scratch_(private_bytes * 64) {
    group_.lds = lds_.data(), group_.lds_bytes = lds_bytes;
    wave.memory = &view_, wave.group = &group_, wave.stats = &stats, wave.device = &device_;
    wave.scratch = scratch_.data(), wave.scratch_bytes = private_bytes;
    set_flat_scratch(scratch_window_base);
  }
  // As kernels do it when they begin, where the GPU does not do it itself.
  void set_flat_scratch(uint64_t va) {
    wave.flat_scratch = va;
    if (wave.arch->gfx9 && !wave.arch->architected_flat_scratch) set_s64(sreg::flat_scratch_lo, va);
  }

  DispatchStats stats;

  // A region of GPU memory, with nothing mapped around it.
  template <class T> struct Buffer {
    uint64_t va;
    T *data;
    T &operator[](size_t i) const { return data[i]; }
  };
  template <class T> Buffer<T> allocate(size_t count, bool writable = true) {
    blocks_.push_back(std::make_unique<std::byte[]>(count * sizeof(T)));
    auto *p = reinterpret_cast<T *>(blocks_.back().get());
    const uint64_t va = next_;
    next_ += 0x100000;
    space_.map(va, count * sizeof(T), p, writable);
    return {va, p};
  }
  // A region at a given place.
  void map(uint64_t va, void *host, uint64_t size) { space_.map(va, size, host); }

  // Addresses va + stride * lane in v[reg:reg+1].
  void point(unsigned reg, uint64_t va, uint64_t stride) {
    for (unsigned i = 0; i < 64; i++) set_lane64(reg, i, va + stride * i);
  }
  void set_lane64(unsigned reg, unsigned lane, uint64_t value) {
    v(reg)[lane] = static_cast<u32>(value), v(reg + 1)[lane] = static_cast<u32>(value >> 32);
  }
  void fill(unsigned reg, const std::function<u32(unsigned lane)> &value) {
    for (unsigned i = 0; i < 64; i++) v(reg)[i] = value(i);
  }
  void set_s64(unsigned reg, uint64_t value) { wave.set_sgpr64(reg, value); }

  template <class T> T lds(uint32_t at) const { return load<T>(lds_.data() + at); }
  template <class T> void set_lds(uint32_t at, T value) {
    std::memcpy(lds_.data() + at, &value, sizeof value);
  }
  // A lane's byte of private memory lies here: dwords of all lanes, interleaved.
  std::byte *private_byte(unsigned lane, uint32_t address) {
    return scratch_.data() + address / 4 * 4 * wave.lanes + lane * 4 + address % 4;
  }
  u32 private_word(unsigned lane, uint32_t address) {
    return load<u32>(private_byte(lane, address));
  }

  // The fault that a line causes; address 0 when there is none.
  MemoryFault fault_of(const std::string &line) {
    try {
      run(line);
    } catch (const MemoryFault &f) {
      return f;
    }
    return {0, false};
  }

private:
  template <class T> static T load(const std::byte *p) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }

  AddressSpace space_;
  MemoryView view_;
  Workgroup group_;
  DeviceServices device_;
  std::vector<std::byte> lds_, scratch_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  uint64_t next_ = 0x7f0000000000;
};

} // namespace fade::sim
