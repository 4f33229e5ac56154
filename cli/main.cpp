// fadeprobe: decides which command was meant and hands over to it.
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

#include "base/omniprobe_names.h"
#include "fade/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <stdexcept>

namespace {

/// What a command runs, behind "--"; empty: nothing.
std::string runBy(const std::string &command) {
  if (command == "diff") return " [-- application A [arguments] -- application B [arguments]]";
  if (command == "cc") return " -- compiler arguments";
  if (command == "optimize") return " -- build command";
  const bool is_needed = command == "trace" || command == "capture" || command == "triton";
  const bool is_possible = command == "profile" || command == "check" || command == "doctor";
  if (is_needed) return " -- application [arguments]";
  return is_possible ? " [-- application [arguments]]" : "";
}

class Usage : public CLI::Formatter {
public:
  /// Without the default values that CLI11 shows in braces: --no-progress{false}.
  std::string make_option_name(const CLI::Option *option, bool is_positional) const override {
    std::string name = Formatter::make_option_name(option, is_positional);
    for (std::size_t open = 0; (open = name.find('{')) != std::string::npos;)
      name.erase(open, name.find('}', open) - open + 1);
    return name;
  }
  /// Without what CLI11 shows of checks: N:UINT in [1 - 256], software|gpu:{software,gpu}.
  std::string make_option_opts(const CLI::Option *option) const override {
    std::string type = option->get_type_name();
    for (const char *check : {":{", ":UINT in", ":INT in", ":FLOAT in"})
      type.erase(std::min(type.find(check), type.size()));
    const std::string more = option->get_expected_max() > 1 && !type.ends_with("...") ? " ..." : "";
    return type.empty() ? "" : " " + type + more;
  }
  static std::string usageOf(const CLI::App &command) {
    std::string text = "usage: fadeprobe " + command.get_name() + " [options]";
    for (const CLI::Option *option : command.get_options())
      if (option->get_positional()) {
        std::string what = option->get_type_name();
        if (option->get_expected_max() > 1 && !what.ends_with("...")) what += "...";
        text += option->get_required() ? " " + what : " [" + what + "]";
      }
    return text + runBy(command.get_name()) + "\n";
  }
  std::string make_usage(const CLI::App *app, std::string) const override {
    if (app->get_parent()) return usageOf(*app);
    return "usage: fadeprobe [options] -- application [arguments]\n"
           "       fadeprobe "
           "trace|profile|peaks|control|log|check|capture|captures|import|replay|optimize|analyze|"
           "report|"
           "diff|"
           "inspect|"
           "doctor|mcp|"
           "flags|cc|rewrite|triton "
           "--help\n";
  }
};

/// The command line with the "--" that was probably forgotten before words[at].
std::string withDashes(const std::vector<std::string> &words, std::size_t at) {
  std::string line = "fadeprobe";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == at) line += " --";
    if (i > at + 2) return line + " ...";
    line += " " + words[i];
  }
  return line;
}

/// One line for a word that a command has no use for.
std::string unexpectedArgument(const std::string &command, const std::string &word) {
  const bool shows_runs = command == "report" || command == "analyze";
  return fmt::format("{}: unexpected argument '{}'{}", command, word,
                     shows_runs ? ": it takes one run; fadeprobe diff A B compares two" : "");
}

/// One line for what CLI11 found wrong, with the option that was probably meant.
std::string explain(const CLI::App &app, const CLI::ParseError &error,
                    const std::vector<std::string> &words) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App *command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string not_expected = std::string(error.what()) + " ";
  if (dynamic_cast<const CLI::ExtrasError *>(&error) != nullptr)
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string &word = words[i];
      const auto name = word.substr(0, word.find('='));
      if (not_expected.find(" " + word + " ") == std::string::npos ||
          std::ranges::find(names, name) != names.end())
        continue;
      if (!word.starts_with('-') && !fade::cli::programOf(word).empty())
        return "unknown command " + word + " (did you mean '" + withDashes(words, i) + "'?)";
      if (!word.starts_with('-') && !app.get_subcommands().empty())
        return unexpectedArgument(app.get_subcommands().front()->get_name(), word);
      if (const auto ours = fade::insteadOfOption(name))
        return fmt::format("{} is an option of omniprobe: use {}", name, *ours);
      return "unknown " + std::string(word.starts_with('-') ? "option " : "command ") + name +
             fade::suggestion(name, known);
    }
  std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// One line for a value that an option without one was given: CLI11 throws something else then.
std::string flagWithValue(const CLI::App &app, const std::vector<std::string> &words) {
  std::vector<const CLI::App *> all = app.get_subcommands(nullptr);
  all.push_back(&app);
  for (const std::string &word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name == word) continue;
    for (const CLI::App *command : all)
      if (const CLI::Option *option = command->get_option_no_throw(name);
          option && option->get_expected_max() == 0)
        return fmt::format("{}: '{}' is neither true nor false", name,
                           word.substr(name.size() + 1));
  }
  return "an option that has no value was given one";
}

/// Options before a command would have no effect. One line; empty: there are none.
std::string misplacedOption(const CLI::App &app) {
  const std::vector<const CLI::App *> commands =
      app.get_subcommands([](const CLI::App *command) { return command->parsed(); });
  if (commands.empty()) return "";
  for (const CLI::Option *option : app.get_options())
    if (option->count() != 0)
      return option->get_name() + ": put it after " + commands[0]->get_name() +
             ", whose option it is";
  return "";
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
  app.formatter(std::make_shared<Usage>());
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
  fade::cli::ReportOptions report;
  CLI::App *report_command = fade::cli::addReportCommand(app, report);
  fade::cli::InspectOptions inspect;
  CLI::App *inspect_command = fade::cli::addInspectCommand(app, inspect);
  fade::cli::TraceOptions trace;
  CLI::App *trace_command = fade::cli::addTraceCommand(app, trace);
  fade::cli::ControlOptions control;
  CLI::App *control_command = fade::cli::addControlCommand(app, control);
  fade::cli::ProfileOptions profile;
  CLI::App *profile_command = fade::cli::addProfileCommand(app, profile);
  fade::cli::PeaksOptions peaks;
  CLI::App *peaks_command = fade::cli::addPeaksCommand(app, peaks);
  fade::cli::LogOptions log;
  CLI::App *log_command = fade::cli::addLogCommand(app, log);
  fade::cli::SqlOptions sql;
  CLI::App *sql_command = fade::cli::addSqlCommand(app, sql);
  fade::cli::AnalyzeOptions analyze;
  CLI::App *analyze_command = fade::cli::addAnalyzeCommand(app, analyze);
  fade::cli::DiffOptions diff;
  CLI::App *diff_command = fade::cli::addDiffCommand(app, diff);
  fade::cli::DoctorOptions doctor;
  CLI::App *doctor_command = fade::cli::addDoctorCommand(app, doctor);
  fade::cli::CheckOptions check;
  CLI::App *check_command = fade::cli::addCheckCommand(app, check);
  fade::cli::CaptureOptions capture;
  CLI::App *capture_command = fade::cli::addCaptureCommand(app, capture);
  fade::cli::CapturesOptions captures;
  CLI::App *captures_command = fade::cli::addCapturesCommand(app, captures);
  fade::replay::ImportOptions import;
  CLI::App *import_command = fade::cli::addImportCommand(app, import);
  fade::cli::ReplayOptions replay;
  CLI::App *replay_command = fade::cli::addReplayCommand(app, replay);
  fade::cli::OptimizeOptions optimize;
  CLI::App *optimize_command = fade::cli::addOptimizeCommand(app, optimize);
  fade::cli::McpOptions mcp;
  CLI::App *mcp_command = fade::cli::addMcpCommand(app, mcp);
  fade::cli::CompileOptions compile;
  CLI::App *flags_command = fade::cli::addFlagsCommand(app, compile);
  CLI::App *cc_command = fade::cli::addCcCommand(app, compile);
  fade::cli::TritonOptions triton;
  fade::cli::RewriteOptions rewrite;
  CLI::App *rewrite_command = fade::cli::addRewriteCommand(app, rewrite);
  CLI::App *triton_command = fade::cli::addTritonCommand(app, triton);

  // What stands behind "--" is the application's and none of our business.
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
    fade::cli::complain(explain(app, error, words));
    return usage_error;
  } catch (const std::invalid_argument &) {
    fade::cli::complain(flagWithValue(app, words));
    return usage_error;
  }
  if (const std::string misplaced = misplacedOption(app); !misplaced.empty()) {
    fade::cli::complain(misplaced);
    return fade::cli::kUsageError;
  }
  if (check_command->parsed()) return fade::cli::runCheck(check, application);
  if (capture_command->parsed()) return fade::cli::runCapture(capture, application);
  if (captures_command->parsed()) return fade::cli::runCaptures(captures);
  if (import_command->parsed()) return fade::cli::runImport(import);
  if (replay_command->parsed()) return fade::cli::runReplay(replay);
  if (optimize_command->parsed()) return fade::cli::runOptimize(optimize, application);
  if (report_command->parsed()) return fade::cli::runReport(report);
  if (inspect_command->parsed()) return fade::cli::runInspect(inspect, stdout, stderr);
  if (trace_command->parsed()) return fade::cli::runTrace(trace, application);
  if (control_command->parsed()) return fade::cli::runControl(control);
  if (profile_command->parsed()) return fade::cli::runProfile(profile, application);
  if (peaks_command->parsed()) return fade::cli::runPeaks(peaks);
  if (log_command->parsed()) return fade::cli::runLog(log);
  if (sql_command->parsed()) return fade::cli::runSql(sql);
  if (analyze_command->parsed()) return fade::cli::runAnalyze(analyze);
  if (diff_command->parsed()) return fade::cli::runDiff(diff, application);
  if (doctor_command->parsed()) return fade::cli::runDoctor(doctor, application);
  if (mcp_command->parsed()) return fade::cli::runMcp(mcp);
  if (flags_command->parsed()) return fade::cli::runFlags(compile);
  if (cc_command->parsed()) return fade::cli::runCc(compile, application);
  if (rewrite_command->parsed()) return fade::cli::runRewrite(rewrite);
  if (triton_command->parsed()) return fade::cli::runTriton(triton, application);
  if (is_empty) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  if (fade::cli::wantsOutcome(outcome)) return fade::cli::runWithOutcome(run, outcome, application);
  return fade::cli::runApplication(run, application);
}
