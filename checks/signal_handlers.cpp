#include "checks/signal_handlers.h"

#include "hsa/signal_condition.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace fade::checks {
namespace {

constexpr std::chrono::seconds kLongestWait{2};

struct SignalHandler {
  hsa_signal_t signal;
  hsa_signal_condition_t condition;
  hsa_signal_value_t value;
  hsa_amd_signal_handler handler;
  void *data;
  void (*seen)(hsa_signal_t, hsa_signal_value_t);
  size_t place = 0; // among all of them
  bool is_listed = true;
  bool is_running = false;
  bool was_called = false;
};

/// All handlers that are registered.
class SignalHandlers {
public:
  static SignalHandlers &instance() {
    static auto *handlers = new SignalHandlers;
    return *handlers;
  }
  bool add(SignalHandler *one) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      one->place = all_.size();
      all_.push_back(one);
      return true;
    } catch (...) {
      return false;
    }
  }
  void remove(SignalHandler *one) {
    {
      const std::lock_guard lock(mutex_);
      if (one->is_listed) {
        all_[one->place] = all_.back();
        all_[one->place]->place = one->place;
        all_.pop_back();
      }
    }
    delete one;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    for (SignalHandler *one : all_) one->is_listed = false; // the runtime may still call it
    all_.clear();
  }
  void setRunning(SignalHandler &one, bool is_running) {
    const std::lock_guard lock(mutex_);
    one.is_running = is_running;
    one.was_called = true;
  }
  /// A handler that stays registered is due again and again: it is waited for once.
  bool isAnyDue() {
    std::vector<SignalHandler> waiting;
    {
      const std::lock_guard lock(mutex_);
      for (const SignalHandler *one : all_) {
        if (one->is_running) return true;
        if (!one->was_called && one->signal.handle != 0) waiting.push_back(*one);
      }
    }
    return std::ranges::any_of(waiting, [](const SignalHandler &one) {
      return holds(one.condition, hsaApi().core.hsa_signal_load_relaxed_fn(one.signal), one.value);
    });
  }

private:
  std::mutex mutex_;
  std::vector<SignalHandler *> all_;
};

bool onSignal(hsa_signal_value_t value, void *data) {
  auto *own = static_cast<SignalHandler *>(data);
  SignalHandlers &handlers = SignalHandlers::instance();
  handlers.setRunning(*own, true);
  if (own->seen) own->seen(own->signal, value);
  const bool goes_on = own->handler(value, own->data);
  if (goes_on)
    handlers.setRunning(*own, false);
  else
    handlers.remove(own);
  return goes_on;
}

void awaitHandlers() {
  try {
    const auto until = std::chrono::steady_clock::now() + kLongestWait;
    while (SignalHandlers::instance().isAnyDue() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } catch (...) {
  }
}

} // namespace

hsa_status_t registerSignalHandler(hsa_signal_t signal, hsa_signal_condition_t condition,
                                   hsa_signal_value_t value, hsa_amd_signal_handler handler,
                                   void *data, void (*seen)(hsa_signal_t, hsa_signal_value_t)) {
  const auto plain = hsaApi().amd.hsa_amd_signal_async_handler_fn;
  auto *own = handler ? new (std::nothrow)
                            SignalHandler{signal, condition, value, handler, data, seen}
                      : nullptr;
  if (!own || !SignalHandlers::instance().add(own)) {
    delete own;
    return plain(signal, condition, value, handler, data);
  }
  const hsa_status_t status = plain(signal, condition, value, onSignal, own);
  if (!ok(status)) SignalHandlers::instance().remove(own);
  return status;
}

void awaitSignalHandlersAtExit() {
  static const int registered = std::atexit(awaitHandlers);
  (void)registered;
}

void forgetSignalHandlers() { SignalHandlers::instance().forget(); }

} // namespace fade::checks
