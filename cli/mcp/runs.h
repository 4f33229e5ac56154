// The commands that run for tools: started, watched, bounded in time and output, ended.
#pragma once

#include "base/supervised.h"
#include "mcp/bounded_text.h"
#include "mcp/server.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <poll.h>
#include <vector>

namespace fade::mcp {

class Runs {
public:
  /// `ended` is told once of every run, `progress` about each second.
  Runs(std::function<void(uint64_t, const RunEnd &)> ended,
       std::function<void(uint64_t, double, std::string_view)> progress)
      : ended_(std::move(ended)), progress_(std::move(progress)) {}

  void start(uint64_t run, ToolRun what);
  void cancel(uint64_t run);
  void cancelAll();
  bool areThereAny() const { return !running_.empty() || !waiting_.empty(); }
  /// What to wait for.
  void addOutputs(std::vector<pollfd> &to) const;
  /// Looks after all of them; to be called often while there are any.
  void step();

private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    uint64_t run;
    ToolRun what;
  };
  struct Running {
    Running(uint64_t run, ToolRun what);
    uint64_t run;
    ToolRun what;
    cli::SupervisedChild child;
    BoundedText out, err;
    Clock::time_point began = Clock::now(), told = began, asked_to_end{};
    int signals = 0; ///< that were sent to end it
    bool timed_out = false;
  };
  void begin(Waiting next);
  void endGently(Running &running);
  static RunEnd endOf(Running &running);

  const std::function<void(uint64_t, const RunEnd &)> ended_;
  const std::function<void(uint64_t, double, std::string_view)> progress_;
  std::list<Running> running_;
  std::deque<Waiting> waiting_;
};

} // namespace fade::mcp
