#include "profile/thread_trace.h"

#include "codeobj/demangle.h"
#include "report/json_fields.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <unordered_map>

namespace fade::profile {
namespace {

namespace fs = std::filesystem;
using report::Json;

constexpr uint64_t kLargest = uint64_t{1} << 30; // bytes of a file
constexpr std::size_t kMostInstructions = 1'000'000, kMostWaveFiles = 4096, kMostMoments = 500;
constexpr std::size_t kMostProblems = 20;
constexpr double kMostCycles = 1e15; // days

Result<Json> readJson(const fs::path &path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in)
    return Error::of(fmt::format("cannot read {}: {}", path.string(),
                                 error ? error.message() : std::strerror(errno)));
  if (size > kLargest)
    return Error::of(fmt::format("{} is too large: {} bytes", path.string(), size));
  Json json = Json::parse(in, nullptr, false);
  if (json.is_discarded())
    return Error::of(fmt::format("{} is not JSON, or was cut off", path.string()));
  return json;
}

double cyclesIn(const Json &value) {
  if (!value.is_number()) throw std::invalid_argument("a number of cycles is no number");
  const auto cycles = value.get<double>();
  if (cycles > kMostCycles) throw std::invalid_argument("a number of cycles is too large");
  return std::max(cycles, 0.0);
}

/// "dir/kernel.hip:12" or several, from the inside out.
void placeOf(const std::string &source, ProfiledInstruction &one) {
  const std::string first = source.substr(0, source.find(" -> "));
  const auto colon = first.rfind(':');
  if (colon == first.npos) return;
  const std::string digits = first.substr(colon + 1);
  if (digits.empty() || digits.size() > 8 || digits.find_first_not_of("0123456789") != digits.npos)
    return;
  one.file = first.substr(0, colon);
  one.line = static_cast<uint32_t>(std::stoul(digits));
}

class Reader {
public:
  explicit Reader(fs::path directory) : directory_(std::move(directory)) {}
  Result<ThreadTrace> run();

private:
  struct Place {
    std::size_t kernel = 0, instruction = 0;
  };

  Status readCode();
  void readRow(const Json &row);
  void readWaves();
  void readWave(const Json &file);
  void readOccupancy();
  void finish();
  void addKernel(const std::string &symbol, const std::string &name);
  void problem(const std::string &what) {
    if (trace_.problems.size() < kMostProblems) trace_.problems.push_back(what);
  }

  fs::path directory_;
  ThreadTrace trace_;
  std::unordered_map<uint64_t, Place> by_line_; ///< number in code.json
};

void Reader::addKernel(const std::string &symbol, const std::string &name) {
  KernelProfile &k = trace_.kernels.emplace_back().counts;
  k.symbol = symbol;
  k.name = name.empty() ? codeobj::demangle(symbol) : name;
  k.is_traced = true;
}

/// [text, _, number, source, code object, address, hits, latency, stall, idle]
void Reader::readRow(const Json &row) {
  if (!row.is_array() || row.size() < 10 || !row[0].is_string() || !row[3].is_string())
    throw std::invalid_argument("a row of 'code' has not the ten columns that it should have");
  const auto text = row[0].get<std::string>();
  if (text.starts_with(";")) {
    addKernel(text.substr(std::min(text.find_first_not_of("; "), text.size())),
              row[3].get<std::string>());
    return;
  }
  if (trace_.kernels.empty()) addKernel("", "unknown kernel");
  ProfiledKernel &kernel = trace_.kernels.back();
  ProfiledInstruction one;
  one.text = text;
  one.info = codeobj::classify(text);
  one.address = report::asNumber(row[5], "Vaddr");
  placeOf(row[3].get<std::string>(), one);
  one.executions = report::asNumber(row[6], "Hit");
  InstructionTime time;
  const double latency = cyclesIn(row[7]), stall = std::min(cyclesIn(row[8]), latency);
  const double idle = cyclesIn(row[9]);
  const auto hits = static_cast<double>(std::max<uint64_t>(one.executions, 1));
  time.issue = time.busy = (latency - stall) / hits;
  time.waits = (stall + idle) / hits;
  by_line_[report::asNumber(row[2], "LineNumber")] = {trace_.kernels.size() - 1,
                                                      kernel.counts.instructions.size()};
  kernel.counts.instructions.push_back(std::move(one));
  kernel.time.instructions.push_back(time);
}

Status Reader::readCode() {
  const fs::path path = directory_ / "code.json";
  const auto file = readJson(path);
  if (!file) return file.error();
  try {
    if (!file->is_object()) throw std::invalid_argument("it is not a JSON object");
    const Json &rows = report::list(*file, "code");
    if (rows.empty()) throw std::invalid_argument("it has no 'code'");
    if (rows.size() > kMostInstructions)
      throw std::invalid_argument(
          fmt::format("it has {} instructions, which is too much to show", rows.size()));
    for (const Json &row : rows) readRow(row);
  } catch (const std::exception &error) {
    return Error::of(fmt::format("{}: {}", path.string(), error.what()));
  }
  return Done{};
}

/// Which instruction has waited for which: "waitcnt" of a wave.
void Reader::readWave(const Json &file) {
  if (!file.is_object() || !file.contains("wave")) throw std::invalid_argument("it has no 'wave'");
  const Json &wave = file["wave"];
  if (!wave.is_object()) throw std::invalid_argument("'wave' is not an object");
  for (const Json &entry : report::list(wave, "waitcnt")) {
    if (!entry.is_array() || entry.size() < 2 || !entry[1].is_array())
      throw std::invalid_argument("an entry of 'waitcnt' is not a pair");
    const auto waits = by_line_.find(report::asNumber(entry[0], "waitcnt"));
    if (waits == by_line_.end()) continue;
    for (const Json &other : entry[1]) {
      if (!other.is_array() || other.empty())
        throw std::invalid_argument("an entry of 'waitcnt' names no instruction");
      const auto load = by_line_.find(report::asNumber(other[0], "waitcnt"));
      if (load == by_line_.end() || load->second.kernel != waits->second.kernel) continue;
      trace_.kernels[waits->second.kernel].time.instructions[waits->second.instruction].waits_for =
          load->second.instruction;
    }
  }
}

void Reader::readWaves() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(directory_, error))
    if (const std::string name = entry.path().filename().string();
        name.starts_with("se") && name.find("_wv") != name.npos && name.ends_with(".json"))
      files.push_back(entry.path());
  std::ranges::sort(files);
  if (files.size() > kMostWaveFiles) {
    problem(fmt::format("{} of {} waves are used", kMostWaveFiles, files.size()));
    files.resize(kMostWaveFiles);
  }
  for (const fs::path &path : files) {
    const auto file = readJson(path);
    if (!file) {
      problem(file.error().message());
      continue;
    }
    try {
      readWave(*file);
      ++trace_.wave_files;
    } catch (const std::exception &why) {
      problem(fmt::format("{}: {}", path.string(), why.what()));
    }
  }
}

/// {"0": [[time, unit, simd, slot, begins, kernel], …], "dispatches": {"1": name}}
void Reader::readOccupancy() {
  const fs::path path = directory_ / "occupancy.json";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  const auto file = readJson(path);
  if (!file) return problem(file.error().message());
  try {
    if (!file->is_object()) throw std::invalid_argument("it is not a JSON object");
    std::map<std::string, std::vector<WavesAt>> events; ///< by kernel: +1 and -1
    const auto names = file->find("dispatches");
    for (const auto &[engine, list] : file->items()) {
      if (!list.is_array()) continue; // the names, the version
      for (const Json &event : list) {
        if (!event.is_array() || event.size() < 6)
          throw std::invalid_argument("an event has not the six columns that it should have");
        const std::string id = std::to_string(report::asNumber(event[5], "kernel"));
        const bool begins =
            event[4].is_boolean() ? event[4].get<bool>() : report::asNumber(event[4], "start") != 0;
        std::string name = id;
        if (names != file->end() && names->is_object())
          if (const auto at = names->find(id); at != names->end() && at->is_string())
            name = at->get<std::string>();
        events[name].push_back({cyclesIn(event[0]), begins ? 1 : -1});
      }
    }
    for (auto &[name, list] : events) {
      const auto kernel = std::ranges::find_if(trace_.kernels, [&](const ProfiledKernel &k) {
        return k.counts.symbol == name || k.counts.name == name ||
               k.counts.symbol == name + ".kd" || k.counts.symbol + ".kd" == name;
      });
      ProfiledKernel *to = kernel != trace_.kernels.end() ? &*kernel
                           : trace_.kernels.size() == 1   ? trace_.kernels.data()
                                                          : nullptr;
      if (!to) continue;
      std::ranges::sort(list, {}, &WavesAt::time);
      int64_t waves = 0;
      for (WavesAt &at : list) {
        to->counts.waves += at.waves > 0 ? 1 : 0;
        at.waves = waves = std::max<int64_t>(waves + at.waves, 0);
      }
      const std::size_t step = (list.size() + kMostMoments - 1) / kMostMoments;
      for (std::size_t i = 0; i < list.size(); i += std::max<std::size_t>(step, 1))
        to->counts.waves_over_time.push_back(list[i]);
    }
  } catch (const std::exception &why) {
    problem(fmt::format("{}: {}", path.string(), why.what()));
  }
}

void Reader::finish() {
  for (ProfiledKernel &k : trace_.kernels) {
    double all = 0, waits = 0;
    for (std::size_t i = 0; i < k.counts.instructions.size(); ++i) {
      const auto hits = static_cast<double>(k.counts.instructions[i].executions);
      all += hits * (k.time.instructions[i].issue + k.time.instructions[i].waits);
      waits += hits * k.time.instructions[i].waits;
    }
    k.verdict.reason = fmt::format("from a thread trace: waves waited {:.0f} % of their time",
                                   all == 0 ? 0 : 100 * waits / all);
  }
}

Result<ThreadTrace> Reader::run() {
  if (const Status code = readCode(); !code) return code.error();
  readWaves();
  readOccupancy();
  finish();
  return std::move(trace_);
}

} // namespace

Result<ThreadTrace> readThreadTrace(const std::string &directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    return Error::of(fmt::format("{} is not a folder", directory));
  if (fs::exists(fs::path(directory) / "code.json", error)) return Reader(directory).run();
  std::vector<fs::path> folders;
  for (const auto &entry : fs::directory_iterator(directory, error))
    if (fs::exists(entry.path() / "code.json", error)) folders.push_back(entry.path());
  if (folders.empty())
    return Error::of(fmt::format("{} has no code.json: it is no decoded thread trace (rocprofv3 "
                                 "--att leaves them in folders named ui_output_...)",
                                 directory));
  std::ranges::sort(folders);
  auto trace = Reader(folders[0]).run();
  if (trace && folders.size() > 1)
    trace->problems.push_back(fmt::format("{} has {} traces; this is {}", directory, folders.size(),
                                          folders[0].filename().string()));
  return trace;
}

} // namespace fade::profile
