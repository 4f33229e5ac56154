#include "replay/hsa/faults.h"

#include "base/progress_line.h"
#include "fade/replay.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::replay {

void Faults::say(const std::string &why) const {
  ProgressLine::eraseNow();
  fmt::print(stderr, "fadeprobe: {}: {}: kernel {}: {}\n", reader.folder(),
             reader.description().gpu, reader.description().symbol, why);
  std::fflush(nullptr);
}

/// Called on threads of the runtime, which wait for nothing that this process does at its end.
void Faults::end(const std::string &why) const {
  say(why);
  _exit(kCannotRun);
}

void Faults::tooLate(const std::string &why) const {
  say(why);
  std::exit(kCannotRun);
}

void Faults::watch() {
  (void)hsa.hsa_amd_register_system_event_handler(
      [](const hsa_amd_event_t *event, void *data) {
        const auto &faults = *static_cast<const Faults *>(data);
        if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
        const uint64_t address = event->memory_fault.virtual_address;
        faults.end(
            fmt::format("memory fault at {:#x}{}", address, faults.memory.whyNotAt(address)));
      },
      this);
}

void Faults::queueStopped(hsa_status_t error, hsa_queue_t *, void *faults) {
  const auto &self = *static_cast<const Faults *>(faults);
  self.end("the queue stopped: " + self.hsa.text(error));
}

} // namespace fade::replay
