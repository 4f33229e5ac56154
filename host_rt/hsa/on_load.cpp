// The doors of libfade.so: the HSA runtime calls OnLoad when it starts, if HSA_TOOLS_LIB says so.
#include "base/contain.h"
#include "base/diagnostics.h"
#include "hsa/code_hooks.h"
#include "hsa/copy_hooks.h"
#include "hsa/exit_paths.h"
#include "hsa/hsa_api.h"
#include "hsa/memory_hooks.h"
#include "hsa/queue_hooks.h"
#include "hsa/runtime.h"
#include "stream/analyze_trace.h"

#include <exception>

#define FADE_EXPORT extern "C" __attribute__((visibility("default")))

FADE_EXPORT bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  using namespace fade;
  try {
    keepStderr();
    HsaTables tables;
    if (!tables.read(*table)) {
      warn("{}", tables.problem());
      return true;
    }
    std::vector<std::string> complaints;
    Settings settings = readEnvironment(complaints);
    for (const std::string &complaint : complaints) warn("{}", complaint);
    setVerbose(settings.verbose);
    const bool copies_records = settings.instrumented && settings.transport == Transport::device;
    stayLoaded();
    Runtime::start(std::move(settings));
    watchExits();
    hookCode(tables);
    hookQueues(tables);
    hookMemory(tables);
    if (copies_records) hookCopies(tables);
  } catch (const std::exception &e) {
    warn("cannot start: {}", e.what());
    Runtime::forget();
  }
  return true;
}

FADE_EXPORT void OnUnload() { fade::Runtime::finishAndRelease(); }

// For fadeprobe analyze; the variables choose analyzers and report.
FADE_EXPORT int fade_analyze_trace(const char *path) {
  using namespace fade;
  try {
    std::vector<std::string> complaints;
    const Settings settings = readEnvironment(complaints);
    for (const std::string &complaint : complaints) warn("{}", complaint);
    setVerbose(settings.verbose);
    handleCrashes();
    return analyzeTrace(path, settings);
  } catch (const std::exception &e) {
    warn("{}: {}", path, e.what());
    return 2;
  }
}
