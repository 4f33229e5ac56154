// A process of FADE's own beside the application. The application sees neither a child nor a signal
// of it.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace fade {

struct DetachedProcess {
  std::vector<std::string> words; ///< the program and its arguments
  int descriptor = -1;            ///< of the application, that it gets besides stderr
  int as = 3;                     ///< the number it has there: 1 to 3
};

/// 0 or an errno. `pid` is that of the process; it is not waited for.
int startDetached(const DetachedProcess &process, pid_t &pid);

} // namespace fade
