// Runs a program that may hang, crash or never come back, and says how it ended.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace fade::doctor {

struct SupervisedEnd {
  bool started = false;
  bool timed_out = false; ///< it was killed, with all that it had started
  bool stuck = false;     ///< not even that ended it: the driver does not let go of it
  int code = 0;           ///< exit code, if signal is 0
  int signal = 0;
  double seconds = 0;
  std::string out, err; ///< the first 256 KiB of each
};

/// In a process group of its own, without stdin, with `variables` added to the environment; those
/// with an empty value are taken out of it.
SupervisedEnd runSupervised(const std::vector<std::string> &command,
                            const std::vector<std::pair<std::string, std::string>> &variables,
                            std::chrono::milliseconds timeout);

/// From now on whatever ends this process (Ctrl-C, SIGTERM) ends what it runs as well.
void endSupervisedOnSignals();

} // namespace fade::doctor
