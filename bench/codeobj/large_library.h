// A host library as large as the big ones of ROCm, made for measuring: fat binaries of real code
// objects, repeated.
#pragma once

#include <cstdint>
#include <string>

namespace fade::bench {

struct LargeLibrary {
  std::string path;
  std::uint64_t bytes = 0;
  std::size_t code_objects = 0;
};

/// Written to a temporary folder once and kept for the next run. `seed` is a file with GPU code
/// inside.
LargeLibrary make_large_library(const std::string &seed, std::uint64_t wanted_bytes);

} // namespace fade::bench
