// AMD's markers: stands in for libroctx64.so.4 and librocprofiler-sdk-roctx.so, whether they are
// installed or not, when it is preloaded. Marks and ranges go to libfade.so.
#include "own_fade.h"

#include <atomic>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using Record = void(uint32_t kind, const char *text, uint64_t range);
enum Kind : uint32_t { kMark, kPush, kPop, kStart, kStop }; // events::MarkerKind

thread_local int level = 0;
std::atomic<uint64_t> next_range{1};

/// Looked for until it is there; a process that records nothing pays for a look.
template <typename Function> Function *cached(std::atomic<Function *> &at, const char *name) {
  Function *found = at.load(std::memory_order_acquire);
  if (!found) {
    found = fade::preload::fadeFunctionOf<Function>(name);
    if (found) at.store(found, std::memory_order_release);
  }
  return found;
}

void send(Kind kind, const char *text, uint64_t range = 0) noexcept {
  static std::atomic<Record *> record{nullptr};
  if (Record *to = cached(record, "fade_record_marker")) to(kind, text, range);
}

void setOn(int on) noexcept {
  static std::atomic<void (*)(int)> set{nullptr};
  if (auto *to = cached(set, "fade_trace_set")) to(on);
}

} // namespace

FADE_EXPORT uint32_t roctx_version_major() { return 4; }
FADE_EXPORT uint32_t roctx_version_minor() { return 1; }
FADE_EXPORT void roctxMarkA(const char *message) { send(kMark, message); }
/// Returns the level before.
FADE_EXPORT int roctxRangePushA(const char *message) {
  send(kPush, message);
  return level++;
}
/// Returns the level after; below 0: there was no push.
FADE_EXPORT int roctxRangePop() {
  if (level == 0) return -1;
  send(kPop, nullptr);
  return --level;
}
FADE_EXPORT uint64_t roctxRangeStartA(const char *message) {
  const uint64_t range = next_range.fetch_add(1, std::memory_order_relaxed);
  send(kStart, message, range);
  return range;
}
FADE_EXPORT void roctxRangeStop(uint64_t range) { send(kStop, nullptr, range); }
/// Others that want to be told: there is nobody to tell them.
FADE_EXPORT void roctxRegisterTracerCallback(void *) {}

// What only librocprofiler-sdk-roctx.so has. 0: it was done.
FADE_EXPORT int roctxGetThreadId(uint64_t *id) {
  if (id) *id = static_cast<uint64_t>(syscall(SYS_gettid));
  return 0;
}
FADE_EXPORT int roctxProfilerPause(uint64_t) {
  setOn(0);
  return 0;
}
FADE_EXPORT int roctxProfilerResume(uint64_t) {
  setOn(1);
  return 0;
}
FADE_EXPORT int roctxNameOsThread(const char *) { return 0; }
FADE_EXPORT int roctxNameHsaAgent(const char *, const void *) { return 0; }
FADE_EXPORT int roctxNameHipDevice(const char *, int) { return 0; }
FADE_EXPORT int roctxNameHipStream(const char *, const void *) { return 0; }
