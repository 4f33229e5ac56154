#include "exec/observation.h"

#include "exec/trial.h"
#include "semantics/cross_lane.h"

namespace fade::sim {
namespace {

// The largest count of a field means that nothing is waited for.
uint32_t counter(uint32_t value, uint32_t most) {
  return value == most ? ObservedWait::any : value;
}

FenceKind fence_kind(const Opcode &op) {
  if (op.has(Effect::writes_back) && op.has(Effect::invalidates)) return FenceKind::both;
  return op.has(Effect::writes_back) ? FenceKind::write_back : FenceKind::invalidate;
}

// Whether it reaches beyond what the waves of a workgroup share. gfx10 and later have a cache for
// the workgroup and one behind it; gfx942 says how far.
bool reaches_device(const Arch &arch, const Instruction &in) {
  if (arch.gfx94 || (arch.gfx12 && in.encoding != Encoding::smem)) return in.sc1;
  return !arch.gfx10_up || in.opcode->has(Effect::reaches_device);
}

// What goes on after it was issued, and which counter tells its end.
WaitCounter counter_of(const Arch &arch, const Instruction &in) {
  const Opcode &op = *in.opcode;
  switch (in.encoding) {
  case Encoding::smem: return WaitCounter::scalar;
  case Encoding::ds: return WaitCounter::lds;
  case Encoding::flat: return WaitCounter::flat;
  case Encoding::global:
  case Encoding::scratch:
  case Encoding::mubuf:
  case Encoding::mtbuf:
  case Encoding::mimg: {
    // gfx12 counts cache control: what writes back with stores, the rest with loads.
    if (arch.gfx12 && op.has(Effect::writes_back)) return WaitCounter::stores;
    if (op.has(Effect::invalidates)) return arch.gfx12 ? WaitCounter::vector : WaitCounter::none;
    const bool stores =
        in.cls == ExecClass::vmem_store || (in.cls == ExecClass::vmem_atomic && !in.glc);
    return stores && arch.gfx10_up ? WaitCounter::stores : WaitCounter::vector;
  }
  default: return op.has(Effect::sends) ? WaitCounter::scalar : WaitCounter::none;
  }
}

} // namespace

void tell_registers(Wave &w, Program &program, const Instruction &in) {
  const RegisterUse &use = program.registers(in.pc);
  ObservedInstruction o;
  o.pc = in.pc;
  o.lanes = w.active_exec;
  o.name = in.opcode->name;
  o.selects = in.select != LaneSelect::none;
  o.reads = use.reads.data(), o.reads_count = static_cast<uint32_t>(use.reads.size());
  o.writes = use.writes.data(), o.writes_count = static_cast<uint32_t>(use.writes.size());
  o.counter = counter_of(*w.arch, in);
  if (in.encoding == Encoding::vopd && in.paired)
    o.paired = in.paired->opcode->name, o.paired_result = in.paired->dst.index;
  const Trial trial(w, in, use);
  if (can_be_tried(w, in)) o.trial = &trial;
  w.observer->registers(w.info, o);
}

void tell_hazards(Wave &w, Program &program, const Instruction &in) {
  w.hazards->step(program.hazard_table(), in.pc, program.hazard_use(in.pc), [&](const Hazard &h) {
    w.observer->hazard(w.info, {h.pc, h.first, h.rule, h.cure, h.at, h.present, h.needed});
  });
}

ObservedWait wait_of(const Arch &arch, const Instruction &in) {
  ObservedWait wait;
  wait.pc = in.pc;
  const auto imm = static_cast<uint32_t>(in.imm);
  switch (in.opcode->waits) {
  case Waits::vector: wait.vector = imm & 0x3f; break;
  case Waits::stores: wait.stores = imm & 0x3f; break;
  case Waits::scalar: wait.scalar = imm & 0x3f; break;
  case Waits::exports: wait.exports = imm & 7; break;
  case Waits::lds: wait.lds = imm & 0x3f; break;
  case Waits::vector_and_lds: wait.vector = imm >> 8 & 0x3f, wait.lds = imm & 0x3f; break;
  case Waits::stores_and_lds: wait.stores = imm >> 8 & 0x3f, wait.lds = imm & 0x3f; break;
  case Waits::several:
    if (arch.gfx11) {
      wait.exports = counter(imm & 7, 7);
      wait.scalar = counter(imm >> 4 & 0x3f, 0x3f);
      wait.vector = counter(imm >> 10 & 0x3f, 0x3f);
    } else {
      const uint32_t scalar_most = arch.gfx10_up ? 0x3f : 0xf;
      wait.vector = counter((imm & 0xf) | (imm >> 14 & 3) << 4, 0x3f);
      wait.exports = counter(imm >> 4 & 7, 7);
      wait.scalar = counter(imm >> 8 & scalar_most, scalar_most);
    }
    break;
  case Waits::samples:
  case Waits::nothing: break;
  }
  return wait;
}

static void tell_crossing(Wave &w, const Instruction &in) {
  uint8_t from[64];
  const uint64_t lanes = lanes_from_inactive(w, in, from);
  if (lanes) w.observer->crossing(w.info, {in.pc, in.opcode->name, lanes, from, in.dst.index});
}

void tell_before(Wave &w, const Instruction &in) {
  const Opcode &op = *in.opcode;
  if (op.has(Effect::crosses_lanes) && !w.all_active) tell_crossing(w, in);
  if (op.has(Effect::barrier)) w.observer->barrier(w.info, in.pc, w.active_exec);
  // Before others hear of it, who may go on at once.
  if (op.has(Effect::global_barrier) && w.active_exec) w.observer->globalBarrier(w.info, in.pc);
  if (op.has(Effect::wait)) w.observer->wait(w.info, wait_of(*w.arch, in));
  if (op.has(Effect::invalidates) || op.has(Effect::writes_back))
    w.observer->fence(w.info, {in.pc, fence_kind(op), in.encoding == Encoding::smem,
                               reaches_device(*w.arch, in), op.name});
}

void tell_after(Wave &w, const Instruction &in) {
  if (w.state == WaveState::ended) return w.observer->waveEnds(w.info, in.pc);
  if (!(w.observer_wants & kWantsControl)) return;
  if (in.opcode->flow != Flow::next)
    w.observer->branch(w.info, {in.pc, w.pc, w.pc != in.pc + in.size, w.exec()});
}

} // namespace fade::sim
