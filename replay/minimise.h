// --minimise: the same capture, only with pages that the kernel touches.
#pragma once

#include "capture/writer.h"
#include "replay/machine.h"

namespace fade::replay {

struct Minimised {
  std::string path;
  capture::Sizes sizes;
  uint64_t pages = 0;   ///< of all regions
  uint64_t touched = 0; ///< of these
};

/// `machine` must run on `memory`. `code`: other code that is to find its pages, too; empty: none.
Result<Minimised> minimise(capture::Reader &reader, Memory &memory, Machine &machine,
                           const std::string &code, const std::string &output);

} // namespace fade::replay
