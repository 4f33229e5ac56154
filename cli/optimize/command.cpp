#include "optimize/command.h"

#include "base/child.h"
#include "base/kernel_expression.h"
#include "base/supervised.h"
#include "launch/run.h"
#include "optimize/loop.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fade::cli {
namespace {

int usageError(const std::string &text) {
  complain(text);
  return kUsageError;
}

} // namespace

CLI::App *addOptimizeCommand(CLI::App &app, OptimizeOptions &options) {
  CLI::App *command = app.add_subcommand(
      "optimize", "try changes to a kernel and keep those that are correct and faster");
  command
      ->add_option("-k,--kernel", options.kernel,
                   "kernels to optimize: regular expression on demangled names")
      ->type_name("REGEX")
      ->required();
  command->add_option("--source", options.source, "source file to change")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--proposer", options.proposer,
                   "rules, or a command that reads a JSON object and writes one (default: rules)")
      ->type_name("rules|CMD");
  command
      ->add_option("--captures", options.captures,
                   "folder with captures of the kernels (default: captures)")
      ->type_name("DIR");
  command->add_option("--attempts", options.attempts, "maximum number of attempts (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1000u));
  command
      ->add_option_function<std::vector<std::string>>(
          "--tolerance",
          [&options](const std::vector<std::string> &texts) {
            options.tolerance = fmt::format("{}", fmt::join(texts, ","));
          },
          "accept differences of floating-point numbers of up to N units in the last "
          "place, or up to abs + rel * |expected|; may be repeated")
      ->type_name("ulp=N|rel=X|abs=X,...")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--worse", options.worse,
          "percent of the sum by which one of the counts may grow if the sum falls (default: "
          "10)")
      ->type_name("PERCENT")
      ->check(CLI::Range(0u, 1000u));
  command
      ->add_option(
          "--timeout", options.seconds,
          "seconds for one run of a kernel, and ten times that for a build, a proposer and an "
          "analyzed run (default: 120)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1u, 86400u));
  command
      ->add_option("-o,--output", options.output,
                   "folder for the ledger, the best version as a patch, and all attempts "
                   "(default: optimize)")
      ->type_name("DIR");
  command->add_flag("--launch-bounds", options.launch_bounds,
                    "promise that no workgroup is larger than those captured, so that the kernel "
                    "can be compiled for that size");
  command->add_flag(
      "--unchecked", options.unchecked,
      "allow changes to kernels that were not captured: their results are not compared");
  command->add_flag("--apply", options.apply, "write the best version to the source at the end");
  return command;
}

int runOptimize(const OptimizeOptions &options, const std::vector<std::string> &build) {
  const auto has = [&](const char *what) {
    return std::ranges::any_of(
        build, [&](const std::string &word) { return word.find(what) != std::string::npos; });
  };
  if (build.empty() || !has("{source}") || !has("{output}"))
    return usageError("optimize: put the compile command after --, with {source} and {output} "
                      "for the files: -- hipcc --genco --offload-arch=gfx90a {source} -o {output}");
  std::vector<CaptureLine> captures;
  const auto wanted = readExpression(options.kernel);
  if (!wanted) return usageError("--kernel: " + wanted.error().what);
  for (const std::string &path : capturesIn(options.captures)) {
    auto line = describeCapture(path);
    if (!line) return usageError(line.error().message());
    if (wanted->isIn(line->description.kernel)) captures.push_back(std::move(*line));
  }
  if (captures.empty())
    return usageError(fmt::format("{}: no capture of '{}': fadeprobe capture -k '{}' -o {} -- "
                                  "application",
                                  options.captures, options.kernel, options.kernel,
                                  options.captures));
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error) return usageError(fmt::format("--output: {}: {}", options.output, error.message()));
  auto proposer =
      options.proposer == "rules"
          ? ruleProposer()
          : commandProposer(options.proposer, std::chrono::seconds(10 * options.seconds));
  stopSupervisedOnSignals();
  const int code = OptimizeLoop(options, build, std::move(captures), std::move(proposer)).run();
  if (const int signal = supervisedStoppedBy(); signal != 0)
    endLike({128 + signal, signal, 0, false, 0});
  return code;
}

} // namespace fade::cli
