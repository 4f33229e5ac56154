// From an access that is wrong to a finding. One per worker and dispatch.
#pragma once

#include "checks/call_stacks.h"
#include "checks/finding_log.h"

#include <fade/observer.h>

#include <atomic>

namespace fade::checks {

/// Fills in the instruction and how it was come to.
void setSite(Place &place, uint64_t site, const CallStacks *stacks);

class Reporter {
public:
  /// `stacks`: null if nobody follows calls.
  explicit Reporter(const ObservedDispatch &dispatch, const CallStacks *stacks = nullptr);

  /// A finding of this dispatch that is filled in but for what is wrong.
  Finding begin(Check check, Problem problem) const;
  /// Who does it, and where: `site` is the instruction's address, with the stack.
  Place place(const ObservedWave &wave, unsigned lane, uint64_t site, AccessKind kind,
              uint32_t size) const;

  /// A lane of an access; `at`: the byte in question.
  Place place(const ObservedWave &wave, unsigned lane, const ObservedAccess &access,
              uint64_t at) const;

  /// Fills in the instruction and how it was come to.
  void setSite(Place &place, uint64_t site) const { checks::setSite(place, site, stacks_); }

  void report(Finding finding, uint64_t times = 1);
  uint64_t reported() const { return reported_; } ///< how often report() was called

private:
  const ObservedDispatch &dispatch_;
  const CallStacks *stacks_;
  String kernel_ = 0, gpu_ = 0;
  std::atomic<uint64_t> reported_{0};
};

/// Work-item of a lane in its workgroup.
void workItem(const ObservedGroup &group, uint32_t wave, uint32_t lanes, uint32_t lane,
              uint32_t (&item)[3]);

} // namespace fade::checks
