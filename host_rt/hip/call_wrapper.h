// What stands in the place of each function of HIP: calls it and records that.
#pragma once

#include "fade/hip_api.h"
#include "hip/kernel_names.h"
#include "hip/properties.h"
#include "hip/recorder.h"
#include "hip/stacks.h"

#include <atomic>
#include <cstring>

namespace fade::hip {

/// Opens the trace in the first call, which comes before the GPU is used. Null: nothing to open.
extern std::atomic<void (*)()> before_first;

/// Some structures were shorter then. Set before any wrapper is called.
extern bool is_hip_five;

/// A call that is being recorded, from before it begins to its end.
class CallScope {
public:
  CallScope(uint16_t function, unsigned argument_words, const void *caller) noexcept
      : bytes_(static_cast<uint32_t>(sizeof(events::CallEvent)) + 8 * argument_words),
        event_(reinterpret_cast<events::CallEvent *>(reserveEvent(log_, bytes_))) {
    if (!event_) return;
    event_->header = {events::EventKind::call, static_cast<uint16_t>(bytes_ / 8)};
    event_->function = function;
    event_->flags = 0;
    event_->parent = log_->call;
    event_->caller = reinterpret_cast<uint64_t>(caller);
    event_->end_ns = 0;
    event_->result = 0;
  }
  // Also when an exception passes: the call has then not returned.
  ~CallScope() {
    if (event_) log_->call = event_->parent;
  }
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;

  explicit operator bool() const noexcept { return event_ != nullptr; }
  uint64_t *arguments() noexcept { return reinterpret_cast<uint64_t *>(event_ + 1); }

  /// The arguments are there.
  void begin() noexcept {
    log_->call = log_->block.position + log_->used;
    event_->start_ns = nowNs();
    publishEvent(*log_, bytes_);
  }
  void end(uint64_t result, uint16_t flags) noexcept {
    event_->result = result;
    event_->end_ns = nowNs();
    event_->flags = flags;
  }

private:
  ThreadLog *log_ = nullptr;
  const uint32_t bytes_;
  events::CallEvent *const event_;
};

/// Up to kTextBytes with the zero at the end.
inline void putText(uint64_t *at, const char *text) noexcept {
  auto *bytes = reinterpret_cast<char *>(at);
  std::size_t size = 0;
  if (text)
    for (; size < kTextBytes - 1 && text[size] != '\0'; ++size) bytes[size] = text[size];
  bytes[size] = '\0';
}

/// What an argument points to. HIP refuses small numbers, which some clients pass, without looking.
template <typename T> void putBehind(uint64_t *at, const T &value) noexcept {
  using Is = BehindOf<T>;
  constexpr uintptr_t never_mapped = 65536;
  if (reinterpret_cast<uintptr_t>(value) < never_mapped) return;
  std::memcpy(at, value, is_hip_five ? Is::kBytesInFive : Is::kBytes);
}

/// Before the call.
template <typename T> uint64_t *putArgument(uint64_t *at, const T &value) noexcept {
  constexpr Recorded recorded = recordedAs<T>();
  if constexpr (BehindOf<T>::value) {
    at[0] = reinterpret_cast<uint64_t>(value);
    std::memset(at + 1, 0, 8 * (recorded.words - 1));
    if constexpr (BehindOf<T>::kIsRead) putBehind(at + 1, value);
    return at + recorded.words;
  }
  if constexpr (sizeof(T) % 8 != 0) at[recorded.words - 1] = 0;
  std::memcpy(at, &value, sizeof value);
  if constexpr (std::is_same_v<T, const char *>)
    putText(at + 1, value);
  else if constexpr (recorded.is_output)
    at[1] = 0;
  return at + recorded.words;
}

/// After a call that has succeeded: the value of an output.
template <typename T> uint64_t *putOutput(uint64_t *at, const T &value) noexcept {
  constexpr Recorded recorded = recordedAs<T>();
  if constexpr (BehindOf<T>::value) {
    if constexpr (BehindOf<T>::kIsWritten) putBehind(at + 1, value);
  } else if constexpr (recorded.is_output) {
    if (value) {
      if constexpr (std::is_same_v<T, char *>)
        putText(at + 1, value);
      else
        std::memcpy(at + 1, value, sizeof *value);
    }
  }
  return at + recorded.words;
}

template <typename First, typename... Rest> First firstOf(First first, Rest...) { return first; }

/// `Copy`: a function may be there several times.
template <uint16_t Number, typename Signature, Launched What = Launched::nothing, unsigned Copy = 0>
struct Wrapper;
template <uint16_t Number, typename R, typename... A, Launched What, unsigned Copy>
struct Wrapper<Number, R(A...), What, Copy> {
  using Layout = SignatureOf<R(A...)>;
  template <typename T> static constexpr bool isChanged() {
    if constexpr (BehindOf<T>::value)
      return BehindOf<T>::kIsWritten;
    else
      return recordedAs<T>().is_output;
  }
  static constexpr bool kHasOutputs = (false || ... || isChanged<A>());

  static inline R (*next)(A...) = nullptr; ///< HIP's own; set before the wrapper is called

  static constexpr Asked kAsked = askedBy(Number);

  /// HIP's own, and what it says about devices is looked at.
  static R ask(A... values) {
    if constexpr (kAsked == Asked::nothing) {
      return next(values...);
    } else {
      const R result = next(values...);
      if (result == 0) {
        if constexpr (kAsked == Asked::attribute)
          checkAttribute(next, values...);
        else
          checkProperties(kAsked, firstOf(values...));
      }
      return result;
    }
  }

  static R call(A... values) {
    if (!isRecording())
      if (auto *open = before_first.load(std::memory_order_acquire)) open();
    if (!isRecording() || isOwnCall()) return ask(values...);
    const void *const caller = __builtin_return_address(0);
    noteCaller(Number, caller);
    const uint64_t stack = stack_depth == 0 ? 0 : recordStack(stack_depth);
    CallScope scope(Number, Layout::kWords, caller);
    if (!scope) return ask(values...);
    [[maybe_unused]] uint64_t *at = scope.arguments();
    ((at = putArgument(at, values)), ...);
    scope.begin();
    if (stack != 0) recordCallStack(currentCall(), stack);
    if constexpr (std::is_void_v<R>) {
      ask(values...);
      scope.end(0, events::kCallReturned);
    } else {
      R result = ask(values...);
      uint64_t word = 0;
      std::memcpy(&word, &result, std::min(sizeof word, sizeof result));
      uint16_t flags = events::kCallReturned;
      if constexpr (kHasOutputs)
        if (word == 0) { // hipSuccess
          uint64_t *outputs = scope.arguments();
          ((outputs = putOutput(outputs, values)), ...);
          flags |= events::kCallOutputs;
        }
      if constexpr (Layout::kWords > Layout::kArgumentWords) putArgument(at, result);
      scope.end(word, flags);
      if constexpr (What != Launched::nothing)
        if (word == 0) noteLaunch(What, firstOf(values...));
      return result;
    }
  }
};

} // namespace fade::hip
