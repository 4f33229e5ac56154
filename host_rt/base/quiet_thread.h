// Threads of ours inside other people's processes: no signal is ever delivered to them, but for
// those of a crash in the thread itself.
#pragma once

#include "base/contain.h"

#include <csignal>
#include <pthread.h>
#include <thread>
#include <utility>

namespace fade {

template <typename F> std::thread startQuietThread(const char *name, F &&f) {
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

} // namespace fade
