// The doors of libfade.so: the HSA runtime calls OnLoad when it starts, if HSA_TOOLS_LIB says so.
#include "base/contain.h"
#include "base/diagnostics.h"
#include "hip/install.h"
#include "hip/markers.h"
#include "hip/recorder.h"
#include "hsa/code_hooks.h"
#include "hsa/copy_hooks.h"
#include "hsa/exit_paths.h"
#include "hsa/hsa_api.h"
#include "hsa/memory_hooks.h"
#include "hsa/packet_calls.h"
#include "hsa/queue_hooks.h"
#include "hsa/runtime.h"
#include "stream/analyze_trace.h"
#include "stream/handler_set.h"

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
    const double patience = settings.patience;
    const bool copies_records = settings.instrumented && settings.transport == Transport::device;
    stayLoaded();
    if (!settings.trace.empty())
      hip::startTrace({expandPath(settings.trace), settings.trace_api, settings.trace_starts_on});
    Runtime::start(std::move(settings));
    watchExits(patience);
    hookShutDown(tables);
    hookCode(tables);
    hookQueues(tables);
    hookMemory(tables);
    if (hip::hasRecorder()) hookWriteIndex(tables);
    if (copies_records || hip::hasRecorder()) hookCopies(tables, copies_records);
  } catch (const std::exception &e) {
    warn("cannot start: {}", e.what());
    Runtime::forget();
  }
  return true;
}

FADE_EXPORT void OnUnload() { fade::Runtime::finishAndRelease(); }

// For libfaderoctx.so.
FADE_EXPORT void fade_record_marker(uint32_t kind, const char *text, uint64_t range) {
  fade::hip::recordMarker(kind, text, range);
}

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

// For fadeprobe, before it starts the application: whether the analyzers that the variables choose
// can be loaded and accept their options. They are made as for a run, and what they write then goes
// nowhere. To be called in a process that ends after it.
FADE_EXPORT int fade_check_settings(void (*say)(void *context, const char *line), void *context) {
  using namespace fade;
  try {
    std::vector<std::string> complaints;
    const Settings settings = readEnvironment(complaints);
    complaints.clear(); // about variables: said in the application
    handleCrashes();
    auto *output = new Output(settings.log_format, Output::Discarded());
    // Never destroyed: only an analyzer that has worked ends.
    (void)new Handlers(loadHandlers(settings.handlers, ownDirectory(), *output, complaints));
    for (const std::string &complaint : complaints) say(context, complaint.c_str());
    return complaints.empty() ? 0 : 2;
  } catch (const std::exception &e) {
    say(context, e.what());
    return 2;
  }
}
