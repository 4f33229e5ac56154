// For how much of its time a kernel waited for the host to read its records.
#pragma once

#include <chrono>

namespace fade {

class RoomWatch {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// The ring was looked at; from now until the next look it counts as full or not.
  void look(Time now, bool is_full) {
    if (last_ != Time{}) {
      watched_ += now - last_;
      if (was_full_) full_ += now - last_;
    }
    last_ = now;
    was_full_ = is_full;
  }
  /// More than half of the time.
  bool isHostBound() const { return full_ * 2 > watched_; }

private:
  Time last_{};
  std::chrono::nanoseconds watched_{0}, full_{0};
  bool was_full_ = false;
};

} // namespace fade
