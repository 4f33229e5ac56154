// Starts recording what the application asks of HIP: fadeprobe trace.
#pragma once

#include <string>

namespace fade::hip {

struct TraceChoice {
  std::string file;      ///< of host events
  std::string api;       ///< see ApiChoice
  bool starts_on = true; ///< recording, from the beginning
};

/// In OnLoad, which the HSA runtime calls inside of HIP's own initialization: HIP is not called.
/// Whatever cannot be done is said.
void startTrace(const TraceChoice &choice);

/// Looks for what was not there yet: HIP, if something else has loaded the HSA runtime; hiprtc.
/// Quick if nothing was loaded since.
void lookAgain() noexcept;

} // namespace fade::hip
