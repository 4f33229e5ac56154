#include "doctor/user_probe.h"

#include "base/supervised.h"
#include "base/temporary.h"
#include "doctor/json.h"
#include "doctor/tree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace fade::doctor {

const char *const kFirstRunSource = "// Written by fadeprobe doctor --probe fade.\n"
                                    "#include <hip/hip_runtime.h>\n"
                                    "#include <vector>\n"
                                    R"(
__global__ void first_run(const unsigned *in, unsigned *out, unsigned rounds) {
  __shared__ unsigned tile[64];
  const unsigned item = threadIdx.x, index = blockIdx.x * 64 + item;
  tile[item] = in[index];
  __syncthreads();
  unsigned sum = tile[63 - item];
#pragma clang loop unroll(disable) vectorize(disable)
  for (unsigned k = 0; k < rounds; ++k) sum += in[(index * 5 + k) & 1023];
  out[index] = sum;
}

int main() {
  const unsigned items = 1024, rounds = 5;
  std::vector<unsigned> values(items), got(items);
  for (unsigned i = 0; i < items; ++i) values[i] = i * 2654435761u;
  unsigned *in = nullptr, *out = nullptr;
  if (hipMalloc(&in, items * 4) != hipSuccess || hipMalloc(&out, items * 4) != hipSuccess) return 1;
  if (hipMemcpy(in, values.data(), items * 4, hipMemcpyHostToDevice) != hipSuccess) return 1;
  first_run<<<items / 64, 64>>>(in, out, rounds);
  if (hipMemcpy(got.data(), out, items * 4, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (unsigned i = 0; i < items; ++i) {
    unsigned sum = values[i / 64 * 64 + 63 - i % 64];
    for (unsigned k = 0; k < rounds; ++k) sum += values[(i * 5 + k) & 1023];
    if (got[i] != sum) return 2;
  }
  return 0;
}
)";

namespace {

namespace fs = std::filesystem;
using Outcome = ProbeResult::Outcome;
using Words = std::vector<std::string>;

constexpr uint64_t kItems = 1024, kRounds = 5; // as above

/// The line of a type; throws std::invalid_argument if there is none.
Json lineOf(std::string_view json_lines, std::string_view type) {
  for (const std::string &line : linesOf(json_lines))
    if (Json json = Json::parse(line); json.textOr("type") == type) return json;
  throw std::invalid_argument(fmt::format("no line of type '{}'", type));
}

/// Runs a check that may throw because the report is not what it should be.
template <class F> std::string checked(F check) {
  try {
    return check();
  } catch (const std::invalid_argument &wrong) {
    return fmt::format("the report cannot be read: {}", wrong.what());
  }
}

/// What tells an access from another, and what was counted of it.
using Key = std::tuple<std::string, uint64_t, uint64_t, std::string>;
using Counted = std::map<std::string, uint64_t>;
std::map<Key, Counted> accessesIn(std::string_view json_lines) {
  std::map<Key, Counted> all;
  const Json memory = lineOf(json_lines, "memory");
  for (const char *space : {"global", "lds"})
    for (const Json &entry : memory.at(space).list()) {
      Counted &counted = all[{space, entry.at("line").number(), entry.at("column").number(),
                              entry.at("op").text()}];
      for (const char *name : {"executions", "lanes", "total_bytes", "lines_needed", "lines_used",
                               "lines_wasted", "conflicts"})
        if (const Json *value = entry.find(name)) counted[name] += value->number();
    }
  return all;
}

std::string notInstrumented(std::string_view json_lines) {
  const Json dispatch = lineOf(json_lines, "dispatch");
  if (!dispatch.at("instrumented").boolean()) return "the kernel did not run instrumented";
  if (!dispatch.at("complete").boolean()) return "the dispatch was not seen to end";
  return "";
}

using Blocks = std::map<uint64_t, std::pair<uint64_t, uint64_t>>; // executions and lanes, by block
Blocks blocksIn(const Json &line) {
  Blocks blocks;
  for (const Json &block : line.at("blocks").list())
    blocks[block.at("block").number()] = {block.at("executions").number(),
                                          block.at("lanes").number()};
  return blocks;
}

bool isProgram(const fs::path &path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  return fs::is_regular_file(status) &&
         (status.permissions() & fs::perms::others_exec) != fs::perms::none;
}

std::vector<std::string> rocmPrograms(const std::string &rocm_path, const std::string &root) {
  std::vector<std::string> folders;
  if (!rocm_path.empty()) folders.push_back(root + rocm_path + "/bin");
  folders.push_back(root + "/opt/rocm/bin");
  std::error_code error;
  std::vector<std::string> cores;
  for (const auto &entry : fs::directory_iterator(root + "/opt/rocm", error))
    if (entry.path().filename().string().starts_with("core")) cores.push_back(entry.path() / "bin");
  std::ranges::sort(cores, std::greater<>());
  folders.insert(folders.end(), cores.begin(), cores.end());
  return folders;
}

/// The stages, with the folder that they work in.
class Stages {
public:
  explicit Stages(const UserProbe &probe) : probe_(probe) {}

  std::vector<ProbeResult> run();

private:
  using Stage = void (Stages::*)(ProbeResult &);
  void compile(ProbeResult &result);
  void summary(ProbeResult &result);
  void stream(ProbeResult &result);
  void counts(ProbeResult &result);
  void clocks(ProbeResult &result);
  void capture(ProbeResult &result);

  std::string file(std::string_view name) const {
    return fmt::format("{}/{}", folder_.path(), name);
  }
  /// Compiles the program in these modes; false if that failed, and then the result says why.
  bool build(const std::string &modes, const std::string &program, ProbeResult &result);
  /// Runs fadeprobe with these words; false as above.
  bool call(const Words &words, ProbeResult &result);
  /// The report of a run with these options; empty as above.
  std::string report(const std::string &program, const Words &options, ProbeResult &result);
  static void judge(const std::string &wrong, std::string_view right, ProbeResult &result);

  const UserProbe &probe_;
  cli::TemporaryFolder folder_;
  std::string compiler_, summary_, counts_;
};

void fail(ProbeResult &result, const std::string &why) {
  result.outcome = Outcome::failed;
  result.text = why;
}

/// What a tool said that says most: the first error, or else the last line.
std::string complaintOf(const cli::SupervisedEnd &end) {
  std::string last;
  for (const std::string &line : linesOf(end.err)) {
    if (line.find("error:") != line.npos) return trimmed(line);
    if (!trimmed(line).empty()) last = trimmed(line);
  }
  return last;
}

bool Stages::call(const Words &words, ProbeResult &result) {
  Words command = {probe_.fadeprobe};
  command.insert(command.end(), words.begin(), words.end());
  const bool is_compiler = words.front() == "cc"; // which needs no GPU, and no software GPU
  const cli::SupervisedEnd end = cli::runSupervised(
      command, is_compiler ? cli::Variables{} : probe_.options.variables, probe_.options.timeout);
  result.seconds += end.seconds;
  if (end.started && !end.timed_out && end.signal == 0 && end.code == 0) return true;
  std::string how = !end.started      ? "could not be started"
                    : end.timed_out   ? "did not end in time"
                    : end.signal != 0 ? fmt::format("was ended by signal {}", end.signal)
                                      : fmt::format("exited with code {}", end.code);
  const std::string said = complaintOf(end);
  fail(result,
       fmt::format("fadeprobe {} {}{}{}", words.front(), how, said.empty() ? "" : ": ", said));
  return false;
}

bool Stages::build(const std::string &modes, const std::string &program, ProbeResult &result) {
  Words words = {"cc",      "--instrument",
                 modes,     "--",
                 compiler_, "-x",
                 "hip",     "--offload-arch=" + probe_.gpu,
                 "-O2",     file("first_run.hip"),
                 "-o",      program};
  if (fs::path(compiler_).filename().string().starts_with("clang"))
    words.emplace_back("-lamdhip64");
  return call(words, result);
}

std::string Stages::report(const std::string &program, const Words &options, ProbeResult &result) {
  const std::string path = file("report.jsonl");
  Words words = {"-i", "-t", "json", "-l", path};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", program});
  if (!call(words, result)) return "";
  std::string text = cli::contentsOf(path);
  if (text.empty()) fail(result, "FADE left no report: was libfade.so loaded?");
  return text;
}

void Stages::judge(const std::string &wrong, std::string_view right, ProbeResult &result) {
  result.outcome = wrong.empty() ? Outcome::passed : Outcome::failed;
  result.text = wrong.empty() ? right : wrong;
}

void Stages::compile(ProbeResult &result) {
  const auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  compiler_ = findHipCompiler(variable("PATH"), variable("ROCM_PATH"));
  if (compiler_.empty()) {
    result.text = "no hipcc and no clang++ found in PATH or /opt/rocm";
    return;
  }
  std::ofstream(file("first_run.hip")) << kFirstRunSource;
  if (!build("summary;blocks", file("summary"), result)) {
    result.text = compiler_ + ": " + result.text;
    compiler_.clear();
    return;
  }
  judge("", fmt::format("with {} for {}", compiler_, probe_.gpu), result);
}

void Stages::summary(ProbeResult &result) {
  summary_ = report(file("summary"), {"-a", "MemoryAnalysis"}, result);
  if (!summary_.empty())
    judge(checkMemory(summary_), "accesses summed on the GPU: all correct", result);
}

void Stages::stream(ProbeResult &result) {
  const std::string text = report(file("summary"), {"-a", "MemoryAnalysis", "--stream"}, result);
  if (text.empty()) return;
  const std::string wrong = checkMemory(text);
  judge(wrong.empty() && !summary_.empty() ? compareMemory(summary_, text) : wrong,
        "every access as a record: same numbers", result);
}

void Stages::counts(ProbeResult &result) {
  if (!build("counts", file("counts"), result)) return;
  counts_ = report(file("counts"), {"-a", "BlockCounts"}, result);
  if (counts_.empty()) return;
  const std::string blocks = report(file("summary"), {"-a", "BlockCounts"}, result);
  if (blocks.empty()) return;
  judge(checkCounts(counts_, blocks), "blocks counted in registers: same counts as recorded",
        result);
}

void Stages::clocks(ProbeResult &result) {
  if (!build("times", file("times"), result)) return;
  const std::string text = report(file("times"), {"-a", "BlockCounts"}, result);
  if (text.empty()) return;
  const std::string wrong = checkCounts(text, counts_);
  judge(wrong.empty() ? checkClocks(text) : wrong, "clocks of blocks fit into the kernel's time",
        result);
}

void Stages::capture(ProbeResult &result) {
  if (!call({"capture", "-o", file("captures"), "--", file("summary")}, result)) return;
  std::string folder;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(file("captures"), error))
    if (entry.is_directory()) folder = entry.path().string();
  if (folder.empty()) return fail(result, "no dispatch was captured");
  for (const char *where : {"software", "gpu"})
    if (!call({"replay", folder, "--check", "--on", where}, result)) return;
  judge("", "one dispatch, replayed on the executor and through ROCr: equal memory", result);
}

std::vector<ProbeResult> Stages::run() {
  constexpr std::pair<const char *, Stage> stages[] = {
      {"fade-compile", &Stages::compile}, {"fade-summary", &Stages::summary},
      {"fade-stream", &Stages::stream},   {"fade-counts", &Stages::counts},
      {"fade-clocks", &Stages::clocks},   {"fade-capture", &Stages::capture}};
  std::vector<ProbeResult> results;
  for (const auto &[name, stage] : stages) {
    ProbeResult result;
    result.stage = name;
    if (!probe_.obstacle.empty())
      result.text = probe_.obstacle;
    else if (!folder_.isThere())
      result.text = "no folder for temporary files";
    else if (stage != &Stages::compile && compiler_.empty())
      result.text = "because no program was compiled";
    else
      (this->*stage)(result);
    results.push_back(std::move(result));
  }
  return results;
}

} // namespace

std::string findHipCompiler(const std::string &path_variable, const std::string &rocm_path,
                            const std::string &root) {
  std::vector<std::string> folders;
  for (std::string_view rest = path_variable; !rest.empty();) {
    const auto colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.push_back(root + std::string(rest.substr(0, colon)));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  std::vector<std::string> all = folders;
  for (std::string &folder : rocmPrograms(rocm_path, root)) all.push_back(std::move(folder));
  for (const std::string &folder : all)
    if (isProgram(folder + "/hipcc")) return folder + "/hipcc";
  for (int major = 24; major >= 17; --major)
    for (const std::string &folder : folders)
      if (const std::string path = fmt::format("{}/clang++-{}", folder, major); isProgram(path))
        return path;
  return "";
}

std::string checkMemory(std::string_view json_lines) {
  return checked([&]() -> std::string {
    if (std::string wrong = notInstrumented(json_lines); !wrong.empty()) return wrong;
    std::map<std::string, uint64_t> lanes;
    for (const auto &[key, counted] : accessesIn(json_lines))
      lanes[std::get<0>(key) + " " + std::get<3>(key)] += counted.at("lanes");
    const std::map<std::string, uint64_t> expected = {{"global load", kItems * (1 + kRounds)},
                                                      {"global store", kItems},
                                                      {"lds load", kItems},
                                                      {"lds store", kItems}};
    for (const auto &[what, count] : expected)
      if (lanes[what] != count)
        return fmt::format("{} lanes of a {}, {} expected", lanes[what], what, count);
    return lanes.size() == expected.size() ? "" : "accesses that the kernel does not have";
  });
}

std::string compareMemory(std::string_view summary, std::string_view stream) {
  return checked([&]() -> std::string {
    const auto one = accessesIn(summary), other = accessesIn(stream);
    for (const auto &[key, counted] : one) {
      const auto &[space, line, column, op] = key;
      const auto at = other.find(key);
      if (at == other.end())
        return fmt::format("the {} {} at line {} is not in the stream", space, op, line);
      for (const auto &[name, value] : counted)
        if (const auto seen = at->second.find(name);
            seen == at->second.end() || seen->second != value)
          return fmt::format("{} of the {} {} at line {}: {} summed, {} in the stream", name, space,
                             op, line, value, seen == at->second.end() ? 0 : seen->second);
    }
    return one.size() == other.size() ? "" : "the stream has accesses that were not summed";
  });
}

std::string checkCounts(std::string_view json_lines, std::string_view other) {
  return checked([&]() -> std::string {
    if (std::string wrong = notInstrumented(json_lines); !wrong.empty()) return wrong;
    const Json line = lineOf(json_lines, "blocks");
    const uint64_t wave = line.at("wave_size").number();
    const Blocks blocks = blocksIn(line);
    const std::pair<uint64_t, uint64_t> loop = {wave ? kItems / wave * kRounds : 0,
                                                kItems * kRounds};
    if (std::ranges::none_of(blocks, [&](const auto &block) { return block.second == loop; }))
      return fmt::format("no block was counted {} times, as often as the loop runs", loop.first);
    if (other.empty()) return "";
    for (const auto &[block, counts] : blocksIn(lineOf(other, "blocks")))
      if (const auto at = blocks.find(block); at == blocks.end() || at->second != counts)
        return fmt::format("block {} ran {} times, and was counted {} times", block, counts.first,
                           at == blocks.end() ? 0 : at->second.first);
    return "";
  });
}

std::string checkClocks(std::string_view json_lines) {
  return checked([&]() -> std::string {
    const Json dispatch = lineOf(json_lines, "dispatch"), line = lineOf(json_lines, "blocks");
    const uint64_t wave = line.at("wave_size").number();
    const uint64_t waves = wave ? kItems / wave : 0;
    // No shader clock is faster than 4 GHz, and no wave runs longer than its kernel.
    const uint64_t most =
        (dispatch.at("end_ns").number() - dispatch.at("start_ns").number()) * 4 * waves;
    uint64_t all = 0;
    for (const Json &block : line.at("blocks").list())
      if (const Json *clocks = block.find("clocks")) all += clocks->number();
    if (all == 0) return "no clocks were counted";
    if (all > most)
      return fmt::format("{} clocks in a kernel that cannot take more than {}", all, most);
    return "";
  });
}

std::vector<ProbeResult> probeAsUser(const UserProbe &probe) { return Stages(probe).run(); }

} // namespace fade::doctor
