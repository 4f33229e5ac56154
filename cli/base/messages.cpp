#include "base/messages.h"

#include "base/diagnostics.h"

#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {

void complain(std::string_view text) {
  // That nobody hears it is no reason not to run the application.
  (void)writeAll(STDERR_FILENO, fmt::format("fadeprobe: {}\n", text));
}

} // namespace fade::cli
