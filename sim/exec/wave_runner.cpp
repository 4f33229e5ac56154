#include "exec/wave_runner.h"

#include "device/trace.h"
#include "exec/faults.h"
#include "exec/observer.h"

#include <bit>

namespace fade::sim {
namespace {

void count(Wave &w, const Segment &s) {
  const auto lanes = static_cast<uint64_t>(std::popcount(w.active_exec));
  for (size_t c = 0; c < s.counts.size(); c++)
    if (s.counts[c]) {
      w.stats->classes[c].waves += s.counts[c];
      w.stats->classes[c].lanes += s.counts[c] * lanes;
    }
}

void trace_instruction(const Wave &w, Program &program, const Instruction &in) {
  say("wave %u,%u,%u/%u %#llx exec %016llx %s", w.info.workgroup[0], w.info.workgroup[1],
      w.info.workgroup[2], w.info.wave_in_group, static_cast<unsigned long long>(in.pc),
      static_cast<unsigned long long>(w.exec()), program.text(in.pc).c_str());
}

} // namespace

void WaveRunner::use(const Program &program) {
  if (program_ == program.number()) return;
  found_.fill(nullptr);
  current_ = nullptr;
  program_ = program.number();
}

const Segment *WaveRunner::find(Program &program, uint64_t pc) {
  const Segment *&slot = found_[pc / 4 % found_.size()];
  if (!slot || slot->start != pc) slot = program.at(pc);
  return slot;
}

const Segment *WaveRunner::follow(const Segment &from, Program &program, uint64_t pc) {
  auto &link = from.next[pc != from.end];
  const Segment *s = link.load(std::memory_order_acquire);
  if (s && s->start == pc) return s;
  s = find(program, pc);
  link.store(s, std::memory_order_release);
  return s;
}

uint64_t WaveRunner::run(Wave &w, Program &program, uint64_t budget) {
  const Segment *s = find(program, w.pc);
  const bool tracing = trace().instructions;
  for (uint64_t done = 0;;) {
    w.expand_exec();
    if (w.observer && s->block_start) w.observer->block(w.info, s->start, w.active_exec);
    count(w, *s);
    w.pc = s->end;
    for (const Instruction &in : s->instructions) {
      current_ = &in;
      if (tracing) [[unlikely]]
        trace_instruction(w, program, in);
      in.run(w, in);
    }
    if (!s->unknown.empty() && w.pc == s->end) {
      if (s->unmapped) throw MemoryFault{s->end, false, true};
      throw IllegalInstruction{s->end, s->unknown};
    }
    done += s->instructions.size();
    if (w.state != WaveState::running || done >= budget) return done;
    s = follow(*s, program, w.pc);
  }
}

} // namespace fade::sim
