#include "check/command.h"

#include "base/json_text.h"
#include "base/run_folder.h"
#include "base/temporary.h"
#include "base/write_file.h"
#include "captures/listing.h"
#include "check/baseline.h"
#include "check/causes.h"
#include "check/finding_message.h"
#include "check/finding_reader.h"
#include "check/finding_sarif_junit.h"
#include "check/finding_text.h"
#include "check/run_findings.h"
#include "check/schedules.h"
#include "check/suppressions.h"
#include "checks/options.h"
#include "fade/observer.h"
#include "launch/application_run.h"
#include "launch/gpu_choice.h"
#include "launch/gpu_code.h"
#include "launch/preflight.h"
#include "pages/page.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// The software GPU that the program has code for; the usual one if that cannot be said.
std::string gpuFor(const CheckOptions &options, const std::vector<std::string> &application) {
  if (options.run.gpu != "auto") return options.run.gpu;
  if (const char *inherited = std::getenv("FADE_GPU"); inherited && *inherited) return inherited;
  const std::string program = programOf(application[0]);
  const std::string fitting = program.empty() ? "" : fittingGpu(program);
  return fitting.empty() ? "gfx90a" : fitting;
}

/// What every check needs: the options, the library that observes, where its findings go. Nothing
/// after a line that says why not.
std::optional<Variables> observing(const CheckOptions &options, const std::string &folder) {
  auto pairs = environmentOf(options.run);
  if (!pairs) return std::nullopt;
  const auto library = ownLibrary("libfadecheck.so");
  if (!library) {
    complain("libfadecheck.so is missing: it should be in ../lib or beside this program");
    return std::nullopt;
  }
  pairs->emplace_back("FADE_GPU_OBSERVER", *library);
  pairs->emplace_back("FADE_CHECK_DIR", folder);
  if (!options.checks.empty()) pairs->emplace_back("FADE_CHECKS", options.checks);
  if (options.timeout > 0)
    pairs->emplace_back("FADE_CHECK_TIMEOUT", fmt::format("{}", options.timeout));
  return pairs;
}

/// Sets up the environment of a replay on the executor. False after a line that says why not.
bool prepareReplay(const CheckOptions &options, const std::string &folder) {
  auto pairs = observing(options, folder);
  if (!pairs) return false;
  pairs->emplace_back("FADE_CHECK_CAPTURE", options.capture);
  for (const auto &[name, value] : *pairs) setenv(name.c_str(), value.c_str(), 1);
  return true;
}

/// The capture that was meant; empty, after a line that says why, if there is none.
std::string captureOf(const CheckOptions &options) {
  const std::vector<std::string> found = capturesIn(options.capture);
  if (found.size() == 1) return found.front();
  complain(found.empty() ? fmt::format("{}: no capture found", options.capture)
                         : fmt::format("{}: contains {} captures; name one of them, such as {}",
                                       options.capture, found.size(), found.front()));
  return "";
}

/// Sets up the environment of the application. False after a line that says why not.
bool prepare(const CheckOptions &options, const std::vector<std::string> &application,
             const std::string &folder) {
  auto pairs = observing(options, folder);
  if (!pairs) return false;
  const std::string library = valueOf(*pairs, "FADE_GPU_OBSERVER");
  if (!fitsInList(library)) return false;
  if (!chooseGpu(gpuFor(options, application), false, *pairs)) return false;
  addTool(library, *pairs);
  // ROCr packs small allocations into one block; each is to have its own, with a gap behind it.
  pairs->emplace_back("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1");
  // PyTorch's allocator packs tensors into blocks; it is off if a variable of either name is there.
  for (const char *name : {"PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING"})
    if (!std::getenv(name)) pairs->emplace_back(name, "1");
  if (const std::string program = programOf(application[0]); !program.empty())
    checkCode(program, gpusOf(*pairs));
  for (const auto &[name, value] : *pairs) setenv(name.c_str(), value.c_str(), 1);
  return true;
}

/// As it is before it is set up for the application.
std::vector<std::string> currentEnvironment() {
  std::vector<std::string> all;
  for (char **one = environ; *one; ++one) all.emplace_back(*one);
  return all;
}
void restoreEnvironment(const std::vector<std::string> &variables) {
  clearenv();
  for (const std::string &one : variables)
    if (const auto end = one.find('='); end != one.npos)
      setenv(one.substr(0, end).c_str(), one.c_str() + end + 1, 1);
}

/// The first seed of --schedules.
uint64_t seedOf(const CheckOptions &options) {
  const std::string given = valueOf(options.run.values, "FADE_SEED");
  const char *inherited = std::getenv("FADE_SEED");
  const char *text = !given.empty() ? given.c_str() : inherited;
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

/// What a baseline says.
struct Known {
  bool is_given = false;
  std::size_t findings = 0, gone = 0;
};

std::string summary(const FoundRun &run, std::size_t suppressed, const Known &known) {
  std::array<std::size_t, static_cast<std::size_t>(checks::Check::count)> counts{};
  std::size_t count = 0;
  for (const FoundFinding &f : run.findings)
    if (!f.is_known) ++counts[f.raw.check], ++count;
  const char *what = known.is_given ? "new finding" : "finding";
  std::string text = count == 0 ? fmt::format("no {}s", what)
                                : fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  std::string parts;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i])
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ",
                           checks::nameOf(static_cast<checks::Check>(i)), counts[i]);
  if (!parts.empty()) text += " (" + parts + ")";
  text += fmt::format(" in {} dispatch{}", run.dispatches, run.dispatches == 1 ? "" : "es");
  if (known.findings) text += fmt::format("; {} in the baseline", known.findings);
  if (known.gone) text += fmt::format("; {} of the baseline no longer found", known.gone);
  if (suppressed) text += fmt::format("; {} suppressed", suppressed);
  if (run.lost) text += fmt::format("; {} occurrences of other findings were not kept", run.lost);
  return text;
}

/// False, after a line that says why, if the JSON lines cannot be written.
bool writeJson(const std::string &path, const FoundRun &run, std::size_t most) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(most, run.findings.size()); ++i)
    lines += findingJson(run.findings[i]);
  return writeFile(path, lines);
}

/// The page of the report. False, after a line that says why, if it cannot be written.
bool writePage(const CheckOptions &options, const FoundRun &run,
               const std::vector<std::string> &application) {
  report::RunLog log;
  log.has_summary = log.was_checked = true;
  log.checked_dispatches = run.dispatches;
  if (run.dispatches) log.notes.push_back(exactnessText(run.inexact));
  for (std::size_t i = 0; i < std::min(options.most, run.findings.size()); ++i)
    log.errors.push_back(parsedJson(findingJson(run.findings[i])));
  std::string title;
  for (const std::string &word : application) title += (title.empty() ? "" : " ") + word;
  if (!writeFile(options.report, report::htmlPage(report::pageData(log, {title, {}, nullptr}))))
    return false;
  if (!isStdout(options.report)) complain("see " + options.report);
  return true;
}

/// `is_explained`: why it was not run, or not to its end, has been said.
void show(const CheckOptions &options, const FoundRun &run, std::size_t suppressed,
          const Known &known, bool is_explained) {
  const std::size_t all = run.findings.size() - known.findings;
  std::size_t shown = 0;
  for (const FoundFinding &f : run.findings)
    if (!f.is_known && shown < options.most) ++shown, fmt::print(stderr, "{}\n", findingText(f));
  if (shown < all)
    complain(fmt::format("{} {}are not shown (--max)", all - shown, shown ? "more " : ""));
  const bool has_none = run.findings.empty() && suppressed == 0;
  if (has_none && is_explained) return;
  const bool is_nothing = has_none && run.dispatches == 0;
  if (!is_nothing) complain("check: " + exactnessText(run.inexact));
  if (is_nothing && run.left_out)
    complain(fmt::format("check: -k and -d chose none of the {} dispatch{}, so nothing was "
                         "checked",
                         run.left_out, run.left_out == 1 ? "" : "es"));
  else if (is_nothing && run.observer_version)
    complain(
        fmt::format("check: nothing was checked: the software GPU has version {} of the observer "
                    "interface, libfadecheck.so version {}; install both from one FADE",
                    run.observer_version, FADE_OBSERVER_VERSION));
  else if (is_nothing && run.unreadable)
    complain("check: no space to store findings, so nothing was checked");
  else if (is_nothing)
    complain("check: no kernel ran, so nothing was checked");
  else
    complain("check: " + summary(run, suppressed, known));
}

} // namespace

CLI::App *addCheckCommand(CLI::App &app, CheckOptions &options) {
  CLI::App *command = app.add_subcommand(
      "check",
      "find errors in kernels: runs the application on the software GPU and checks every access");
  command
      ->add_option("capture", options.capture,
                   "a capture, or the folder of a run that was checked with -o")
      ->type_name("DIR");
  command->add_option("--code", options.code, "with a capture: another version of its kernel")
      ->type_name("FILE");
  command
      ->add_option("--timeout", options.timeout,
                   "stop a kernel that takes longer, and report where its waves are (default: only "
                   "when no wave makes progress)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 1e9));
  command
      ->add_option(
          "--checks", options.checks,
          "memory, init, race, sync, wait, hazard, leak, hang, nan, precision, wave, or all "
          "(default: memory,init,race,sync,hang)")
      ->type_name("LIST");
  command
      ->add_option("--schedules", options.schedules,
                   "run a capture, or dispatches captured in a second run of the application, in N "
                   "other orders of waves and workgroups, and compare results (first seed: --seed)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--json", options.json, "write the findings as JSON lines; - is stdout")
      ->type_name("FILE");
  command
      ->add_option("-o,--output", options.output,
                   "folder for the findings of each process and rank (show all with "
                   "fadeprobe check DIR)")
      ->type_name("DIR");
  command->add_option("--report", options.report, "write the findings as an HTML report, one file")
      ->type_name("FILE");
  command
      ->add_option_function<int>(
          "--error-exitcode",
          [&options](int code) {
            options.error_exitcode = code;
            options.has_error_exitcode = true;
          },
          "exit code if there is any finding (default: the application's own)")
      ->type_name("N")
      ->check(CLI::Range(0, 255));
  command->add_option("--max", options.most, "show at most N findings (default: 100)")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000));
  command
      ->add_option("--suppress", options.suppress,
                   "file of known findings to suppress: on each line a check or *, and regular "
                   "expressions for kernel and place")
      ->type_name("FILE");
  command
      ->add_option("--baseline", options.baseline,
                   "JSON lines of an earlier check: exit with status 3, or that of "
                   "--error-exitcode, only if there are findings that are not in it")
      ->type_name("FILE");
  command->add_option("--sarif", options.sarif, "write the findings as SARIF")->type_name("FILE");
  command->add_option("--junit", options.junit, "write the outcome of each check as JUnit XML")
      ->type_name("FILE");
  addVariable(*command, options.run, "--ranks", "FADE_RANKS", "N,N-N,...");
  addVariable(*command, options.run, "-k,--kernels", "FADE_KERNELS", "REGEX");
  addVariable(*command, options.run, "-d,--dispatches", "FADE_DISPATCHES", "all|random|1|N|A-B");
  addVariable(*command, options.run, "--seed", "FADE_SEED", "N");
  addVariable(*command, options.run, "--workgroups", "FADE_WORKGROUPS", "x=A-B,y=A-B,z=A-B");
  command
      ->add_option("--gpu", options.run.gpu,
                   "the software GPU: gfx90a, gfx1030, ... (default: one the program has code for)")
      ->type_name("gfx...");
  return command;
}

int runCheck(CheckOptions options, std::vector<std::string> application) {
  const bool of_capture = !options.capture.empty();
  if (application.empty() != of_capture) {
    complain(of_capture ? "expected a capture or an application, not both"
                        : "no application given: fadeprobe check [options] -- application "
                          "[arguments], or fadeprobe check CAPTURE");
    return kUsageError;
  }
  if (!of_capture && !options.code.empty()) {
    complain("--code needs a capture");
    return kUsageError;
  }
  if (!of_capture && options.schedules && !options.output.empty()) {
    complain("--schedules checks one process and cannot be combined with -o");
    return kUsageError;
  }
  if (of_capture && !options.output.empty()) {
    complain("-o needs an application; use --json for the findings of a capture");
    return kUsageError;
  }
  if (of_capture && isCheckedRun(options.capture)) return showRunFindings(options);
  if (of_capture) {
    options.capture = captureOf(options);
    if (options.capture.empty()) return kUsageError;
    application = {"/proc/self/exe", "replay", options.capture, "--on", "software"};
    // The other version alone is run, once, on the memory as captured.
    if (!options.code.empty())
      application.insert(application.end(), {"--code", options.code, "--no-recopy"});
  }
  const char *inherited = std::getenv("FADE_CHECKS");
  const bool is_inherited = options.checks.empty() && inherited;
  checks::Options known;
  if (const auto wrong = checks::readChecks(is_inherited ? inherited : options.checks, known)) {
    complain((is_inherited ? "FADE_CHECKS: " : "--checks: ") + *wrong);
    return kUsageError;
  }
  if (options.timeout > 0 && !known.has(checks::Check::hang)) {
    if (!of_capture) {
      complain("--timeout needs hang in --checks");
      return kUsageError;
    }
    application.insert(application.end(), {"--timeout", fmt::format("{}", options.timeout)});
  }
  if (options.run.gpu == "real") {
    complain("--gpu real: checks run on the software GPU only");
    return kUsageError;
  }
  Suppressions suppressions;
  if (!options.suppress.empty()) {
    auto read = Suppressions::read(options.suppress);
    if (!read) {
      complain("--suppress: " + read.error().message());
      return kUsageError;
    }
    suppressions = std::move(*read);
  }
  const std::optional<Baseline> baseline = Baseline::of(options.baseline);
  if (!baseline) return kUsageError;
  for (const auto &[file, option] :
       {std::pair(&options.sarif, "--sarif: "), {&options.junit, "--junit: "}})
    if (!file->empty() && !canWriteText(option, *file)) return kUsageError;
  const std::string json = options.json.empty() || isStdout(options.json)
                               ? options.json
                               : fs::absolute(options.json).string();
  if (!json.empty() && !canWriteText("--json: ", json)) return kUsageError;
  if (!options.report.empty() && !canWriteText("--report: ", options.report)) return kUsageError;
  if (std::error_code none;
      !json.empty() && !options.report.empty() &&
      fs::weakly_canonical(json, none) == fs::weakly_canonical(options.report, none) &&
      !fs::is_character_file(json, none)) { // /dev/null, for example
    complain(fmt::format("--json and --report are the same file: {}", options.report));
    return kUsageError;
  }
  std::optional<RunLaunch> launch;
  if (!options.output.empty() && !(launch = RunLaunch::begin(options.output))) return kUsageError;
  TemporaryFolder folder("fade-check"); // where the application's processes leave what they find
  if (!folder.isThere()) {
    complain("check: cannot create a folder for temporary files");
    return 1;
  }
  const std::vector<std::string> environment = currentEnvironment();
  if (!(of_capture ? prepareReplay(options, folder.path())
                   : prepare(options, application, launch ? launch->path() : folder.path())))
    return kUsageError;
  if (launch) launch->announce();
  const ChildEnd end = runChild(application);
  if (end.error != 0) {
    sayNotStarted(application, end);
    return end.exit_code;
  }
  // A capture has no end at which something should have been freed.
  const bool with_leaks = known.has(checks::Check::leak) && !of_capture;
  const auto suppressIn = [&](FoundRun &found) {
    return std::erase_if(found.findings,
                         [&](const FoundFinding &f) { return suppressions.matches(f); });
  };
  FoundRun run = launch ? collectFindings(launch->folders(), with_leaks, suppressIn)
                        : readFindings(folder.path(), with_leaks);
  if (options.schedules && !of_capture) {
    restoreEnvironment(environment);
    const auto orders = tryOrdersOf({application, gpuFor(options, application),
                                     valueOf(options.run.values, "FADE_KERNELS"),
                                     valueOf(options.run.values, "FADE_DISPATCHES"),
                                     options.schedules, seedOf(options), options.timeout});
    run.findings.insert(run.findings.end(), orders.begin(), orders.end());
  } else if (options.schedules) {
    for (const char *name : {"FADE_GPU_OBSERVER", "FADE_CHECK_DIR"}) unsetenv(name);
    const TriedOrders tried =
        tryOrders(options.capture, options.schedules, seedOf(options), options.timeout);
    if (tried.finding) run.findings.push_back(*tried.finding);
    complain(fmt::format("check: {} orders tried, {} give a different result{}", tried.tried,
                         tried.different,
                         tried.failed ? fmt::format(", {} failed", tried.failed) : ""));
  }
  std::size_t suppressed = 0;
  if (std::vector<FoundFinding> all = run.findings; suppressIn(run) != 0) {
    // By kernel and place: what is left of a cause stays.
    groupByCause(all);
    groupByCause(run.findings);
    suppressed = all.size() - std::min(all.size(), run.findings.size());
  } else {
    groupByCause(run.findings);
  }
  setIds(run.findings);
  suppressed += suppressIn(run); // by id
  baseline->mark(run.findings);
  Known known_findings{!options.baseline.empty(), 0, baseline->gone(run.findings)};
  for (const FoundFinding &f : run.findings) known_findings.findings += f.is_known;
  if (launch && RunLaunch::isBehindLauncher() && run.processes == 0) {
    // It is none of --ranks, or has not used the GPU.
  } else if (launch && RunLaunch::isBehindLauncher()) { // the others have found the same
    complain(fmt::format("check: rank {}: {}; all ranks: fadeprobe check {}", *ownRank(),
                         summary(run, suppressed, known_findings), options.output));
  } else {
    show(options, run, suppressed, known_findings, of_capture && end.exit_code != 0);
  }
  bool is_written = json.empty() || writeJson(json, run, options.most);
  if (!options.sarif.empty())
    is_written &= writeFile(options.sarif,
                            findingsSarif(run.findings, FADE_VERSION, known_findings.is_given));
  if (!options.junit.empty())
    is_written &= writeFile(options.junit, findingsJunit(run.findings, known));
  if (!options.report.empty()) is_written = writePage(options, run, application) && is_written;
  folder.remove();
  const bool has_new = run.findings.size() > known_findings.findings;
  if (has_new && options.has_error_exitcode) return options.error_exitcode;
  constexpr int hung = 124; // as timeout(1)
  if (std::ranges::any_of(run.findings, [](const FoundFinding &f) {
        return static_cast<checks::Check>(f.raw.check) == checks::Check::hang && !f.is_known;
      }))
    return hung;
  constexpr int has_new_findings = 3; // as --fail-if
  if (has_new && known_findings.is_given) return has_new_findings;
  if (!is_written) return 1;
  // Who checks a version of a kernel must not take it for clean; an application keeps its own code.
  if (of_capture && end.exit_code == 0 && run.findings.empty() && run.dispatches == 0) return 1;
  endLike(end);
}

} // namespace fade::cli
