#include "replay/touched_pages.h"

#include "capture/capture.h"

#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sys/mman.h>

namespace fade::replay {
namespace {

using capture::kPageSize;

// For the handler, which may use nothing else.
struct Watched {
  uint8_t *memory = nullptr;
  std::size_t size = 0;
  uint8_t *touched = nullptr;
};
Watched watched;
struct sigaction previous_action;

void onFault(int number, siginfo_t *info, void *) {
  auto *at = static_cast<uint8_t *>(info->si_addr);
  if (at < watched.memory || at >= watched.memory + watched.size) {
    sigaction(number, &previous_action, nullptr); // it happens again, and then it is not ours
    return;
  }
  const std::size_t page = static_cast<std::size_t>(at - watched.memory) / kPageSize;
  std::atomic_ref(watched.touched[page]).store(1, std::memory_order_relaxed);
  if (mprotect(watched.memory + page * kPageSize, kPageSize, PROT_READ | PROT_WRITE) == 0) return;
  // The system has no room for so many pieces: all of it counts as touched.
  for (std::size_t i = 0; i < watched.size / kPageSize; ++i)
    std::atomic_ref(watched.touched[i]).store(1, std::memory_order_relaxed);
  (void)mprotect(watched.memory, watched.size, PROT_READ | PROT_WRITE);
}

} // namespace

TouchedPages::TouchedPages(std::span<uint8_t> memory)
    : memory_(memory), touched_(memory.size() / kPageSize) {
  watched = {memory_.data(), memory_.size(), touched_.data()};
  struct sigaction action {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_action);
}

TouchedPages::~TouchedPages() {
  stop();
  sigaction(SIGSEGV, &previous_action, nullptr);
  watched = {};
}

void TouchedPages::watch() { (void)mprotect(memory_.data(), memory_.size(), PROT_NONE); }

void TouchedPages::stop() {
  (void)mprotect(memory_.data(), memory_.size(), PROT_READ | PROT_WRITE);
}

bool TouchedPages::isTouched(uint64_t page) const { return touched_[page] != 0; }

std::thread TouchedPages::startThread(std::function<void()> body) {
  return std::thread([body = std::move(body)] {
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    body();
  });
}

} // namespace fade::replay
