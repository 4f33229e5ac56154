#include "triton.h"

#include "base/child.h"
#include "base/json_text.h"
#include "base/temporary.h"
#include "codeobj/finder.h"
#include "codeobj/made_from.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kLook = std::chrono::milliseconds(200); // between looks at Triton's cache

/// An LLVM whose tools and plugin are here.
struct TritonTools {
  std::string plugin, opt, llc, lld;

  /// `version`: empty for the newest.
  static std::optional<TritonTools> find(const std::string &version) {
    for (int v = 30; v >= 15; --v) {
      const std::string number = std::to_string(v);
      if (!version.empty() && version != number) continue;
      TritonTools tools;
      const auto plugin = ownLibrary(fmt::format("libfadeinstr-{}.so", number));
      if (!plugin) continue;
      tools.plugin = *plugin;
      tools.opt = programOf("opt-" + number);
      tools.llc = programOf("llc-" + number);
      tools.lld = programOf("ld.lld-" + number);
      if (tools.lld.empty()) tools.lld = programOf("ld.lld");
      if (!tools.opt.empty() && !tools.llc.empty() && !tools.lld.empty()) return tools;
    }
    return std::nullopt;
  }
};

std::string homePath(const char *variable, const char *below) {
  if (const char *set = std::getenv(variable); set && *set) return set;
  const char *home = std::getenv("HOME");
  return std::string(home && *home ? home : ".") + below;
}

/// Triton's cache, as Triton finds it.
fs::path tritonCache() {
  if (const char *set = std::getenv("TRITON_CACHE_DIR"); set && *set) return set;
  return fs::path(homePath("TRITON_HOME", "")) / ".triton" / "cache";
}

/// Whether Triton lets the code generator make one operation of a multiplication and an addition,
/// as it does unless told otherwise: results must not differ from those of its own code.
bool isFused(const fs::path &ir) {
  fs::path facts = ir;
  std::ifstream in(facts.replace_extension(".json"));
  const auto metadata = parsedJson(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!metadata.is_object()) return true;
  const auto fusion = metadata.find("enable_fp_fusion");
  return fusion == metadata.end() || !fusion->is_boolean() || fusion->get<bool>();
}

/// What the application's Triton must know: the cache that is watched (PyTorch's compiler has one
/// of its own unless this is set), and that it shall keep IR there.
void tellTriton(const fs::path &cache) {
  setenv("TRITON_CACHE_DIR", cache.c_str(), 1);
  const char *only_code = std::getenv("TRITON_STORE_BINARY_ONLY");
  if (!only_code || !*only_code || std::string_view(only_code) == "0") return;
  complain(
      "TRITON_STORE_BINARY_ONLY is removed from the environment: FADE instruments Triton's IR");
  unsetenv("TRITON_STORE_BINARY_ONLY");
}

/// What Triton made of the IR: the code object beside it.
struct TritonCode {
  std::string processor; ///< empty: it is not there yet
  std::string build_id;  ///< for what is made from it
};
TritonCode codeOf(const fs::path &ir) {
  TritonCode code;
  fs::path file = ir;
  file.replace_extension(".hsaco");
  const codeobj::CodeHandler handler{
      [&](const codeobj::FoundCode &found) {
        const auto object = found.open();
        if (!object) return true;
        code = {found.target.processor, codeobj::buildIdFor(codeobj::identityOf(**object))};
        return false;
      },
      [](const Error &) {}};
  (void)codeobj::findCode(file.string(), handler);
  return code;
}

/// Makes instrumented code of all IR in Triton's cache, each once.
class TritonCache {
public:
  TritonCache(TritonTools tools, fs::path cache, fs::path output, std::string passes)
      : tools_(std::move(tools)), cache_(std::move(cache)), output_(std::move(output)),
        passes_(std::move(passes)) {}

  /// How many were made.
  unsigned instrumentNew() {
    unsigned made = 0;
    std::error_code error;
    fs::recursive_directory_iterator at(cache_, fs::directory_options::skip_permission_denied,
                                        error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      std::error_code ignored;
      const fs::path &path = at->path();
      if (path.extension() != ".llir" || !at->is_regular_file(ignored)) continue;
      const auto time = fs::last_write_time(path, ignored);
      if (const auto seen = seen_.find(path); seen != seen_.end() && seen->second == time) continue;
      const TritonCode code = codeOf(path);
      if (code.processor.empty()) continue; // Triton is not done with it
      seen_[path] = time;
      made += instrument(path, code) ? 1 : 0;
    }
    return made;
  }

private:
  bool instrument(const fs::path &ir, const TritonCode &code) {
    // Its own folder in Triton's cache has the hash of all that went into it.
    const fs::path folder = output_ / ir.parent_path().filename();
    std::error_code error;
    fs::create_directories(folder, error);
    const fs::path stem = folder / ir.stem();
    const std::string bitcode = stem.string() + ".bc", object = stem.string() + ".o";
    const std::string part = stem.string() + ".part", made = stem.string() + ".hsaco";
    const std::string how = fmt::format("{} {} {}\n", tools_.plugin, passes_, code.build_id);
    if (isMade(ir, made, how)) return false;
    const auto run = [&](std::vector<std::string> command) {
      const ChildEnd end = runChild(command, 300);
      if (end.error == 0 && end.signal == 0 && end.exit_code == 0) return true;
      complain(fmt::format("{}: {} failed: the kernel runs without instrumentation", ir.string(),
                           fs::path(command[0]).filename().string()));
      return false;
    };
    const bool is_made =
        run({tools_.opt, "-load-pass-plugin=" + tools_.plugin,
             fmt::format("-passes=fade<{};mode=replace>", passes_), ir.string(), "-o", bitcode}) &&
        run({tools_.llc, "-mcpu=" + code.processor, "-O3",
             fmt::format("-fp-contract={}", isFused(ir) ? "fast" : "on"), "-filetype=obj", bitcode,
             "-o", object}) &&
        run({tools_.lld, "-flavor", "gnu", "-shared", "--build-id=0x" + code.build_id, object, "-o",
             part});
    for (const std::string &file : {bitcode, object}) fs::remove(file, error);
    if (!is_made) return false;
    fs::rename(part, made, error); // there as a whole: FADE watches the folder
    if (!error) std::ofstream(made + ".how") << how;
    return !error;
  }

  /// Whether an earlier run has left it, made in the same way.
  bool isMade(const fs::path &ir, const fs::path &made, const std::string &how) const {
    std::error_code error, of_ir, of_plugin;
    const auto time = fs::last_write_time(made, error);
    if (error || time < fs::last_write_time(ir, of_ir) ||
        time < fs::last_write_time(tools_.plugin, of_plugin))
      return false;
    return contentsOf(made.string() + ".how") == how;
  }

  TritonTools tools_;
  fs::path cache_, output_;
  std::string passes_;
  std::map<fs::path, fs::file_time_type> seen_;
};

/// Whether it runs. Who has ended and not been waited for does not.
bool isRunning(pid_t process) {
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  std::string line;
  if (!std::getline(in, line)) return false;
  const auto name_end = line.rfind(") "); // the name may hold anything
  const char state = name_end == line.npos ? 'X' : line[name_end + 2];
  return state != 'Z' && state != 'X';
}

/// A process that goes on making instrumented code until this one, which becomes the application,
/// has ended. It is nobody's child, so that the application does not wait for it.
void watchInBackground(TritonCache cache) {
  const pid_t application = getpid();
  const pid_t between = fork();
  if (between < 0) return complain("cannot watch Triton's cache: fork failed");
  if (between > 0) {
    (void)waitpid(between, nullptr, 0);
    return;
  }
  if (fork() != 0) _exit(0);
  // Not to hold the application's pipes open longer than it lives.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) (void)close(fd);
  while (isRunning(application)) {
    cache.instrumentNew();
    std::this_thread::sleep_for(kLook);
  }
  _exit(0);
}

/// Whether it is a Python that has no Triton, so that there will be nothing to instrument. What is
/// no Python may start one.
bool lacksTriton(const std::string &program) {
  if (!fs::path(program).filename().string().starts_with("python")) return false;
  const ChildEnd end =
      runChild({program, "-c",
                "import importlib.util, sys; "
                "sys.exit(9 if importlib.util.find_spec('triton') is None else 0)"});
  return end.error == 0 && end.signal == 0 && end.exit_code == 9;
}

} // namespace

CLI::App *addTritonCommand(CLI::App &app, TritonOptions &options) {
  CLI::App *command = app.add_subcommand(
      "triton", "instrument what Triton compiles: fadeprobe triton -- python3 app.py");
  addRunOptions(*command, options.run);
  addOutcomeOptions(*command, options.outcome);
  command
      ->add_option("--triton-cache", options.cache,
                   "Triton's cache, also for the application (default: $TRITON_CACHE_DIR, or "
                   ".triton/cache in $TRITON_HOME or at home)")
      ->type_name("DIR");
  command
      ->add_option("--instrumented-code", options.output,
                   "folder for instrumented code (default: ~/.cache/fade/triton)")
      ->type_name("DIR");
  command
      ->add_option("--instrument", options.instrument,
                   "options of the pass (default: 'accesses;blocks')")
      ->type_name("OPTIONS");
  command
      ->add_option("--llvm", options.llvm,
                   "LLVM version that reads Triton's IR (default: the newest installed)")
      ->type_name("N");
  return command;
}

int runTriton(TritonOptions options, const std::vector<std::string> &application) {
  if (application.empty() && !options.run.env_dump) {
    complain("no application given: fadeprobe triton [options] -- python3 app.py");
    return kUsageError;
  }
  const auto tools = TritonTools::find(options.llvm);
  if (!tools) {
    complain(fmt::format(
        "triton: {} or its FADE plugin was not found (opt-N, llc-N, ld.lld, libfadeinstr-N.so)",
        options.llvm.empty() ? "no LLVM" : "LLVM " + options.llvm));
    return kUsageError;
  }
  const fs::path cache =
      fs::absolute(options.cache.empty() ? tritonCache() : fs::path(options.cache));
  const fs::path output = options.output.empty()
                              ? fs::path(homePath("XDG_CACHE_HOME", "/.cache")) / "fade" / "triton"
                              : fs::path(options.output);
  std::error_code error;
  fs::create_directories(output, error);
  if (error) {
    complain(fmt::format("cannot create {}: {}", output.string(), error.message()));
    return kUsageError;
  }
  if (!options.run.instrumented) options.run.instrumented = true;
  options.run.values.emplace_back("FADE_KERNEL_CACHE", fs::absolute(output).string());
  if (!options.run.env_dump) {
    if (lacksTriton(application.front()))
      complain(fmt::format("{} has no module 'triton': its kernels are not instrumented, unless "
                           "{} has them already",
                           application.front(), output.string()));
    tellTriton(cache);
    TritonCache watched(*tools, cache, fs::absolute(output),
                        options.instrument.empty() ? "accesses;blocks" : options.instrument);
    if (const unsigned made = watched.instrumentNew(); made != 0)
      complain(fmt::format("{} kernel{} of {} instrumented", made, made == 1 ? "" : "s",
                           cache.string()));
    watchInBackground(std::move(watched));
  }
  return wantsOutcome(options.outcome) ? runWithOutcome(options.run, options.outcome, application)
                                       : runApplication(options.run, application);
}

} // namespace fade::cli
