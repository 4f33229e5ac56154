// The kernels of kernels/*.hip with launches and data.
#pragma once

#include "session.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
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
  // Where buffers begin and end, in order.
  std::vector<uint64_t> ends() const {
    std::vector<uint64_t> ends;
    for (const Part &part : parts_)
      for (const uint64_t end : {part.va, part.va + part.initial.size()}) ends.push_back(end);
    std::sort(ends.begin(), ends.end());
    return ends;
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

// What the compiler may do to accesses after the pass has seen them, beyond widening them and
// making one of several on the same line. These are all the differences that remain between what is
// recorded and what the original does; a case names those it meets.
enum Liberty : unsigned {
  none = 0,
  // memcpy and memset are moved in pieces that may overlap: a byte is touched more than once.
  overlapping = 1,
  // Atomics of all lanes on one address are done by one lane for all.
  combined = 2,
  // Accesses of several lines become one, which has one of the lines or none; or an access moves
  // to another block and loses its line. From -O1 on.
  merged = 4,
  // memcpy, memmove and memset become loops without a line, at every level.
  unlined = 8,
  // The same load twice in a block is done once, even at -O0: instruction selection finds them to
  // be the same. A record between them, in the twin, keeps them apart.
  repeated = 16,
  // An atomic operation that the target lacks becomes a load and a loop of compare-and-swap, of the
  // whole word if it is for less. At -O0.
  expanded = 32,
  // A load of which only a part is used becomes a load of that part, a store of which only a part
  // is defined a store of that part, even at -O0. A load of most of an aligned word loads all of
  // it.
  resized = 64,
};

template <typename T> std::vector<T> counted(std::size_t n, T from = 0) {
  std::vector<T> out(n);
  std::iota(out.begin(), out.end(), from);
  return out;
}

template <typename T> std::vector<T> random(std::size_t n, uint64_t below, uint64_t seed = 1) {
  std::mt19937_64 engine(seed);
  std::vector<T> out(n);
  for (auto &v : out) v = static_cast<T>(engine() % below);
  return out;
}

template <typename T> std::vector<T> zeros(std::size_t n) { return std::vector<T>(n); }

struct Case {
  std::string name; // of the kernel
  std::string file; // kernels/<file>.hip or .ll.in
  Launch launch;
  std::function<Arguments(Data &)> arguments;
  unsigned liberties = none;
  std::vector<std::string> archs = {};  // empty: all
  std::vector<std::string> levels = {}; // of optimisation; empty: all
};

std::vector<Case> basicCases();
std::vector<Case> moreCases();
std::vector<Case> strangeCases();
std::vector<Case> cornerCases();
// Ways through a kernel; not among allCases().
std::vector<Case> pathCases();
// Kernels as people write them; not among allCases().
const std::vector<Case> &usualCases();
const std::vector<Case> &allCases();
const Case &findCase(const std::string &name);

} // namespace fade::test
