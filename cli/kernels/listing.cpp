#include "kernels/listing.h"

#include "analysis/alu_estimate.h"
#include "base/source_file.h"
#include "codeobj/demangle.h"
#include "codeobj/finder.h"
#include "codeobj/host_lines.h"
#include "codeobj/kernel_code.h"
#include "codeobj/module_id.h"
#include "codeobj/occupancy.h"
#include "codeobj/source_map.h"
#include "kernels/kernel_facts.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace fade::report {
namespace {

constexpr std::size_t kMostInstructions = 20'000; // of a kernel
constexpr std::size_t kMostOfTwin = 20'000;
constexpr std::size_t kLongestLine = 1000;
constexpr std::size_t kMostLines = 50'000; // of a file

/// The innermost place in the application's own source, or the innermost of all.
codeobj::SourceFrame ownPlace(const codeobj::SourceMap &map, uint64_t address) {
  codeobj::SourceFrame place = map.place(address);
  if (!codeobj::isSystemSource(place.file)) return place;
  for (const codeobj::SourceFrame &frame : map.stack(address))
    if (!codeobj::isSystemSource(frame.file) && frame.line != 0) return frame;
  return place;
}

/// The largest dispatch stands for all: of most kernels they are launched alike.
codeobj::Launch launchOf(const RunLog &log, uint32_t kernel) {
  codeobj::Launch launch;
  uint64_t most = 0;
  for (const Dispatch &d : log.dispatches) {
    const uint64_t all = uint64_t{d.grid[0]} * d.grid[1] * d.grid[2];
    if (d.kernel != kernel || all <= most) continue;
    most = all;
    launch = {uint64_t{d.workgroup[0]} * d.workgroup[1] * d.workgroup[2], d.lds};
  }
  return launch;
}

KernelCode factsOf(const codeobj::CodeObject &object, const codeobj::Kernel &kernel,
                   const codeobj::Launch &launch) {
  KernelCode facts;
  const codeobj::KernelMetadata &says = kernel.metadata;
  facts.vgprs = says.vgpr_count;
  facts.agprs = says.agpr_count;
  facts.sgprs = says.sgpr_count;
  facts.lds = std::max<uint64_t>(says.group_segment_fixed_size, launch.lds);
  facts.scratch = says.private_segment_fixed_size;
  facts.spilled = says.vgpr_spill_count + says.sgpr_spill_count;
  if (const auto fit = codeobj::occupancy(object.target(), kernel, launch)) {
    const bool has_pair = kernel.descriptor.wgp_mode && object.target().version.major >= 10;
    facts.waves_per_unit =
        static_cast<double>(fit->workgroups * fit->waves_per_workgroup) / (has_pair ? 2 : 1);
    facts.most_waves = fit->max_waves;
    facts.limit = codeobj::to_string(fit->limit);
  }
  return facts;
}

/// Whether other lanes may execute what follows.
bool changesLanes(const codeobj::Instruction &one) {
  const std::string_view name = one.mnemonic();
  const std::string_view operands =
      std::string_view(one.text).substr(std::min(name.size() + 1, one.text.size()));
  return name.find("saveexec") != name.npos || name.starts_with("v_cmpx") ||
         operands.starts_with("exec");
}

/// The code in stretches that the same lanes execute.
std::vector<CodeStretch> stretchesOf(const codeobj::KernelCode &code,
                                     const codeobj::SourceMap *map) {
  std::vector<std::vector<std::size_t>> next;
  for (const codeobj::BasicBlock &block : code.blocks) next.push_back(block.successors);
  const std::vector<bool> in_loop = inCycles(next);
  std::vector<CodeStretch> out;
  std::size_t block = 0;
  bool is_new = true;
  for (std::size_t i = 0; i < code.instructions.size() && i < kMostInstructions; ++i) {
    while (block + 1 < code.blocks.size() && code.blocks[block + 1].first <= i) {
      ++block;
      is_new = true;
    }
    if (is_new) out.push_back({0, 0, {}, block < in_loop.size() && in_loop[block]});
    is_new = changesLanes(code.instructions[i]);
    if (code.info[i].unit == codeobj::Unit::Valu) ++out.back().valu;
    if (code.info[i].space == codeobj::MemorySpace::Scratch)
      out.back().scratch += code.info[i].width;
    const auto place = map ? ownPlace(*map, code.instructions[i].address) : codeobj::SourceFrame{};
    if (place.line != 0) out.back().lines.insert({place.file, place.line});
  }
  return out;
}

class CodeReader {
public:
  CodeReader(RunLog &log, SourceFiles &sources) : log_(log), sources_(sources) {}

  /// `exact`: only kernels of the very modules that ran; else those that were not found and have
  /// no namesake.
  void read(const std::string &file, bool exact);
  Json take() { return std::move(out_); }

private:
  void object(const codeobj::FoundCode &found, bool exact);
  void kernel(const codeobj::CodeObject &object, std::size_t index, uint32_t number,
              const codeobj::SourceMap *map);
  Json twin(const codeobj::CodeObject &object, std::size_t index, const codeobj::Launch &launch,
            const codeobj::SourceMap *map);
  bool isWanted(const Kernel &kernel, std::string_view name) const {
    return kernel.symbol.empty() ? kernel.name == codeobj::demangle(name) : kernel.symbol == name;
  }
  void problem(const std::string &what) { log_.problems.push_back(what); }

  RunLog &log_;
  SourceFiles &sources_;
  Json out_ = Json::array();
  std::vector<bool> done_;
};

void CodeReader::read(const std::string &file, bool exact) {
  done_.resize(log_.kernels.size());
  if (std::ranges::find(done_, false) == done_.end()) return;
  const codeobj::CodeHandler handler{[&](const codeobj::FoundCode &found) {
                                       object(found, exact);
                                       return true;
                                     },
                                     [&](const Error &error) {
                                       if (exact) problem(error.message());
                                     }};
  if (const auto status = codeobj::findCode(file, handler); !status && exact)
    problem(status.error().message());
}

void CodeReader::object(const codeobj::FoundCode &found, bool exact) {
  const std::string module = exact ? codeobj::moduleIdOf(found.blob.bytes()) : "";
  const auto fits = [&](const Kernel &kernel) {
    return exact ? kernel.module == module
                 : !hasNamesake(log_, kernel) &&
                       (kernel.target.empty() || kernel.target == found.target.processor);
  };
  if (std::ranges::none_of(log_.kernels, fits)) return;
  const auto object = found.open();
  if (!object) return problem(object.error().message());
  std::shared_ptr<const codeobj::SourceMap> map;
  for (std::size_t i = 0; i < (*object)->kernelCount(); ++i)
    for (uint32_t k = 0; k < log_.kernels.size(); ++k) {
      if (done_[k] || !fits(log_.kernels[k])) continue;
      if (!isWanted(log_.kernels[k], (*object)->kernelName(i).name)) continue;
      if (!map)
        if (const auto opened = codeobj::SourceMap::open(*object)) map = *opened;
      done_[k] = true;
      kernel(**object, i, k, map.get());
    }
}

void CodeReader::kernel(const codeobj::CodeObject &object, std::size_t index, uint32_t number,
                        const codeobj::SourceMap *map) {
  const auto kernel = object.kernel(index);
  if (!kernel) return problem(kernel.error().message());
  const auto code = codeobj::analyzeKernel(object, *kernel);
  if (!code) return problem(code.error().message());
  KernelCode &facts = log_.code[number];
  const codeobj::Launch launch = launchOf(log_, number);
  facts = factsOf(object, *kernel, launch);
  facts.stretches = stretchesOf(*code, map);
  Json instructions = Json::array();
  const auto counted = log_.counts.find(number);
  std::size_t block = 0;
  for (std::size_t i = 0; i < code->instructions.size() && i < kMostInstructions; ++i) {
    while (block + 1 < code->blocks.size() && code->blocks[block + 1].first <= i) ++block;
    const codeobj::Instruction &one = code->instructions[i];
    const auto place = map ? ownPlace(*map, one.address) : codeobj::SourceFrame{};
    Json row = {
        one.address - kernel->code_address, one.text,   codeobj::to_string(code->info[i].unit),
        sources_.indexOf(place.file),       place.line, block};
    if (counted != log_.counts.end())
      if (const auto count = counted->second.instructions.find(one.address);
          count != counted->second.instructions.end() && count->second.isOf(one.text)) {
        row.push_back(count->second.executions);
        row.push_back(count->second.lanes);
      }
    instructions.push_back(std::move(row));
  }
  out_.push_back({{"kernel", number},
                  {"target", object.target().processor},
                  {"facts", kernelFacts(object, *kernel, *code, launch)},
                  {"twin", twin(object, index, launch, map)},
                  {"count", code->instructions.size()},
                  {"disassembled_by", code->disassembled_by},
                  {"instructions", std::move(instructions)}});
}

/// What runs instead when it is instrumented; null if there is none. The pass leaves twins line
/// tables only where there is full debug information.
Json CodeReader::twin(const codeobj::CodeObject &object, std::size_t index,
                      const codeobj::Launch &launch, const codeobj::SourceMap *map) {
  const auto clone = object.findClone(index);
  if (!clone) return {};
  const auto kernel = object.kernel(*clone);
  if (!kernel) return {};
  const auto code = codeobj::analyzeKernel(object, *kernel);
  if (!code) return {};
  Json rows = Json::array();
  for (std::size_t i = 0; i < code->instructions.size() && i < kMostOfTwin; ++i) {
    const codeobj::Instruction &one = code->instructions[i];
    const auto place = map ? ownPlace(*map, one.address) : codeobj::SourceFrame{};
    rows.push_back({one.address - kernel->code_address, one.text,
                    codeobj::to_string(code->info[i].unit), sources_.indexOf(place.file),
                    place.line});
  }
  return {{"count", code->instructions.size()},
          {"facts", kernelFacts(object, *kernel, *code, launch)},
          {"instructions", std::move(rows)}};
}

} // namespace

int64_t SourceFiles::indexOf(const std::string &path, bool wants_text) {
  if (path.empty()) return -1;
  const auto [at, is_new] = index_.try_emplace(path, static_cast<int64_t>(files_.size()));
  if (is_new) files_.push_back({path, !codeobj::isSystemSource(path)});
  if (wants_text) files_[static_cast<std::size_t>(at->second)].has_text = true;
  return at->second;
}

Json SourceFiles::json() const {
  Json out = Json::array();
  for (const auto &[path, has_text] : files_) {
    Json lines;
    if (has_text && cli::isSourceFile(path, roots_))
      if (std::ifstream in(path); in) {
        lines = Json::array();
        for (std::string text; lines.size() < kMostLines && std::getline(in, text);) {
          if (!text.empty() && text.back() == '\r') text.pop_back();
          lines.push_back(text.substr(0, kLongestLine));
        }
      }
    out.push_back({{"path", path}, {"lines", std::move(lines)}});
  }
  return out;
}

std::vector<std::string> SourceFiles::withheld() const {
  std::vector<std::string> found;
  for (const auto &[path, has_text] : files_)
    if (has_text && cli::isWithheld(path, roots_)) found.push_back(path);
  return found;
}

Json codeOf(RunLog &log, const std::vector<std::string> &files, SourceFiles &sources) {
  CodeReader reader(log, sources);
  for (const bool exact : {true, false})
    for (const std::string &file : files) reader.read(file, exact);
  return reader.take();
}

void readCode(RunLog &log, const std::vector<std::string> &files) {
  SourceFiles unused;
  codeOf(log, files, unused);
}

} // namespace fade::report
