// Runs code of others, such that what it throws and how it crashes stays its own affair.
#pragma once

#include <string>
#include <type_traits>

namespace fade {

/// The signals that a crash raises in the thread that crashes.
bool isCrash(int signal) noexcept;

/// Calls call(data). Empty, or what went wrong: an exception, or a crash if onCrash is called by
/// the handler of its signal. What a call that crashed has allocated or locked is lost.
std::string containCall(void (*call)(void *), void *data) noexcept;

template <typename F> std::string contain(F &&f) noexcept {
  using Function = std::remove_reference_t<F>;
  return containCall([](void *data) { (*static_cast<Function *>(data))(); }, &f);
}

/// From the handler of a signal: if this thread is inside of a contained call, that call ends and
/// this one does not return.
void onCrash(int signal) noexcept;

/// Handles the signals of crashes, where nobody else does, with nothing but onCrash.
void handleCrashes() noexcept;

/// Whether this thread is one of FADE's; set by startQuietThread.
bool &isOwnThread() noexcept;

} // namespace fade
