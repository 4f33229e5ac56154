// The lines of manifest.jsonl, read back.
#pragma once

#include "base/result.h"
#include "capture/capture.h"

#include <string>
#include <string_view>
#include <vector>

namespace fade::capture {

struct Manifest {
  struct CodeEntry {
    uint64_t base = 0, size = 0, checksum = 0;
  };
  Description description;
  std::vector<CodeEntry> code;
  uint64_t pages_bytes = 0, index_bytes = 0, index_checksum = 0, changed = 0;

  /// `name`: of the file, for messages.
  static Result<Manifest> parse(std::string_view text, const std::string &name);
};

} // namespace fade::capture
