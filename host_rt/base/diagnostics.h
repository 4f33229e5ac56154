// What FADE says about itself: one line on stderr per fact. And writing that cannot hurt the
// process it happens in.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace fade {

/// Writes all of it, or says why not: 0 or an errno. Never raises SIGPIPE.
int writeAll(int fd, std::string_view bytes) noexcept;

/// From now on what goes to stderr goes to the one that the process has now, whatever it does with
/// its descriptors. Until then it goes to descriptor 2.
void keepStderr();
/// In a child after fork: lets go of it.
void dropStderr() noexcept;
int writeStderr(std::string_view bytes) noexcept;

/// "fade: <text>\n" on stderr.
void sayLine(std::string_view text) noexcept;

/// Whether note() speaks. Set once, at the start.
void setVerbose(bool verbose) noexcept;
bool isVerbose() noexcept;

/// Something the user should know.
template <typename... T> void warn(fmt::format_string<T...> text, T &&...values) noexcept {
  try {
    sayLine(fmt::format(text, std::forward<T>(values)...));
  } catch (...) { // formatting failed for want of memory: there is nothing to say it with
  }
}

/// Something for --verbose.
template <typename... T> void note(fmt::format_string<T...> text, T &&...values) noexcept {
  if (isVerbose()) warn(text, std::forward<T>(values)...);
}

/// In a catch block: what was thrown, in words. Valid until the end of the block.
const char *whatWasThrown() noexcept;

/// %p, %h, %r and %% in a path: process id, host name, rank in a parallel job (0 outside of one).
std::string expandPath(std::string_view path);

} // namespace fade
