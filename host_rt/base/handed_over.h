// Tells ThreadSanitizer about hand-overs between threads that go through code it does not see, such
// as the HSA runtime. Nothing in other builds.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FADE_WITH_TSAN 1
#endif
#endif

#ifdef FADE_WITH_TSAN
extern "C" void __tsan_acquire(void *);
extern "C" void __tsan_release(void *);
#endif

namespace fade {

/// Before the other side can get `object`.
inline void handOver([[maybe_unused]] void *object) {
#ifdef FADE_WITH_TSAN
  __tsan_release(object);
#endif
}

/// On the other side, before it looks at `object`.
inline void takeOver([[maybe_unused]] void *object) {
#ifdef FADE_WITH_TSAN
  __tsan_acquire(object);
#endif
}

} // namespace fade
