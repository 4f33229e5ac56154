#include "exec/program.h"

#include "exec/inexact.h"
#include "exec/jit_region.h"
#include "exec/schedule.h"
#include "isa/opcode.h"
#include "semantics/opcodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fade::sim {
namespace {

constexpr size_t longest_instruction = 20, longest_segment = 256;

// Up to `size` bytes of code at `pc`; fewer at the end of a region.
std::vector<uint8_t> fetch(const AddressSpace &memory, uint64_t pc, size_t size) {
  std::vector<uint8_t> bytes;
  auto region = memory.find(pc);
  if (!region) return bytes;
  size = std::min<uint64_t>(size, region->end() - pc);
  bytes.resize(size);
  std::memcpy(bytes.data(), region->at(pc), size);
  return bytes;
}

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::string hex(const std::vector<uint8_t> &bytes, size_t size) {
  std::string out;
  for (size_t i = 0; i < std::min(size, bytes.size()); i += 4) {
    uint32_t w = 0;
    std::memcpy(&w, &bytes[i], std::min<size_t>(4, bytes.size() - i));
    out += fmt::format("{}{:08x}", i ? " " : "", w);
  }
  return out;
}

} // namespace

Program::Program(const Arch &arch, unsigned lanes, const AddressSpace &memory)
    : number_(next_number()), arch_(arch), lanes_(lanes), memory_(memory),
      decoder_(arch, lanes, opcodes()), hazard_table_(arch.name) {}

Program::~Program() = default;

const Segment *Program::at(uint64_t pc) {
  std::lock_guard lock(mutex_);
  return segment_at(pc);
}

const Segment *Program::segment_at(uint64_t pc) {
  auto &slot = segments_[pc];
  if (slot) return slot.get();
  try {
    if (!code_.contains(pc)) explore(pc);
    slot = build(pc);
    slot->number = next_segment_++;
  } catch (...) { // out of memory: the next dispatch begins anew
    has_unknown_ = true;
    throw;
  }
  return slot.get();
}

void Program::add_entry(uint64_t pc) {
  std::lock_guard lock(mutex_);
  leaders_.insert(pc);
  if (!code_.contains(pc)) explore(pc);
}

// Decodes all that direct branches reach from `pc`, and marks where basic blocks start.
void Program::explore(uint64_t pc) {
  std::vector<uint64_t> work{pc};
  leaders_.insert(pc);
  while (!work.empty()) {
    uint64_t at = work.back();
    work.pop_back();
    Run run{at, {}};
    while (!code_.contains(at)) {
      Code code;
      const std::vector<uint8_t> bytes = fetch(memory_, at, longest_instruction);
      if (bytes.size() < 4) {
        code.unknown = "no code there";
        code.unmapped = true;
        code_.emplace(at, std::move(code));
        break;
      }
      Decoder::Result r = decoder_.decode(bytes, at);
      if (!r.known) {
        code.unknown = r.valid ? fmt::format("{}: unknown instruction {}",
                                             hex(bytes, r.instruction.size), r.mnemonic)
                               : fmt::format("{}: not an instruction", hex(bytes, 8));
        code_.emplace(at, std::move(code));
        break;
      }
      code.instruction = r.instruction;
      const Instruction &in = code_.emplace(at, std::move(code)).first->second.instruction;
      const uint64_t next = at + in.size;
      if (in.opcode->has(Effect::barrier)) has_barrier_ = true;
      run.bytes.insert(run.bytes.end(), bytes.begin(), bytes.begin() + in.size);
      const Flow flow = in.opcode->flow;
      if (flow != Flow::next) {
        if (has_target(flow)) leaders_.insert(in.target), work.push_back(in.target);
        if (!reaches_next(flow)) break;
        leaders_.insert(next);
      }
      at = next;
    }
    if (!run.bytes.empty()) runs_.push_back(std::move(run));
  }
  explored_.store(true, std::memory_order_release);
}

bool Program::has_barrier(uint64_t entry) {
  if (!explored_.load(std::memory_order_acquire)) at(entry);
  return has_barrier_.load(std::memory_order_relaxed);
}

std::unique_ptr<Segment> Program::build(uint64_t pc) {
  auto segment = std::make_unique<Segment>();
  segment->start = pc;
  segment->block_start = leaders_.contains(pc);
  std::array<uint16_t, static_cast<size_t>(ExecClass::count)> counts{};
  uint64_t at = pc;
  // In an order of its own a wave may be held up between any two instructions.
  static const bool in_other_order = Schedule::from_environment() != nullptr;
  const size_t longest = in_other_order ? 1 : longest_segment;
  while (segment->instructions.size() < longest) {
    auto it = code_.find(at);
    if (it == code_.end() || (at != pc && leaders_.contains(at))) break;
    const Code &code = it->second;
    if (!code.unknown.empty()) {
      segment->unknown = code.unknown;
      segment->unmapped = code.unmapped;
      has_unknown_ = true;
      break;
    }
    const Instruction &in = code.instruction;
    if (in.lds_use != LdsUse::none) {
      if (segment->lds_use != LdsUse::none && segment->lds_use != in.lds_use) break;
      segment->lds_use = in.lds_use;
    }
    counts[static_cast<size_t>(in.cls)]++;
    inexact_ |= inexact_of(in.opcode->name);
    if (std::string_view(in.opcode->name).starts_with("v_div_fixup")) divides_ = true;
    segment->instructions.push_back(in);
    at += in.size;
    if (in.ends_segment) break;
  }
  segment->end = at;
  segment->length = segment->instructions.size();
  for (size_t c = 0; c < counts.size(); c++)
    if (counts[c]) segment->counts.push_back({static_cast<ExecClass>(c), counts[c]});
  return segment;
}

void Program::compile(const Segment &head, bool whole) {
  if (head.was_compiled.exchange(true)) return;
  std::vector<const Segment *> region;
  {
    std::lock_guard lock(mutex_);
    region = jit_region(head, [&](uint64_t pc) -> const Segment * {
      if (whole && code_.contains(pc)) return segment_at(pc);
      const auto found = segments_.find(pc);
      return found == segments_.end() ? nullptr : found->second.get();
    });
  }
  uint64_t cost = 0;
  for (const Segment *segment : region) cost += jit_cost * segment->length;
  if (!whole && head.heat < cost) { // not yet
    head.hot = cost;
    head.was_compiled = false;
    return;
  }
  auto code = JitCode::compile(region, arch_, lanes_);
  if (!code) return;
  std::lock_guard lock(mutex_);
  code->publish(region);
  compiled_.push_back(std::move(code));
}

uint32_t Program::inexact() const {
  // A division begins with a reciprocal, and corrects it.
  return divides_ ? inexact_ & ~static_cast<uint32_t>(kInexactRcp) : inexact_.load();
}

bool Program::is_current() const {
  std::lock_guard lock(mutex_);
  if (has_unknown_) return false; // there may be code by now
  for (const Run &run : runs_) {
    auto region = memory_.find(run.start);
    if (!region || !region->contains(run.start, run.bytes.size()) ||
        std::memcmp(region->at(run.start), run.bytes.data(), run.bytes.size()) != 0)
      return false;
  }
  return true;
}

const RegisterUse &Program::registers(uint64_t pc) {
  std::lock_guard lock(mutex_);
  auto &slot = register_uses_[pc];
  if (!slot)
    slot = std::make_unique<RegisterUse>(
        decoder_.registers(fetch(memory_, pc, longest_instruction), pc));
  return *slot;
}

const HazardUse &Program::hazard_use(uint64_t pc) {
  std::lock_guard lock(mutex_);
  auto &slot = hazard_uses_[pc];
  if (!slot)
    slot = std::make_unique<HazardUse>(
        decoder_.hazard_use(hazard_table_, fetch(memory_, pc, longest_instruction), pc));
  return *slot;
}

std::string Program::text(uint64_t pc) {
  std::lock_guard lock(mutex_);
  auto bytes = fetch(memory_, pc, longest_instruction);
  return bytes.empty() ? "" : decoder_.text(bytes, pc);
}

} // namespace fade::sim
