// A library that stands in for libroctx64.so.4, whether that is installed or not, when it
// is preloaded. Marks and ranges go to libfade.so once the application has loaded that, by its
// first use of the GPU; before that they are only counted.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <string>

#define FADE_ROCTX extern "C" __attribute__((visibility("default")))

namespace {

using Record = void (*)(uint32_t kind, const char *text, uint64_t range);
enum Kind : uint32_t { kMark, kPush, kPop, kStart, kStop }; // events::MarkerKind

thread_local int level = 0;
std::atomic<uint64_t> next_range{1};
std::atomic<Record> record{nullptr};

/// In libfade.so beside this library, if the process has it already.
Record find() noexcept {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void *>(&find), &info) == 0 || !info.dli_fname) return nullptr;
  const char *slash = std::strrchr(info.dli_fname, '/');
  const std::string folder(info.dli_fname, slash ? slash + 1 - info.dli_fname : 0);
  void *fade = dlopen((folder + "libfade.so").c_str(), RTLD_NOW | RTLD_NOLOAD);
  return fade ? reinterpret_cast<Record>(dlsym(fade, "fade_record_marker")) : nullptr;
}

void send(Kind kind, const char *text, uint64_t range = 0) noexcept {
  Record to = record.load(std::memory_order_acquire);
  if (!to) {
    try {
      to = find();
    } catch (...) { // no memory for a path
    }
    if (!to) return;
    record.store(to, std::memory_order_release);
  }
  to(kind, text, range);
}

} // namespace

FADE_ROCTX uint32_t roctx_version_major() { return 4; }
FADE_ROCTX uint32_t roctx_version_minor() { return 1; }
FADE_ROCTX void roctxMarkA(const char *message) { send(kMark, message); }
/// Returns the level before.
FADE_ROCTX int roctxRangePushA(const char *message) {
  send(kPush, message);
  return level++;
}
/// Returns the level after; below 0: there was no push.
FADE_ROCTX int roctxRangePop() {
  send(kPop, nullptr);
  return level > 0 ? --level : -1;
}
FADE_ROCTX uint64_t roctxRangeStartA(const char *message) {
  const uint64_t range = next_range.fetch_add(1, std::memory_order_relaxed);
  send(kStart, message, range);
  return range;
}
FADE_ROCTX void roctxRangeStop(uint64_t range) { send(kStop, nullptr, range); }
/// Others that want to be told: there is nobody to tell them.
FADE_ROCTX void roctxRegisterTracerCallback(void *) {}
