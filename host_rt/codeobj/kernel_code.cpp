#include "codeobj/kernel_code.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>

namespace fade::codeobj {
namespace {

bool endsBlock(Flow flow) { return flow != Flow::Next && flow != Flow::Call; }

/// Addresses at which blocks start: the first instruction, targets of jumps, and what follows a
/// jump.
std::set<uint64_t> blockStarts(const KernelCode &code) {
  std::set<uint64_t> starts;
  starts.insert(code.instructions.front().address);
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    const Instruction &instruction = code.instructions[i];
    if (!endsBlock(code.info[i].flow)) continue;
    starts.insert(instruction.address + instruction.size);
    if (instruction.target) starts.insert(*instruction.target);
  }
  return starts;
}

void splitIntoBlocks(KernelCode &code) {
  std::set<uint64_t> starts = blockStarts(code);
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    if (code.blocks.empty() || starts.contains(code.instructions[i].address)) {
      code.blocks.emplace_back();
      code.blocks.back().first = i;
    }
    ++code.blocks.back().count;
    code.blocks.back().mix.add(code.info[i]);
  }
}

void connectBlocks(KernelCode &code) {
  std::map<uint64_t, std::size_t> by_address;
  for (std::size_t b = 0; b < code.blocks.size(); ++b)
    by_address[code.instructions[code.blocks[b].first].address] = b;
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    BasicBlock &block = code.blocks[b];
    std::size_t last = block.first + block.count - 1;
    Flow flow = code.info[last].flow;
    bool falls_through = flow == Flow::Next || flow == Flow::Call || flow == Flow::Conditional;
    if (falls_through && b + 1 < code.blocks.size()) block.successors.push_back(b + 1);
    if (flow == Flow::Indirect || (falls_through && b + 1 == code.blocks.size()))
      block.leaves = true;
    if (flow != Flow::Jump && flow != Flow::Conditional) continue;
    auto target = code.instructions[last].target;
    auto found = target ? by_address.find(*target) : by_address.end();
    if (found == by_address.end())
      block.leaves = true;
    else if (std::ranges::find(block.successors, found->second) == block.successors.end())
      block.successors.push_back(found->second);
  }
}

} // namespace

uint32_t InstructionMix::instructions() const {
  return std::accumulate(by_unit.begin(), by_unit.end(), 0u);
}

void InstructionMix::add(const InstructionInfo &info) {
  ++by_unit[static_cast<std::size_t>(info.unit)];
  lane_flops += info.lane_flops;
  wave_flops += info.wave_flops;
  auto pick = [&](uint64_t &load, uint64_t &store, uint64_t &atomic) {
    if (info.memory == MemoryOperation::Load) load += info.width;
    if (info.memory == MemoryOperation::Store) store += info.width;
    if (info.memory == MemoryOperation::Atomic) atomic += info.width;
  };
  if (info.unit == Unit::Vmem) pick(vmem_loaded, vmem_stored, vmem_atomic);
  if (info.unit == Unit::Lds) pick(lds_loaded, lds_stored, lds_atomic);
  if (info.unit == Unit::Smem && info.memory == MemoryOperation::Load) scalar_loaded += info.width;
  if (info.also_lds) lds_stored += info.width;
}

void InstructionMix::add(const InstructionMix &other) {
  for (std::size_t i = 0; i < by_unit.size(); ++i) by_unit[i] += other.by_unit[i];
  lane_flops += other.lane_flops;
  wave_flops += other.wave_flops;
  vmem_loaded += other.vmem_loaded;
  vmem_stored += other.vmem_stored;
  vmem_atomic += other.vmem_atomic;
  lds_loaded += other.lds_loaded;
  lds_stored += other.lds_stored;
  lds_atomic += other.lds_atomic;
  scalar_loaded += other.scalar_loaded;
}

std::size_t KernelCode::blockOf(std::size_t index) const {
  auto after = std::ranges::upper_bound(blocks, index, {}, &BasicBlock::first);
  return after == blocks.begin() ? 0 : static_cast<std::size_t>(after - blocks.begin()) - 1;
}

KernelCode analyze(std::vector<Instruction> instructions) {
  KernelCode code;
  code.instructions = std::move(instructions);
  if (code.instructions.empty()) return code;
  code.info.reserve(code.instructions.size());
  for (const Instruction &instruction : code.instructions)
    code.info.push_back(classify(instruction.text));
  splitIntoBlocks(code);
  connectBlocks(code);
  for (const BasicBlock &block : code.blocks) code.mix.add(block.mix);
  return code;
}

void findScratch(KernelCode &code) {
  std::set<std::string> descriptors = {"s[0:3]"};
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    const std::string &text = code.instructions[i].text;
    unsigned first = 0, last = 0;
    if (code.info[i].space == MemorySpace::Buffer &&
        std::ranges::any_of(descriptors, [&](const std::string &registers) {
          return text.find(registers) != text.npos;
        }))
      code.info[i].space = MemorySpace::Scratch;
    else if (text.ends_with(", s[0:1]") &&
             std::sscanf(text.c_str(), "s_mov_b64 s[%u:%u]", &first, &last) == 2)
      descriptors.insert("s[" + std::to_string(first) + ":" + std::to_string(first + 3) + "]");
  }
}

bool hasScratch(const Kernel &kernel) {
  return kernel.descriptor.private_segment_fixed_size != 0 || kernel.descriptor.dynamic_stack ||
         kernel.metadata.uses_dynamic_stack;
}

Result<KernelCode> analyzeKernel(const CodeObject &object, const Kernel &kernel) {
  auto bytes = object.code(kernel.code_address, kernel.code_size);
  if (!bytes) return std::move(bytes).error();
  auto disassembler = Disassembler::create(object.target(), kernel.descriptor.wavefront_size);
  if (!disassembler) return std::move(disassembler).error();
  KernelCode code = analyze((*disassembler)->disassemble(*bytes, kernel.code_address));
  code.disassembled_by = (*disassembler)->backend();
  if (hasScratch(kernel)) findScratch(code);
  return code;
}

LineAccesses accessesByLine(const KernelCode &code, const SourceMap &source) {
  LineAccesses lines;
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    const InstructionInfo &info = code.info[i];
    if (info.memory == MemoryOperation::None) continue;
    uint64_t address = code.instructions[i].address;
    SourceFrame place = source.place(address);
    if (place.line == 0) continue;
    lines[{place.file, place.line}].push_back({address, info.memory, info.space, info.width});
  }
  return lines;
}

} // namespace fade::codeobj
