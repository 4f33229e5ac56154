// fadeprobe: the table of its commands.
#include "analyze.h"
#include "base/child.h"
#include "capture/command.h"
#include "check/command.h"
#include "compare/command.h"
#include "compile/command.h"
#include "doctor/command.h"
#include "doctor/explain.h"
#include "inspect/command.h"
#include "launch/run.h"
#include "mcp/command.h"
#include "optimize/command.h"
#include "profile/command.h"
#include "profile/peaks.h"
#include "report/command.h"
#include "rewrite.h"
#include "trace/command.h"
#include "trace/sql.h"
#include "triton.h"
#include "usage.h"

#include "base/omniprobe_names.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <unistd.h>

namespace {

using Words = std::vector<std::string>;

/// One of fadeprobe's commands.
struct Command {
  CLI::App *app; ///< its options
  std::function<int(const Words &application)> run;
};

/// `add` names its options, `run` does what they say.
template <class Options, class Run>
Command commandOf(CLI::App &app, CLI::App *(*add)(CLI::App &, Options &), Run run) {
  auto options = std::make_shared<Options>();
  CLI::App *command = add(app, *options);
  return {command, [options, run](const Words &application) {
            if constexpr (std::is_invocable_v<Run, Options &, const Words &>)
              return run(*options, application);
            else
              return run(*options);
          }};
}

/// In the order in which help shows them.
std::vector<Command> addCommands(CLI::App &app) {
  using namespace fade::cli;
  return {
      commandOf(app, addReportCommand, runReport),
      commandOf(app, addInspectCommand,
                [](const InspectOptions &options) { return runInspect(options, stdout, stderr); }),
      commandOf(app, addTraceCommand, runTrace),
      commandOf(app, addControlCommand, runControl),
      commandOf(app, addProfileCommand, runProfile),
      commandOf(app, addPeaksCommand, runPeaks),
      commandOf(app, addLogCommand, runLog),
      commandOf(app, addSqlCommand, runSql),
      commandOf(app, addAnalyzeCommand, runAnalyze),
      commandOf(app, addDiffCommand, runDiff),
      commandOf(app, addDoctorCommand, runDoctor),
      commandOf(app, addCheckCommand, runCheck),
      commandOf(app, addCaptureCommand, runCapture),
      commandOf(app, addCapturesCommand, runCaptures),
      commandOf(app, addImportCommand, runImport),
      commandOf(app, addReplayCommand, runReplay),
      commandOf(app, addOptimizeCommand, runOptimize),
      commandOf(app, addMcpCommand, runMcp),
      commandOf(app, addFlagsCommand, runFlags),
      commandOf(app, addCcCommand, runCc),
      commandOf(app, addRewriteCommand, runRewrite),
      commandOf(app, addTritonCommand, runTriton),
  };
}

/// What omniprobe's variables say, for this program and the application: FADE's own come first.
void takeOmniprobeVariables() {
  for (const fade::OmniprobeVariable &theirs : fade::omniprobeVariables())
    if (const char *value = std::getenv(theirs.name.data()); value && !theirs.fade.empty())
      setenv(theirs.fade.data(), fade::fromOmniprobe(theirs.fade, value).c_str(), 0);
}

} // namespace

int main(int argc, char **argv) {
  fade::cli::keepChildEnds();
  CLI::App app("See inside AMD GPU kernels", "fadeprobe");
  app.formatter(fade::cli::helpFormat());
  app.require_subcommand(0, 1);
#ifdef FADE_IS_FOR_TESTS
  constexpr const char *note =
      "\nbuilt for tests: several times slower than what scripts/build makes";
#else
  constexpr const char *note = "";
#endif
  app.set_version_flag("--version", std::string("fadeprobe " FADE_VERSION) + note);
  fade::cli::RunOptions run;
  fade::cli::addRunOptions(app, run);
  fade::cli::ReportOptions outcome;
  fade::cli::addOutcomeOptions(app, outcome);
  const std::vector<Command> commands = addCommands(app);

  // What follows "--" is the application's.
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto dashes = std::ranges::find(words, "--");
  const bool has_application = dashes != words.end();
  std::vector<std::string> application;
  if (has_application) application.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
  const bool is_empty = words.empty() && !has_application;
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  takeOmniprobeVariables();
  // Other codes of the doctor are verdicts about the machine.
  const bool is_doctor = !words.empty() && words.front() == "doctor";
  const int usage_error = is_doctor ? fade::cli::kDoctorFailed : fade::cli::kUsageError;
  try {
    app.parse(reversed);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &error) {
    fade::cli::complain(fade::cli::explain(app, error, words));
    return usage_error;
  } catch (const std::invalid_argument &) {
    fade::cli::complain(fade::cli::flagWithValue(app, words));
    return usage_error;
  }
  // FADE's files are found by where this program is.
  if (access("/proc/self/exe", F_OK) != 0) {
    fade::cli::complain("/proc is not mounted: run 'mount -t proc proc /proc' as root");
    return usage_error;
  }
  if (const std::string misplaced = fade::cli::misplacedOption(app); !misplaced.empty()) {
    fade::cli::complain(misplaced);
    return fade::cli::kUsageError;
  }
  for (const Command &command : commands)
    if (command.app->parsed()) return command.run(application);
  if (is_empty) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  if (fade::cli::wantsOutcome(outcome)) return fade::cli::runWithOutcome(run, outcome, application);
  return fade::cli::runApplication(run, application);
}
