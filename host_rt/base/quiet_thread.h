// Threads of ours inside other people's processes: no signal is ever delivered to them, but for
// those of a crash in the thread itself.
#pragma once

#include "base/contain.h"

#include <atomic>
#include <csignal>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace fade {

/// For tests: asked before each thread is started. Anything but 0 is the error of a system that
/// starts no more threads.
inline std::atomic<int (*)()> thread_fault{nullptr};

/// startQuietThread without asking thread_fault.
template <typename F> std::thread makeQuietThread(const char *name, F &&f) {
  sigset_t quiet, before;
  sigfillset(&quiet);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&quiet, crash);
  pthread_sigmask(SIG_SETMASK, &quiet, &before);
  try {
    std::thread thread([f = std::forward<F>(f)]() mutable {
      isOwnThread() = true;
      f();
    });
    pthread_setname_np(thread.native_handle(), name);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

/// Throws std::system_error if there is none to be had.
template <typename F> std::thread startQuietThread(const char *name, F &&f) {
  if (const auto fault = thread_fault.load(std::memory_order_relaxed))
    if (const int error = fault()) throw std::system_error(error, std::generic_category());
  return makeQuietThread(name, std::forward<F>(f));
}

} // namespace fade
