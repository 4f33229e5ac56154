// Runs code of others, such that what it throws and how it crashes stays its own affair.
#pragma once

#include <string>
#include <type_traits>

namespace fade {

/// The signals that a crash raises in the thread that crashes.
bool isCrash(int signal) noexcept;

/// Calls call(data). Empty, or what went wrong: an exception, or a crash if onCrash is called by
/// the handler of its signal. What a call that crashed has allocated or locked is lost.
///
/// With `crash`, a crash is not put into words but into *crash, the number of its signal (else 0),
/// and nothing is allocated for it: if the call crashed in the allocator, this thread has locked
/// its part of the heap and would wait for itself. Such a thread calls giveUpThread() once it has
/// told another one, in the same way, what is to be done.
std::string containCall(void (*call)(void *), void *data, int *crash = nullptr) noexcept;

template <typename F> std::string contain(F &&f, int *crash = nullptr) noexcept {
  using Function = std::remove_reference_t<F>;
  return containCall([](void *data) { (*static_cast<Function *>(data))(); }, &f, crash);
}

/// "it crashed (SIGSEGV)".
std::string crashText(int signal);

/// This thread stays where it is for good. Its stack remains, as others may know addresses in it,
/// and so does its part of the heap, which no new thread gets.
[[noreturn]] void giveUpThread() noexcept;

/// No signal is handled in this thread any more.
void blockSignals() noexcept;

/// From the handler of a signal: if this thread is inside of a contained call, that call ends and
/// this one does not return.
void onCrash(int signal) noexcept;

/// Handles the signals of crashes, where nobody else does, with nothing but onCrash.
void handleCrashes() noexcept;

/// Whether this thread is one of FADE's; set by startQuietThread.
bool &isOwnThread() noexcept;

} // namespace fade
