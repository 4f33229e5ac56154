#include "kernels/block_counted_run.h"

#include "analysis/machine_blocks/block_counts.h"
#include "codeobj/demangle.h"
#include "codeobj/finder.h"
#include "codeobj/host_lines.h"
#include "codeobj/module_id.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace fade::profile {
namespace {

using codeobj::CodeObject;
using codeobj::KernelCode;
using codeobj::SourceMap;
using report::RunLog;

constexpr uint8_t kFunction = 2; ///< STT_FUNC
/// Functions that kernels may call are looked at up to this size, all together.
constexpr uint64_t kMostFunctionBytes = uint64_t{1} << 20;

/// The innermost place that is not in a header of the system.
codeobj::SourceFrame placeOf(const SourceMap &map, uint64_t address) {
  codeobj::SourceFrame place = map.place(address);
  if (!codeobj::isSystemSource(place.file)) return place;
  for (const codeobj::SourceFrame &frame : map.stack(address))
    if (!codeobj::isSystemSource(frame.file) && frame.line != 0) return frame;
  return place;
}

class BlockCounter {
public:
  BlockCounter(RunLog &log, uint32_t kernel, const CodeObject &object, const SourceMap &map)
      : log_(log), kernel_(kernel), object_(object), map_(map) {
    for (const auto &[id, block] : log.flows[kernel].blocks)
      blocks_[id] = {block.executions, block.lanes};
    for (const report::Edge &edge : log.flows[kernel].edges)
      if (edge.from) edges_[{*edge.from, edge.to}] = {edge.executions, edge.lanes};
  }

  /// Empty, or why there are no counts.
  std::string count(const codeobj::Kernel &kernel) {
    const auto code = codeobj::analyzeKernel(object_, kernel);
    if (!code) return code.error().message();
    const PlacedCode placed = place(*code);
    if (!placed.has_marks)
      return "its code cannot be mapped to blocks: it needs line tables "
             "(-gline-tables-only) and this version of FADE's plugin";
    counts_.doubt = placed.doubt;
    add(*code, placed, true);
    const bool calls = std::ranges::any_of(code->info, [](const codeobj::InstructionInfo &info) {
      return info.flow == codeobj::Flow::Call;
    });
    if (calls) addFunctions(kernel);
    finish();
    log_.counts[kernel_] = std::move(counts_);
    return "";
  }

private:
  PlacedCode place(const KernelCode &code) const {
    return placeBlocks(code, blocks_, edges_,
                       [&](uint64_t address) { return map_.discriminator(address); });
  }

  void addFunctions(const codeobj::Kernel &kernel) {
    const auto disassembler =
        codeobj::Disassembler::create(object_.target(), kernel.descriptor.wavefront_size);
    if (!disassembler) return;
    uint64_t left = kMostFunctionBytes;
    for (const codeobj::Symbol &function : object_.symbols()) {
      if (function.type != kFunction || function.size == 0 || function.size > left) continue;
      if (object_.findKernel(function.name) || function.name.starts_with("__fade_")) continue;
      const auto bytes = object_.code(function.value, function.size);
      if (!bytes) continue;
      left -= function.size;
      KernelCode code = codeobj::analyze((*disassembler)->disassemble(*bytes, function.value));
      if (codeobj::hasScratch(kernel)) codeobj::findScratch(code);
      const PlacedCode placed = place(code);
      if (placed.has_marks)
        add(code, placed, false);
      else if (counts_.doubt.empty())
        counts_.doubt = fmt::format("instructions of {} are not counted, if it is called",
                                    codeobj::demangle(function.name));
      if (placed.has_marks && counts_.doubt.empty()) counts_.doubt = placed.doubt;
    }
  }

  void add(const KernelCode &code, const PlacedCode &placed, bool is_kernel) {
    for (std::size_t i = 0; i < code.instructions.size(); ++i) {
      const codeobj::Instruction &one = code.instructions[i];
      InstructionWork work = placed.work[i];
      if (!is_kernel && work.executions == 0) continue;
      addWork(code.info[i], work, sums_);
      const codeobj::SourceFrame at = placeOf(map_, one.address);
      report::InstructionCount count;
      count.text = one.text;
      count.file = at.line == 0 ? "" : at.file;
      count.line = at.line;
      count.column = at.column;
      count.executions = work.executions;
      count.lanes = work.lanes;
      count.flops = work.flops;
      count.bytes = work.bytes;
      counts_.instructions[one.address] = std::move(count);
      counts_.executions += work.executions;
      auto &[executions, lanes] = counts_.mix[std::string(codeobj::to_string(code.info[i].unit))];
      executions += work.executions;
      lanes += work.lanes;
    }
  }

  void finish() {
    counts_.by_blocks = true;
    counts_.wave_size = log_.flows[kernel_].wave_size;
    for (const report::Dispatch &d : log_.dispatches)
      counts_.dispatches += d.kernel == kernel_ && d.instrumented;
    const auto &[valu, lanes] = counts_.mix["valu"];
    counts_.valu = valu;
    counts_.valu_lanes = lanes;
    counts_.flops = sums_.flops;
    counts_.bytes = sums_.bytes;
    counts_.scratch_bytes = counts_.bytes["scratch"];
  }

  RunLog &log_;
  uint32_t kernel_;
  const CodeObject &object_;
  const SourceMap &map_;
  BlockCountsBySite blocks_;
  BlockEdges edges_;
  WorkSums sums_;
  report::KernelCounts counts_;
};

/// Looks for the code of kernels in one file after the other.
class CodeSearch {
public:
  explicit CodeSearch(RunLog &log) : log_(log), found_(log.kernels.size()) {
    for (const auto &[kernel, flow] : log.flows)
      if (!log.counts.contains(kernel) && !flow.blocks.empty()) wanted_.insert(kernel);
  }

  /// `exact`: only kernels of the very modules that ran; else those that were not found and have
  /// no namesake.
  void look(const std::string &file, bool exact) {
    if (std::ranges::all_of(wanted_, [&](uint32_t k) { return is_exact_.contains(k); })) return;
    const codeobj::CodeHandler handler{[&](const codeobj::FoundCode &found) {
                                         object(found, exact);
                                         return true;
                                       },
                                       [](const Error &) {}};
    // Files without code, or that are gone, just have no kernels.
    if (const auto status = codeobj::findCode(file, handler); !status) return;
  }

  std::vector<std::string> problems() {
    for (const uint32_t k : wanted_)
      if (!found_[k])
        problems_.push_back(fmt::format(
            "{}: its code was not found in the program and its libraries", log_.kernels[k].name));
    return std::move(problems_);
  }

private:
  void object(const codeobj::FoundCode &found, bool exact) {
    const std::string module = exact ? codeobj::moduleIdOf(found.blob.bytes()) : "";
    const auto fits = [&](uint32_t k) {
      if (is_exact_.contains(k)) return false;
      if (exact) return log_.kernels[k].module == module;
      if (hasNamesake(log_, log_.kernels[k])) return false;
      const std::string &target = log_.kernels[k].target;
      return target.empty() ? isOfRun(found.target.processor) : target == found.target.processor;
    };
    if (std::ranges::none_of(wanted_, fits)) return;
    const auto object = found.open();
    if (!object) return;
    std::shared_ptr<const SourceMap> map;
    for (std::size_t i = 0; i < (*object)->kernelCount(); ++i)
      for (const uint32_t k : wanted_) {
        const report::Kernel &kernel = log_.kernels[k];
        const std::string_view name = (*object)->kernelName(i).name;
        if (!fits(k) || !(*object)->findClone(i)) continue;
        if (kernel.symbol.empty() ? kernel.name != codeobj::demangle(name) : kernel.symbol != name)
          continue;
        if (!map)
          if (const auto opened = SourceMap::open(*object)) map = *opened;
        if (map) count(**object, i, k, *map);
        if (exact) is_exact_.insert(k);
      }
  }

  bool isOfRun(const std::string &processor) const {
    return std::ranges::any_of(log_.runs, [&](const report::Run &run) {
      return std::ranges::find(run.gpus, processor, &report::Run::Gpu::target) != run.gpus.end();
    });
  }

  void count(const CodeObject &object, std::size_t index, uint32_t k, const SourceMap &map) {
    if (found_[k]++) { // blocks of which?
      if (log_.counts.erase(k) != 0)
        problems_.push_back(fmt::format(
            "{}: several kernels have this name, and cannot be told apart", log_.kernels[k].name));
      return;
    }
    const auto kernel = object.kernel(index);
    const std::string problem =
        kernel ? BlockCounter(log_, k, object, map).count(*kernel) : kernel.error().message();
    if (!problem.empty()) problems_.push_back(log_.kernels[k].name + ": " + problem);
  }

  RunLog &log_;
  std::set<uint32_t> wanted_, is_exact_;
  std::vector<unsigned> found_;
  std::vector<std::string> problems_;
};

} // namespace

std::vector<std::string> countByBlocks(RunLog &log, const std::vector<std::string> &files) {
  CodeSearch search(log);
  for (const bool exact : {true, false})
    for (const std::string &file : files) search.look(file, exact);
  return search.problems();
}

void useOwnInstructions(RunLog &log, const std::vector<std::string> &files) {
  std::map<uint32_t, uint64_t> twins; // dispatches of each kernel
  for (const report::Dispatch &d : log.dispatches)
    if (!d.ranAsCompiled() && d.wave_instructions) ++twins[d.kernel];
  if (twins.empty()) return;
  if (log.is_sampled) // counts stand for those, too, that were not recorded
    for (auto &[kernel, count] : twins)
      count = static_cast<uint64_t>(
          std::ranges::count(log.dispatches, kernel, &report::Dispatch::kernel));
  RunLog blocks;
  blocks.kernels = log.kernels;
  blocks.runs = log.runs;
  for (const auto &[kernel, flow] : log.flows)
    if (twins.contains(kernel)) blocks.flows.emplace(kernel, flow);
  // The lines may have them: the program may be another one by now.
  for (const auto &[kernel, counts] : log.counts)
    if (twins.contains(kernel) && counts.by_blocks) blocks.counts.emplace(kernel, counts);
  // Blocks of a sample are not those of the whole, unless they were scaled.
  if (log.notes.empty() || log.is_sampled) (void)countByBlocks(blocks, files);
  for (report::Dispatch &d : log.dispatches) {
    if (d.ranAsCompiled() || !d.wave_instructions) continue;
    d.wave_instructions = d.lane_instructions = std::nullopt;
    const auto counts = blocks.counts.find(d.kernel);
    if (counts == blocks.counts.end()) continue;
    d.wave_instructions = counts->second.executions / twins[d.kernel];
    d.has_own_instructions = true;
  }
  // The model of cost works on them; those of an observer are there already.
  for (auto &[kernel, counts] : blocks.counts) log.counts.try_emplace(kernel, std::move(counts));
}

} // namespace fade::profile
