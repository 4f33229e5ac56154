// Counting blocks of a kernel in scalar registers of AMD GPUs, and adding them up in memory when
// the wave ends.
//
// No value of the compiler can be counted up in a branch that only some lanes take: what the lanes
// outside of it see is the old one. So the counters are registers that the compiler does not know
// of: it is told that it has fewer, and those above are ours. Functions that are called save them
// like all others from s30 on. What a block costs is written as assembly:
//
//   not in a loop   s_bcnt1 lanes, exec                 how many; that it ran follows if there are
//   any in a loop       s_bcnt1 sum, exec; s_addc entries, entries, 0; s_add lanes, lanes, sum
//
// and one more instruction for each of the two if 32 bits may be too few. The time of a block is
// the difference of the clock at its end and at its start.
#include "Compat.h"
#include "Target.h"
#include "WaveCounters.h"

#include "fade/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>
#include <numeric>

using namespace llvm;

namespace fade {

namespace {

// The registers that are ours end below this. On gfx9 a wave with more than 96, VCC and others
// included, would leave less room for other waves.
unsigned endOfRegisters(unsigned major) { return major == 9 ? 90 : 100; }
// What is left to the compiler is enough for most kernels; it can spill to lanes of vector
// registers.
constexpr unsigned most_registers = 38;
// Calls need those up to s35.
constexpr unsigned most_registers_with_times = 46;
// Of a memory instruction, on the processor that takes the fewest bits for it.
constexpr uint32_t largest_offset = 2047 - 8;
// Part of what "amdgpu-num-sgpr" counts; the registers that the compiler may use are fewer.
constexpr unsigned least_reserved = 2;

std::string scalar(unsigned number) { return "s" + std::to_string(number); }

// One line of assembly.
std::string line(const Twine &text) { return (text + "\n").str(); }

class RegisterCounters : public WaveCounters {
public:
  RegisterCounters(const Target &target, unsigned major, unsigned wave_size)
      : target_(target), major_(major), wave_size_(wave_size) {}

  unsigned assign(CounterPlan &plan) override;
  void count(Function &kernel, const CounterPlan &plan) override;
  void flush(Instruction &end, const CounterPlace &to, uint32_t first,
             uint32_t first_time) override;

private:
  struct Place { // numbers of registers, 0: none
    unsigned lanes = 0, lanes_high = 0, entries = 0, entries_high = 0;
  };
  using Places = SmallVector<Place, 16>;

  std::string exec() const { return wave_size_ == 64 ? "exec" : "exec_lo"; }
  std::string countLanes(unsigned to) const;
  std::string readClock(unsigned to) const;
  void time(BasicBlock &block, const Place &place) const;
  std::string clear(SmallVectorImpl<unsigned> &registers) const;
  std::string flushAll(const Places &places, uint32_t first) const;
  std::string flushText(ArrayRef<Place> places, uint32_t first) const;
  void insert(Instruction &before, const std::string &text) const;

  const Target &target_;
  const unsigned major_;
  const unsigned wave_size_;
  unsigned lowest_ = 0;          // of our registers
  unsigned sum_ = 0;             // of lanes; the highest of them, and the upper half of `now`
  unsigned now_ = 0, start_ = 0; // clock: pairs
  Places places_;                // of the counters that have one
  Places times_;                 // of blocks: `entries` are clocks
};

unsigned RegisterCounters::assign(CounterPlan &plan) {
  SmallVector<unsigned, 16> order(plan.counters.size()), with, without;
  std::iota(order.begin(), order.end(), 0u);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    // That of the first block is set and not counted up: those that must be 0 lie side by side.
    const bool p = plan.counters[a].is_entry, q = plan.counters[b].is_entry;
    const unsigned x = plan.counters[a].depth, y = plan.counters[b].depth;
    return p != q ? p : x != y ? x > y : a < b;
  });
  places_.clear();
  times_.clear();
  unsigned next = endOfRegisters(major_);
  unsigned end = next - most_registers;
  sum_ = --next;
  if (!plan.timed.empty()) {
    end = next + 1 - most_registers_with_times;
    now_ = --next; // even, as pairs must be
    start_ = next -= 2;
  }
  const unsigned end_of_counts = endOfRegisters(major_) - most_registers;
  for (const unsigned i : order) {
    const Counter &counter = plan.counters[i];
    const unsigned needed =
        counter.is_once ? 1 : 2 + (counter.wide_entries ? 1 : 0) + (counter.wide_lanes ? 1 : 0);
    if (next < end_of_counts + needed) {
      without.push_back(i);
      continue;
    }
    with.push_back(i);
    Place place;
    place.lanes = --next;
    if (!counter.is_once) place.entries = --next;
    if (!counter.is_once && counter.wide_entries) place.entries_high = --next;
    if (!counter.is_once && counter.wide_lanes) place.lanes_high = --next;
    places_.push_back(place);
  }
  SmallVector<BasicBlock *, 16> timed;
  llvm::sort(plan.timed, [&](const BasicBlock *a, const BasicBlock *b) {
    const unsigned x = plan.counter_of.find(a)->second, y = plan.counter_of.find(b)->second;
    const unsigned p = plan.counters[x].depth, q = plan.counters[y].depth;
    return p != q ? p > q : x < y;
  });
  for (BasicBlock *block : plan.timed) {
    if (next < end + 2) break;
    timed.push_back(block);
    Place place;
    place.entries = --next;
    place.entries_high = --next;
    times_.push_back(place);
  }
  plan.timed = std::move(timed);
  lowest_ = next;
  with.append(without.begin(), without.end());
  plan.reorder(with);
  return static_cast<unsigned>(places_.size());
}

std::string RegisterCounters::countLanes(unsigned to) const {
  return line("s_bcnt1_i32_b" + Twine(wave_size_) + " " + scalar(to) + ", " + exec());
}

// A statement that the compiler moves nowhere. The highest of our registers is declared as written,
// so that the kernel is known to use it.
void RegisterCounters::insert(Instruction &before, const std::string &text) const {
  IRBuilder<> builder(&before);
  auto *type = FunctionType::get(builder.getInt32Ty(), false);
  CallInst *call = builder.CreateCall(type, InlineAsm::get(type, StringRef(text).rtrim(),
                                                           "={" + scalar(sum_) + "},~{scc}",
                                                           /*hasSideEffects=*/true));
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
}

void RegisterCounters::count(Function &kernel, const CounterPlan &plan) {
  kernel.addFnAttr("amdgpu-num-sgpr", std::to_string(lowest_ + least_reserved));
  std::string start; // in the entry block, which runs with all lanes
  SmallVector<unsigned, 32> zero;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place &place = places_[i];
    const Counter &counter = plan.counters[i];
    if (counter.is_entry) {
      start += countLanes(place.lanes);
      continue;
    }
    for (const unsigned number : {place.lanes, place.lanes_high, place.entries, place.entries_high})
      if (number != 0) zero.push_back(number);
    std::string text = countLanes(counter.is_once ? place.lanes : sum_);
    auto add = [&](const char *instruction, unsigned to, const std::string &value) {
      text += line(Twine(instruction) + " " + scalar(to) + ", " + scalar(to) + ", " + value);
    };
    if (!counter.is_once) {
      add("s_addc_u32", place.entries, "0"); // one, unless no lane is active
      if (place.entries_high != 0) add("s_addc_u32", place.entries_high, "0");
      add("s_add_u32", place.lanes, scalar(sum_));
      if (place.lanes_high != 0) add("s_addc_u32", place.lanes_high, "0");
    }
    insert(*counter.block->getFirstInsertionPt(), text);
  }
  for (size_t i = 0; i < times_.size(); ++i) {
    zero.append({times_[i].entries, times_[i].entries_high});
    time(*plan.timed[i], times_[i]);
  }
  start += clear(zero);
  if (!start.empty()) insert(*kernel.getEntryBlock().getFirstInsertionPt(), start);
}

std::string RegisterCounters::clear(SmallVectorImpl<unsigned> &registers) const {
  llvm::sort(registers);
  std::string text;
  for (size_t i = 0; i < registers.size(); ++i) {
    const unsigned number = registers[i];
    const bool pair = number % 2 == 0 && i + 1 < registers.size() && registers[i + 1] == number + 1;
    if (pair)
      text += line("s_mov_b64 s[" + Twine(number) + ":" + Twine(number + 1) + "], 0");
    else
      text += line("s_mov_b32 " + scalar(number) + ", 0");
    i += pair;
  }
  return text;
}

// From gfx11 on the clock is a register of 20 bits.
std::string RegisterCounters::readClock(unsigned to) const {
  if (major_ >= 11) return line("s_getreg_b32 " + scalar(to) + ", hwreg(29, 0, 20)");
  return line("s_memtime s[" + Twine(to) + ":" + Twine(to + 1) + "]");
}

// Blocks do not contain each other, so one register is enough for when they began. What is read
// there has arrived when the end is waited for.
void RegisterCounters::time(BasicBlock &block, const Place &place) const {
  const std::string now = scalar(now_), high = scalar(now_ + 1);
  std::string text = readClock(now_);
  if (major_ >= 11) {
    text += line("s_sub_u32 " + now + ", " + now + ", " + scalar(start_));
    text += line("s_and_b32 " + now + ", " + now + ", 0xfffff");
  } else {
    text += line("s_waitcnt lgkmcnt(0)");
    text += line("s_sub_u32 " + now + ", " + now + ", " + scalar(start_));
    text += line("s_subb_u32 " + high + ", " + high + ", " + scalar(start_ + 1));
  }
  const std::string sum = scalar(place.entries), sum_high = scalar(place.entries_high);
  text += line("s_add_u32 " + sum + ", " + sum + ", " + now);
  text += line("s_addc_u32 " + sum_high + ", " + sum_high + ", " + (major_ >= 11 ? "0" : high));
  insert(endOf(block, target_), text);
  insert(*block.getFirstInsertionPt(), readClock(start_));
}

// No more places than a wave has lanes: each lane adds one of them. v[0:1] are entries, v[2:3]
// lanes, v4 the offset.
std::string RegisterCounters::flushText(ArrayRef<Place> places, uint32_t first) const {
  const auto count = static_cast<unsigned>(places.size());
  const std::string width = std::to_string(wave_size_);
  std::string text;
  auto write = [&](unsigned to_register, unsigned value, unsigned place) {
    text +=
        line("v_writelane_b32 v" + Twine(to_register) + ", " + scalar(value) + ", " + Twine(place));
  };
  if (count == wave_size_)
    text += line("s_mov_b" + width + " " + exec() + ", -1");
  else
    text += line("s_bfm_b" + width + " " + exec() + ", " + Twine(count) + ", 0");
  text += line("v_mbcnt_lo_u32_b32 v4, -1, 0");
  if (count > 32) text += line("v_mbcnt_hi_u32_b32 v4, -1, v4");
  uint32_t offset = first * sizeof(fade_counter);
  std::string base = "$1";
  if (offset > largest_offset) {
    base = scalar(sum_);
    text += line("s_add_u32 " + base + ", $1, " + Twine(offset));
    offset = 0;
  }
  text += line("v_lshl_add_u32 v4, v4, 4, " + base);
  // Of those outside of loops only the lanes are known. They are all different from 0 or the
  // block did not run.
  bool any = false;
  for (unsigned i = 0; i < count; ++i) {
    if (places[i].entries != 0) continue;
    if (any)
      write(2, places[i].lanes, i);
    else
      text += line("v_mov_b32 v2, " + scalar(places[i].lanes));
    any = true;
  }
  if (any) text += line("v_min_u32 v0, 1, v2");
  text += line("v_mov_b32 v1, 0");
  text += line("v_mov_b32 v3, 0");
  if (!any) text += line("v_mov_b32 v2, 0");
  for (unsigned i = 0; i < count; ++i) {
    const Place &place = places[i];
    if (place.entries == 0) continue;
    if (place.lanes != 0) write(2, place.lanes, i);
    write(0, place.entries, i);
    if (place.lanes_high != 0) write(3, place.lanes_high, i);
    if (place.entries_high != 0) write(1, place.entries_high, i);
  }
  const char *add = major_ >= 11 ? "global_atomic_add_u64" : "global_atomic_add_x2";
  text += line(Twine(add) + " v4, v[0:1], $0 offset:" + Twine(offset));
  text += line(Twine(add) + " v4, v[2:3], $0 offset:" + Twine(offset + 8));
  return text;
}

std::string RegisterCounters::flushAll(const Places &places, uint32_t first) const {
  std::string text;
  for (ArrayRef<Place> rest = places; !rest.empty();) {
    const ArrayRef<Place> some = rest.take_front(wave_size_);
    text += flushText(some, first);
    first += static_cast<uint32_t>(some.size());
    rest = rest.drop_front(some.size());
  }
  return text;
}

void RegisterCounters::flush(Instruction &end, const CounterPlace &to, uint32_t first,
                             uint32_t first_time) {
  IRBuilder<> builder(&end);
  auto *type =
      FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty(), builder.getInt32Ty()}, false);
  const std::string text = flushAll(places_, first) + flushAll(times_, first_time);
  CallInst *call = builder.CreateCall(
      type,
      InlineAsm::get(type, StringRef(text).rtrim(),
                     "s,s,~{v0},~{v1},~{v2},~{v3},~{v4},~{scc},~{memory}", /*hasSideEffects=*/true),
      {to.copies, to.offset});
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
}

} // namespace

std::unique_ptr<WaveCounters> makeRegisterCounters(const Module &module, const Target &target) {
  const unsigned major = processorMajor(targetProcessor(module)), wave_size = waveSize(module);
  if (wave_size == 0 || major < 9 || major > 12) return nullptr;
  return std::make_unique<RegisterCounters>(target, major, wave_size);
}

} // namespace fade
