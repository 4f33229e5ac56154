// Random kernels. A seed gives one program, the same on every machine: C source that is compiled
// for the GPU and for the host, and the launch that runs it.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fade::sim::differential {

struct Launch {
  std::array<uint32_t, 3> workgroup{64, 1, 1};
  uint32_t groups = 1;
  uint32_t last_items = 64; // work-items of the last workgroup
  std::array<uint32_t, 3> uniforms{};

  uint32_t items() const { return workgroup[0] * workgroup[1] * workgroup[2]; }
};

struct Program {
  uint64_t seed;
  std::string kernel;               // its name
  std::string text;                 // expects prelude.h to be included
  std::vector<std::string> results; // names of the values that each work-item stores, in order
  Launch launch;
  unsigned nodes; // statements and expressions, numbered 0 to nodes - 1
};

// Without the statements and expressions in `dropped` (see Nodes).
Program generate(uint64_t seed, const std::set<unsigned> &dropped = {});

} // namespace fade::sim::differential
