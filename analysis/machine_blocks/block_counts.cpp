#include "analysis/machine_blocks/block_counts.h"

#include "analysis/machine_blocks/block_order.h"
#include "analysis/machine_blocks/block_paths.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace fade::profile {
namespace {

using codeobj::InstructionInfo;
using codeobj::KernelCode;
using codeobj::MemoryOperation;
using codeobj::MemorySpace;
using codeobj::NumberType;
using codeobj::Unit;

/// A stretch of a basic block in which the same lanes are active.
struct Stretch {
  std::size_t first = 0, count = 0, block = 0;
  std::optional<uint64_t> site;
  std::optional<BlockCount> found; ///< without a site: from where it stands
  bool has_work = false;           ///< operations or accesses
  bool has_mbcnt = false;          ///< lanes are numbered, which is how one of them is chosen
  bool has_atomic = false;         ///< on memory or LDS
  bool is_narrowed = false;        ///< lanes were taken away before it, within the block
  bool by_one_lane = false;        ///< of each wave: see findCombined()
};

bool hasWork(const InstructionInfo &info) {
  return info.lane_flops != 0 || info.wave_flops != 0 ||
         (info.memory != MemoryOperation::None && info.unit != Unit::Smem);
}

/// Whether lanes go away behind it, rather than come back.
bool narrows(const codeobj::Instruction &instruction) {
  const std::string_view name = instruction.mnemonic();
  return name.starts_with("s_and") || name.starts_with("v_cmpx") || name.starts_with("s_xor");
}

std::vector<Stretch> stretchesOf(const KernelCode &code) {
  std::vector<Stretch> all;
  bool is_narrowed = false;
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    bool begins = true;
    const std::size_t end = code.blocks[b].first + code.blocks[b].count;
    for (std::size_t i = code.blocks[b].first; i < end; ++i) {
      if (begins) all.emplace_back();
      Stretch &now = all.back();
      if (begins) now.first = i, now.block = b, now.is_narrowed = is_narrowed;
      ++now.count;
      now.has_work |= hasWork(code.info[i]);
      now.has_mbcnt |= code.instructions[i].mnemonic().starts_with("v_mbcnt");
      now.has_atomic |= code.info[i].memory == MemoryOperation::Atomic;
      begins = codeobj::mayChangeExec(code.instructions[i]);
      if (begins) is_narrowed = narrows(code.instructions[i]);
    }
    // Behind a branch that lanes skip, the way on has fewer of them.
    const auto &next = code.blocks[b].successors;
    if (std::ranges::find(next, b + 1) == next.end()) is_narrowed = false;
  }
  return all;
}

bool isVector(const InstructionInfo &info) {
  return info.unit == Unit::Valu || info.unit == Unit::Vmem || info.unit == Unit::Lds ||
         info.unit == Unit::Matrix;
}

/// The block that most of its instructions come from. Accesses count for more: they stay where they
/// are, while arithmetic moves to where it is needed. Scalar instructions count only where there
/// are no others: those around a stretch that take lanes away and bring them back are of the
/// branch, not of the block behind it.
void vote(const KernelCode &code, const BlockCountsBySite &blocks,
          const std::function<uint32_t(uint64_t)> &discriminator, Stretch &stretch) {
  constexpr unsigned access = 4;
  std::map<uint64_t, unsigned> votes, scalar_votes;
  for (std::size_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
    const InstructionInfo &info = code.info[i];
    if (info.unit == Unit::Wait || info.unit == Unit::Other) continue;
    const uint32_t mark = discriminator(code.instructions[i].address);
    if (mark == 0 || !blocks.contains(mark - 1)) continue;
    if (isVector(info))
      votes[mark - 1] += info.memory != MemoryOperation::None ? access : 1;
    else
      ++scalar_votes[mark - 1];
  }
  if (votes.empty()) votes = std::move(scalar_votes);
  const auto most = std::ranges::max_element(
      votes, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most != votes.end()) stretch.site = most->first;
}

/// The compiler lets one lane do an atomic operation for its wave: in the middle of a block, with
/// one lane.
void findCombined(std::vector<Stretch> &all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!all[i].has_atomic || !all[i].is_narrowed || !all[i].site) continue;
    const auto is_same = [&](const Stretch &s) { return s.site == all[i].site; };
    all[i].by_one_lane = std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                                     [&](const Stretch &s) { return s.has_mbcnt && is_same(s); });
  }
}

/// A jump out of a loop has the line of the loop, and is not in it.
void dropJumps(const KernelCode &code, std::vector<Stretch> &all) {
  for (Stretch &stretch : all) {
    const codeobj::BasicBlock &block = code.blocks[stretch.block];
    if (block.count != 1 || code.info[block.first].flow != codeobj::Flow::Jump) continue;
    const bool is_elsewhere = std::ranges::any_of(
        all, [&](const Stretch &s) { return s.block != stretch.block && s.site == stretch.site; });
    if (is_elsewhere) stretch.site.reset();
  }
}

BlockPaths::Nodes nodesOf(const KernelCode &code, const std::vector<Stretch> &all) {
  std::vector<std::size_t> first(code.blocks.size(), all.size()); // stretch of each block
  for (std::size_t i = all.size(); i-- > 0;) first[all[i].block] = i;
  BlockPaths::Nodes nodes(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    nodes[i].site = all[i].site;
    nodes[i].is_narrowed = all[i].is_narrowed;
    if (i + 1 < all.size() && all[i + 1].block == all[i].block) {
      nodes[i].next.push_back(i + 1);
      continue;
    }
    for (const std::size_t to : code.blocks[all[i].block].successors)
      if (first[to] != all.size()) nodes[i].next.push_back(first[to]);
  }
  return nodes;
}

/// A basic block of the machine: lanes differ within it, executions do not.
struct MachineBlock {
  uint64_t executions = 0;
  const Stretch *like = nullptr; ///< the first of it that is known, or one in step
};

/// Whether lanes of several ways come together in its first instruction.
bool joinsWays(const KernelCode &code, const codeobj::BasicBlock &block) {
  const codeobj::Instruction &first = code.instructions[block.first];
  return first.mnemonic().starts_with("s_or_b") && codeobj::mayChangeExec(first);
}

/// Sets also what is found of stretches without a site.
std::vector<MachineBlock> machineBlocks(const KernelCode &code, std::vector<Stretch> &all,
                                        const BlockCountsBySite &blocks, const BlockEdges &edges) {
  std::vector<MachineBlock> machine(code.blocks.size());
  std::vector<bool> is_known(code.blocks.size());
  for (const Stretch &stretch : all) {
    if (!stretch.site) continue;
    MachineBlock &block = machine[stretch.block];
    block.executions = std::max(block.executions, blocks.at(*stretch.site).executions);
    if (!block.like) block.like = &stretch;
    is_known[stretch.block] = true;
  }
  // Where lanes come together again there are blocks that no line leads to.
  const auto in_step = blocksInStep(code.blocks, is_known);
  for (std::size_t b = 0; b < machine.size(); ++b)
    if (in_step[b]) machine[b] = machine[in_step[b]->block];
  std::vector<std::optional<uint64_t>> flow(code.blocks.size());
  for (std::size_t b = 0; b < machine.size(); ++b)
    if (is_known[b] || (in_step[b] && in_step[b]->exactly)) flow[b] = machine[b].executions;
  addWhatFlowSays(code.blocks, flow);
  for (std::size_t b = 0; b < machine.size(); ++b)
    if (flow[b]) machine[b].executions = *flow[b];
  const BlockPaths::Nodes nodes = nodesOf(code, all);
  const BlockPaths paths(nodes, blocks, edges);
  std::vector<bool> is_found(code.blocks.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].site) continue;
    const std::size_t b = all[i].block;
    const bool exactly = in_step[b] && (in_step[b]->exactly || joinsWays(code, code.blocks[b]));
    if (exactly && !all[i].is_narrowed)
      all[i].found = blocks.at(*machine[b].like->site);
    else
      all[i].found = paths.find(i);
    if (flow[b] || exactly || is_found[b] || !all[i].found) continue;
    machine[b].executions = all[i].found->executions;
    is_found[b] = true;
  }
  return machine;
}

uint64_t lanesOf(const Stretch &stretch, const MachineBlock &block,
                 const BlockCountsBySite &blocks) {
  if (block.executions == 0) return 0;
  if (!stretch.site && stretch.found) return stretch.found->lanes;
  const Stretch *like = stretch.site ? &stretch : block.like;
  if (!like) return 0;
  const BlockCount &count = blocks.at(*like->site);
  return like->by_one_lane ? count.executions : count.lanes;
}

/// A block of the compiler's is one stretch with work, or several that follow one another with the
/// same lanes. Else it was copied, or is gone through in parts.
std::string doubtOf(const KernelCode &code, const std::vector<Stretch> &all) {
  std::map<uint64_t, const Stretch *> last;
  for (const Stretch &stretch : all) {
    if (!stretch.has_work) continue;
    const auto place = fmt::format("at {:#x}", code.instructions[stretch.first].address);
    if (!stretch.site && stretch.found) continue;
    if (!stretch.site) return "no block is known for the code " + place;
    if (stretch.by_one_lane) continue;
    auto [at, is_new] = last.try_emplace(*stretch.site, &stretch);
    if (is_new) continue;
    const Stretch &before = *at->second;
    at->second = &stretch;
    const auto &next = code.blocks[before.block].successors;
    const bool goes_on =
        stretch.block == before.block || (next.size() == 1 && next[0] == stretch.block);
    const bool across_atomic = std::ranges::any_of(
        all, [&](const Stretch &s) { return s.by_one_lane && s.site == stretch.site; });
    if ((!goes_on || stretch.is_narrowed) && !across_atomic)
      return "the compiler has split or copied the block whose code goes on " + place;
  }
  return "";
}

const char *typeName(NumberType type) {
  static constexpr std::array<const char *, 7> kNames = {"none", "f64", "f32",           "f16",
                                                         "bf16", "f8",  "matrix_integer"};
  return kNames[static_cast<std::size_t>(type)];
}

/// Which way bytes go; null if nobody counts them.
const char *wayOf(const InstructionInfo &info) {
  const bool loads = info.memory == MemoryOperation::Load,
             stores = info.memory == MemoryOperation::Store;
  if (info.space == MemorySpace::Lds)
    return loads ? "lds_loaded" : stores ? "lds_stored" : "lds_atomic";
  if (info.space == MemorySpace::Gds) return nullptr;
  if (info.space == MemorySpace::Constant && loads) return "scalar_loaded";
  if (info.space == MemorySpace::Scratch) return info.unit == Unit::Smem ? nullptr : "scratch";
  return loads ? "loaded" : stores ? "stored" : "atomic";
}

} // namespace

PlacedCode placeBlocks(const KernelCode &code, const BlockCountsBySite &blocks,
                       const BlockEdges &edges,
                       const std::function<uint32_t(uint64_t)> &discriminator) {
  PlacedCode placed;
  placed.work.resize(code.instructions.size());
  std::vector<Stretch> all = stretchesOf(code);
  std::optional<uint64_t> first;
  for (Stretch &stretch : all) {
    vote(code, blocks, discriminator, stretch);
    if (stretch.site) first = std::min(first.value_or(*stretch.site), *stretch.site);
  }
  placed.has_marks = first.has_value();
  if (!placed.has_marks) return placed;
  // Arguments are loaded before the first line. Blocks are numbered in their order.
  if (!all[0].site) all[0].site = first;
  findCombined(all);
  dropJumps(code, all);
  const std::vector<MachineBlock> machine = machineBlocks(code, all, blocks, edges);
  placed.doubt = doubtOf(code, all);
  for (const Stretch &stretch : all)
    for (std::size_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
      InstructionWork &work = placed.work[i];
      work.is_known = stretch.site.has_value();
      work.executions = machine[stretch.block].executions;
      work.lanes = lanesOf(stretch, machine[stretch.block], blocks);
    }
  return placed;
}

void addWork(const InstructionInfo &info, InstructionWork &work, WorkSums &sums) {
  const uint64_t operations =
      info.wave_flops != 0 ? info.wave_flops * work.executions : info.lane_flops * work.lanes;
  if (operations != 0) {
    sums.flops[typeName(info.flop_type)] += operations;
    if (info.flop_type != NumberType::Integer) {
      work.flops = operations;
      if (info.unit == Unit::Matrix) sums.flops["matrix"] += operations;
      if (info.is_packed) sums.flops["packed"] += operations;
    }
  }
  if (info.memory == MemoryOperation::None || info.width == 0) return;
  const char *way = wayOf(info);
  if (!way) return;
  const uint64_t bytes = info.width * (info.unit == Unit::Smem ? work.executions : work.lanes);
  work.bytes = bytes;
  sums.bytes[way] += bytes;
  if (info.also_lds && info.memory == MemoryOperation::Load) {
    work.bytes += bytes;
    sums.bytes["lds_stored"] += bytes;
  }
}

} // namespace fade::profile
