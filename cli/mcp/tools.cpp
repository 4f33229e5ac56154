#include "mcp/tools.h"

#include "base/shell_text.h"
#include "fade/gpu.h"
#include "mcp/tool_arguments.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::mcp {
namespace {

using enum Parameter::Kind;

// Parameters that several tools have.
const Parameter kCommand{"command", texts, true,
                         "program and arguments, one word each; no shell is involved"};
const Parameter kOptionalCommand{"command", texts, false, kCommand.description};
const Parameter kKernels{"kernels", text, false,
                         "regular expression on demangled kernel names; default: all"};
const Parameter kGpu{"gpu", text, false,
                     "auto (the real GPU if there is one, else the software GPU), real, or a "
                     "software GPU: " +
                         emulatedGpuNames()};
const Parameter kDirectory{"directory", text, false, "working directory; default: the server's"};
const Parameter kEnvironment{"environment", texts_by_name, false,
                             "variables to add to the environment"};
const Parameter kTimeout{"timeout", number, false, "time limit in seconds; default: the server's",
                         {},        1,      86400};
const Parameter kTolerance{"tolerance", text, false,
                           "accepted differences of floating-point numbers: ulp=N or "
                           "rel=X"};
const Parameter kBuild{
    "build", texts, true,
    "command that compiles the source for the GPU of the captures, one word each, with "
    "{source} and {output} for the files: [\"hipcc\", \"--genco\", "
    "\"--offload-arch=gfx90a\", \"{source}\", \"-o\", \"{output}\"]"};
const Parameter kKernel{"kernel", text, true,
                        "kernels to optimize: a regular expression on demangled names"};
const Parameter kSource{"source", text, true, "the file with the kernel; it is not changed"};
const Parameter kCaptures{"captures", text, true, "folder with captures of the kernel"};

Result<ToolRun> planListKernels(const Json &arguments, const ToolContext &) {
  Words words("inspect");
  words.option(arguments, "kernels", "--kernels");
  words.option(arguments, "gpu", "--target");
  words.paths(arguments, "paths");
  return words.run();
}

Result<ToolRun> planReadKernel(const Json &arguments, const ToolContext &) {
  Words words("inspect");
  words.add(textIn(arguments, "view") == "isa" ? "--isa" : "--source");
  words.option(arguments, "kernels", "--kernels");
  words.option(arguments, "gpu", "--target");
  words.option(arguments, "counts", "--counts");
  words.path(arguments, "path");
  return words.run();
}

Result<ToolRun> planFindings(const Json &arguments, const ToolContext &context) {
  auto folder = context.fresh("findings");
  if (!folder) return std::move(folder).error();
  const std::string log = *folder + "/run.jsonl", page = *folder + "/report.html";
  Words words;
  words.add("--instrumented");
  for (const std::string &analyzer : textsIn(arguments, "analyzers"))
    words.add("--analyzers=" + analyzer);
  if (!arguments.contains("analyzers"))
    for (const char *analyzer : {"MemoryAnalysis", "Hotspots"})
      words.add(std::string("--analyzers=") + analyzer);
  words.add("--log-format=json", "--log-location=" + log, "--report=" + page, "--no-progress");
  words.option(arguments, "kernels", "--kernels");
  words.option(arguments, "gpu", "--gpu");
  words.program(arguments, "command");
  ToolRun run = words.run();
  run.written = {log, page};
  return run;
}

Result<ToolRun> planProfile(const Json &arguments, const ToolContext &context) {
  auto folder = context.fresh("profile");
  if (!folder) return std::move(folder).error();
  Words words("profile");
  words.add("--output=" + *folder);
  words.option(arguments, "rows", "--rows");
  words.option(arguments, "gpu", "--gpu");
  words.program(arguments, "command");
  ToolRun run = words.run();
  run.written = {*folder};
  return run;
}

Result<ToolRun> planCheck(const Json &arguments, const ToolContext &context) {
  if (arguments.contains("command") == arguments.contains("capture"))
    return Error::of("expected either 'command' or 'capture'");
  if (arguments.contains("code") && !arguments.contains("capture"))
    return Error::of("'code' goes with 'capture'");
  auto folder = context.fresh("check");
  if (!folder) return std::move(folder).error();
  Words words("check");
  words.add("--json=" + *folder + "/findings.jsonl");
  words.option(arguments, "checks", "--checks");
  words.option(arguments, "kernels", "--kernels");
  words.option(arguments, "gpu", "--gpu");
  words.option(arguments, "code", "--code");
  words.path(arguments, "capture");
  words.program(arguments, "command");
  ToolRun run = words.run();
  run.written = {*folder + "/findings.jsonl"};
  return run;
}

Result<ToolRun> planCapture(const Json &arguments, const ToolContext &context) {
  std::string folder = textIn(arguments, "output");
  if (folder.empty()) {
    auto made = context.fresh("captures");
    if (!made) return std::move(made).error();
    folder = *made;
  }
  Words words("capture");
  words.add("--output=" + folder, "--no-progress");
  words.option(arguments, "kernels", "--kernels");
  words.option(arguments, "dispatches", "--dispatches");
  words.option(arguments, "limit", "--limit");
  words.flag(arguments, "reachable", "--reachable");
  words.option(arguments, "gpu", "--gpu");
  words.program(arguments, "command");
  ToolRun run = words.run();
  run.written = {folder};
  return run;
}

Result<ToolRun> planListCaptures(const Json &arguments, const ToolContext &) {
  Words words("captures");
  words.add("--json");
  words.paths(arguments, "folders");
  return words.run();
}

Result<ToolRun> planReplay(const Json &arguments, const ToolContext &) {
  Words words("replay");
  words.add("--json", "--no-progress");
  words.flag(arguments, "check", "--check");
  words.option(arguments, "tolerance", "--tolerance");
  words.option(arguments, "code", "--code");
  words.option(arguments, "iterations", "--iterations");
  words.option(arguments, "change_inputs", "--change-inputs");
  words.option(arguments, "on", "--on");
  words.path(arguments, "capture");
  ToolRun run = words.run();
  run.first_error = 2; // 1: results differ
  return run;
}

Result<ToolRun> planCompare(const Json &arguments, const ToolContext &) {
  const bool has_files = arguments.contains("before") && arguments.contains("after");
  const bool has_commands =
      arguments.contains("before_command") && arguments.contains("after_command");
  if (has_files == has_commands)
    return Error::of(
        "expected either 'before' and 'after' (files), or 'before_command' and 'after_command'");
  Words words("diff");
  words.option(arguments, "kernels", "--kernels");
  if (has_files) {
    words.path(arguments, "before");
    words.path(arguments, "after");
    return words.run();
  }
  const std::vector<std::string> first = textsIn(arguments, "before_command");
  if (std::ranges::find(first, "--") != first.end())
    return Error::of("'before_command' has the word '--', which would end it");
  words.option(arguments, "gpu", "--gpu");
  words.program(arguments, "before_command");
  words.program(arguments, "after_command");
  return words.run();
}

/// What optimize and one attempt of it have in common.
Words optimizeWords(const Json &arguments, const std::string &folder) {
  Words words("optimize");
  words.add("--output=" + folder);
  words.option(arguments, "kernel", "--kernel");
  words.option(arguments, "source", "--source");
  words.option(arguments, "captures", "--captures");
  words.option(arguments, "tolerance", "--tolerance");
  return words;
}

Result<ToolRun> planTryVersion(const Json &arguments, const ToolContext &context) {
  auto folder = context.fresh("attempt");
  if (!folder) return std::move(folder).error();
  const std::string answer = *folder + "/proposal.json";
  Words words = optimizeWords(arguments, *folder);
  words.add("--attempts=1", "--proposer=cat " + shellWord(answer));
  words.program(arguments, "build");
  ToolRun run = words.run();
  run.input_files = {{answer, lineOf({{"source", arguments["proposed"]}, {"comment", "by mcp"}})}};
  run.first_error = 2; // 1: it was not accepted
  run.answer_file = *folder + "/ledger.jsonl";
  run.written = {*folder};
  return run;
}

Result<ToolRun> planOptimize(const Json &arguments, const ToolContext &context) {
  auto folder = context.fresh("optimize");
  if (!folder) return std::move(folder).error();
  Words words = optimizeWords(arguments, *folder);
  words.option(arguments, "attempts", "--attempts");
  words.program(arguments, "build");
  ToolRun run = words.run();
  run.first_error = 2; // 1: nothing better was found
  run.answer_file = *folder + "/best.patch";
  run.written = {*folder};
  return run;
}

Result<ToolRun> planDoctor(const Json &arguments, const ToolContext &) {
  Words words("doctor");
  words.option(arguments, "probe", "--probe");
  words.option(arguments, "program", "--program");
  words.option(arguments, "gpu", "--gpu");
  ToolRun run = words.run();
  run.first_error = 3; // 1 and 2 are verdicts
  return run;
}

const std::vector<Tool> kTools = {
    {"list_kernels",
     "List kernels",
     "Lists the GPU kernels in programs, libraries, code objects and folders: registers, LDS, "
     "scratch, occupancy, arguments. Start here.",
     false,
     {{"paths", texts, true, "programs, libraries, code objects or folders"},
      kKernels,
      {"gpu", text, false, "only code for this processor, such as gfx90a"}},
     planListKernels},
    {"read_kernel",
     "Read a kernel",
     "Shows a kernel's source with the instructions beneath each line, or its instructions by "
     "block; with counts, how often each was executed.",
     false,
     {{"path", text, true, "the program, library or code object"},
      {"kernels", text, true, "regular expression on demangled kernel names"},
      {"view", text, false, "source (default) or isa", {"source", "isa"}},
      {"gpu", text, false, "only code for this processor, such as gfx90a"},
      {"counts", text, false, "run.jsonl of 'findings': shows how often instructions ran"}},
     planReadKernel},
    {"findings",
     "Findings of a run",
     "Runs a program with analyzers and says what is worth changing in its kernels, largest gain "
     "first: scattered accesses, bank conflicts, divergence, low occupancy. Writes run.jsonl (for "
     "'read_kernel' and 'compare') and an HTML report.",
     true,
     {kCommand,
      kKernels,
      {"analyzers", texts, false,
       "default: MemoryAnalysis and Hotspots; others: CacheModel, BlockCounts, AccessPatterns, "
       "Heatmap, BlockFlow"},
      kGpu},
     planFindings},
    {"profile",
     "Profile a program",
     "Runs a program, records its HIP calls, kernels and copies, and says what decides how long "
     "it takes: critical path, and what would be gained if a kernel were faster.",
     true,
     {kCommand, {"rows", number, false, "lines of the table", {}, 1, 10000}, kGpu},
     planProfile},
    {"check",
     "Check kernels for errors",
     "Runs a program, or a captured kernel, on the software GPU and looks for accesses outside of "
     "allocations, use of uninitialized memory, races, and wrong barriers.",
     true,
     {kOptionalCommand,
      {"capture", text, false, "a capture instead of a program"},
      {"code", text, false, "with a capture: a code object with another version of the kernel"},
      {"checks", text, false,
       "memory, init, race, sync, wait, hazard, leak, hang, nan, precision, separated by commas, "
       "or all"},
      kKernels,
      {"gpu", text, false, "the software GPU, such as gfx90a"}},
     planCheck},
    {"capture",
     "Capture dispatches",
     "Runs a program and captures dispatches of its kernels, with code, arguments and memory, "
     "each in a folder that 'replay', 'check' and 'try_version' work on.",
     true,
     {kCommand,
      kKernels,
      {"dispatches", text, false, "which of each kernel: all, random, N or A-B; default: 1"},
      {"limit", number, false, "maximum number of captures; default: 16", {}, 1, 100000},
      {"reachable", truth, false,
       "capture only memory that pointers in the arguments and the code lead to"},
      {"output", text, false, "folder for the captures; default: a new one"},
      kGpu},
     planCapture},
    {"list_captures",
     "List captures",
     "Lists captures: kernel, launch, GPU, memory. One JSON object per line.",
     false,
     {{"folders", texts, true, "captures, or folders with captures in them"}},
     planListCaptures},
    {"replay",
     "Replay a capture",
     "Runs a captured kernel again, without its program, and compares memory afterwards; or "
     "another "
     "version of the kernel, and compares both. One JSON object per line; exit code 0 equal, 1 "
     "different.",
     true,
     {{"capture", text, true, "the folder of the capture"},
      {"check", truth, false, "compare the resulting memory with that after the captured dispatch"},
      kTolerance,
      {"code", text, false, "a code object with another version of the kernel"},
      {"iterations", number, false, "number of runs", {}, 1, 1000000},
      {"change_inputs",
       number,
       false,
       "with 'check' and 'code': compare both versions on randomly changed memory, with this seed",
       {},
       1,
       INT64_MAX},
      {"on", text, false, "software, or gpu (through ROCr)", {"software", "gpu"}}},
     planReplay},
    {"compare",
     "Compare two runs",
     "Compares two runs: what each kernel and access costs now and before. Takes files (run.jsonl "
     "of 'findings') or two commands.",
     true,
     {{"before", text, false, "file of the run before"},
      {"after", text, false, "file of the run after"},
      {"before_command", texts, false, "program before, one word each"},
      {"after_command", texts, false, "program after, one word each"},
      kKernels,
      kGpu},
     planCompare},
    {"try_version",
     "Try a version of a kernel",
     "Judges a changed source of a kernel: same signature, compiles, equal results on all captures "
     "and on inputs changed at random, no new errors, and cheaper. Says at which stage it failed "
     "and why. Nothing is written to the source.",
     true,
     {kKernel,
      kSource,
      {"proposed", text, true, "the whole text of the changed source"},
      kCaptures,
      kBuild,
      kTolerance},
     planTryVersion},
    {"optimize",
     "Let rules improve a kernel",
     "Tries FADE's own safe edits of a kernel and keeps those that are correct and cheaper, as a "
     "patch. "
     "Nothing is written to the source.",
     true,
     {kKernel,
      kSource,
      kCaptures,
      kBuild,
      kTolerance,
      {"attempts", number, false, "maximum number of attempts; default: 10", {}, 1, 1000}},
     planOptimize},
    {"doctor",
     "Examine this machine",
     "Says whether the GPU is usable on this machine, why not, and what helps. Exit code 0 usable, "
     "1 usable with limits, 2 not usable.",
     true,
     {{"probe", text, false, "test the GPU: all, or stages; fade: whether FADE works on it"},
      {"program", text, false, "also check the ROCm libraries that this program would load"},
      {"gpu", text, false, "with 'probe': real, or a software GPU such as gfx90a"}},
     planDoctor},
};

/// Those of every tool behind its own. The environment can make a program run another one.
std::vector<Parameter> parametersOf(const Tool &tool) {
  std::vector<Parameter> all = tool.parameters;
  all.push_back(kDirectory);
  if (tool.runs_programs) all.push_back(kEnvironment);
  all.push_back(kTimeout);
  return all;
}

} // namespace

std::span<const Tool> allTools() { return kTools; }

const Tool *findTool(std::string_view name) {
  const auto at =
      std::ranges::find(kTools, name, [](const Tool &tool) { return std::string_view(tool.name); });
  return at == kTools.end() ? nullptr : &*at;
}

Json describe(const Tool &tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", schemaOf(parametersOf(tool))},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", !tool.runs_programs},
            {"destructiveHint", tool.runs_programs},
            {"idempotentHint", !tool.runs_programs},
            {"openWorldHint", tool.runs_programs}}}};
}

Result<ToolRun> planOf(const Tool &tool, const Json &arguments, const ToolContext &context) {
  if (Status fits = checkArguments(parametersOf(tool), arguments); !fits)
    return std::move(fits).error();
  auto run = tool.plan(arguments, context);
  if (!run) return run;
  run->directory = textIn(arguments, "directory");
  run->timeout = context.timeout;
  if (const auto seconds = arguments.find("timeout"); seconds != arguments.end())
    run->timeout = std::chrono::seconds(seconds->get<int64_t>());
  if (const auto variables = arguments.find("environment"); variables != arguments.end())
    for (const auto &[name, value] : variables->items())
      run->variables.emplace_back(name, value.get<std::string>());
  return run;
}

} // namespace fade::mcp
