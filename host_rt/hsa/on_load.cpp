// The doors of libfade.so: the HSA runtime calls OnLoad when it starts, if HSA_TOOLS_LIB says so.
#include "base/contain.h"
#include "base/diagnostics.h"
#include "base/run_folder.h"
#include "hip/install.h"
#include "hip/libraries.h"
#include "hip/markers.h"
#include "hip/preload/hsa_state.h"
#include "hip/properties.h"
#include "hip/recorder.h"
#include "hip/writer_process.h"
#include "hsa/code_hooks.h"
#include "hsa/copy_hooks.h"
#include "hsa/device_facts.h"
#include "hsa/exit_paths.h"
#include "hsa/gpu_observer.h"
#include "hsa/hsa_api.h"
#include "hsa/memory_hooks.h"
#include "hsa/packet_calls.h"
#include "hsa/queue_hooks.h"
#include "hsa/runtime.h"
#include "hsa/signal_waits.h"
#include "stream/analyze_trace.h"
#include "stream/handler_set.h"

#include <atomic>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#define FADE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

/// A signal has come. Nothing here that its handler may not do.
void onRemote(int starts) {
  fade::hip::switchBy(starts);
  if (starts < 0) fade::hip::wakeWriter();
}

/// librpd_remote.so, if it is preloaded: it may have been told to start already.
void greetRemote() {
  using Arrived = int (*)(void (*)(int));
  if (const auto arrived = reinterpret_cast<Arrived>(dlsym(RTLD_DEFAULT, "fade_remote_arrived")))
    if (const int starts = arrived(onRemote); starts > 0) fade::hip::switchBy(starts);
}

/// What the GPU has done by now is recorded. Also when the process ends at once, or becomes another
/// program.
void settleTimes() {
  if (fade::isOwnThread()) return;
  const fade::Visit visit;
  if (fade::Runtime *runtime = visit.runtime()) runtime->settleTimes();
}

/// `is_end`: else it becomes another program.
void beforeHardEnd(bool is_end) {
  settleTimes();
  if (is_end && fade::hip::hasRecorder()) fade::hip::recordUsage(fade::hip::nowNs(), true);
}

/// The preloaded library that sees such ends, if there is one.
void greetHardEnds() {
  using Greet = void (*)(void (*)(bool));
  if (const auto greet = reinterpret_cast<Greet>(dlsym(RTLD_DEFAULT, "fade_before_hard_end")))
    greet(beforeHardEnd);
}

/// What this process is to do. Nothing if its rank was not chosen.
std::optional<fade::Settings> settingsOfProcess(std::vector<std::string> &complaints) {
  fade::Settings settings = fade::readEnvironment(complaints);
  if (!fade::namesRank(settings.ranks, fade::ownRank())) return std::nullopt;
  return settings;
}

/// Of a process whose rank was not chosen.
class Unobserved final : public fade::Observer {
public:
  uint32_t wants() const override { return 0; }
  std::unique_ptr<fade::DispatchObserver> begin(const fade::ObservedDispatch &, uint32_t) override {
    return nullptr;
  }
};

/// Before the GPU is used, too: FADE_TRACE says where to. `may_be_late`: the HSA runtime may have
/// been started without FADE.
void openTraceEarly(bool may_be_late = true) noexcept {
  using namespace fade;
  static std::once_flag once;
  if (hip::hasRecorder()) return;
  try {
    std::call_once(once, [&] {
      keepStderr();
      std::vector<std::string> complaints; // said in OnLoad
      const auto settings = settingsOfProcess(complaints);
      if (!settings) return;
      stayLoaded();
      hip::openTrace(*settings, ownDirectory());
      if (hip::hasRecorder()) greetRemote();
      if (hip::hasRecorder() && may_be_late && isHsaOpen()) {
        hip::startTrace(*settings, ownDirectory());
        warn("the GPU was in use before FADE was loaded: HIP calls and markers are recorded from "
             "here on, kernels and copies are not");
      }
    });
  } catch (const std::exception &e) {
    warn("nothing is recorded: {}", e.what());
  }
}

std::atomic<bool> has_arrived{false};

/// After the last of the application's own functions: HIP calls while it ends are there.
__attribute__((destructor)) void onProcessEnd() { fade::hip::endTrace(); }

} // namespace

FADE_EXPORT bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  using namespace fade;
  has_arrived = true;
  try {
    keepStderr();
    HsaTables tables;
    if (!tables.read(*table)) {
      warn("{}", tables.problem());
      return true;
    }
    std::vector<std::string> complaints;
    auto chosen = settingsOfProcess(complaints);
    if (!chosen) return true;
    Settings &settings = *chosen;
    for (const std::string &complaint : complaints) warn("{}", complaint);
    setVerbose(settings.verbose);
    for (const std::string &gap : tables.gaps()) warn("{}", gap);
    const double patience = settings.patience;
    const bool copies_records = settings.instrumented && settings.transport == Transport::device;
    const bool captures = !settings.capture.empty();
    stayLoaded();
    if (!settings.trace.empty()) hip::startTrace(settings, ownDirectory());
    if (hip::hasRecorder()) greetRemote();
    hip::setDeviceFacts(askDevices, settings.correct_properties);
    Runtime::start(std::move(settings));
    watchExits(patience);
    greetHardEnds();
    hookShutDown(tables);
    hookCode(tables);
    hookQueues(tables);
    hookMemory(tables);
    hookWaits(tables);
    if (captures) hookMemoryForCaptures(tables);
    if (hip::hasRecorder() || tables.givesBatches()) hookWriteIndex(tables);
    // Captures read memory with the copy engine while kernels stand still.
    if (copies_records || captures || hip::hasRecorder())
      hookCopies(tables, copies_records || captures);
  } catch (const std::exception &e) {
    warn("cannot start: {}", e.what());
    Runtime::forget();
  }
  return true;
}

// For libfadearrival.so.
FADE_EXPORT int fade_has_arrived() { return has_arrived ? 1 : 0; }

FADE_EXPORT void OnUnload() { fade::Runtime::finishAndRelease(); }

// For the software GPU, if FADE_GPU_OBSERVER names this library.
FADE_EXPORT fade::Observer *fade_observer(uint32_t version, const char *,
                                          const fade::ObservedMemory *memory) {
  if (version != FADE_OBSERVER_VERSION || !memory) return nullptr;
  std::vector<std::string> complaints; // said in OnLoad
  if (!settingsOfProcess(complaints)) return new Unobserved;
  return fade::makeGpuObserver(*memory);
}

// What include/fade/trace.h and the libraries that are preloaded call.
FADE_EXPORT void fade_record_marker(uint32_t kind, const char *text, uint64_t range) {
  openTraceEarly();
  fade::hip::recordMarker(kind, text, range);
}
FADE_EXPORT void fade_trace_open() { openTraceEarly(); }
FADE_EXPORT void fade_watch_first_calls() {
  using namespace fade;
  try {
    if (!hip::hasNewLibraries()) return;
    std::vector<std::string> complaints; // said in OnLoad
    const auto settings = settingsOfProcess(complaints);
    if (!settings || settings->trace.empty()) return;
    stayLoaded();
    if (isHsaOpen())
      hip::watchFirstCalls(
          *settings, [] { openTraceEarly(); }, true);
    else // the runtime will load FADE
      hip::watchFirstCalls(
          *settings, [] { openTraceEarly(false); }, false);
  } catch (const std::exception &e) {
    warn("the first HIP calls are not recorded: {}", e.what());
  }
}
FADE_EXPORT void fade_take_hip_table(const char *name, void *table) {
  using namespace fade;
  try {
    std::vector<std::string> complaints; // said in OnLoad
    const auto settings = settingsOfProcess(complaints);
    if (!settings || settings->trace.empty()) return;
    stayLoaded();
    setVerbose(settings->verbose);
    hip::takeTable(
        *settings, [] { openTraceEarly(false); }, name, table);
  } catch (const std::exception &e) {
    warn("HIP calls are not recorded: {}", e.what());
  }
}
FADE_EXPORT void fade_trace_start() {
  openTraceEarly();
  fade::hip::startOrStop(true);
}
FADE_EXPORT void fade_trace_stop() {
  openTraceEarly();
  fade::hip::startOrStop(false);
}
FADE_EXPORT void fade_trace_set(int on) {
  openTraceEarly();
  fade::hip::setRecording(on != 0);
}
FADE_EXPORT void fade_trace_flush() {
  constexpr auto patience = std::chrono::minutes(10);
  if (fade::hip::hasRecorder()) settleTimes();
  (void)fade::hip::flushWriter(patience);
}
FADE_EXPORT void fade_record_request(const char *file, const void *caller) {
  openTraceEarly();
  fade::hip::recordRequest(file, caller);
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
