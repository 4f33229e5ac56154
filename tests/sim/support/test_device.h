// A GPU for tests: memory, an executor, and code objects, without a driver.
#pragma once

#include "base/address_space.h"
#include "device/code_object.h"
#include "exec/executor.h"
#include "wave/caches.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace fade::sim {

inline std::vector<uint8_t> read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<uint8_t> bytes(static_cast<size_t>(in.tellg()));
  in.seekg(0).read(reinterpret_cast<char *>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Kernel arguments, laid out by natural alignment.
class Arguments {
public:
  template <class T> Arguments &add(T v) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const auto *p = reinterpret_cast<const uint8_t *>(&v);
    bytes_.insert(bytes_.end(), p, p + sizeof v);
    return *this;
  }
  const std::vector<uint8_t> &bytes() const { return bytes_; }

private:
  std::vector<uint8_t> bytes_;
};

class TestDevice {
public:
  // With caches or with coherent memory.
  explicit TestDevice(const std::string &arch, unsigned workers = 0, bool has_caches = false,
                      JitUse jit = jit_use())
      : arch_(*find_arch(arch)), caches_(has_caches ? std::make_unique<Caches>(arch_) : nullptr),
        executor_(arch_, memory_, hooks(jit), workers) {}

  // GPU memory. Each allocation has unmapped space behind it.
  template <class T> struct Buffer {
    uint64_t va;
    T *data;
    size_t count;
    T &operator[](size_t i) const { return data[i]; }
  };
  template <class T> Buffer<T> allocate(size_t count) { return allocate<T>(count, local()); }
  // Fine-grained memory of the host, which no cache keeps.
  template <class T> Buffer<T> allocate_host(size_t count) {
    return allocate<T>(count, Caching::none);
  }
  template <class T> Buffer<T> allocate(size_t count, Caching caching) {
    // Zero, and of large ones only what is touched costs anything.
    blocks_.emplace_back(static_cast<std::byte *>(std::calloc(count, sizeof(T))));
    auto *p = reinterpret_cast<T *>(blocks_.back().get());
    const uint64_t va = next_;
    memory_.map(va, count * sizeof(T), p, true, false, caching);
    next_ += (count * sizeof(T) + 0x1fff) & ~0xfffull;
    return {va, p, count};
  }
  template <class T> Buffer<T> upload(const std::vector<T> &v) {
    auto b = allocate<T>(v.size());
    std::memcpy(b.data, v.data(), v.size() * sizeof(T));
    return b;
  }

  CodeObject &load(const std::vector<uint8_t> &elf) {
    objects_.push_back(std::make_unique<CodeObject>(elf, memory_, next_code_));
    next_code_ += 0x10000000;
    return *objects_.back();
  }

  DispatchResult run(const CodeObject &object, const std::string &kernel,
                     std::array<uint32_t, 3> grid, std::array<uint32_t, 3> workgroup,
                     const Arguments &arguments, uint32_t lds = 0, uint32_t scratch = 0) {
    std::vector<uint8_t> kernarg = arguments.bytes();
    kernarg.resize(kernarg.size() + 512); // room for hidden arguments, all zero
    auto block = allocate_host<uint8_t>(kernarg.size());
    std::memcpy(block.data, kernarg.data(), kernarg.size());
    Dispatch d;
    d.grid = grid, d.workgroup = workgroup;
    d.group_segment_size = lds, d.private_segment_size = scratch;
    d.kernel_object = object.symbol(kernel + ".kd");
    if (!d.kernel_object) throw std::runtime_error("no kernel " + kernel);
    d.kernarg_address = block.va;
    // An AQL packet for kernels that read their dispatch packet.
    auto packet = allocate_host<uint32_t>(16);
    auto *half = reinterpret_cast<uint16_t *>(packet.data);
    for (int i = 0; i < 3; i++)
      half[2 + i] = static_cast<uint16_t>(workgroup[i]), packet[3 + i] = grid[i];
    d.packet_address = packet.va;
    return executor_.run(d);
  }

  AddressSpace &memory() { return memory_; }
  Executor &executor() { return executor_; }
  Caches *caches() { return caches_.get(); } // null: memory is coherent
  const Arch &arch() const { return arch_; }

private:
  Executor::Hooks hooks(JitUse jit) const {
    Executor::Hooks hooks;
    hooks.jit = jit;
    hooks.caches = caches_.get();
    return hooks;
  }
  // As the driver maps a card's own memory.
  Caching local() const { return arch_.gfx9 ? Caching::own : Caching::noncoherent; }

  const Arch &arch_;
  std::unique_ptr<Caches> caches_;
  AddressSpace memory_;
  struct Free {
    void operator()(std::byte *block) const { std::free(block); }
  };
  std::vector<std::unique_ptr<std::byte[], Free>> blocks_;
  std::vector<std::unique_ptr<CodeObject>> objects_;
  uint64_t next_ = 0x200000000, next_code_ = 0x100000000;
  Executor executor_;
};

} // namespace fade::sim
