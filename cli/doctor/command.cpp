#include "doctor/command.h"

#include "base/diagnostics.h"
#include "base/supervised.h"
#include "base/text_layout.h"
#include "doctor/collect.h"
#include "doctor/explain.h"
#include "doctor/fade_probe.h"
#include "doctor/fix.h"
#include "doctor/output.h"
#include "doctor/user_probe.h"
#include "launch/gpu_choice.h"
#include "launch/run.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// Rules are installed beside the libraries, and lie in the source's place in a build folder.
std::string rulesFolder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path().parent_path() / "share/fade/doctor/rules";
  return fs::is_directory(folder, error) ? folder.string() : "";
}

Result<doctor::RuleSet> readRules(const std::string &more) {
  doctor::RuleSet rules;
  const std::string own = rulesFolder();
  if (own.empty())
    return Error::of("its rules are missing: they should be in ../share/fade/doctor/rules");
  for (const std::string &path : {own, more}) {
    if (path.empty()) continue;
    if (auto status = rules.add(path); !status) return std::move(status).error();
  }
  return rules;
}

/// What --fix says goes to stdout, one fact per line.
int say(const std::string &text) {
  std::string clean;
  for (const std::string &line : doctor::linesOf(text)) clean += printable(line) + "\n";
  return writeAll(STDOUT_FILENO, clean) == 0 ? 0 : kDoctorFailed;
}

int revert(const doctor::Tree &tree) {
  const auto reverted = doctor::revertFixes(tree);
  if (!reverted) return refuse(reverted.error());
  std::string text;
  for (const std::string &path : *reverted) text += fmt::format("reverted {}\n", path);
  return say(text);
}

int fix(const DoctorOptions &options, const doctor::Tree &tree,
        const std::vector<doctor::Finding> &findings) {
  auto plan = doctor::planFixes(tree, findings, options.remedies);
  if (!plan) return refuse(plan.error());
  if (!options.write || plan->changes.empty()) return say(asText(*plan));
  std::string text;
  for (const doctor::FileChange &change : plan->changes)
    text += fmt::format("wrote {}\n", change.path);
  for (const std::string &command : plan->commands) text += fmt::format("then: {}\n", command);
  if (auto status = doctor::writeFixes(tree, std::move(*plan)); !status)
    return refuse(status.error());
  return say(text + "to undo: fadeprobe doctor --fix --revert\n");
}

/// The rules of findings, to be compared.
std::multiset<std::string> rulesOf(const std::vector<doctor::Finding> &findings) {
  std::multiset<std::string> rules;
  for (const doctor::Finding &finding : findings) rules.insert(finding.rule);
  return rules;
}

/// --collect: into a folder, or into one that becomes an archive.
int collectTo(const std::string &target, const doctor::Tree &tree, const std::string &program,
              const doctor::RuleSet &rules) {
  std::string folder = target;
  const bool is_archive = target.ends_with(".tar");
  if (is_archive) {
    folder = target + ".XXXXXX";
    if (!mkdtemp(folder.data()))
      return refuse(Error::of(fmt::format("cannot write {}: {}", target, std::strerror(errno))));
  }
  const doctor::LookOptions look{program, rules.variables()};
  const auto collected = doctor::collect(tree, look, folder);
  std::error_code ignored;
  std::string problem = collected ? "" : collected.error().message();
  bool is_same = false;
  if (collected) {
    is_same = rulesOf(rules.judge(doctor::look(doctor::Tree(folder), look))) ==
              rulesOf(rules.judge(doctor::look(tree, look)));
    if (is_archive) {
      const auto end = runSupervised({"tar", "-S", "-C", folder, "-cf", target, "."}, {},
                                     std::chrono::minutes(10));
      if (!end.started || end.code != 0 || end.signal != 0)
        problem = fmt::format("tar failed: {}", doctor::trimmed(end.err));
    }
  }
  if (is_archive) fs::remove_all(folder, ignored);
  if (!problem.empty()) return refuse(Error::of(problem));
  for (const std::string &path : collected->missing)
    complain(fmt::format("doctor: not copied: {}", printable(path)));
  if (!is_same)
    complain("doctor: the diagnosis of the copy (--root) differs from that of this machine");
  return say(fmt::format("{} files with {} in {}\n", collected->files, bytesText(collected->bytes),
                         target));
}

/// The same GPU as a user of fadeprobe has it; fade-off says its name.
doctor::UserProbe asUser(const doctor::ProbeOptions &how,
                         const std::vector<doctor::ProbeResult> &results) {
  doctor::UserProbe probe;
  probe.options = how;
  std::error_code error;
  probe.fadeprobe = fs::read_symlink("/proc/self/exe", error).string();
  const auto off = std::ranges::find(results, "fade-off", &doctor::ProbeResult::stage);
  if (off->outcome == doctor::ProbeResult::Outcome::passed)
    probe.gpu = off->text;
  else
    probe.obstacle = off->text.starts_with("because ") ? off->text : doctor::becauseOf(*off);
  return probe;
}

/// Runs the probes that are asked for.
Result<std::vector<doctor::ProbeResult>> probe(const DoctorOptions &options) {
  const auto program = ownLibrary("fade/fade-doctor-probe");
  if (!program) return Error::of("fade-doctor-probe is missing: it should be in ../lib/fade");
  doctor::ProbeOptions how;
  how.program = *program;
  if (options.timeout > 0)
    how.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.timeout * 1000));
  if (isSoftwareGpu(options) && !chooseGpu(options.gpu, false, how.variables))
    return Error::of("the software GPU cannot be used");
  auto known = doctor::stagesOf(how);
  if (!known) return std::move(known).error();
  known->emplace_back("fade");
  auto stages = doctor::chosenStages(*known, options.probe);
  if (!stages) return std::move(stages).error();
  const bool with_fade = std::erase(*stages, "fade") > 0;
  auto results = doctor::runProbes(how, *stages);
  if (!with_fade) return results;
  const auto library = ownLibrary("libfade.so");
  if (!library) return Error::of("libfade.so is missing: it should be in ../lib");
  const char *obstacle = doctor::verdictOf(results) == 2 ? "because the GPU is not usable" : "";
  for (doctor::ProbeResult &result : doctor::probeFade(how, *library, obstacle))
    results.push_back(std::move(result));
  for (doctor::ProbeResult &result : doctor::probeAsUser(asUser(how, results)))
    results.push_back(std::move(result));
  return results;
}

} // namespace

CLI::App *addDoctorCommand(CLI::App &app, DoctorOptions &options) {
  CLI::App *command = app.add_subcommand(
      "doctor",
      "diagnose why the GPU does not work, and suggest fixes: exit code 0 usable, 1 usable "
      "with limits, 2 not usable; with -- application, run it and explain a crash");
  command->add_flag("--json", options.json, "one JSON object per line instead of a table");
  command->add_flag("-q,--quiet", options.quiet, "print nothing, only set the exit code");
  command->add_option("--root", options.root, "diagnose a copied tree instead of this machine")
      ->type_name("DIR");
  command
      ->add_option("--program", options.program,
                   "also show which ROCm libraries this program would load, and check them")
      ->type_name("PATH");
  command->add_option("--rules", options.rules, "more rules, a file or a folder of *.json")
      ->envname("FADE_DOCTOR_RULES")
      ->type_name("PATH");
  command
      ->add_option(
          "--deaths", options.deaths,
          "explain the fault reports of earlier runs (written with --deaths or FADE_DEATHS)")
      ->type_name("FILE");
  command
      ->add_option("--collect", options.collect,
                   "copy every file that the diagnosis reads, to send it to someone; --root "
                   "repeats the diagnosis on the copy")
      ->type_name("DIR|FILE.tar");
  command->add_option("--save", options.save, "also write the full diagnosis as JSON lines")
      ->type_name("FILE");
  command
      ->add_option("--probe", options.probe,
                   "run tests on the GPU: all, or some stages; fade: test FADE itself on it")
      ->type_name("all|STAGE,...");
  command
      ->add_option("--gpu", options.gpu,
                   "GPU to examine: real, or a software GPU (gfx90a, gfx1030, ...) and nothing "
                   "else; for an application also auto, its default")
      ->type_name("auto|real|gfx...");
  command
      ->add_option("--timeout", options.timeout,
                   "time limit of a --probe stage (default: 60) or of the application (default: "
                   "none)")
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("SECONDS");
  CLI::Option *fix = command->add_flag(
      "--fix", options.fix, "write remedies to files: with --print, --write or --revert");
  CLI::Option *print =
      command->add_flag("--print", options.print, "show the files that would be written")
          ->needs(fix);
  CLI::Option *write =
      command->add_flag("--write", options.write, "write them, into --root if given")->needs(fix);
  command->add_flag("--revert", options.revert, "undo exactly what was written")
      ->needs(fix)
      ->excludes(print)
      ->excludes(write);
  print->excludes(write);
  command
      ->add_option("--remedy", options.remedies,
                   "remedies to write (default: for each finding, the first that can be written)")
      ->type_name("RULE[:N]")
      ->needs(fix);
  return command;
}

int runDoctor(const DoctorOptions &options, const std::vector<std::string> &application) {
  std::error_code error;
  if (!application.empty()) {
    const auto rules = readRules(options.rules);
    return rules ? runAndExplain(options, *rules, application) : refuse(rules.error());
  }
  if (!options.root.empty() && !fs::is_directory(options.root, error)) {
    complain(fmt::format("doctor: --root: no such folder: {}", options.root));
    return kDoctorFailed;
  }
  if (!options.root.empty() && (!options.probe.empty() || isSoftwareGpu(options))) {
    complain("doctor: a copied tree (--root) cannot be probed");
    return kDoctorFailed;
  }
  if (isSoftwareGpu(options) && options.probe.empty()) {
    complain("doctor: --gpu needs --probe");
    return kDoctorFailed;
  }
  const auto rules = readRules(options.rules);
  if (!rules) {
    complain(fmt::format("doctor: {}", rules.error().message()));
    return kDoctorFailed;
  }
  const doctor::Tree tree(options.root);
  if (options.revert) return revert(tree);
  std::string program = options.program;
  if (options.root.empty() && program.find('/') != program.npos)
    program = fs::absolute(program, error).string();
  doctor::Diagnosis diagnosis;
  diagnosis.root = options.root;
  if (!isSoftwareGpu(options)) { // this machine's files say nothing about that one
    diagnosis.facts = doctor::look(tree, {program, rules->variables()});
    if (!addDeathsOf(options.deaths, diagnosis)) return kDoctorFailed;
    diagnosis.findings = rules->judge(diagnosis.facts);
    diagnosis.unreadable = tree.unreadable();
    diagnosis.verdict = doctor::verdictOf(diagnosis.facts, diagnosis.findings);
  }
  if (options.fix) return fix(options, tree, diagnosis.findings);
  if (!options.collect.empty()) return collectTo(options.collect, tree, program, *rules);
  if (!options.probe.empty()) {
    auto results = probe(options);
    if (!results) return refuse(results.error());
    diagnosis.probes = std::move(*results);
    diagnosis.verdict = std::max(diagnosis.verdict, doctor::verdictOf(diagnosis.probes));
  }
  if (!options.save.empty() && !saveTo(options.save, asJson(diagnosis))) return kDoctorFailed;
  if (options.quiet) return diagnosis.verdict;
  const std::string text = options.json ? asJson(diagnosis) : asTable(diagnosis);
  return writeAll(STDOUT_FILENO, text) == 0 ? diagnosis.verdict : kDoctorFailed;
}

} // namespace fade::cli
