/* Start, stop, markers and ranges of a recording, for C and C++ programs.
 *
 *   #include <fade/trace.h>
 *   fade_start();                       fadeprobe trace --start off -- ./app
 *   fade_range_push("step 3"); ... fade_range_pop();
 *   fade_stop();
 *
 * The header links nothing (before glibc 2.34: -ldl) and does nothing unless the program is traced:
 * by fadeprobe trace, or with HSA_TOOLS_LIB=.../libfade.so and FADE_TRACE. Starts and stops nest:
 * recording is on while there were more starts than stops. All functions may be called from any
 * thread, also before the GPU is used. */
#ifndef FADE_TRACE_H
#define FADE_TRACE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* for the functions of dlfcn.h in C */
#endif
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of libfade.so, which the HSA runtime loads when the GPU is first used, or before that by its path
 * in HSA_TOOLS_LIB; null if nothing is recorded. */
static inline void *fade_trace_function(const char *name) {
  const char *mark = "libfade.so";
  const char *trace = getenv("FADE_TRACE"), *tools = getenv("HSA_TOOLS_LIB");
  const char *at = tools ? strstr(tools, mark) : 0;
  void *fade = dlopen(mark, RTLD_NOW | RTLD_NOLOAD);
  if (!fade && trace && *trace && at) {
    char path[4096];
    const char *begin = at;
    size_t size;
    while (begin > tools && begin[-1] != ' ') --begin;
    size = (size_t)(at - begin) + strlen(mark);
    if (size >= sizeof path) return 0;
    memcpy(path, begin, size);
    path[size] = 0;
    fade = dlopen(path, RTLD_NOW);
  }
  return fade ? dlsym(fade, name) : 0;
}

static inline void fade_trace_call(const char *name) {
  void (*function)(void) = (void (*)(void))fade_trace_function(name);
  if (function) function();
}

static inline void fade_trace_mark(uint32_t kind, const char *text, uint64_t range) {
  typedef void (*Record)(uint32_t, const char *, uint64_t);
  Record record = (Record)fade_trace_function("fade_record_marker");
  if (record) record(kind, text, range);
}

static inline void fade_start(void) { fade_trace_call("fade_trace_start"); }
static inline void fade_stop(void) { fade_trace_call("fade_trace_stop"); }
/* Returns when all recorded events are in the file. */
static inline void fade_flush(void) { fade_trace_call("fade_trace_flush"); }

static inline void fade_mark(const char *text) { fade_trace_mark(0, text, 0); }
/* Ranges of a thread: the last that was begun ends first. */
static inline void fade_range_push(const char *text) { fade_trace_mark(1, text, 0); }
static inline void fade_range_pop(void) { fade_trace_mark(2, 0, 0); }
/* Ranges that may end in any order and in another thread, identified by a number of your choice. */
static inline void fade_range_start(const char *text, uint64_t range) {
  fade_trace_mark(3, text, range);
}
static inline void fade_range_stop(uint64_t range) { fade_trace_mark(4, 0, range); }

#ifdef __cplusplus
}
#endif

#endif
