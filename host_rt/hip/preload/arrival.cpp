// libfadearrival.so, which fadeprobe preloads: at the end of a process whose HSA runtime was
// started and has not loaded FADE it says so, and why as far as that can be known. Else it does
// nothing.
//
// It is in every process that the application starts, also in those that never use a GPU. So it is
// small, needs nothing but libc, and looks only once, at the end.
#include "hsa_state.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr std::size_t kLongestPath = 4096;
char tool[kLongestPath]; ///< FADE_TOOL: the library that the runtime was asked to load
struct stat stderr_at_start;
pid_t process = 0;
bool is_done = false;

/// Its OnLoad was called.
bool hasArrived() {
  void *library = dlopen(tool, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return false;
  const auto ask = reinterpret_cast<int (*)()>(dlsym(library, "fade_has_arrived"));
  const bool has_arrived = !ask || ask() != 0;
  dlclose(library);
  return has_arrived;
}

bool isSet(const char *name) {
  const char *value = std::getenv(name);
  return value && *value != '\0';
}

/// A profiler that rocprofiler-register knows of.
const char *profiler() {
  for (const char *name :
       {"ROCP_TOOL_LIBRARIES", "ROCPROFILER_REGISTER_LIBRARY", "ROCPROFILER_REGISTER_FORCE_LOAD"})
    if (isSet(name)) return name;
  return dlsym(RTLD_DEFAULT, "rocprofiler_configure") ? "rocprofiler_configure" : nullptr;
}

void why(char *out, std::size_t size) {
  const char *tools = std::getenv("HSA_TOOLS_LIB");
  if (!tools || !std::strstr(tools, tool))
    std::snprintf(out, size,
                  "HSA_TOOLS_LIB was changed by the application or what starts it (%.200s)",
                  tools && *tools != '\0' ? tools : "it is not set");
  else if (const char *other = isSet("HSA_TOOLS_ROCPROFILER_V1_TOOLS") ? nullptr : profiler())
    std::snprintf(
        out, size,
        "a profiler is registered with ROCr (%s), and HSA_TOOLS_ROCPROFILER_V1_TOOLS, which "
        "lets it load other tools, was removed from the environment",
        other);
  else
    std::snprintf(out, size,
                  "the reason is unknown; set HSA_TOOLS_REPORT_LOAD_FAILURE=1 to see what ROCr "
                  "could not load");
}

/// The terminal or file that errors went to when the process started, if it is still there.
bool hasStderr() {
  struct stat now {};
  return fstat(STDERR_FILENO, &now) == 0 && now.st_dev == stderr_at_start.st_dev &&
         now.st_ino == stderr_at_start.st_ino;
}

void look() {
  if (is_done || getpid() != process || tool[0] == '\0') return;
  if (!fade::isHsaOpen()) return; // it may be too late to know
  is_done = true;
  if (hasArrived() || !hasStderr()) return;
  char reason[512], line[1024];
  why(reason, sizeof reason);
  const int length =
      std::snprintf(line, sizeof line,
                    "fade: %s: the HSA runtime started without loading FADE, so nothing was "
                    "seen: %s\n",
                    program_invocation_short_name, reason);
  if (length > 0)
    (void)!write(STDERR_FILENO, line,
                 static_cast<std::size_t>(length) < sizeof line ? static_cast<std::size_t>(length)
                                                                : sizeof line - 1);
}

// Libraries that the program is linked with were set up before this one: HIP shuts the runtime down
// after look(). Of one that is loaded later, look() at the very end may still find it open.
__attribute__((constructor)) void prepare() {
  const char *path = std::getenv("FADE_TOOL");
  if (!path || *path == '\0' || std::strlen(path) >= sizeof tool ||
      fstat(STDERR_FILENO, &stderr_at_start) != 0)
    return;
  std::strcpy(tool, path);
  process = getpid();
  (void)std::atexit(look);
}
__attribute__((destructor)) void lookAtTheEnd() { look(); }

} // namespace
