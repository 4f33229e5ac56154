#include "profiles/thread_trace.h"

#include "analysis/json_fields.h"
#include "base/json_text.h"
#include "codeobj/demangle.h"

#include <algorithm>
#include <array>
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
  Json json = parsedJson(std::string(std::istreambuf_iterator<char>(in), {}));
  if (json.is_discarded())
    return Error::of(fmt::format("{} is not JSON, or was cut off", path.string()));
  return json;
}

double cyclesIn(const Json &value) {
  if (!value.is_number()) throw std::invalid_argument("a cycle count is not a number");
  const auto cycles = value.get<double>();
  if (cycles > kMostCycles) throw std::invalid_argument("a cycle count is too large");
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
  /// Of the table alone.
  Result<ThreadTrace> runOn(const fs::path &statistics);

private:
  struct Place {
    std::size_t kernel = 0, instruction = 0;
  };

  Status readCode();
  Status readStatistics(const fs::path &path);
  void readRow(const Json &row);
  void readWaves();
  void readWave(const Json &file);
  template <typename F> bool readOptional(const char *name, F &&read);
  void readOccupancy();
  void readTotals();
  void finish();
  void addKernel(const std::string &symbol, const std::string &name);
  void problem(const std::string &what) {
    if (trace_.problems.size() < kMostProblems) trace_.problems.push_back(what);
  }

  fs::path directory_;
  ThreadTrace trace_;
  TraceTotals totals_;                          ///< of all kernels
  std::unordered_map<uint64_t, Place> by_line_; ///< number in code.json
};

/// Hands over the JSON object in a file of the trace that need not be there. False if it is not as
/// it should be, which is said.
template <typename F> bool Reader::readOptional(const char *name, F &&read) {
  const fs::path path = directory_ / name;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return true;
  try {
    const auto file = readJson(path);
    if (!file) {
      problem(file.error().message());
      return false;
    }
    if (!file->is_object()) throw std::invalid_argument("it is not a JSON object");
    read(*file);
    return true;
  } catch (const std::exception &why) {
    problem(fmt::format("{}: {}", path.string(), why.what()));
    return false;
  }
}

void Reader::addKernel(const std::string &symbol, const std::string &name) {
  KernelProfile &k = trace_.kernels.emplace_back().counts;
  k.symbol = symbol;
  k.name = name.empty() ? codeobj::demangle(symbol) : name;
  k.is_traced = true;
}

/// [text, _, number, source, code object, address, hits, latency, stall, idle]
void Reader::readRow(const Json &row) {
  if (!row.is_array() || row.size() < 10 || !row[0].is_string() || !row[3].is_string())
    throw std::invalid_argument("a row of 'code' does not have ten columns");
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
          fmt::format("it has {} instructions, too many to show", rows.size()));
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
  (void)readOptional("occupancy.json", [&](const Json &file) {
    std::map<std::string, std::vector<WavesAt>> events; ///< by kernel: +1 and -1
    const auto names = file.find("dispatches");
    for (const auto &[engine, list] : file.items()) {
      if (!list.is_array()) continue; // the names, the version
      for (const Json &event : list) {
        if (!event.is_array() || event.size() < 6)
          throw std::invalid_argument("an event does not have six columns");
        const std::string id = std::to_string(report::asNumber(event[5], "kernel"));
        const bool begins =
            event[4].is_boolean() ? event[4].get<bool>() : report::asNumber(event[4], "start") != 0;
        std::string name = id;
        if (names != file.end() && names->is_object())
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
  });
}

/// When each wave was there: filenames.json, {"wave_filenames": {engine: {simd: {slot: {number:
/// [file, begin, end]}}}}}. The trace is of one compute unit of each engine.
void Reader::readTotals() {
  const bool is_right = readOptional("filenames.json", [&](const Json &file) {
    const auto engines = file.find("wave_filenames");
    if (engines == file.end() || !engines->is_object()) return;
    for (const auto &[engine, simds] : engines->items()) {
      double first = kMostCycles, last = 0;
      for (const auto &[simd, slots] : simds.items())
        for (const auto &[slot, waves] : slots.items())
          for (const auto &[number, wave] : waves.items()) {
            if (!wave.is_array() || wave.size() < 3)
              throw std::invalid_argument("a wave does not have three columns");
            const double begin = cyclesIn(wave[1]), end = cyclesIn(wave[2]);
            first = std::min(first, begin);
            last = std::max(last, end);
            totals_.wave_cycles += std::max(end - begin, 0.0);
          }
      totals_.simd_cycles += std::max(last - first, 0.0) * static_cast<double>(simds.size());
    }
  });
  if (!is_right) totals_ = {};
}

/// Cycles that all waves spent on a kernel's instructions.
struct SpentCycles {
  double all = 0, waits = 0;
  double for_memory = 0, for_lds = 0; ///< of those waits that say what for
};

SpentCycles spentIn(ProfiledKernel &k) {
  SpentCycles spent;
  TraceTotals &totals = *k.counts.trace;
  for (std::size_t i = 0; i < k.counts.instructions.size(); ++i) {
    const InstructionTime &time = k.time.instructions[i];
    const auto hits = static_cast<double>(k.counts.instructions[i].executions);
    const double issue = hits * time.issue, waits = hits * time.waits;
    spent.all += issue + waits;
    spent.waits += waits;
    const auto unit = k.counts.instructions[i].info.unit;
    const auto awaited = time.waits_for ? k.counts.instructions[*time.waits_for].info.unit : unit;
    if (awaited == codeobj::Unit::Lds) spent.for_lds += waits;
    if (awaited == codeobj::Unit::Vmem || awaited == codeobj::Unit::Smem) spent.for_memory += waits;
    if (unit == codeobj::Unit::Valu) totals.valu_cycles += issue;
    if (unit == codeobj::Unit::Matrix) totals.matrix_cycles += issue;
    if (unit == codeobj::Unit::Salu || unit == codeobj::Unit::Branch) totals.scalar_cycles += issue;
  }
  return spent;
}

/// From what a trace has: who was busy, and what waves waited for. Bytes are not in it, so that
/// waiting for memory is latency, also where its bandwidth is the reason.
void judge(ProfiledKernel &k, const SpentCycles &spent) {
  constexpr double kBusy = 0.6, kWaits = 0.5;
  const TraceTotals &t = *k.counts.trace;
  const double whole = t.simd_cycles > 0 ? t.simd_cycles : spent.all;
  const auto share = [](double of, double all) { return all > 0 ? of / all : 0; };
  const bool by_matrix = t.matrix_cycles > t.valu_cycles;
  const double busy = share(by_matrix ? t.matrix_cycles : t.valu_cycles, whole);
  const double waits = share(spent.waits, spent.all);
  Classification &verdict = k.verdict;
  verdict.reason =
      fmt::format("from a thread trace: waves waited {:.0f} % of their time", 100 * waits);
  verdict.evidence = {{"wait_share", waits, "share"},
                      {"memory_wait_share", share(spent.for_memory, spent.all), "share"},
                      {"lds_wait_share", share(spent.for_lds, spent.all), "share"}};
  if (t.simd_cycles > 0)
    verdict.evidence.push_back({by_matrix ? "matrix_busy" : "valu_busy", busy, "share"});
  if (busy >= kBusy) {
    verdict.kind = KernelClass::compute_throughput;
    verdict.limit = by_matrix ? Limit::matrix : Limit::valu;
    verdict.reason += fmt::format(", and the {} was busy for {:.0f} % of it",
                                  by_matrix ? "matrix unit" : "vector ALU", 100 * busy);
    verdict.advice = "use fewer or cheaper operations";
  } else if (waits >= kWaits && spent.for_lds > spent.for_memory) {
    verdict.kind = KernelClass::lds;
    verdict.limit = Limit::lds;
    verdict.reason += ", most of it for LDS";
    verdict.advice = "look for bank conflicts, and keep more in registers";
  } else if (waits >= kWaits) {
    verdict.kind = KernelClass::latency;
    verdict.limit = Limit::latency;
    if (spent.for_memory > 0)
      verdict.reason += fmt::format(", {:.0f} % for memory", 100 * spent.for_memory / spent.all);
    verdict.advice = "have more loads under way at a time: unroll, load ahead, or more waves; a "
                     "trace has no bytes: profile the application to see whether bandwidth is "
                     "the limit";
  }
}

void Reader::finish() {
  for (ProfiledKernel &k : trace_.kernels) {
    k.counts.trace = totals_;
    judge(k, spentIn(k));
  }
}

/// Fields of a line of CSV; quotes around a field, and doubled within it.
std::vector<std::string> fieldsOf(const std::string &line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

/// stats_ui_output_....csv: one instruction in each line, by its columns' names.
Status Reader::readStatistics(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error::of(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  constexpr std::array kColumns = {"Instruction", "Source",  "CodeObj", "Vaddr",
                                   "Hitcount",    "Latency", "Stall",   "Idle"};
  std::array<std::size_t, kColumns.size()> at{};
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> heads = fieldsOf(line);
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    at[i] = static_cast<std::size_t>(std::ranges::find(heads, kColumns[i]) - heads.begin());
    if (at[i] == heads.size())
      return Error::of(fmt::format("{}: no column '{}'", path.string(), kColumns[i]));
  }
  try {
    for (std::size_t number = 1; std::getline(in, line); ++number) {
      if (number > kMostInstructions)
        throw std::invalid_argument("it has more instructions than can be shown");
      const std::vector<std::string> fields = fieldsOf(line);
      if (fields.size() < heads.size()) throw std::invalid_argument("a line was cut off");
      const auto whole = [&](std::size_t column) {
        const std::string &text = fields[at[column]];
        if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != text.npos)
          throw std::invalid_argument(
              fmt::format("line {}: '{}' is not a number", number + 1, kColumns[column]));
        return std::stoull(text);
      };
      readRow(Json::array({fields[at[0]], 0, number, fields[at[1]], whole(2), whole(3), whole(4),
                           whole(5), whole(6), whole(7)}));
    }
    if (trace_.kernels.empty()) throw std::invalid_argument("it has no instructions");
  } catch (const std::exception &error) {
    return Error::of(fmt::format("{}: {}", path.string(), error.what()));
  }
  return Done{};
}

Result<ThreadTrace> Reader::runOn(const fs::path &statistics) {
  if (const Status read = readStatistics(statistics); !read) return read.error();
  finish();
  return std::move(trace_);
}

Result<ThreadTrace> Reader::run() {
  if (const Status code = readCode(); !code) return code.error();
  readWaves();
  readOccupancy();
  readTotals();
  finish();
  return std::move(trace_);
}

} // namespace

Result<ThreadTrace> readThreadTrace(const std::string &place) {
  std::error_code error;
  if (fs::is_regular_file(place, error) && place.ends_with(".csv"))
    return Reader(fs::path(place).parent_path()).runOn(place);
  if (!fs::is_directory(place, error)) return Error::of(fmt::format("{} is not a folder", place));
  if (fs::exists(fs::path(place) / "code.json", error)) return Reader(place).run();
  std::vector<fs::path> folders, tables;
  for (const auto &entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename();
    if (fs::exists(entry.path() / "code.json", error)) folders.push_back(entry.path());
    if (name.starts_with("stats_") && name.ends_with(".csv")) tables.push_back(entry.path());
  }
  if (folders.empty() && tables.empty())
    return Error::of(fmt::format("{} has no code.json: it is no decoded thread trace (rocprofv3 "
                                 "--att leaves them in folders named ui_output_..., and a table "
                                 "beside each, stats_....csv)",
                                 place));
  std::vector<fs::path> &traces = folders.empty() ? tables : folders;
  std::ranges::sort(traces);
  auto trace = folders.empty() ? Reader(place).runOn(traces[0]) : Reader(traces[0]).run();
  if (trace && traces.size() > 1)
    trace->problems.push_back(fmt::format("{} has {} traces; this is {}", place, traces.size(),
                                          traces[0].filename().string()));
  return trace;
}

} // namespace fade::profile
