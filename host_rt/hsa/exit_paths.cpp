#include "hsa/exit_paths.h"

#include "base/contain.h"
#include "base/diagnostics.h"
#include "base/quiet_thread.h"
#include "hip/install.h"
#include "hsa/runtime.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <thread>

namespace fade {
namespace {

// All that end a process unless it handles them.
constexpr std::array kSignals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGABRT,   SIGSEGV, SIGBUS,
                                 SIGFPE,  SIGILL,  SIGPIPE, SIGALRM, SIGVTALRM, SIGUSR1, SIGUSR2,
                                 SIGXCPU, SIGXFSZ, SIGSYS,  SIGPROF, SIGPOLL,   SIGTRAP};
constexpr double kReportSeconds = 30;
time_t report_seconds = 0;

// A signal handler may not do much. This one wakes a thread that makes the report, waits for it,
// and then lets the signal do what it would have done.
// Every one asks, also when another has asked before: a handler may be interrupted by that of
// another signal at any place, so one that says "asked" before it asks would have the other wait
// for nothing.
sem_t report_wanted, report_made;

void waitFor(sem_t &semaphore, time_t seconds) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += seconds;
  while (sem_timedwait(&semaphore, &until) == -1 && errno == EINTR) {
  }
}

/// Whoever presses Ctrl-C is told at once what it waits for, and need not wait: the second one
/// ends the process. Nothing here that a signal handler may not do.
void onInterrupt() {
  static std::atomic<bool> said{false};
  if (!said.exchange(true))
    (void)writeStderr(
        "fade: interrupted: the report is being written; Ctrl-C once more ends without it\n");
}

void letInterruptsThrough() {
  signal(SIGINT, SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr); // it is blocked while its handler runs
}

void onSignal(int number) {
  const int saved = errno;
  onCrash(number); // of a handler: nobody else's affair
  if (number == SIGINT && Runtime::hasReport()) onInterrupt();
  // The report needs locks that this thread may hold now: it is made when the thread has left.
  if (!isCrash(number) && Visit::postpone(number)) {
    errno = saved;
    return;
  }
  // While one thread answers the first Ctrl-C, the second may hit another: it must not wait as
  // well.
  static std::atomic<bool> is_answered{false};
  const bool is_second = number == SIGINT && is_answered.exchange(true);
  // A thread that the report has to wait for cannot wait for the report.
  if (!is_second && Runtime::active() && !isOwnThread()) {
    sem_post(&report_wanted);
    if (number == SIGINT) letInterruptsThrough();
    waitFor(report_made, report_seconds);
    sem_post(&report_made); // for another thread that was hit as well
  }
  signal(number, SIG_DFL);
  // A fault happens again on return; anything else has to be sent again.
  raise(number);
  errno = saved;
}

void startReportThread() {
  sem_init(&report_wanted, 0, 0);
  sem_init(&report_made, 0, 0);
  startQuietThread("fade-exit", [] {
    while (sem_wait(&report_wanted) == -1 && errno == EINTR) {
    }
    Runtime::finish();
    sem_post(&report_made);
  }).detach();
}

void takeSignals() {
  for (const int number : kSignals) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)
      continue; // the application's
    struct sigaction ours {};
    ours.sa_handler = onSignal;
    ours.sa_flags = SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(number, &ours, nullptr);
  }
}

void releaseSignals() {
  for (const int number : kSignals) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
        now.sa_handler == onSignal)
      signal(number, SIG_DFL);
  }
}

// How often the application has to shut the HSA runtime down until it is gone.
std::atomic<int> runtime_users{0};

hsa_status_t onInit() {
  hip::lookAgain(); // who starts it may be HIP
  const hsa_status_t status = hsaApi().core.hsa_init_fn();
  if (ok(status)) ++runtime_users;
  return status;
}

hsa_status_t onShutDown() {
  if (--runtime_users == 0) Runtime::finishAndRelease();
  return hsaApi().core.hsa_shut_down_fn();
}

} // namespace

void hookShutDown(HsaTables &tables) {
  runtime_users = 1; // who has the runtime loaded just now
  tables.core().hsa_init_fn = onInit;
  tables.core().hsa_shut_down_fn = onShutDown;
}

void stayLoaded() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void *>(&stayLoaded), &info) != 0 && info.dli_fname)
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void watchExits(double patience) {
  report_seconds = static_cast<time_t>(kReportSeconds * std::max(1.0, patience));
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit([] { Runtime::finish(); });
    std::at_quick_exit([] { Runtime::finish(); });
    // A child has none of our threads and shares our files: it is left alone.
    pthread_atfork(nullptr, nullptr, [] {
      Runtime::forgetInChild();
      releaseSignals();
      dropStderr();
    });
    startReportThread();
    takeSignals();
  });
}

} // namespace fade
