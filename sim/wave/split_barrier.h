// gfx12's barrier of a workgroup: a wave signals that it has arrived, and waits later, or not at
// all. When all waves that have not ended have signaled, the barrier is complete: each wave keeps
// that in mind until it waits, and the next round begins.
#pragma once

#include "wave/stats.h"
#include "wave/workgroup.h"

#include <algorithm>

namespace fade::sim {

// Of one wave alone, instructions of barriers do nothing.
inline bool has_barrier(const Wave &w) { return w.group && w.group->waves.size() > 1; }

inline unsigned barrier_signals(const Workgroup &group) {
  return static_cast<unsigned>(
      std::ranges::count_if(group.waves, [](const Wave *w) { return w->barrier_signaled; }));
}

// Whether that was the last signal that was missing, or the last wave without one has ended.
inline bool complete_barrier(Workgroup &group) {
  bool any = false;
  for (const Wave *w : group.waves) {
    if (w->state == WaveState::ended) continue;
    if (!w->barrier_signaled) return false;
    any = true;
  }
  if (!any) return false;
  for (Wave *w : group.waves) {
    w->barrier_signaled = false;
    w->barrier_complete = w->state != WaveState::ended;
  }
  return true;
}

} // namespace fade::sim
