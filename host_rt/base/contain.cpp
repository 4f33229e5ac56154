#include "base/contain.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <new>
#include <pthread.h>
#include <unistd.h>

namespace fade {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

struct Landing {
  sigjmp_buf place;
  volatile int signal = 0;
};

// Looked at in signal handlers: the memory of these must be there without being asked for.
#define FADE_SIGNAL_SAFE thread_local __attribute__((tls_model("initial-exec")))
FADE_SIGNAL_SAFE Landing *landing = nullptr;
FADE_SIGNAL_SAFE bool own_thread = false;

/// The three together; if there is no memory for that, the brief text, which needs none.
std::string textOf(const char *brief, const char *before, const char *value, const char *after) {
  try {
    return fmt::format("{}{}{}", before, value, after);
  } catch (const std::bad_alloc &) {
    return brief;
  }
}

void unblock(int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
}

void crashHandler(int number) {
  onCrash(number);
  signal(number, SIG_DFL);
  raise(number);
}

} // namespace

bool isCrash(int signal) noexcept { return std::ranges::find(kCrashes, signal) != kCrashes.end(); }

std::string crashText(int signal) {
  const char *name = sigabbrev_np(signal);
  return textOf("it crashed", "it crashed (SIG", name ? name : "?", ")");
}

std::string containCall(void (*call)(void *), void *data, int *crash) noexcept {
  if (crash) *crash = 0;
  Landing here;
  Landing *const outer = landing;
  try {
    if (sigsetjmp(here.place, 0) != 0) {
      landing = outer;
      unblock(here.signal); // it is blocked while its handler runs
      if (!crash) return crashText(here.signal);
      *crash = here.signal;
      return {};
    }
    landing = &here;
    call(data);
    landing = outer;
    return {};
  } catch (const std::exception &e) {
    landing = outer;
    return textOf("it threw", "it threw an exception: ", e.what(), "");
  } catch (...) {
    landing = outer;
    return textOf("it threw", "it threw an exception", "", "");
  }
}

void onCrash(int signal) noexcept {
  if (!landing || !isCrash(signal)) return;
  landing->signal = signal;
  siglongjmp(landing->place, 1);
}

void handleCrashes() noexcept {
  for (const int number : kCrashes) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = crashHandler;
    sigemptyset(&ours.sa_mask);
    sigaction(number, &ours, nullptr);
  }
}

void blockSignals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

void giveUpThread() noexcept {
  blockSignals();
  while (true) pause();
}

bool &isOwnThread() noexcept { return own_thread; }

} // namespace fade
