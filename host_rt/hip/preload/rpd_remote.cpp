// librpd_remote.so as RPD has it, preloaded: SIGUSR1 starts the recording of a process, SIGUSR2
// stops it and writes the file (rpdRemote start|stop PID sends them). FADE is in the process from
// its first use of the GPU on, with recording off; a signal that comes earlier holds from then on.
#include "own_fade.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace {

using namespace fade::preload;

using Switch = void(int on);
std::atomic<Switch *> switch_on{nullptr};
std::atomic<int> starts{0}; ///< before FADE is there

/// Only what a signal handler may do.
void onSignal(int number) {
  const int saved = errno;
  const int by = number == SIGUSR1 ? 1 : -1;
  if (Switch *to = switch_on.load())
    to(by);
  else if (starts.fetch_add(by) + by < 0)
    starts.store(0);
  errno = saved;
}

__attribute__((constructor)) void setUp() {
  try {
    addToTools();
    if (!std::getenv("FADE_TRACE")) {
      const char *file = std::getenv("RPDT_FILENAME");
      std::string path = file && *file != '\0' ? file : "trace.rpd";
      char directory[PATH_MAX];
      if (!path.starts_with('/') && getcwd(directory, sizeof directory))
        path = std::string(directory) + "/" + path;
      setenv("FADE_TRACE", path.c_str(), 1);
      setenv("FADE_TRACE_FORMAT", "rpd", 0);
      setenv("FADE_TRACE_START", "off", 0);
    }
    for (const int number : {SIGUSR1, SIGUSR2}) {
      struct sigaction action {};
      action.sa_handler = onSignal;
      action.sa_flags = SA_RESTART;
      sigaction(number, &action, nullptr);
    }
  } catch (...) { // no memory: nothing is recorded
  }
}

} // namespace

/// libfade.so says that it is there. Returns what came before.
FADE_EXPORT int fade_remote_arrived(Switch *on) {
  switch_on.store(on);
  return starts.exchange(0);
}
