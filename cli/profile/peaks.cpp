#include "profile/peaks.h"

#include "base/child.h"
#include "base/progress_line.h"
#include "base/supervised.h"
#include "base/write_file.h"
#include "launch/gpu_choice.h"
#include "profiles/peaks_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace fade::cli {
namespace {

using codeobj::NumberType;
using profile::GpuModel;
using profile::MeasuredPeaks;

std::string amount(double per_second, const char *unit) {
  static constexpr std::array<const char *, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t i = 0;
  while (per_second >= 1000 && i + 1 < kPrefixes.size()) per_second /= 1000, ++i;
  return per_second == 0 ? "-" : fmt::format("{:.3g} {}{}", per_second, kPrefixes[i], unit);
}

/// What was measured beside what is published.
std::string tableOf(const std::string &target, const MeasuredPeaks *measured) {
  const GpuModel gpu = GpuModel::of(target);
  std::string text = fmt::format("{}: {}\n", target,
                                 measured && !measured->card.empty() ? measured->card : gpu.card);
  if (gpu.is_stand_in)
    text += fmt::format("  the table has no card of this processor: its values are those of {}\n",
                        gpu.card);
  text += fmt::format("  {:<22}{:>16}{:>16}\n", "", "table", measured ? "measured" : "");
  const auto row = [&](const char *name, double table, double of, const char *unit) {
    text += fmt::format("  {:<22}{:>16}{:>16}\n", name, amount(table, unit),
                        measured ? amount(of, unit) : "");
  };
  const MeasuredPeaks none;
  const MeasuredPeaks &m = measured ? *measured : none;
  row("memory", gpu.memory_bytes_per_s, m.memory, "B/s");
  row("L2", gpu.bytesPeak(gpu.l2_bytes_per_cycle), m.l2, "B/s");
  row("L1", gpu.bytesPeak(gpu.l1_bytes_per_cycle), m.l1, "B/s");
  row("LDS", gpu.bytesPeak(gpu.lds_bytes_per_cycle), m.lds, "B/s");
  row("vectors of f64", gpu.vectorPeak(NumberType::F64), m.f64, "FLOP/s");
  row("vectors of f32", gpu.vectorPeak(NumberType::F32), m.f32, "FLOP/s");
  row("vectors of f16", gpu.vectorPeak(NumberType::F16), m.f16, "FLOP/s");
  for (const auto &[name, type] : {std::pair("matrices of f64", NumberType::F64),
                                   std::pair("matrices of f32", NumberType::F32),
                                   std::pair("matrices of f16", NumberType::F16),
                                   std::pair("matrices of bf16", NumberType::Bf16),
                                   std::pair("matrices of f8", NumberType::F8)})
    if (gpu.matrixPeak(type) > 0) row(name, gpu.matrixPeak(type), 0, "FLOP/s");
  text += fmt::format("  {:<22}{:>13.0f} ns{:>16}\n", "empty kernel", gpu.launch_ns,
                      m.launch_ns > 0 ? fmt::format("{:.0f} ns", m.launch_ns) : "");
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc);
  return text.data();
}

/// A file that is whole or not there, whoever else makes it at the same time.
class NewFile {
public:
  explicit NewFile(std::string path)
      : path_(std::move(path)), made_(fmt::format("{}.{}", path_, getpid())) {}
  ~NewFile() {
    std::error_code ignored;
    std::filesystem::remove(made_, ignored);
  }
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  /// Whether it will be possible to write it. False after a line that says why not.
  bool prepare() {
    std::error_code error;
    if (const auto folder = std::filesystem::path(path_).parent_path(); !folder.empty())
      std::filesystem::create_directories(folder, error);
    if (std::filesystem::is_directory(path_, error)) {
      complain(fmt::format("cannot write {}: it is a folder", path_));
      return false;
    }
    return writeFile(made_, "");
  }
  bool write(const std::string &lines) {
    std::error_code error;
    if (!writeFile(made_, lines)) return false;
    std::filesystem::rename(made_, path_, error);
    if (error) complain(fmt::format("cannot write {}: {}", path_, error.message()));
    return !error;
  }

private:
  const std::string path_, made_;
};

int showTable(const std::string &gpu) {
  Variables variables;
  if (!chooseGpu(gpu, true, variables)) return kUsageError;
  for (const std::string &target : gpusOf(variables))
    std::fputs(tableOf(target, nullptr).c_str(), stdout);
  complain("nothing was measured: the times of the software GPU say nothing about a card");
  return 0;
}

} // namespace

CLI::App *addPeaksCommand(CLI::App &app, PeaksOptions &options) {
  CLI::App *command =
      app.add_subcommand("peaks", "measure the GPU's peak rates: memory levels and arithmetic");
  command
      ->add_option("-o,--output", options.output,
                   "file for the measured rates (default: fade/peaks.json in the user's cache)")
      ->type_name("FILE");
  command->add_option("--gpu", options.gpu, "auto, real, or gfx90a, gfx1030, ...")
      ->type_name("auto|real|gfx...");
  return command;
}

int runPeaks(const PeaksOptions &options) {
  if (meansSoftwareGpu(options.gpu)) return showTable(options.gpu);
  Variables variables;
  if (!chooseGpu(options.gpu, false, variables)) return kUsageError;
  const auto program = ownLibrary("fade/fade-doctor-probe");
  if (!program) {
    complain("fade-doctor-probe is missing: it should be in ../lib/fade");
    return 1;
  }
  const std::string path = options.output.empty() ? profile::usualPeaksFile() : options.output;
  if (path.empty()) {
    complain("peaks: HOME is not set, so they cannot be saved: use -o FILE");
    return kUsageError;
  }
  std::optional<NewFile> file;
  if (!isStdout(path)) file.emplace(path);
  if (file && !file->prepare()) return 1;
  stopSupervisedOnSignals();
  complain("peaks: measuring, which takes a few seconds");
  std::atomic<int> measured = 0;
  std::optional<ProgressLine> progress;
  if (ProgressLine::isPossible())
    progress.emplace([&](double seconds) {
      return fmt::format("measuring, {} rates, {:.0f} s (Ctrl-C: cancel)", measured.load(),
                         seconds);
    });
  const auto end = runSupervised(
      {*program, "peaks"}, variables, std::chrono::minutes(5), [&](std::string_view text) {
        // A line for each, as soon as it is known.
        measured += static_cast<int>(std::ranges::count(text, '\n') -
                                     (text.find(" card ") != text.npos ? 1 : 0));
      });
  progress.reset();
  auto all = profile::parsePeaks(end.out);
  const auto verdict = end.out.rfind("verdict ");
  if (const int signal = supervisedStoppedBy(); signal != 0) {
    for (const MeasuredPeaks &peaks : all)
      std::fputs(tableOf(peaks.target, &peaks).c_str(), stdout);
    complain("peaks: interrupted; nothing was saved");
    file.reset();
    endLike({128 + signal, signal, 0, false, 0});
  }
  if (end.timed_out || end.signal != 0 || end.code != 0 || all.empty()) {
    const std::string why =
        end.timed_out ? "it did not end within 5 minutes"
        : verdict != end.out.npos
            ? end.out.substr(verdict, end.out.find('\n', verdict) - verdict)
            : fmt::format("it ended with {}", end.signal ? end.signal : end.code);
    complain(fmt::format("peaks: the rates could not be measured: {}", why));
    return 1;
  }
  std::string lines;
  for (MeasuredPeaks &peaks : all) {
    peaks.date = today();
    std::fputs(tableOf(peaks.target, &peaks).c_str(), stdout);
    lines += profile::lineOf(peaks) + '\n';
  }
  if (!file) return writeFile(path, lines) ? 0 : 1;
  if (!file->write(lines)) return 1;
  complain(fmt::format("saved to {}", path));
  return 0;
}

} // namespace fade::cli
