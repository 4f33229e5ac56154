// Runs a program that may hang, crash or never come back, and says how it ended.
#pragma once

#include "base/variables.h"

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace fade::cli {

/// Of what it writes; the rest is dropped.
inline constexpr std::size_t kMostSupervisedText = 256 << 10;

struct SupervisedEnd {
  bool started = false;
  bool timed_out = false; ///< it was killed, with all that it had started
  bool stuck = false;     ///< not even that ended it: the driver does not let go of it
  int code = 0;           ///< exit code, if signal is 0
  int signal = 0;
  double seconds = 0;
  std::string out, err; ///< of each as much as is kept
};

/// A running program: in a process group of its own, without stdin. For those who wait for several
/// at once; others call runSupervised(). It is killed when this object goes away.
class SupervisedChild {
public:
  using Sink = std::function<void(std::string_view)>;

  SupervisedChild() = default;
  ~SupervisedChild();
  SupervisedChild(const SupervisedChild &) = delete;
  SupervisedChild &operator=(const SupervisedChild &) = delete;

  /// `variables` are added to the environment; those with an empty value are taken out of it.
  /// `directory`: where it runs; empty: here. An errno, or 0.
  int start(const std::vector<std::string> &command, const Variables &variables,
            const std::string &directory);
  /// Descriptors to wait for: what it writes to stdout and stderr; -1 when there will be no more.
  std::array<int, 2> outputs() const { return pipes_; }
  /// Takes what it has written by now.
  void drain(const Sink &out, const Sink &err);
  /// Whether it has ended; programs that it started may still hold the pipes open.
  bool hasEnded();
  /// As waitpid() says it, once it has ended.
  int status() const { return status_; }
  /// To it and all that it has started, but for those that left its group.
  void kill(int signal) const;

private:
  void close(std::size_t which);

  pid_t pid_ = -1;
  bool has_ended_ = false;
  int status_ = 0;
  std::array<int, 2> pipes_{-1, -1};
};

/// With `variables` as above. `on_output` gets what it writes to stdout, as it comes.
SupervisedEnd runSupervised(const std::vector<std::string> &command, const Variables &variables,
                            std::chrono::milliseconds timeout,
                            const SupervisedChild::Sink &on_output = {});

/// The last line that it wrote to stderr, or how it ended.
std::string lastWords(const SupervisedEnd &end);

/// From now on whatever ends this process (Ctrl-C, SIGTERM) ends what it runs as well.
void endSupervisedOnSignals();
/// The same, but this process goes on, to say what it has so far, and nothing more is started.
void stopSupervisedOnSignals();
/// The signal that came since, or 0.
int supervisedStoppedBy();

} // namespace fade::cli
