// Runs the application as a child, as if fadeprobe were not there.
#pragma once

#include <string>
#include <vector>

namespace fade::cli {

struct ChildEnd {
  int exit_code = 0;
  int signal = 0; ///< that ended it, or 0
  int error = 0;  ///< errno if it could not be started
  bool timed_out =
      false;    ///< it was ended from here: by SIGTERM, or by SIGKILL if that did not help
  int told = 0; ///< SIGINT, SIGTERM or SIGHUP that came meanwhile, whatever it made of it
};

/// First of all: whoever starts fadeprobe may ignore SIGCHLD, which programs inherit, and then
/// nobody is told how a child ended.
void keepChildEnds();
/// Signals as this program found them, before it becomes the application.
void giveBackSignals();

/// Signals that are sent to fadeprobe go on to the child; those of the terminal reach it anyway.
/// `seconds`: how long it may take; 0: as long as it likes. `output`: a file for all that it
/// writes; then it has nothing to read, either.
ChildEnd runChild(const std::vector<std::string> &command, double seconds = 0,
                  const std::string &output = "");

/// Ends this process as the child ended: with its exit code, or by its signal.
[[noreturn]] void endLike(const ChildEnd &end);

} // namespace fade::cli
