// The five kernels (kernels/*.cl): data for them, and the accesses of each thread worked out on the
// host, as the sources describe them.
#pragma once

#include "cuda_backend.h"
#include "fade/sites.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fade::silicon {

// One thread of a launch.
struct Thread {
  uint32_t x, y;             // in its block
  uint32_t block_x, block_y; //
};

// An access of a kernel: its kind, its address space and which of them it is, in the order of lines
// and columns.
struct AccessName {
  uint32_t kind, space, number;
};

// A kernel with everything but the launch.
class Workload {
public:
  using Access = std::function<void(std::size_t name, uint64_t address)>;
  using Reference = std::function<void(const Thread &, const Access &)>;

  std::string name;
  Dim groups, group;
  std::vector<AccessName> accesses;
  Reference reference; // calls Access with an index in `accesses`, in the order of the thread

  uint32_t threads() const { return groups.x * groups.y * groups.z * group.x * group.y * group.z; }
  uint32_t waves() const { return groups.x * groups.y * ((group.x * group.y + 31) / 32); }

  // Arguments in order.
  template <typename T> uint64_t input(Backend &backend, const std::vector<T> &values) {
    Buffer &buffer = buffers_.emplace_back(backend, Place::device, values.size() * sizeof(T));
    backend.write(buffer.device(), values.data(), values.size() * sizeof(T));
    arguments_.push_back(buffer.device());
    return buffer.device();
  }
  uint64_t output(Backend &backend, std::size_t size) {
    output_ = buffers_.size();
    Buffer &buffer = buffers_.emplace_back(backend, Place::device, size);
    arguments_.push_back(buffer.device());
    return buffer.device();
  }
  void number(uint32_t value) { arguments_.push_back(value); }

  void clearOutput(Backend &backend) const {
    backend.fill(buffers_[output_].device(), 0, buffers_[output_].size());
  }
  std::vector<std::byte> readOutput(Backend &backend) const {
    std::vector<std::byte> bytes(buffers_[output_].size());
    backend.read(bytes.data(), buffers_[output_].device(), bytes.size());
    return bytes;
  }
  // The plain kernel, or its twin if there is a control block.
  std::unique_ptr<Launch> launch(CudaBackend &backend, CUfunction function,
                                 uint64_t control = 0) const;

private:
  std::vector<Buffer> buffers_;
  std::vector<uint64_t> arguments_;
  std::size_t output_ = 0;
};

// `shared` is where a kernel's shared memory starts. Large ones are for measurements and have no
// reference.
std::vector<Workload> makeWorkloads(Backend &backend, uint32_t shared, bool large);

// The modes that the kernels are compiled with, besides none. The default is that of fadeprobe cc.
inline constexpr const char *kModes[] = {"accesses", "blocks",  "counts", "kernel",
                                         "summary",  "default", "times"};

} // namespace fade::silicon
