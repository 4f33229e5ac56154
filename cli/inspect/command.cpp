#include "inspect/command.h"

#include "analysis/run_log.h"
#include "base/kernel_expression.h"
#include "codeobj/demangle.h"
#include "inspect/report.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace fade::cli {
namespace {

using namespace codeobj;

class KernelFilter {
public:
  /// Empty, or what is wrong with the pattern.
  std::string compile(const std::string &pattern) {
    if (pattern.empty()) return "";
    auto read = readExpression(pattern);
    if (!read) return read.error().what;
    expression_ = *std::move(read);
    return "";
  }

  bool accepts(std::string_view name) const {
    return !expression_ || expression_->isIn(name) || expression_->isIn(demangle(name));
  }

private:
  std::optional<Expression> expression_;
};

/// How often instructions were executed, by the JSON lines of Hotspots.
class CountedKernels {
public:
  Status read(const std::string &file) {
    auto log = report::readRunLog(file);
    if (!log) return log.error();
    if (log->counts.empty())
      return Error::of(file + " has no instruction counts: record them with fadeprobe -i -a "
                              "Hotspots -t json -l FILE");
    log_ = *std::move(log);
    return Done{};
  }
  /// Null if it was not counted, or is another version of what was.
  const report::KernelCounts *find(const std::string &symbol, const Target &target,
                                   const KernelCode &code) const {
    const std::string_view name = std::string_view(symbol).substr(0, symbol.rfind(".kd"));
    for (const auto &[index, counts] : log_.counts) {
      const report::Kernel &kernel = log_.kernels[index];
      if (kernel.symbol != name || kernel.target != target.processor) continue;
      const auto is_same = [&](const Instruction &instruction) {
        const auto at = counts.instructions.find(instruction.address);
        return at != counts.instructions.end() && at->second.isOf(instruction.text);
      };
      if (std::ranges::all_of(code.instructions, is_same)) return &counts;
    }
    return nullptr;
  }

private:
  report::RunLog log_;
};

class Inspection {
public:
  Inspection(const InspectOptions &options, const KernelFilter &filter,
             std::optional<Target> target, const CountedKernels &counted, Report &report)
      : options_(options), filter_(filter), target_(std::move(target)), counted_(counted),
        report_(report) {}

  CodeHandler handler() {
    return {[this](const FoundCode &found) {
              ++found_;
              if (wanted(found.target)) show(found);
              return true;
            },
            [this](const Error &error) { fail(error); }};
  }
  void fail(const Error &error) {
    failed_ = true;
    report_.error(error);
  }
  std::size_t found() const { return found_; }
  std::size_t shown() const { return shown_; }
  std::size_t withCounts() const { return with_counts_; }
  bool failed() const { return failed_; }

private:
  bool wanted(const Target &target) const {
    if (!target_) return true;
    auto fits = [](Feature asked, Feature has) {
      return asked == Feature::Any || asked == Feature::Unsupported || asked == has;
    };
    return target_->processor == target.processor && fits(target_->xnack, target.xnack) &&
           fits(target_->sramecc, target.sramecc);
  }

  void show(const FoundCode &found) {
    auto object = found.open();
    if (!object) return fail(object.error());
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < (*object)->kernelCount(); ++i)
      if (filter_.accepts((*object)->kernelName(i).name)) chosen.push_back(i);
    if (chosen.empty()) return;

    ObjectView view{found, **object, nullptr, nullptr, chosen.size()};
    std::shared_ptr<const SourceMap> source;
    if (withCode()) {
      auto map = SourceMap::open(*object);
      if (!map)
        fail(map.error());
      else
        source = *map;
      view.source = source.get();
    }
    auto sites = Sites::read(**object);
    if (!sites)
      fail(sites.error());
    else
      view.sites = &*sites;
    report_.object(view);
    for (std::size_t i : chosen) showKernel(view, i);
  }

  void showKernel(const ObjectView &view, std::size_t index) {
    auto kernel = view.object.kernel(index);
    if (!kernel) return fail(kernel.error());
    KernelView shown;
    shown.index = index;
    shown.kernel = *std::move(kernel);
    if (auto layout = KernargLayout::from(shown.kernel.metadata))
      shown.layout = *std::move(layout);
    else
      fail({view.object.file(), layout.error().section, 0, layout.error().what});
    shown.occupancy = occupancy(view.object.target(), shown.kernel);
    if (view.sites != nullptr) shown.instrumented = view.sites->findKernel(index);
    if (withCode()) {
      auto code = analyzeKernel(view.object, shown.kernel);
      if (code)
        shown.code = *std::move(code);
      else
        shown.code_problem = code.error().what;
    }
    if (shown.code)
      shown.counts = counted_.find(shown.kernel.symbol, view.object.target(), *shown.code);
    if (shown.counts) ++with_counts_;
    ++shown_;
    report_.kernel(view, shown);
  }

  bool withCode() const {
    return options_.isa || options_.source || options_.json || !options_.counts.empty();
  }

  const InspectOptions &options_;
  const KernelFilter &filter_;
  std::optional<Target> target_;
  const CountedKernels &counted_;
  Report &report_;
  std::size_t found_ = 0, shown_ = 0, with_counts_ = 0;
  bool failed_ = false;
};

} // namespace

const report::InstructionCount *KernelView::countOf(const codeobj::Instruction &instruction) const {
  if (!counts) return nullptr;
  const auto at = counts->instructions.find(instruction.address);
  return at == counts->instructions.end() ? nullptr : &at->second;
}

CLI::App *addInspectCommand(CLI::App &app, InspectOptions &options) {
  CLI::App *command =
      app.add_subcommand("inspect", "show the GPU code in files, directories and processes");
  command->add_option("path", options.paths,
                      "code object, bundle, executable, library (.so or .a), or a directory");
  command->add_option("-k,--kernels", options.kernels,
                      "regular expression on kernel names, mangled or demangled");
  command->add_option("-t,--target", options.target,
                      "only code for this processor, e.g. gfx90a or gfx90a:xnack-");
  command->add_option("-p,--pid", options.process,
                      "code in the files that a running process has loaded");
  command->add_flag("--isa", options.isa,
                    "show the instructions, by block, with classes and source lines");
  command->add_flag("--source", options.source,
                    "show the source with the instructions beneath each line");
  command
      ->add_option("--counts", options.counts,
                   "execution counts of instructions: JSON lines of a run with Hotspots")
      ->type_name("FILE");
  command->add_flag("--json", options.json, "everything, as one JSON object per line");
  return command;
}

int runInspect(const InspectOptions &options, std::FILE *out, std::FILE *err) {
  auto usage = [&](const std::string &text) {
    fmt::print(err, "fadeprobe inspect: {}\n", text);
    return 2;
  };
  if (options.paths.empty() && options.process == 0)
    return usage("expected a file, a directory or --pid");
  KernelFilter filter;
  if (std::string problem = filter.compile(options.kernels); !problem.empty())
    return usage("-k: " + problem);
  std::optional<Target> target;
  if (!options.target.empty()) {
    target = parseTarget(options.target);
    if (!target) return usage(fmt::format("'{}' is not a known processor", options.target));
  }

  CountedKernels counted;
  if (!options.counts.empty())
    if (auto status = counted.read(options.counts); !status) return usage(status.error().message());

  std::unique_ptr<Report> report =
      options.json ? makeJsonReport(out) : makeTableReport(out, err, options.isa, options.source);
  Inspection inspection(options, filter, std::move(target), counted, *report);
  for (const std::string &path : options.paths)
    if (auto status = findCode(path, inspection.handler()); !status)
      inspection.fail(status.error());
  if (options.process != 0)
    if (auto status = findCodeInProcess(options.process, inspection.handler()); !status)
      inspection.fail(status.error());

  if (inspection.shown() == 0 && !inspection.failed())
    fmt::print(err, "fadeprobe inspect: {}\n",
               inspection.found() == 0 ? "no AMD GPU code found" : "no kernel matches");
  if (!options.counts.empty() && inspection.shown() != 0 && inspection.withCounts() == 0)
    fmt::print(err, "fadeprobe inspect: {} has no counts of these kernels{}\n", options.counts,
               ", or only of another version");
  return inspection.shown() == 0 || inspection.failed() ? 1 : 0;
}

} // namespace fade::cli
