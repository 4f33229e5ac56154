// The kernels of kernels/basic.hip with launches and data.
#pragma once

#include "session.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fade::test {

// Buffers of one case. reset() gives them their first contents back, so that two runs start alike.
class Data {
public:
  explicit Data(sim::TestDevice &device) : device_(device) {}

  template <typename T> uint64_t add(const std::vector<T> &contents) {
    auto buffer = device_.upload(contents);
    parts_.push_back({buffer.va, reinterpret_cast<std::byte *>(buffer.data), {}});
    auto *bytes = parts_.back().data;
    parts_.back().initial.assign(bytes, bytes + contents.size() * sizeof(T));
    return buffer.va;
  }
  // Whether an address belongs to a buffer of the case.
  bool contains(uint64_t address) const {
    for (const Part &part : parts_)
      if (address >= part.va && address - part.va < part.initial.size()) return true;
    return false;
  }
  void reset() {
    for (Part &part : parts_) std::copy(part.initial.begin(), part.initial.end(), part.data);
  }
  std::vector<std::byte> contents() const {
    std::vector<std::byte> out;
    for (const Part &part : parts_)
      out.insert(out.end(), part.data, part.data + part.initial.size());
    return out;
  }

private:
  struct Part {
    uint64_t va;
    std::byte *data;
    std::vector<std::byte> initial;
  };
  sim::TestDevice &device_;
  std::vector<Part> parts_;
};

// How the compiler may change accesses after the pass has seen them, beyond merging and widening.
enum Liberty : unsigned {
  none = 0,
  // memcpy and memset are moved in pieces that may overlap: a byte is touched more than once.
  overlapping = 1,
  // Atomics of all lanes on one address are done by one lane for all.
  combined = 2,
};

struct Case {
  std::string name; // of the kernel
  Launch launch;
  std::function<Arguments(Data &)> arguments;
  unsigned liberties = none;
};

const std::vector<Case> &basicCases();
const Case &basicCase(const std::string &name);

} // namespace fade::test
