// What FADE itself reports, with or without handlers: durations of dispatches, by kernel and
// variant, and the summary of the run.
#pragma once

#include "stream/dispatch_record.h"
#include "stream/output.h"
#include "stream/run_facts.h"
#include "stream/run_notes.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace fade {

class DispatchLog {
public:
  explicit DispatchLog(Output &output) : output_(output) {}

  /// The reporter's thread.
  void dispatch(const DispatchRecord &dispatch);
  /// At the end.
  void report();

  /// A kernel that was to be instrumented or swapped and was not. Any thread.
  void skipped(const std::string &kernel, const std::string &reason);

  /// Before the first dispatch: in which workgroups and executions records are written.
  void setFilter(const WorkgroupFilter &filter) {
    const std::lock_guard lock(mutex_);
    filter_ = filter;
  }
  /// Before the first dispatch: what runs where.
  void setRun(RunFacts facts);
  /// What the report says a word about if nothing came of it.
  void setWishes(Wishes wishes) { wishes_ = std::move(wishes); }

private:
  struct Amounts {
    uint64_t count = 0, total = 0, least = UINT64_MAX, most = 0;
    void add(uint64_t amount);
  };
  struct Durations {
    uint64_t count = 0;
    Amounts times;        ///< nanoseconds
    Amounts instructions; ///< of waves, where the software GPU counts them
    bool in_software = false;
    void add(const fade_dispatch &dispatch);
    /// What the dispatches are compared by: on the software GPU not by time.
    const Amounts &shown() const { return in_software ? instructions : times; }
  };

  std::optional<std::string> hint() const;
  void reportText(const std::vector<std::string> &notes);
  std::string durationsText() const;
  void reportJson(const std::vector<std::string> &notes, const std::string &hint_line);
  void reportCsv();

  Output &output_;
  struct Version {
    std::string kernel, module, variant;
    auto operator<=>(const Version &) const = default;
  };
  std::map<Version, Durations> durations_;
  uint64_t passed_over_ = 0; ///< by an automatic sample
  uint64_t dispatches_ = 0, instrumented_ = 0, incomplete_ = 0, host_bound_ = 0;
  uint64_t records_ = 0, bytes_ = 0, dropped_ = 0;
  bool csv_header_ = false;
  WorkgroupCounts workgroups_; ///< of instrumented dispatches
  std::optional<Wishes> wishes_;
  std::optional<RunFacts> run_;

  std::mutex mutex_;
  WorkgroupFilter filter_;
  std::map<std::pair<std::string, std::string>, uint64_t> skipped_; ///< kernel, reason
};

} // namespace fade
