#include "analysis/run_log.h"

#include "analysis/dispatch_line.h"
#include "analysis/sampled.h"

#include "base/json_text.h"
#include "fade/gpu.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace fade::report {
namespace {

constexpr std::size_t kMostProblems = 20; // named one by one
constexpr uint64_t kNewestVersion = 1;
constexpr std::size_t kMostValues = 16;    // of an argument
constexpr std::size_t kMostTexts = 20'000; // lines of handlers
constexpr std::size_t kMostNotes = 16;     // on the exactness of checks
constexpr std::size_t kMostTables = 1'000;
constexpr std::size_t kMostTableRows = 100'000; // of their tables

/// Lanes may go down in memory.
int64_t strideOf(const Json &entry) {
  const auto at = entry.find("stride");
  if (at == entry.end() || !at->is_number_integer())
    throw std::invalid_argument("'stride' is not a whole number");
  return at->get<int64_t>();
}

/// Sizes of a launch: AQL packets have no larger ones.
std::array<uint32_t, 3> threeSmall(const Json &object, const char *key) {
  std::array<uint32_t, 3> result{};
  const auto all = three(object, key);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] > UINT32_MAX)
      throw std::invalid_argument(fmt::format("'{}' is larger than any launch", key));
    result[i] = static_cast<uint32_t>(all[i]);
  }
  return result;
}

/// Takes in one line after the other.
class Reader {
public:
  explicit Reader(RunLog &log) : log_(log) {}

  void findTarget(const std::string &line);
  void line(const std::string &text);
  void finish();

private:
  using AccessKey =
      std::tuple<uint32_t, bool, std::string, uint32_t, uint32_t, std::string, uint64_t>;

  void object(const Json &object, const std::string &text);
  void run(const Json &object);
  void dispatch(const Json &object);
  void dispatch(const DispatchLine &line);
  void arguments(const Json &object, Kernel &kernel);
  static void addValue(Argument &argument, uint64_t value, uint64_t allocation);
  void table(const Json &object);
  void death(const Json &object);
  void memory(const Json &object);
  void memoryTotal(const Json &object);
  void cache(const Json &object);
  void blocks(const Json &object);
  void flow(const Json &object);
  void hotspots(const Json &object);
  void code(const Json &object);
  void blockTimes(const Json &object);
  void placement(const Json &object);
  void pattern(const Json &object);
  void finding(const Json &object);
  Access &accessOf(uint32_t kernel, bool is_lds, const Json &entry);
  uint32_t kernelOf(const Json &object);
  uint32_t variantOf(std::string_view name);
  bool hasSeveralTargets() const;
  std::string targetOf(const Json &object) const;
  void problem(const std::string &what);

  RunLog &log_;
  std::map<AccessKey, std::size_t> access_by_key_;
  std::map<uint64_t, std::string> targets_, target_by_dispatch_; ///< of agents, of dispatches
  struct Memory {
    uint64_t needed = 0, used = 0, conflicts = 0;
    Dispatch *dispatch = nullptr; ///< once all are known
  };
  std::map<uint64_t, Memory> memory_by_dispatch_;
  DispatchLine dispatch_line_;
};

void Reader::problem(const std::string &what) {
  ++log_.bad_lines;
  if (log_.problems.size() < kMostProblems)
    log_.problems.push_back(fmt::format("line {}: {}", log_.line_count, what));
}

void Reader::line(const std::string &text) {
  ++log_.line_count;
  if (text.find_first_not_of(" \t\r") == std::string::npos) return;
  if (!hasSeveralTargets() && readDispatchLine(text, dispatch_line_))
    return dispatch(dispatch_line_);
  try {
    const Json object = parsedJson(text);
    if (object.is_discarded()) return problem("it is not JSON, or was cut off");
    if (!object.is_object()) return problem("it is not a JSON object");
    this->object(object, text);
  } catch (const Json::exception &) {
    problem("a field has an unexpected type");
  } catch (const std::invalid_argument &e) {
    problem(e.what());
  }
}

void Reader::object(const Json &object, const std::string &line) {
  const std::string type = text(object, "type");
  if (type.empty()) return problem("it has no 'type'");
  if (number(object, "version") > kNewestVersion)
    return problem(fmt::format("version {} of '{}' is newer than this fadeprobe",
                               number(object, "version"), type));
  if (type == "run") return run(object);
  if (type == "dispatch") return dispatch(object);
  if (type == "table") return table(object);
  if (type == "death") return death(object);
  if (type == "text") {
    const std::string said = text(object, "text");
    if (log_.texts.size() < kMostTexts) log_.texts.push_back(said);
    return;
  }
  if (type == "memory") return memory(object);
  if (type == "memory_total") return memoryTotal(object);
  if (type == "cache") return cache(object);
  if (type == "blocks") return blocks(object);
  if (type == "flow") return flow(object);
  if (type == "hotspots") return hotspots(object);
  if (type == "code") return code(object);
  if (type == "block_times") return blockTimes(object);
  if (type == "placement") return placement(object);
  if (type == "pattern") return pattern(object);
  if (type == "finding") return finding(object);
  if (type == "heatmap") {
    if (!object.contains("pages")) return problem("'heatmap' has no 'pages'");
    number(object, "dispatch_id");
    log_.heatmaps.push_back(line);
  }
  if (type == "summary") {
    log_.has_summary = true;
    if (const auto notes = object.find("notes"); notes != object.end() && notes->is_array())
      for (const Json &note : *notes)
        if (note.is_string()) log_.notes.push_back(note);
    if (object.contains("hint")) log_.hint = text(object, "hint");
    log_.is_sampled = log_.is_sampled || flag(object, "sample_automatic", false);
    for (const Json &one : objects(object, "skipped"))
      log_.skipped.push_back({text(one, "kernel"), text(one, "reason"), number(one, "count", 1)});
  }
}

/// Lines of a dispatch that do not say it are of the processor that the dispatch ran on.
void Reader::findTarget(const std::string &line) {
  const auto type = typeAtBegin(line);
  const bool is_run = type ? type == "run" : line.find("\"type\":\"run\"") != line.npos;
  if (!is_run && !hasSeveralTargets()) return;
  if (!is_run && (type ? type != "dispatch" : line.find("\"type\":\"dispatch\"") == line.npos))
    return;
  const Json object = parsedJson(line);
  if (!object.is_object()) return; // it is named later
  try {
    if (!is_run) {
      const auto at = targets_.find(number(object, "agent"));
      if (at != targets_.end()) target_by_dispatch_[number(object, "dispatch_id")] = at->second;
      return;
    }
    for (const Json &gpu : objects(object, "gpus"))
      targets_[number(gpu, "agent")] = text(gpu, "target");
  } catch (const std::exception &) { // the same
  }
}

bool Reader::hasSeveralTargets() const {
  return std::ranges::any_of(
      targets_, [&](const auto &one) { return one.second != targets_.begin()->second; });
}

/// Where it is needed to tell kernels of the same name apart.
std::string Reader::targetOf(const Json &object) const {
  if (!hasSeveralTargets()) return "";
  if (object.contains("target")) return text(object, "target");
  if (!object.contains("dispatch_id")) return "";
  const auto at = target_by_dispatch_.find(number(object, "dispatch_id"));
  return at == target_by_dispatch_.end() ? "" : at->second;
}

uint32_t Reader::kernelOf(const Json &object) {
  const std::string name = text(object, "kernel");
  if (name.empty()) throw std::invalid_argument("it names no 'kernel'");
  std::string target = targetOf(object);
  const std::string module = text(object, "module");
  // A module has code for one processor. Lines that are about all of them go to the first.
  if (target.empty() && hasSeveralTargets()) {
    const auto is_of = [&](const Kernel &k) { return k.name == name && k.module == module; };
    auto first = std::ranges::find_if(log_.kernels, is_of);
    if (first == log_.kernels.end()) first = std::ranges::find(log_.kernels, name, &Kernel::name);
    if (first != log_.kernels.end()) target = first->target;
  }
  const uint32_t index = log_.kernelIndex(name, target, module);
  if (!target.empty()) log_.kernels[index].target = target;
  Kernel &kernel = log_.kernels[index];
  if (object.contains("symbol")) kernel.symbol = text(object, "symbol");
  if (object.contains("target")) kernel.target = text(object, "target");
  if (object.contains("line_size"))
    kernel.line_size = static_cast<uint32_t>(numberWithin(object, "line_size", 4, 1 << 20));
  if (object.contains("banks"))
    kernel.banks = static_cast<uint32_t>(numberWithin(object, "banks", 1, 1 << 10));
  return index;
}

uint32_t Reader::variantOf(std::string_view name) {
  const auto at = std::ranges::find(log_.variants, name);
  const auto index = static_cast<uint32_t>(at - log_.variants.begin());
  if (at == log_.variants.end()) log_.variants.emplace_back(name);
  return index;
}

void Reader::dispatch(const Json &object) {
  Dispatch d;
  d.kernel = kernelOf(object);
  d.id = number(object, "dispatch_id");
  d.agent = number(object, "agent");
  d.queue = number(object, "queue");
  d.start_ns = maybeNumber(object, "start_ns");
  d.end_ns = maybeNumber(object, "end_ns");
  d.grid = threeSmall(object, "grid");
  d.workgroup = threeSmall(object, "workgroup");
  d.lds = number(object, "lds");
  const std::string variant = text(object, "variant");
  d.variant = variantOf(variant);
  d.is_observed = variant == "observed";
  d.instrumented = flag(object, "instrumented", false);
  d.complete = flag(object, "complete", true);
  d.records = number(object, "records");
  d.bytes = number(object, "bytes");
  d.dropped = number(object, "dropped");
  d.workgroups = number(object, "workgroups");
  d.workgroups_recorded = number(object, "workgroups_recorded");
  d.in_software = flag(object, "software", false);
  d.wave_instructions = maybeNumber(object, "wave_instructions");
  d.lane_instructions = maybeNumber(object, "lane_instructions");
  arguments(object, log_.kernels[d.kernel]);
  log_.dispatches.push_back(d);
}

/// Of a run on processors of one kind.
void Reader::dispatch(const DispatchLine &line) {
  Dispatch &d = log_.dispatches.emplace_back(line.dispatch);
  d.kernel = log_.kernelIndex(std::string(line.kernel), "", std::string(line.module));
  d.variant = variantOf(line.variant);
  d.is_observed = line.variant == "observed";
  std::vector<Argument> &arguments = log_.kernels[d.kernel].arguments;
  for (std::size_t i = 0; i < line.arguments.size(); ++i) {
    const DispatchLine::Argument &given = line.arguments[i];
    if (i == arguments.size()) arguments.emplace_back();
    Argument &argument = arguments[i];
    if (given.name.data()) argument.name = given.name;
    if (given.type.data()) argument.type = given.type;
    argument.offset = given.offset;
    argument.bytes = given.bytes;
    argument.is_pointer = argument.is_pointer || given.has_allocation;
    addValue(argument, given.value, given.allocation);
  }
}

void Reader::run(const Json &object) {
  Run run;
  run.fade = text(object, "fade");
  run.runtime = text(object, "runtime");
  run.hip = text(object, "hip");
  run.command = text(object, "command");
  run.date = text(object, "date");
  for (const Json &option : list(object, "options"))
    if (option.is_string()) run.options.push_back(option);
  for (const Json &gpu : objects(object, "gpus"))
    run.gpus.push_back({text(gpu, "target"), text(gpu, "name"), flag(gpu, "software", false)});
  log_.runs.push_back(std::move(run));
}

void Reader::arguments(const Json &object, Kernel &kernel) {
  if (!object.contains("arguments")) return;
  std::size_t i = 0;
  for (const Json &entry : objects(object, "arguments")) {
    if (i == kernel.arguments.size()) kernel.arguments.emplace_back();
    Argument &argument = kernel.arguments[i++];
    if (entry.contains("name")) argument.name = text(entry, "name");
    if (entry.contains("argument_type")) argument.type = text(entry, "argument_type");
    argument.offset = number(entry, "offset");
    argument.bytes = number(entry, "bytes");
    argument.is_pointer = argument.is_pointer || entry.contains("allocation");
    addValue(argument, number(entry, "value"), number(entry, "allocation"));
  }
}

void Reader::addValue(Argument &argument, uint64_t number, uint64_t allocation) {
  const std::pair value{number, allocation};
  if (argument.values.size() < kMostValues || argument.values.contains(value))
    ++argument.values[value];
  else
    ++argument.other_values;
}

/// What is shown of it is read when the page is made; here it is only looked at.
void Reader::table(const Json &object) {
  const std::size_t columns = list(object, "columns").size();
  if (columns == 0) throw std::invalid_argument("a table without columns");
  for (const Json &column : list(object, "columns"))
    if (!column.is_string()) throw std::invalid_argument("a column whose name is no text");
  std::size_t rows = 0;
  for (const Json &row : list(object, "rows")) {
    if (!row.is_array() || row.size() > columns || ++rows > kMostTableRows)
      throw std::invalid_argument("a table whose rows do not fit its columns");
    for (const Json &cell : row)
      if (!cell.is_string() && !cell.is_number())
        throw std::invalid_argument("a cell of a table that is neither text nor number");
  }
  (void)text(object, "title");
  if (log_.tables.size() < kMostTables) log_.tables.push_back(object);
}

void Reader::death(const Json &object) {
  if (text(object, "kind").empty()) throw std::invalid_argument("a death without 'kind'");
  log_.deaths.push_back(object);
}

Access &Reader::accessOf(uint32_t kernel, bool is_lds, const Json &entry) {
  const AccessKey key{kernel,
                      is_lds,
                      text(entry, "file"),
                      smallNumber(entry, "line"),
                      smallNumber(entry, "column"),
                      text(entry, "op"),
                      number(entry, "bytes")};
  const auto [at, is_new] = access_by_key_.try_emplace(key, log_.accesses.size());
  if (is_new) {
    Access access;
    std::tie(access.kernel, access.is_lds, access.file, access.line, access.column, access.op,
             access.bytes) = key;
    log_.accesses.push_back(std::move(access));
  }
  return log_.accesses[at->second];
}

void Reader::memory(const Json &object) {
  const uint32_t kernel = kernelOf(object);
  const uint64_t id = number(object, "dispatch_id");
  Memory &sum = memory_by_dispatch_[id];
  if (const auto waves = object.find("waves"); waves != object.end()) {
    Kernel &of = log_.kernels[kernel];
    of.waves += number(*waves, "count");
    of.wave_executions += number(*waves, "executions");
    of.longest_waves += number(*waves, "most");
  }
  for (const bool is_lds : {false, true})
    for (const Json &entry : objects(object, is_lds ? "lds" : "global")) {
      Access &access = accessOf(kernel, is_lds, entry);
      const uint64_t executions = number(entry, "executions");
      const uint64_t needed = number(entry, "lines_needed"), used = number(entry, "lines_used");
      const uint64_t wasted = entry.contains("lines_wasted") ? number(entry, "lines_wasted")
                                                             : used - std::min(needed, used);
      const uint64_t conflicts = number(entry, "conflicts");
      access.executions += executions;
      access.lanes += number(entry, "lanes");
      access.slots += number(entry, "lane_slots");
      access.machine = text(entry, "machine");
      if (const auto hottest = entry.find("hottest"); hottest != entry.end())
        access.hottest += number(*hottest, "operations");
      access.total_bytes += number(entry, "total_bytes");
      access.needed += needed;
      access.used += used;
      access.wasted += wasted;
      access.conflicts += conflicts;
      access.same_address += number(entry, "same_address");
      if (entry.contains("same_address_turns"))
        access.same_turns = access.same_turns.value_or(0) + number(entry, "same_address_turns");
      access.other_strides += number(entry, "other_strides");
      access.irregular += number(entry, "irregular");
      for (const Json &stride : objects(entry, "strides"))
        access.strides[strideOf(stride)] += number(stride, "executions");
      if (entry.contains("function")) access.function = text(entry, "function");
      if (entry.contains("via")) access.via = text(entry, "via");
      sum.needed += needed;
      sum.used += used;
      sum.conflicts += conflicts;
      if (executions == 0) continue;
      const double each =
          static_cast<double>(is_lds ? conflicts : wasted) / static_cast<double>(executions);
      if (each <= access.worst_waste) continue;
      access.worst_waste = each;
      access.worst_dispatch = id;
      access.advice = text(entry, "advice");
    }
}

/// The totals of a kernel say the same as its dispatches together, and have the advice for all.
void Reader::memoryTotal(const Json &object) {
  const uint32_t kernel = kernelOf(object);
  for (const bool is_lds : {false, true})
    for (const Json &entry : objects(object, is_lds ? "lds" : "global")) {
      Access &access = accessOf(kernel, is_lds, entry);
      access.advice = text(entry, "advice");
      access.source = text(entry, "source");
    }
}

void Reader::cache(const Json &object) {
  const uint32_t kernel = kernelOf(object);
  log_.kernels[kernel].l2_bytes = number(object, "l2_bytes");
  for (const Json &entry : objects(object, "allocations"))
    log_.kernels[kernel].footprints.push_back({number(entry, "size"), number(entry, "fetched"),
                                               number(entry, "written"), number(entry, "extent")});
  for (const Json &entry : objects(object, "accesses")) {
    CacheTraffic &traffic = accessOf(kernel, false, entry).cache;
    traffic.is_known = true;
    traffic.requests += number(entry, "requests");
    traffic.l1_hits += number(entry, "l1_hits");
    traffic.l2_hits += number(entry, "l2_hits");
    traffic.fetched += number(entry, "fetched");
    traffic.unused += number(entry, "unused");
    traffic.written += number(entry, "written");
    traffic.unwanted += number(entry, "unwanted");
  }
}

void Reader::blocks(const Json &object) {
  Flow &flow = log_.flows[kernelOf(object)];
  flow.wave_size = std::max<uint64_t>(number(object, "wave_size"), 1);
  for (const Json &entry : objects(object, "blocks")) {
    Block &block = flow.blocks[number(entry, "block")];
    block.id = number(entry, "block");
    block.function = text(entry, "function");
    block.file = text(entry, "file");
    block.line = smallNumber(entry, "line");
    if (!block.is_own) {
      block.lines.clear();
      for (const Json &line : list(entry, "lines"))
        block.lines.emplace_back(block.file, static_cast<uint32_t>(asNumber(line, "lines")));
    }
    block.executions += number(entry, "executions");
    block.lanes += number(entry, "lanes");
    for (const auto &[key, sum] :
         {std::pair("divergent", &block.divergent), std::pair("splits", &block.splits),
          std::pair("clocks", &block.clocks)})
      if (const auto value = maybeNumber(entry, key)) *sum = sum->value_or(0) + *value;
  }
  for (const Json &entry : objects(object, "lines")) {
    LineCount &line = log_.lines[{text(entry, "file"), smallNumber(entry, "line")}];
    line.executions += number(entry, "executions");
    line.lanes += number(entry, "lanes");
    line.slots += number(entry, "executions") * flow.wave_size;
  }
}

void Reader::flow(const Json &object) {
  Flow &flow = log_.flows[kernelOf(object)];
  for (const Json &entry : objects(object, "blocks")) {
    Block &block = flow.blocks[number(entry, "block")];
    block.id = number(entry, "block");
    block.is_own = true;
    block.lines.clear();
    for (const Json &line : objects(entry, "lines"))
      block.lines.emplace_back(text(line, "file"), smallNumber(line, "line"));
  }
  for (const Json &entry : objects(object, "edges"))
    flow.edges.push_back({maybeNumber(entry, "from"), number(entry, "to"),
                          number(entry, "executions"), number(entry, "lanes")});
}

void Reader::blockTimes(const Json &object) {
  Flow &flow = log_.flows[kernelOf(object)];
  for (const Json &entry : objects(object, "blocks")) {
    const auto at = flow.blocks.find(number(entry, "block"));
    if (at == flow.blocks.end()) continue;
    at->second.p50 = maybeNumber(entry, "p50");
    at->second.p90 = maybeNumber(entry, "p90");
    at->second.p99 = maybeNumber(entry, "p99");
  }
}

void Reader::placement(const Json &object) {
  auto &units = log_.placements[kernelOf(object)];
  for (const Json &entry : objects(object, "units"))
    units.push_back({number(entry, "xcc"), number(entry, "engine"), number(entry, "array"),
                     number(entry, "unit"), number(entry, "waves")});
}

void Reader::hotspots(const Json &object) {
  KernelCounts &counts = log_.counts[kernelOf(object)];
  counts.by_blocks = flag(object, "by_blocks", false);
  counts.doubt = text(object, "doubt");
  counts.wave_size = numberWithin(object, "wave_size", 1, 64);
  counts.dispatches += number(object, "dispatches");
  counts.executions += number(object, "executions");
  for (const Json &entry : objects(object, "mix"))
    if (text(entry, "unit") == "valu") {
      counts.valu += number(entry, "executions");
      counts.valu_lanes += number(entry, "lanes");
    }
  if (const auto bytes = object.find("bytes"); bytes != object.end() && bytes->is_object())
    counts.scratch_bytes += number(*bytes, "scratch");
  for (const Json &entry : objects(object, "instructions")) {
    InstructionCount &one = counts.instructions[number(entry, "address")];
    one.text = text(entry, "text");
    one.file = text(entry, "file");
    one.line = smallNumber(entry, "line");
    one.column = smallNumber(entry, "column");
    one.executions += number(entry, "executions");
    one.lanes += number(entry, "lanes");
    one.flops += number(entry, "flops");
    one.bytes += number(entry, "bytes");
    for (const auto &[key, sum] :
         {std::pair("taken", &one.taken), std::pair("splits", &one.splits)})
      if (const auto value = maybeNumber(entry, key)) *sum = sum->value_or(0) + *value;
  }
  for (const Json &entry : objects(object, "mix")) {
    auto &[executions, lanes] = counts.mix[text(entry, "unit")];
    executions += number(entry, "executions");
    lanes += number(entry, "lanes");
  }
  for (const auto &[key, to] :
       {std::pair("flops", &counts.flops), std::pair("bytes", &counts.bytes)})
    if (const auto at = object.find(key); at != object.end() && at->is_object())
      for (const auto &[name, value] : at->items()) (*to)[name] += asNumber(value, key);
  for (const Json &entry : objects(object, "lines")) {
    LineCount &line = log_.counted_lines[{text(entry, "file"), smallNumber(entry, "line")}];
    line.executions += number(entry, "runs");
    line.instructions += number(entry, "executions");
    line.lanes += number(entry, "lanes");
    line.slots += number(entry, "executions") * counts.wave_size;
  }
}

void Reader::code(const Json &object) {
  KernelCode &code = log_.code[kernelOf(object)];
  code.vgprs = number(object, "vgprs");
  code.agprs = std::min(number(object, "agprs"), code.vgprs);
  code.sgprs = number(object, "sgprs");
  code.lds = number(object, "lds");
  code.scratch = number(object, "scratch");
  code.spilled = number(object, "spilled");
}

void Reader::pattern(const Json &object) {
  Pattern p;
  p.kernel = kernelOf(object);
  p.is_lds = text(object, "space") == "lds";
  p.which = text(object, "which");
  p.file = text(object, "file");
  p.line = smallNumber(object, "line");
  p.column = smallNumber(object, "column");
  p.op = text(object, "op");
  p.bytes = number(object, "bytes");
  p.lane_bytes = numberWithin(object, "lane_bytes", 1, 4096);
  p.dispatch = number(object, "dispatch_id");
  p.line_size = log_.kernels[p.kernel].line_size;
  p.banks = log_.kernels[p.kernel].banks;
  p.needed = number(object, "lines_needed");
  p.used = number(object, "lines_used");
  p.conflicts = number(object, "conflicts");
  if (object.contains("workgroup")) p.workgroup = three(object, "workgroup");
  const std::string mask = text(object, "mask");
  if (!mask.starts_with("0x") || mask.size() > 18 ||
      mask.find_first_not_of("0123456789abcdef", 2) != mask.npos || mask.size() == 2)
    throw std::invalid_argument("'mask' is not a hexadecimal number of 64 bits");
  p.mask = std::stoull(mask, nullptr, 16);
  for (const Json &address : list(object, "addresses"))
    p.addresses.push_back(asNumber(address, "addresses"));
  if (p.addresses.empty() || static_cast<int>(p.addresses.size()) != std::popcount(p.mask))
    throw std::invalid_argument("'addresses' are not as many as the lanes of 'mask'");
  log_.patterns.push_back(std::move(p));
}

/// What is shown of it is read when the page is made; here it is only looked at.
void Reader::finding(const Json &object) {
  if (object.contains("cause")) return; // of --findings: they follow from the other lines
  if (text(object, "check").empty() || text(object, "message").empty())
    throw std::invalid_argument("a finding without 'check' or 'message'");
  for (const char *side : {"other", "allocation"})
    if (const auto at = object.find(side); at != object.end() && !at->is_object())
      throw std::invalid_argument(fmt::format("'{}' is not an object", side));
  log_.was_checked = true;
  if (const std::string exactness = text(object, "exactness");
      !exactness.empty() && std::ranges::count(log_.notes, exactness) == 0 &&
      log_.notes.size() < kMostNotes)
    log_.notes.push_back(exactness);
  log_.errors.push_back(object);
}

void Reader::finish() {
  for (Dispatch &d : log_.dispatches)
    if (const auto at = memory_by_dispatch_.find(d.id); at != memory_by_dispatch_.end())
      at->second.dispatch = &d; // the last one of that number
  for (const auto &[id, sum] : memory_by_dispatch_) {
    if (!sum.dispatch) continue;
    sum.dispatch->has_memory = true;
    sum.dispatch->lines_needed = sum.needed;
    sum.dispatch->lines_used = sum.used;
    sum.dispatch->conflicts = sum.conflicts;
  }
  if (log_.is_sampled) scaleSampled(log_);
  if (log_.bad_lines > log_.problems.size())
    log_.problems.push_back(
        fmt::format("and {} more lines like these", log_.bad_lines - log_.problems.size()));
}

} // namespace

bool RunLog::inSoftware() const {
  const auto has_software = [](const Run &run) {
    return std::ranges::any_of(run.gpus, &Run::Gpu::in_software);
  };
  return std::ranges::any_of(runs, has_software) ||
         std::ranges::any_of(dispatches, &Dispatch::in_software);
}

bool hasNamesake(const RunLog &log, const Kernel &kernel) {
  return std::ranges::any_of(log.kernels, [&](const Kernel &other) {
    return other.name == kernel.name && other.target == kernel.target &&
           other.module != kernel.module;
  });
}

void readDeaths(const std::string &path, uint64_t offset, RunLog &log) {
  std::ifstream in(path, std::ios::binary);
  if (!in.seekg(static_cast<std::streamoff>(offset))) return;
  RunLog deaths;
  Reader reader(deaths);
  for (std::string line; std::getline(in, line);) reader.line(line);
  std::ranges::move(deaths.deaths, std::back_inserter(log.deaths));
}

uint32_t RunLog::kernelIndex(const std::string &name, const std::string &target,
                             const std::string &module) {
  const auto next = static_cast<uint32_t>(kernels.size());
  const auto [at, is_first] = kernel_by_name_.try_emplace({name, target}, OfName{next});
  OfName &of_name = at->second;
  if (!is_first && module.empty()) return of_name.first;
  const auto [known, is_new] = of_name.by_module.try_emplace(module, next);
  if (is_new) kernels.push_back({name, "", "", module, {}, kUsualLine, kUsualBanks});
  return known->second;
}

Result<RunLog> readRunLog(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  const auto fail = [&] {
    return Error::of(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  };
  if (!in) return fail();
  RunLog log;
  Reader reader(log);
  if (std::error_code error;
      std::filesystem::is_regular_file(path, error)) { // it can be read twice
    for (std::string line; std::getline(in, line);) reader.findTarget(line);
    in.clear();
    in.seekg(0);
  }
  for (std::string line; std::getline(in, line);) reader.line(line);
  if (in.bad()) return fail();
  reader.finish();
  // Findings stand alone: a check has no summary.
  if (log.was_checked && log.dispatches.empty()) log.has_summary = true;
  if (log.dispatches.empty() && log.accesses.empty() && log.counts.empty() && log.runs.empty() &&
      !log.has_summary)
    return Error::of(fmt::format("{} holds no JSON lines of a report{}", path,
                                 log.problems.empty() ? "" : "; " + log.problems.front()));
  return log;
}

} // namespace fade::report
