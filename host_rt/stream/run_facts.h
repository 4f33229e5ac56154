// What ran where: the GPUs, the software around them, the command and what it was to record. Said
// once in each report, so that no number of it stands alone.
#pragma once

#include "stream/trace_format.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade {

class JsonWriter;

struct RunGpu {
  uint32_t agent = 0;
  std::string target, name; ///< gfx90a; the product's name, if the driver has one
  bool in_software = false; ///< the software GPU: its times say nothing about a card
};

struct RunFacts {
  std::string fade, runtime, hip; ///< versions; empty if they are not known
  std::string command;            ///< as a shell would take it
  std::string date;               ///< when the GPU was first used: 2026-11-16T15:20:00Z
  uint64_t process = 0;
  std::vector<std::string> options; ///< what of it was to be seen: "--kernels vadd"
  std::vector<RunGpu> gpus;

  bool inSoftware() const;
  /// "gfx90a (software GPU)": all of them.
  std::string gpuText() const;
  /// Lines for people, of at most so many characters, where words allow it.
  std::string text(std::size_t columns = 100) const;
  /// A line of type "run".
  std::string json() const;
  /// A header and a row for each GPU, or one without a GPU.
  std::string csv() const;

  void write(trace::Writer &to) const;
  /// Nothing if it is cut short.
  static std::optional<RunFacts> read(trace::Reader from);
};

} // namespace fade
