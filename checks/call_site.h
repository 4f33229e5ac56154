// Who called a function of HIP or HSA, from inside of it.
#pragma once

#include <cstdint>
#include <string>

namespace fade::checks {

struct CallSite {
  std::string api;      ///< "hipMalloc"; empty: not an application's call, as far as can be seen
  std::string module;   ///< file whose code called it
  uint64_t address = 0; ///< of the call, in that file
  uint32_t path = 0;    ///< of the calls inside of the runtimes, as a number
};

/// The first frame outside of the runtimes, going outwards from here.
CallSite callSite();

/// Loads what unwinding needs, once, while nothing is at stake.
void prepareCallSites();

} // namespace fade::checks
