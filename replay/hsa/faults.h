// When the GPU stops in the middle of a replay: one line says why, and the process ends with
// kCannotRun. The runtime would write pages of its own, and abort.
#pragma once

#include "capture/reader.h"
#include "replay/hsa/hsa_library.h"
#include "replay/memory.h"

namespace fade::replay {

/// Who is told; must live as long as the runtime.
struct Faults {
  const HsaLibrary &hsa;
  const capture::Reader &reader;
  const Memory &memory;

  /// From now on memory faults end the process.
  void watch();
  /// For hsa_queue_create(), with these as its data.
  static void queueStopped(hsa_status_t error, hsa_queue_t *, void *faults);
  /// A run took too long. Unlike the others not on a thread of the runtime, so tools may say what
  /// they have seen.
  [[noreturn]] void tooLate(const std::string &why) const;

private:
  void say(const std::string &why) const;
  [[noreturn]] void end(const std::string &why) const;
};

} // namespace fade::replay
