#include "doctor/explain.h"

#include "base/diagnostics.h"
#include "base/text_layout.h"
#include "launch/application_run.h"
#include "launch/gpu_choice.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace fade::cli {
namespace {

constexpr std::size_t kMostDeathBytes = 4 << 20;

/// A file for what libfade writes in the application, which goes with the object.
class DeathFile {
public:
  DeathFile() {
    std::error_code error;
    const auto folder = std::filesystem::temp_directory_path(error);
    path_ = (error ? "/tmp" : folder.string()) + "/fade-deaths-XXXXXX";
    const int fd = mkostemp(path_.data(), O_CLOEXEC);
    if (fd < 0) path_.clear();
    if (fd >= 0) close(fd);
  }
  ~DeathFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  DeathFile(const DeathFile &) = delete;
  DeathFile &operator=(const DeathFile &) = delete;
  const std::string &path() const { return path_; } ///< empty: there is none

private:
  std::string path_;
};

std::string startOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostDeathBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

doctor::ProgramEnd endOf(const ChildEnd &end, const std::string &program) {
  doctor::ProgramEnd result;
  result.program = program;
  result.exit_code = end.exit_code;
  result.timed_out = end.timed_out;
  if (end.signal != 0) {
    const char *name = sigabbrev_np(end.signal);
    result.signal = name ? fmt::format("SIG{}", name) : std::to_string(end.signal);
  }
  return result;
}

void sayEnd(const doctor::ProgramEnd &end, double timeout) {
  if (end.timed_out)
    complain(
        fmt::format("doctor: {} took longer than {:.4g} s and was ended", end.program, timeout));
  else if (!end.signal.empty())
    complain(fmt::format("doctor: {} was ended by {}", end.program, end.signal));
  else if (end.exit_code != 0)
    complain(fmt::format("doctor: {} ended with code {}", end.program, end.exit_code));
}

/// What is known about the death first, then what is wrong with the machine.
void sayFindings(const std::vector<doctor::Finding> &findings) {
  const auto say = [](const doctor::Finding &finding) {
    complain(fmt::format("doctor: {}: {} ({})", nameOf(finding.severity), printable(finding.text),
                         finding.rule));
    for (const doctor::Remedy &remedy : finding.remedies)
      complain(fmt::format("doctor:   {}", printable(remedy.what)));
  };
  for (const doctor::Finding &finding : findings)
    if (!finding.death.empty()) say(finding);
  for (const doctor::Finding &finding : findings)
    if (finding.death.empty() && finding.severity != doctor::Severity::note) say(finding);
}

/// The facts of this machine, unless a software GPU was used: then they say nothing about it.
doctor::Diagnosis diagnose(const DoctorOptions &options, const doctor::RuleSet &rules,
                           const std::string &deaths) {
  doctor::Diagnosis diagnosis;
  diagnosis.deaths = deaths;
  const bool is_software =
      isSoftwareGpu(options) || hasLibrary(std::getenv(kPreload), kSoftwareGpu);
  if (!is_software) diagnosis.facts = doctor::look(doctor::Tree(), {"", rules.variables()});
  doctor::addDeaths(deaths, diagnosis.facts);
  diagnosis.findings = rules.judge(diagnosis.facts, is_software ? "death" : "");
  diagnosis.verdict = is_software ? 0 : doctor::verdictOf(diagnosis.facts, diagnosis.findings);
  return diagnosis;
}

} // namespace

bool isSoftwareGpu(const DoctorOptions &options) {
  return !options.gpu.empty() && options.gpu != "real" && options.gpu != "auto";
}

int refuse(const Error &error) {
  complain(fmt::format("doctor: {}", error.message()));
  return kDoctorFailed;
}

bool saveTo(const std::string &path, const std::string &text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  int error = fd < 0 ? errno : writeAll(fd, text);
  if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
  if (error == 0) return true;
  complain(fmt::format("doctor: cannot write {}: {}", path, std::strerror(error)));
  return false;
}

bool addDeathsOf(const std::string &path, doctor::Diagnosis &diagnosis) {
  if (path.empty()) return true;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || access(path.c_str(), R_OK) != 0) {
    complain(fmt::format("doctor: --deaths: no such file: {}", path));
    return false;
  }
  doctor::addDeaths(startOf(path), diagnosis.facts);
  return true;
}

int runAndExplain(const DoctorOptions &options, const doctor::RuleSet &rules,
                  const std::vector<std::string> &application) {
  if (!options.root.empty() || !options.probe.empty() || options.fix || !options.deaths.empty())
    return refuse(
        Error::of("--root, --probe, --fix and --deaths cannot be combined with an application"));
  if (options.json)
    return refuse(
        Error::of("--json would be mixed with the application's output: use --save FILE"));
  const DeathFile file;
  RunOptions run;
  run.explain = true;
  run.progress = false;
  run.gpu = options.gpu.empty() ? "auto" : options.gpu;
  run.values.emplace_back("FADE_LOG_LOCATION", "/dev/null");
  if (!file.path().empty()) run.values.emplace_back("FADE_DEATHS", file.path());
  const auto [failure, end] = runAndWait(run, application, nullptr, options.timeout);
  if (failure) return *failure;
  const doctor::ProgramEnd program = endOf(end, application[0]);
  const std::string deaths = file.path().empty() ? "" : startOf(file.path());
  if (!options.quiet) sayEnd(program, options.timeout);
  if (end.exit_code != 0 || end.signal != 0 || !deaths.empty() || !options.save.empty()) {
    doctor::Diagnosis diagnosis = diagnose(options, rules, deaths);
    diagnosis.end = program;
    const bool has_died = end.exit_code != 0 || end.signal != 0 || !deaths.empty();
    if (!options.quiet && has_died) sayFindings(diagnosis.findings);
    if (!options.save.empty()) (void)saveTo(options.save, asJson(diagnosis));
  }
  if (!file.path().empty()) unlink(file.path().c_str()); // endLike destroys nothing
  endLike(end);
}

} // namespace fade::cli
