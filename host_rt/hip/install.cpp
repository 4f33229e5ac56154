#include "hip/install.h"

#include "base/api_choice.h"
#include "base/diagnostics.h"
#include "base/run_folder.h"
#include "hip/api_functions.h"
#include "hip/call_wrapper.h"
#include "hip/entry_patch.h"
#include "hip/first_call.h"
#include "hip/kernel_names.h"
#include "hip/recorder.h"
#include "hip/stacks.h"
#include "hip/writer_process.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/ranges.h>
#include <mutex>
#include <unistd.h>

namespace fade::hip {
namespace {

constexpr std::size_t kLeastFunctions = 300, kMostFunctions = 4000;

/// What HIP has given to rocprofiler-register.
struct RegisteredTables {
  FunctionTable runtime, compiler;
} registered;

/// What has been installed in this process.
class Installer {
public:
  explicit Installer(ApiChoice choice) : choice_(std::move(choice)) {}

  void look(bool is_first) {
    loaded_ = librariesLoaded();
    if (!has_hip_)
      if (const auto library = findLibrary("libamdhip64.so")) {
        has_hip_ = true;
        installIn(*library, is_first);
      }
    if (!has_rtc_)
      if (const auto rtc = findLibrary("libhiprtc.so")) {
        has_rtc_ = true;
        patch(*rtc, missing({Table::rtc}));
      }
  }

  /// Before the GPU is used. HIP 6 and 7 have no table of functions yet; what cannot be patched is
  /// hooked there later.
  void lookEarly() const {
    if (const auto library = findLibrary("libamdhip64.so")) {
      is_hip_five = isFive(*library);
      auto functions = missing(registersTables(*library)
                                   ? std::vector{Table::plain}
                                   : std::vector{Table::runtime, Table::compiler, Table::plain});
      std::erase_if(functions, registersCode);
      patchEarly(*library, functions);
    }
    lookForRtc();
  }
  void lookForRtc() const {
    if (const auto rtc = findLibrary("libhiprtc.so")) patchEarly(*rtc, missing({Table::rtc}));
    if (const auto hip = findLibrary("libamdhip64.so")) patchEarly(*hip, missingRtcOf(*hip));
  }

  /// HIP registers a table: nothing has been called through it yet.
  void hookRegistered() const {
    if (registered.runtime) fillRegistered(registered.runtime, Table::runtime);
    if (registered.compiler) fillRegistered(registered.compiler, Table::compiler);
  }

  void lookAgain() {
    if ((has_hip_ && has_rtc_) || librariesLoaded() == loaded_) return;
    look(false);
  }

private:
  void installIn(const LoadedLibrary &library, bool is_first) {
    recordProcess(library.path);
    is_hip_five = isFive(library);
    if (seesRegistration(library)) { // what is not registered yet will be, before it is called
      if (registered.compiler) (void)fill(registered.compiler, Table::compiler, true);
      note("HIP gives its functions to rocprofiler-register: {} of the runtime, {} of the compiler",
           registered.runtime.count, registered.compiler.count);
      patch(library, missing({Table::plain}));
    } else {
      installUnregistered(library, is_first);
    }
    patch(library, missingRtcOf(library));
    findNameFunctions(library);
  }

  /// Not if HIP has made its table without FADE having been told.
  static bool seesRegistration(const LoadedLibrary &library) {
    return registersTables(library) &&
           (registered.runtime || !findTable(library, kLeastFunctions, kMostFunctions));
  }

  void installUnregistered(const LoadedLibrary &library, bool is_first) {
    const FunctionTable runtime =
        is_hip_five ? FunctionTable{} : findTable(library, kLeastFunctions, kMostFunctions);
    if (is_first && isRecording()) recordFirstCall(library, runtime);
    if (runtime) {
      const unsigned count = fill(runtime, Table::runtime, true);
      note("HIP's table was found in memory, not by rocprofiler-register: {} functions, {} are "
           "recorded",
           runtime.count, count);
      // What the compiler calls has a table of its own, which is empty until there is code.
      patch(library, missing({Table::compiler, Table::plain}));
    } else { // before HIP 6 there are no tables
      patch(library, missing({Table::runtime, Table::compiler, Table::plain}));
    }
  }

  bool wants(const ApiFunction &function) const {
    return choice_.wants(function.info.name, function.info.group);
  }

  void fillRegistered(const FunctionTable &table, Table which) const {
    if (const unsigned count = fill(table, which, false); count != 0)
      note("HIP has registered {} functions of its {} with rocprofiler-register; {} are recorded "
           "from the first call on",
           table.count, which == Table::compiler ? "compiler's interface" : "runtime", count);
  }

  /// `with_all`: also what programs call that never use a GPU.
  unsigned fill(const FunctionTable &table, Table which, bool with_all) const {
    unsigned count = 0;
    for (const ApiFunction &function : apiFunctions()) {
      if (function.table != which || function.index >= table.count || !wants(function)) continue;
      if (!with_all && registersCode(&function)) continue;
      void *&entry = table.entries[function.index];
      if (!entry || *function.next) continue;
      *function.next = entry;
      std::atomic_ref(entry).store(function.wrapper, std::memory_order_release);
      ++count;
    }
    return count;
  }

  bool isMissing(const ApiFunction &function) const { return !*function.next && wants(function); }

  /// What is to be recorded of these tables and is not hooked yet.
  std::vector<const ApiFunction *> missing(const std::vector<Table> &tables) const {
    std::vector<const ApiFunction *> functions;
    for (const ApiFunction &function : apiFunctions())
      if (std::ranges::find(tables, function.table) != tables.end() && isMissing(function))
        functions.push_back(&function);
    return functions;
  }

  /// hiprtc in HIP's own library: the only one of HIP 5, a second one in HIP 6.
  std::vector<const ApiFunction *> missingRtcOf(const LoadedLibrary &hip) const {
    if (isFive(hip)) return missing({Table::rtc});
    std::vector<const ApiFunction *> functions;
    for (const ApiFunction &function : rtcFunctionsOfHip())
      if (isMissing(function)) functions.push_back(&function);
    return functions;
  }

  /// Called by every program that has code for a GPU, whether it uses one or not.
  static bool registersCode(const ApiFunction *function) {
    return function->table == Table::compiler && std::strstr(function->info.name, "egister");
  }

  /// What does not succeed is tried again, or done in another way, when the GPU is used.
  static void patchEarly(const LoadedLibrary &library,
                         const std::vector<const ApiFunction *> &functions) {
    if (functions.empty()) return;
    const auto outcome = patchEntries(library, functions);
    note("{}: {} functions are recorded from the first call on", library.path,
         outcome ? outcome->patched : 0);
  }

  static void patch(const LoadedLibrary &library,
                    const std::vector<const ApiFunction *> &functions) {
    if (functions.empty()) return;
    const auto outcome = patchEntries(library, functions);
    if (!outcome) {
      warn("HIP calls are not recorded: {}", outcome.error().message());
      return;
    }
    note("{}: {} functions are recorded", library.path, outcome->patched);
    if (!outcome->refused.empty()) note("not recorded: {}", fmt::join(outcome->refused, ", "));
  }

  static bool isFive(const LoadedLibrary &hip) {
    void *handle = dlopen(hip.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return handle && !dlsym(handle, "hipGetDevicePropertiesR0600");
  }

  /// HIP's own, not the wrappers.
  static void findNameFunctions(const LoadedLibrary &library) {
    void *handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto find = [&](const char *name) -> void * {
      for (const ApiFunction &function : apiFunctions())
        if (std::string_view(function.info.name) == name && *function.next) return *function.next;
      return handle ? dlsym(handle, name) : nullptr;
    };
    setNameFunctions(find("hipKernelNameRefByPtr"), find("hipKernelNameRef"));
  }

  void recordFirstCall(const LoadedLibrary &library, const FunctionTable &table) const {
    const auto function = findFirstCall(library, table);
    if (!function) return;
    const auto &known = apiFunctions();
    const auto at =
        std::ranges::find(known, *function, [](const ApiFunction &one) { return one.info.number; });
    if (at == known.end() || !isMissing(*at)) return; // hooked early, it has been recorded
    events::CallEvent event{};
    event.header.kind = events::EventKind::call;
    event.function = *function;
    event.flags = events::kCallNameOnly;
    event.start_ns = nowNs();
    event.end_ns = nowNs();
    recordEvent(event);
  }

  const ApiChoice choice_;
  bool has_hip_ = false, has_rtc_ = false;
  unsigned long long loaded_ = 0;
};

std::mutex mutex;
Installer *installer = nullptr; ///< never destroyed

} // namespace

namespace {

constexpr auto kWriterPatience = std::chrono::minutes(10);

/// Several programs that a script starts write into the same output: each has events of its own,
/// also one that takes the place of another in the same process.
std::string eventsFor(const std::string &output) {
  return fmt::format("{}.{}-{:x}.events", output, getpid(), nowNs());
}

/// Of a process that records into a run (base/run_folder.h).
struct OwnRun {
  std::string run, writer;
  unsigned flush_seconds = 0;
};
OwnRun own_run;

void startRunWriter(const std::string &events) {
  const std::string folder = std::filesystem::path(events).parent_path();
  const Status started =
      startWriter({own_run.writer, events, folder, "run", own_run.flush_seconds});
  if (!started) warn("{}; fadeprobe log reads {} itself", started.error().message(), folder);
}

/// Where this process records to; empty, after a line that says why, if it cannot.
std::string eventsInRun() {
  const auto folder = makeProcessFolder(own_run.run);
  if (folder) return *folder + "/events";
  warn("nothing is recorded: {}", folder.error().message());
  return "";
}

/// False, after a line that says why, if nothing can be recorded.
bool openRun(const Settings &settings, const std::string &own_directory) {
  own_run = {expandPath(settings.trace), own_directory + "/fade/fade-trace-writer",
             settings.trace_flush};
  const std::string events = eventsInRun();
  if (events.empty()) return false;
  if (const Status opened = openRecorder(events, {eventsInRun, startRunWriter}); !opened) {
    warn("nothing is recorded: {}", opened.error().message());
    return false;
  }
  startRunWriter(events);
  return true;
}

void openOnce(const Settings &settings, const std::string &own_directory) {
  static bool was_opened = false;
  if (settings.trace.empty() || std::exchange(was_opened, true)) return;
  const std::string output = expandPath(settings.trace);
  const std::string format = traceFormat(settings);
  if (format == "run") {
    if (!openRun(settings, own_directory)) return;
    stack_depth = settings.trace_stacks;
    return setCounted(startsOn(settings.trace_starts_on));
  }
  const bool has_writer = format != "events";
  const std::string events = has_writer ? eventsFor(output) : output;
  if (const Status opened = openRecorder(events); !opened) {
    warn("nothing is recorded: {}", opened.error().message());
    return;
  }
  if (has_writer) {
    const Status started = startWriter(
        {own_directory + "/fade/fade-trace-writer", events, output, format, settings.trace_flush});
    if (!started)
      warn("{}; to make the file: fadeprobe log {} -o {}", started.error().message(), events,
           output);
  }
  stack_depth = settings.trace_stacks;
  setCounted(startsOn(settings.trace_starts_on));
}

} // namespace

void openTrace(const Settings &settings, const std::string &own_directory) {
  const std::lock_guard lock(mutex);
  openOnce(settings, own_directory);
}

void startTrace(const Settings &settings, const std::string &own_directory) {
  const std::lock_guard lock(mutex);
  if (installer) { // the HSA runtime was shut down and is started again
    installer->lookAgain();
    return;
  }
  auto api = ApiChoice::parse(settings.trace_api);
  if (!api) {
    warn("FADE_TRACE_API: {}", api.error().message());
    return;
  }
  openOnce(settings, own_directory);
  if (!hasRecorder()) return;
  installer = new Installer(*std::move(api));
  installer->look(true);
}

namespace {
void (*open_for_first)() = nullptr;
}

namespace {

/// The first call opens the trace, if nobody has before.
void openAtFirstCall(void (*open)()) {
  if (hasRecorder()) return;
  open_for_first = open;
  before_first.store([] {
    open_for_first(); // others that come meanwhile wait in it
    before_first.store(nullptr, std::memory_order_release);
  });
}

} // namespace

void watchFirstCalls(const Settings &settings, void (*open)(), bool is_in_use) {
  const std::lock_guard lock(mutex);
  auto api = ApiChoice::parse(settings.trace_api);
  if (installer) return installer->lookAgain();
  if (!api) return; // said when the GPU is used
  openAtFirstCall(open);
  const Installer early(*std::move(api));
  is_in_use ? early.lookForRtc() : early.lookEarly();
}

void takeTable(const Settings &settings, void (*open)(), std::string_view name, void *table) {
  const std::lock_guard lock(mutex);
  const FunctionTable functions = tableAt(table, kMostFunctions);
  if (name == "hip")
    registered.runtime = functions;
  else if (name == "hip_compiler")
    registered.compiler = functions;
  else
    return;
  if (!functions) return warn("HIP calls are not recorded: the registered table is not valid");
  if (installer) return installer->hookRegistered();
  auto api = ApiChoice::parse(settings.trace_api);
  if (!api) return; // said when the GPU is used
  openAtFirstCall(open);
  Installer(*std::move(api)).hookRegistered();
}

bool hasNewLibraries() {
  static std::atomic<unsigned long long> known{0};
  const unsigned long long loaded = librariesLoaded();
  return known.exchange(loaded) != loaded;
}

void endTrace() noexcept {
  recordUsage(nowNs(), true);
  if (hasWriter()) (void)flushWriter(kWriterPatience);
}

void lookAgain() noexcept {
  try {
    const std::lock_guard lock(mutex);
    if (installer) installer->lookAgain();
  } catch (const std::exception &e) {
    warn("HIP cannot be inspected: {}", e.what());
  }
}

} // namespace fade::hip
