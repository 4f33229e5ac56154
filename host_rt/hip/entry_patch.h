// Wrappers for functions of a loaded library that everybody calls directly: HIP 5, hiprtc, what the
// compiler calls.
#pragma once

#include "base/result.h"
#include "hip/api_functions.h"
#include "hip/hip_library.h"

#include <string>
#include <vector>

namespace fade::hip {

struct PatchOutcome {
  unsigned patched = 0;
  std::vector<std::string> refused; ///< names and reasons
};

/// Puts a jump to its wrapper at the beginning of each of these functions that the library has.
/// For callers it is the same by whichever way they have got the function's address. An error if
/// the system does not let the code be changed.
Result<PatchOutcome> patchEntries(const LoadedLibrary &library,
                                  const std::vector<const ApiFunction *> &functions);

} // namespace fade::hip
