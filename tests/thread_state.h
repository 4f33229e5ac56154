// Waiting until a thread waits, instead of for as long as it might take.
#pragma once

#include <chrono>
#include <fstream>
#include <string>
#include <sys/types.h>
#include <thread>

namespace fade::threads {

/// A thread of this process.
inline bool isAsleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "S") == 0;
}

/// Returns when that is true of two looks in a row: somebody who sleeps then does so for longer
/// than for a lock that another one has just then.
template <typename Condition> void waitUntilTwice(Condition isTrue) {
  for (int looks = 0; looks < 2; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    looks = isTrue() ? looks + 1 : 0;
}

} // namespace fade::threads
