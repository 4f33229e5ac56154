// Captures of rocm-perf-lab (isolate_capture_PID), read to become captures of FADE's. Nothing in
// them is trusted.
//
//   dispatch.json         kernel, geometry, address of the kernel descriptor
//   kernel.hsaco          the code object; where it was loaded follows from that address
//   kernarg.bin           the arguments
//   memory_regions.json   allocations: base and size, in decimal
//   memory/region_X.bin   what was in them; X is the base in hexadecimal
#pragma once

#include "capture/capture.h"
#include "capture/folder_file.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fade::capture {

class PerfLabCapture {
public:
  static Result<PerfLabCapture> open(const std::string &folder);

  const std::string &folder() const { return folder_; }
  /// Without regions, which its user makes. `gpu` and `isa` are empty in captures of old versions.
  const Description &description() const { return description_; }
  const std::vector<uint8_t> &code() const { return code_; }
  /// Whole pages, by address and without overlaps.
  const std::vector<Region> &regions() const { return regions_; }
  /// There were as many allocations as rocm-perf-lab keeps: further ones are missing.
  bool isCutOff() const { return memory_.size() >= kMostKept; }

  /// Calls `use` with all pages of a region, piece by piece. False from it ends that.
  Status read(std::size_t region, const std::function<bool(std::span<const uint8_t>)> &use) const;

private:
  static constexpr std::size_t kMostKept = 256;
  struct Memory {
    uint64_t base = 0, size = 0;
    uint64_t end() const { return base + size; }
  };

  Status readDispatch();
  Status readMemory();
  void makeRegions();
  static std::string nameOf(const Memory &memory);

  std::string folder_;
  Description description_;
  std::vector<uint8_t> code_;
  std::vector<Memory> memory_; ///< by address
  std::vector<Region> regions_;
};

/// Whether a folder is one of theirs.
bool isPerfLabCapture(const std::string &folder);

} // namespace fade::capture
