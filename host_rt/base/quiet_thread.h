// Threads of ours inside other people's processes: no signal is ever delivered to them.
#pragma once

#include <csignal>
#include <pthread.h>
#include <thread>
#include <utility>

namespace fade {

template <typename F> std::thread startQuietThread(const char *name, F &&f) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::forward<F>(f));
    pthread_setname_np(thread.native_handle(), name);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

} // namespace fade
