// Who called a function of HIP or HSA, from inside of it.
#pragma once

#include "checks/finding_file.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fade::checks {

struct CallSite {
  struct Caller {
    std::string module;   ///< file whose code called it
    uint64_t address = 0; ///< of the call, in that file
  };
  std::string api;   ///< "hipMalloc"; empty: not an application's call, as far as can be seen
  uint32_t path = 0; ///< of the calls inside of the runtimes, as a number
  /// From the inside. There are several, because the first may be in a function of HIP's headers.
  std::vector<Caller> callers;
};

/// The first frames outside of the runtimes, going outwards from here; `most` of them. `api`: what
/// was called, if that is known.
CallSite callSite(std::size_t most, std::string_view api = "");

/// Loads what unwinding needs, once, while nothing is at stake.
void prepareCallSites();

/// As findings have them.
std::array<HostCall, kMostCallers> callersOf(const CallSite &site);

} // namespace fade::checks
