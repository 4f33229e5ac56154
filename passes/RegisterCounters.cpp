// Counting blocks of a kernel in scalar registers of AMD GPUs, and adding them up in memory when
// the wave ends.
//
// No value of the compiler can be counted up in a branch that only some lanes take: what the lanes
// outside of it see is the old one. So the counters are registers that the compiler does not know
// of: it is told that it has fewer, and those above are ours. Functions that are called save them
// like all others from s30 on. What a block costs is written as assembly:
//
//   not in a loop   s_bcnt1 lanes, exec                 how many; that it ran follows if there are
//   any in a loop   s_bcnt1 sum, exec; s_addc entries, entries, 0; s_add lanes, lanes, sum
//   ... with the lanes that came to the outermost loop, each time
//                   s_add entries, entries, one         lanes and one are found out before the loop
//
// and one more instruction for each of the two if 32 bits may be too few. The time of a block is
// the difference of the clock at its end and at its start.
//
// How many waves and lanes run the first block the host knows. Of a kernel without loops the rest
// is counted by what is missing of them, since few waves miss anything: mostly there is nothing to
// add.
//
//   in a row        s_xor missing, missing, exec        from all lanes that there were
//
// The compiler does not look into assembly, so what a processor wants to lie between two
// instructions has to be here (tests/sim/hazards looks for what is missing). That it keeps away
// from our registers is checked in machine code: by libfade, before it runs a twin
// (codeobj/counter_check.h), and in tests for each LLVM (tests/passes/lit/counter-registers.ll).
#include "Compat.h"
#include "Target.h"
#include "WaveCounters.h"

#include "fade/message.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

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
// Where each block makes it less likely that a wave misses nothing.
constexpr unsigned most_in_row = 8;
// Of a memory instruction, on the processor that takes the fewest bits for it.
constexpr uint32_t largest_offset = 2047 - 8;
// Part of what "amdgpu-num-sgpr" counts; the registers that the compiler may use are fewer.
constexpr unsigned least_reserved = 2;

std::string scalar(unsigned number) { return "s" + std::to_string(number); }

// One line of assembly.
std::string line(const Twine &text) { return (text + "\n").str(); }

std::string writeLane(unsigned vector, unsigned number, unsigned lane) {
  return line("v_writelane_b32 v" + Twine(vector) + ", " + scalar(number) + ", " + Twine(lane));
}

// On gfx12 VALU that has read a scalar register once may see an old value of it until what SALU
// wrote is waited for, and so may SALU (s_wait_alu sa_sdst(0), by its older name).
constexpr char wait_for_scalars[] = "s_waitcnt_depctr 0xfffe";

std::string afterEachLine(StringRef text, StringRef what) {
  std::string result;
  for (StringRef rest = text; !rest.empty();) {
    const auto [first, others] = rest.split('\n');
    result += line(first) + line(what);
    rest = others;
  }
  return result;
}

// Whether the compiler ignores "amdgpu-num-sgpr" on gfx9 if that leaves less than what waves have
// anyway, where LDS and workgroups allow few of them: since LLVM 21, and in what AMD made of 20.
constexpr bool ignores_small_limits = LLVM_VERSION_MAJOR > 20 ||
                                      (LLVM_VERSION_MAJOR == 20 && LLVM_VERSION_MINOR == 0);

bool isUsedIn(const Value &value, const Function &kernel, bool calls) {
  return any_of(value.users(), [&](const User *user) {
    const auto *instruction = dyn_cast<Instruction>(user);
    if (!instruction) return isUsedIn(*user, kernel, calls);
    const Function *function = instruction->getFunction();
    return function == &kernel || (calls && function->getCallingConv() != kernel.getCallingConv());
  });
}

bool callsFunctions(const Function &kernel) {
  return any_of(instructions(kernel), [](const Instruction &instruction) {
    const auto *call = dyn_cast<CallBase>(&instruction);
    return call && !call->isInlineAsm() && !isa<IntrinsicInst>(call);
  });
}

// What a kernel and the functions that it may call have in LDS, at most.
uint64_t ldsBytes(const Function &kernel) {
  constexpr uint64_t largest_alignment = 16;
  const Module &module = *kernel.getParent();
  const bool calls = callsFunctions(kernel);
  uint64_t bytes = 0;
  for (const GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() != FADE_SPACE_LDS || !isUsedIn(variable, kernel, calls))
      continue;
    const uint64_t size = module.getDataLayout().getTypeAllocSize(variable.getValueType());
    bytes += (size + largest_alignment - 1) / largest_alignment * largest_alignment;
  }
  return bytes;
}

// The waves of a kernel that a SIMD of gfx9 can have, as LLVM sees it or less: a workgroup has at
// least and at most so many of them.
unsigned mostWaves(unsigned least, unsigned most, uint64_t lds, unsigned waves_per_simd) {
  constexpr unsigned simds = 4, barriers = 16, lds_of_unit = 65536;
  const auto groups_by_lds = static_cast<unsigned>(lds_of_unit / std::max<uint64_t>(lds, 1));
  const unsigned slots = waves_per_simd * simds;
  const auto together = [&](unsigned waves) {
    const unsigned groups = waves == 1 ? slots : std::min(slots / waves, barriers);
    return std::min(groups, groups_by_lds) * waves;
  };
  const unsigned waves = std::max(together(least), together(most));
  return std::clamp((waves + simds - 1) / simds, 1u, waves_per_simd);
}

// The least "amdgpu-num-sgpr" that the compiler takes for a kernel.
unsigned leastLimit(const Function &kernel, StringRef processor, unsigned major) {
  if (!ignores_small_limits || major != 9) return 0;
  constexpr unsigned wave_size = 64, registers = 800, of_trap_handler = 16, granule = 16;
  constexpr unsigned largest = 102;
  unsigned least = 1, most = 1024;
  StringRef sizes = kernel.getFnAttribute("amdgpu-flat-work-group-size").getValueAsString();
  if (!sizes.empty() && (sizes.consumeInteger(10, least) || !sizes.consume_front(",") ||
                         sizes.ltrim().getAsInteger(10, most) || least == 0 || least > most))
    return largest;
  const bool is_older = startsWith(processor, "gfx90") && processor != "gfx90a";
  const unsigned of_simd = is_older || processor == "gfx9-generic" ? 10 : 8;
  const unsigned waves = mostWaves((least + wave_size - 1) / wave_size,
                                   (most + wave_size - 1) / wave_size, ldsBytes(kernel), of_simd);
  if (waves >= of_simd) return 0;
  const unsigned fewer = registers / (waves + 1) - of_trap_handler;
  return std::min(fewer / granule * granule + 1, largest);
}

class RegisterCounters : public WaveCounters {
public:
  RegisterCounters(const Target &target, StringRef processor, unsigned wave_size)
      : target_(target), processor_(processor), major_(processorMajor(processor)),
        wave_size_(wave_size),
        is_gfx101_(startsWith(processor, "gfx101") || startsWith(processor, "gfx10-1")) {}

  unsigned assign(CounterPlan &plan) override;
  bool countsMissing(unsigned counter) const override {
    return is_row_ || (counter == 0 && has_first_);
  }
  bool addsUp() const override { return places_.size() > has_first_ || !times_.empty(); }
  void count(Function &kernel, const CounterPlan &plan) override;
  void flush(Instruction &end, const CounterPlace &to, uint32_t first,
             uint32_t first_time) override;
  Value *hasAny(Instruction &end) override;
  Range registers() const override {
    return addsUp() ? Range{lowest_, endOfRegisters(major_)} : Range{};
  }

private:
  struct Place { // numbers of registers, 0: none
    unsigned lanes = 0, lanes_high = 0, entries = 0, entries_high = 0;
    unsigned missing = 0; // a mask, the first of as many as it takes
    unsigned one = 0;     // 1 if any lanes came to the loop: `lanes` is how many, each time
    bool has_wide_lanes = false;
  };
  using Places = SmallVector<Place, 16>;

  std::string exec() const { return wave_size_ == 64 ? "exec" : "exec_lo"; }
  std::string mask(unsigned first) const;
  std::string onMasks(const char *instruction, const Twine &to, const Twine &a,
                      const Twine &b) const;
  std::string countLanes(unsigned to) const;
  std::string readClock(unsigned to) const;
  void time(BasicBlock &block, const Place &place) const;
  std::string clear(SmallVectorImpl<unsigned> &registers) const;
  std::string flushAll(ArrayRef<Place> places, uint32_t first) const;
  std::string flushText(ArrayRef<Place> places, uint32_t first) const;
  std::string multiply(const Place &place, unsigned lane) const;
  std::string scalarLine(const Twine &text) const;
  void countRow(Function &kernel, const CounterPlan &plan) const;
  void countLoop(const Counter &counter, const Place &place) const;
  void insert(Instruction &before, const std::string &text) const;

  const Target &target_;
  const std::string processor_;
  const unsigned major_;
  const unsigned wave_size_;
  const bool is_gfx101_;
  bool has_calls_ = false;       // functions may save our registers, by VALU
  unsigned lowest_ = 0;          // of our registers
  unsigned sum_ = 0;             // of lanes; the highest of them, and the upper half of `now`
  unsigned now_ = 0, start_ = 0; // clock: pairs
  Places places_;                // of the counters that have one
  bool has_first_ = false; // the first of them is that of the first block, and has no register
  bool is_row_ = false;    // what is missing is counted
  Places times_;           // of blocks: `entries` are clocks
};

unsigned RegisterCounters::assign(CounterPlan &plan) {
  SmallVector<unsigned, 16> order(plan.counters.size()), with, without;
  std::iota(order.begin(), order.end(), 0u);
  llvm::sort(order, [&](unsigned a, unsigned b) {
    // That of the first block, which takes no register.
    const bool p = plan.counters[a].is_entry, q = plan.counters[b].is_entry;
    const unsigned x = plan.counters[a].depth, y = plan.counters[b].depth;
    return p != q ? p : x != y ? x > y : a < b;
  });
  places_.clear();
  times_.clear();
  unsigned next = endOfRegisters(major_);
  unsigned end = next - most_registers;
  sum_ = --next;
  --next; // even, so that those that must be 0 lie in pairs
  if (!plan.timed.empty()) {
    end = next + 2 - most_registers_with_times;
    now_ = next;
    start_ = next -= 2;
  }
  unsigned end_of_counts = endOfRegisters(major_) - most_registers;
  if (!plan.counters.empty()) {
    const Function &kernel = *plan.counters.front().block->getParent();
    const unsigned limit = leastLimit(kernel, processor_, major_);
    end = std::max(end, limit);
    end_of_counts = std::max(end_of_counts, limit);
  }
  has_first_ = !order.empty() && plan.counters[order.front()].is_entry;
  is_row_ = plan.is_row && plan.timed.empty() && order.size() <= has_first_ + most_in_row &&
            next >= end_of_counts + (order.size() - has_first_ + 1) * (wave_size_ / 32);
  for (const unsigned i : order) {
    const Counter &counter = plan.counters[i];
    if (counter.is_entry || is_row_) {
      Place place;
      if (!counter.is_entry) place.missing = next = (next - wave_size_ / 32) / 2 * 2;
      with.push_back(i);
      places_.push_back(place);
      continue;
    }
    // Those of the same outermost loop share the lanes.
    const auto same =
        counter.loop
            ? find_if(with,
                      [&](unsigned other) { return plan.counters[other].loop == counter.loop; })
            : with.end();
    const bool shares = same != with.end();
    const unsigned high =
        (counter.wide_entries ? 1 : 0) + (counter.wide_lanes && !counter.loop ? 1 : 0);
    const unsigned needed = counter.is_once ? 1 : high + (shares ? 1 : counter.loop ? 3 : 2);
    if (next < end_of_counts + needed) {
      without.push_back(i);
      continue;
    }
    Place place;
    if (counter.loop) {
      const Place *other = shares ? &places_[static_cast<size_t>(same - with.begin())] : nullptr;
      place.lanes = other ? other->lanes : --next;
      place.one = other ? other->one : --next;
      place.has_wide_lanes = counter.wide_lanes;
      place.entries = --next;
      if (counter.wide_entries) place.entries_high = --next;
      with.push_back(i);
      places_.push_back(place);
      continue;
    }
    with.push_back(i);
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

std::string RegisterCounters::mask(unsigned first) const {
  return wave_size_ == 64 ? ("s[" + Twine(first) + ":" + Twine(first + 1) + "]").str()
                          : scalar(first);
}

std::string RegisterCounters::onMasks(const char *instruction, const Twine &to, const Twine &a,
                                      const Twine &b) const {
  return line(Twine(instruction) + "_b" + Twine(wave_size_) + " " + to + ", " + a + ", " + b);
}

std::string RegisterCounters::countLanes(unsigned to) const {
  return line("s_bcnt1_i32_b" + Twine(wave_size_) + " " + scalar(to) + ", " + exec());
}

// A statement that the compiler moves nowhere. The highest of our registers is declared as written,
// so that the kernel is known to use it.
void RegisterCounters::insert(Instruction &before, const std::string &text) const {
  IRBuilder<> builder(&before);
  auto *type = FunctionType::get(builder.getInt32Ty(), false);
  const std::string all = major_ == 12 && has_calls_ ? afterEachLine(text, wait_for_scalars) : text;
  CallInst *call = builder.CreateCall(type, InlineAsm::get(type, StringRef(all).rtrim(),
                                                           "={" + scalar(sum_) + "},~{scc}",
                                                           /*hasSideEffects=*/true));
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
}

void RegisterCounters::countLoop(const Counter &counter, const Place &place) const {
  const std::string one = scalar(place.one), entries = scalar(place.entries);
  std::string text = line("s_add_u32 " + entries + ", " + entries + ", " + one);
  if (place.entries_high != 0) {
    const std::string high = scalar(place.entries_high);
    text += line("s_addc_u32 " + high + ", " + high + ", 0");
  }
  insert(*counter.block->getFirstInsertionPt(), text);
}

void RegisterCounters::countRow(Function &kernel, const CounterPlan &plan) const {
  std::string start; // in the entry block, which runs with all lanes
  for (size_t i = has_first_; i < places_.size(); ++i) {
    const std::string missing = mask(places_[i].missing);
    start += line("s_mov_b" + Twine(wave_size_) + " " + missing + ", " + exec());
    insert(*plan.counters[i].block->getFirstInsertionPt(),
           onMasks("s_xor", missing, missing, exec()));
  }
  insert(*kernel.getEntryBlock().getFirstInsertionPt(), start);
}

void RegisterCounters::count(Function &kernel, const CounterPlan &plan) {
  if (!addsUp()) return;
  kernel.addFnAttr("amdgpu-num-sgpr", std::to_string(lowest_ + least_reserved));
  has_calls_ = callsFunctions(kernel);
  if (is_row_) return countRow(kernel, plan);
  SmallVector<unsigned, 32> zero;
  SmallPtrSet<const BasicBlock *, 4> loops;
  for (size_t i = has_first_; i < places_.size(); ++i) {
    const Place &place = places_[i];
    const Counter &counter = plan.counters[i];
    for (const unsigned number :
         {place.one != 0 ? 0 : place.lanes, place.lanes_high, place.entries, place.entries_high})
      if (number != 0) zero.push_back(number);
    if (place.one != 0) {
      countLoop(counter, place);
      if (!loops.insert(counter.loop).second) continue;
      Instruction *before = counter.before_loop->getTerminator();
      if (before->getNumSuccessors() != 1)
        before = SplitEdge(counter.before_loop, counter.loop)->getTerminator();
      insert(*before,
             countLanes(place.lanes) + line("s_cselect_b32 " + scalar(place.one) + ", 1, 0"));
      continue;
    }
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
  insert(*kernel.getEntryBlock().getFirstInsertionPt(), clear(zero));
}

Value *RegisterCounters::hasAny(Instruction &end) {
  if (!is_row_) return nullptr;
  IRBuilder<> builder(&end);
  std::string text, any = mask(places_[has_first_].missing);
  for (size_t i = has_first_ + 1; i < places_.size(); ++i) {
    text += onMasks("s_or", "$0", any, mask(places_[i].missing));
    any = "$0";
  }
  const std::string to = text.empty() ? "={" + any + "}" : "=&s,~{scc}";
  auto *type = FunctionType::get(builder.getIntNTy(wave_size_), false);
  CallInst *call = builder.CreateCall(
      type, InlineAsm::get(type, StringRef(text).rtrim(), to, /*hasSideEffects=*/true));
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
  return builder.CreateICmpNE(call, builder.getIntN(wave_size_, 0));
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

// One that is followed by a use of what it writes, where VALU has been at work.
std::string RegisterCounters::scalarLine(const Twine &text) const {
  return major_ == 12 ? line(text) + line(wait_for_scalars) : line(text);
}

// The lanes of all entries of a block in a loop in which they stay together.
std::string RegisterCounters::multiply(const Place &place, unsigned lane) const {
  const std::string sum = scalar(sum_), by = ", " + scalar(place.lanes);
  std::string text = scalarLine("s_mul_i32 " + sum + ", " + scalar(place.entries) + by);
  text += writeLane(2, sum_, lane);
  if (!place.has_wide_lanes) return text;
  text += scalarLine("s_mul_hi_u32 " + sum + ", " + scalar(place.entries) + by);
  if (place.entries_high != 0) {
    const std::string high = scalar(place.entries_high);
    text += scalarLine("s_mul_i32 vcc_lo, " + high + by);
    text += scalarLine("s_add_u32 " + sum + ", " + sum + ", vcc_lo");
  }
  return text + writeLane(3, sum_, lane);
}

// No more places than a wave has lanes: each lane adds one of them. v[0:1] are entries, v[2:3]
// lanes, v4 the offset.
std::string RegisterCounters::flushText(ArrayRef<Place> places, uint32_t first) const {
  const auto count = static_cast<unsigned>(places.size());
  const std::string width = std::to_string(wave_size_);
  std::string text;
  auto write = [&](unsigned to_register, unsigned value, unsigned lane) {
    text += writeLane(to_register, value, lane);
  };
  for (const Place &place : places)
    if (place.missing != 0)
      text +=
          line("s_bcnt1_i32_b" + width + " " + scalar(place.missing) + ", " + mask(place.missing));
  if (is_row_) text += countLanes(sum_); // all of them: here lanes are together again
  // Memory instructions may not have read EXEC yet, and one here may pass those of LDS.
  if (is_gfx101_) text += line("s_waitcnt_depctr 0xffe3") + line("s_waitcnt_vscnt null, 0x0");
  if (count == wave_size_)
    text += line("s_mov_b" + width + " " + exec() + ", -1");
  else
    text += line("s_bfm_b" + width + " " + exec() + ", " + Twine(count) + ", 0");
  uint32_t offset = first * sizeof(fade_counter);
  std::string base = "$1";
  if (offset > largest_offset) {
    base = "vcc_lo";
    text += line("s_add_u32 " + base + ", $1, " + Twine(offset));
    offset = 0;
  }
  if (major_ == 12) text += line(wait_for_scalars); // for all of the above, and for $1
  text += line("v_mbcnt_lo_u32_b32 v4, -1, 0");
  if (count > 32) text += line("v_mbcnt_hi_u32_b32 v4, -1, v4");
  text += line("v_lshl_add_u32 v4, v4, 4, " + base);
  // Of those outside of loops only the lanes are known. They are all different from 0 or the
  // block did not run; if all are missing, so is the entry.
  bool any = false;
  for (unsigned i = 0; i < count; ++i) {
    if (places[i].entries != 0) continue;
    const unsigned lanes = is_row_ ? places[i].missing : places[i].lanes;
    if (any)
      write(2, lanes, i);
    else
      text += line("v_mov_b32 v2, " + scalar(lanes));
    any = true;
  }
  const std::string all = wave_size_ == 64 ? "vcc" : "vcc_lo";
  if (is_row_) text += line("v_cmp_eq_u32 " + all + ", " + scalar(sum_) + ", v2");
  // gfx94x wants two instructions between VALU's write of VCC and its read.
  text += line("v_mov_b32 v1, 0");
  text += line("v_mov_b32 v3, 0");
  if (is_row_)
    text += line("v_cndmask_b32 v0, 0, 1, " + all);
  else if (any)
    text += line("v_min_u32 v0, 1, v2");
  if (!any) text += line("v_mov_b32 v2, 0");
  for (unsigned i = 0; i < count; ++i) {
    const Place &place = places[i];
    if (place.entries == 0) continue;
    if (place.one != 0) {
      text += multiply(place, i);
    } else {
      if (place.lanes != 0) write(2, place.lanes, i);
      if (place.lanes_high != 0) write(3, place.lanes_high, i);
    }
    write(0, place.entries, i);
    if (place.entries_high != 0) write(1, place.entries_high, i);
  }
  const char *add = major_ >= 11 ? "global_atomic_add_u64" : "global_atomic_add_x2";
  text += line(Twine(add) + " v4, v[0:1], $0 offset:" + Twine(offset));
  text += line(Twine(add) + " v4, v[2:3], $0 offset:" + Twine(offset + 8));
  if (is_gfx101_) text += line("s_waitcnt_depctr 0xffe3"); // whoever writes $0 next
  return text;
}

std::string RegisterCounters::flushAll(ArrayRef<Place> places, uint32_t first) const {
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
  const std::string text =
      flushAll(ArrayRef<Place>(places_).drop_front(has_first_), first + has_first_) +
      flushAll(times_, first_time);
  CallInst *call =
      builder.CreateCall(type,
                         InlineAsm::get(type, StringRef(text).rtrim(),
                                        "s,s,~{v0},~{v1},~{v2},~{v3},~{v4},~{vcc},~{scc},~{memory}",
                                        /*hasSideEffects=*/true),
                         {to.copies, to.offset});
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
}

} // namespace

std::unique_ptr<WaveCounters> makeRegisterCounters(const Module &module, const Target &target) {
  const std::string processor = targetProcessor(module);
  const unsigned major = processorMajor(processor), wave_size = waveSize(module);
  if (wave_size == 0 || major < 9 || major > 12) return nullptr;
  return std::make_unique<RegisterCounters>(target, processor, wave_size);
}

} // namespace fade
