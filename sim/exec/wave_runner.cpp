#include "exec/wave_runner.h"

#include "exec/observation.h"
#include "wave/faults.h"
#include "wave/workgroup.h"

#include <bit>

namespace fade::sim {
namespace {

void count(Wave &w, const Segment &s) {
  const uint64_t lanes = w.active_count;
  for (const Segment::Count &c : s.counts) {
    DispatchStats::Count &total = w.stats->classes[static_cast<size_t>(c.cls)];
    total.waves += c.instructions;
    total.lanes += c.instructions * lanes;
  }
}

void trace_instruction(const Wave &w, Program &program, const Instruction &in) {
  const uint32_t *group = w.info.group->id;
  say("wave %u,%u,%u/%u %#llx exec %016llx %s", group[0], group[1], group[2], w.info.number,
      static_cast<unsigned long long>(in.pc), static_cast<unsigned long long>(w.exec()),
      program.text(in.pc).c_str());
}

} // namespace

void WaveRunner::use(const Program &program, JitUse jit) {
  jit_ = tracing_ ? JitUse::off : jit;
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
  if (!kObservable || !w.observer) {
    if (jit_ == JitUse::off) return run_segments<Told::nothing>(w, program, budget);
    const Segment *first = w.segment ? w.segment : find(program, w.pc);
    const uint64_t compiled = w.stats->compiled;
    const uint64_t done = run_segments<Told::nothing>(w, program, budget);
    warm(program, *first, done - (w.stats->compiled - compiled));
    return done;
  }
  return w.observer_wants & (kWantsControl | kWantsRegisters | kWantsHazards)
             ? run_segments<Told::instructions>(w, program, budget)
             : run_segments<Told::segments>(w, program, budget);
}

// Runs compiled code from a segment on, if there is some.
bool WaveRunner::runs_compiled(Wave &w, Program &program, const Segment &s, uint64_t &done,
                               uint64_t budget) {
  const JitEntry *code = s.code.load(std::memory_order_acquire);
  if (!code) [[likely]] {
    if (jit_ != JitUse::always || s.was_compiled.load(std::memory_order_relaxed)) return false;
    program.compile(s, true);
    code = s.code.load(std::memory_order_acquire);
    if (!code) return false;
  }
  if (jit_ == JitUse::off || !w.plain_mode) return false;
  JitFrame frame{&current_, nullptr};
  const uint64_t before = done;
  done = code->run(w, frame, done, budget, code->number);
  w.stats->compiled += done - before;
  if (frame.error) std::rethrow_exception(frame.error);
  return true;
}

// A segment at which waves begin a turn is hot when many instructions have been interpreted in such
// turns. Those of several turns are added up, so that workers seldom write to what they share.
void WaveRunner::warm(Program &program, const Segment &s, uint64_t interpreted) {
  constexpr uint64_t enough_to_tell = 1 << 14;
  interpreted_ += interpreted;
  if (interpreted_ < enough_to_tell || s.was_compiled.load(std::memory_order_relaxed)) return;
  const uint64_t heat = s.heat.fetch_add(interpreted_, std::memory_order_relaxed) + interpreted_;
  interpreted_ = 0;
  if (heat >= s.hot.load(std::memory_order_relaxed)) program.compile(s, false);
}

// In several forms, so that a run without observers is as if there were none, and those who count
// or want accesses, which instructions tell themselves, pay for no more.
template <WaveRunner::Told told>
uint64_t WaveRunner::run_segments(Wave &w, Program &program, uint64_t budget) {
  const Segment *s = w.segment ? w.segment : find(program, w.pc);
  w.segment = nullptr;
  for (uint64_t done = 0;;) {
    if (s->lds_use != LdsUse::none && s->lds_use != w.lds_use) {
      if (w.in_step && w.lds_use != LdsUse::none && w.time + done > w.siblings_time) {
        w.state = WaveState::at_lds;
        w.segment = s;
        return done;
      }
      w.lds_use = s->lds_use;
    }
    if constexpr (told == Told::nothing)
      if (runs_compiled(w, program, *s, done, budget)) {
        if (w.state != WaveState::running || done >= budget) return done;
        s = follow(*s, program, w.pc);
        continue;
      }
    w.expand_exec();
    if constexpr (told != Told::nothing) observe_segment(w, *s);
    count(w, *s);
    w.pc = s->end;
    for (const Instruction &in : s->instructions) {
      current_ = &in;
      if (tracing_) [[unlikely]]
        trace_instruction(w, program, in);
      if constexpr (told == Told::instructions) observe_before(w, program, in);
      in.run(w, in);
      if constexpr (told == Told::instructions) observe_after(w, in);
    }
    if constexpr (told == Told::segments)
      if (w.state == WaveState::ended) tell_after(w, s->instructions.back());
    if (!s->unknown.empty() && w.pc == s->end) {
      if (s->unmapped) throw MemoryFault{s->end, false, true};
      throw IllegalInstruction{s->end, s->unknown};
    }
    done += s->length;
    if (w.state != WaveState::running || done >= budget) return done;
    s = follow(*s, program, w.pc);
  }
}

} // namespace fade::sim
