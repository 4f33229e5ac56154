#include "checks/unwritten_values.h"

#include "checks/copied_values.h"
#include "checks/lane_span.h"

#include <bit>
#include <string_view>

namespace fade::checks {
namespace {

/// `picks` puts bytes together or takes them apart; `passes` also selects, or crosses lanes.
enum class Use : uint8_t { computes, decides, moves, passes, picks, none };

bool hasAny(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view p) { return name.find(p) != name.npos; });
}

/// Names, because an instruction's meaning is the executor's matter, and it has no other word for
/// what it does with a value.
Use useOf(std::string_view name) {
  if (name == "v_mov_b32" || name == "v_mov_b64" || name == "s_mov_b32" || name == "s_mov_b64" ||
      hasAny(name, {"v_accvgpr_"}))
    return Use::moves;
  if (hasAny(name, {"s_barrier", "s_nop"})) return Use::none;
  if (hasAny(name, {"v_cmp", "s_cmp", "s_bitcmp"})) return Use::decides;
  if (hasAny(name,
             {"cndmask", "cselect", "cmov", "lane", "swap", "mov", "v_perm", "v_align", "_bfi"}))
    return Use::passes;
  if (hasAny(name, {"_and", "_or", "_lshl", "_lshr", "_ashr", "_bfe", "_pack", "_sext"}) &&
      !hasAny(name, {"add"}))
    return Use::picks;
  return Use::computes;
}

Use useOf(const ObservedInstruction &instruction) {
  if (hasAny(instruction.name, {"ds_permute", "ds_bpermute", "ds_swizzle"})) return Use::passes;
  if (instruction.counter != WaitCounter::none) // memory: for loads, registers are addresses
    return hasAny(instruction.name, {"load", "read"}) && !hasAny(instruction.name, {"d16"})
               ? Use::computes
               : Use::none;
  return useOf(instruction.name);
}

/// The lower bytes of a sum or product do not depend on the upper ones of what it is made of, and
/// compilers compute with whole registers where a byte is wanted. Of two halves, likewise.
bool keepsBytesApart(std::string_view name) {
  return hasAny(name, {"v_pk_"}) || !hasAny(name, {"_f16", "_f32", "_f64", "bf16"});
}

bool selects(std::string_view name) { return hasAny(name, {"cndmask", "cselect"}); }

/// What compilers compute before they select, at most: clang takes two to four instructions.
constexpr uint8_t kMostBeforeSelection = 4;

/// What sets fields of a few bits: out with the old ones, and in with the new ones.
bool masks(std::string_view name) { return hasAny(name, {"_and", "_bfi"}); }
bool mixes(std::string_view name) { return masks(name) || hasAny(name, {"_or"}); }

bool isIn(const ObservedRange &range, bool vector, unsigned number) {
  return range.vector == vector && number >= range.first && number < range.first + range.count;
}

} // namespace

unsigned UnwrittenBytes::first(unsigned lane) const {
  for (unsigned k = 0; k < count; ++k)
    if (lanes[k] >> lane & 1) return k;
  return 0;
}

unsigned UnwrittenBytes::ofLane(unsigned lane) const {
  unsigned n = 0;
  for (unsigned k = 0; k < count; ++k) n += lanes[k] >> lane & 1;
  return n;
}

void UnwrittenValues::begin() {
  values_.clear();
  sources_.clear();
  kept_.clear();
}

void UnwrittenValues::put(bool vector, unsigned number, const Lanes &lanes, const Origin &origin) {
  Value v{vector, static_cast<uint16_t>(number), lanes, origin};
  if (v.any()) values_.push_back(v);
}

void UnwrittenValues::drop(const ObservedRange &range, uint64_t lanes) {
  for (Value &v : values_)
    if (isIn(range, v.vector, v.number)) v.remove(range.vector ? lanes : ~uint64_t{0});
}

UnwrittenValues::Lanes UnwrittenValues::inRegister(const ObservedAccess &access,
                                                   const uint64_t *memory, unsigned dword) {
  Lanes lanes{};
  for (unsigned b = 0; b < 4; ++b) {
    const unsigned at = 4 * dword + b; // of all registers
    if (at < access.data_byte || at >= access.data_byte + access.data_bytes) continue;
    const unsigned k = at - access.data_byte;
    lanes[b] = memory[std::min(k, access.size - 1)]; // the sign is that of the last one
  }
  return lanes;
}

uint32_t UnwrittenValues::sourceOf(const ObservedWave &wave, const ObservedAccess &access,
                                   const Finding &finding, bool is_whole) {
  // One source for each instruction: a loop makes no more of them.
  auto at = std::ranges::find_if(sources_, [&](const Source &s) {
    return s.finding.place.pc == finding.place.pc && s.is_whole == is_whole;
  });
  if (at == sources_.end()) at = sources_.insert(at, Source{.finding = finding});
  at->is_whole = is_whole;
  at->is_private = access.space == AccessSpace::scratch;
  at->size = access.size;
  for (unsigned i = 0; i < wave.lanes; ++i)
    at->address[i] = access.address[access.path == AccessPath::scalar ? 0 : i];
  return static_cast<uint32_t>(at - sources_.begin());
}

void UnwrittenValues::follow(const ObservedWave &wave, const ObservedAccess &access,
                             const UnwrittenBytes &bytes, uint32_t source) {
  const bool vector = access.path != AccessPath::scalar;
  std::array<uint64_t, UnwrittenBytes::kMost> memory = bytes.lanes;
  for (uint64_t &lanes : memory)
    if (!vector && lanes) lanes = ~uint64_t{0};
  for (unsigned n = 0; 4 * n < access.data_byte + access.data_bytes && 4 * n < memory.size(); ++n) {
    const auto shift = static_cast<uint8_t>((4 * n - access.data_byte) % kUnit);
    Origin origin{source, shift};
    origin.dword = static_cast<uint16_t>(n), origin.load = loads_;
    put(vector, access.data + n, inRegister(access, memory.data(), n), origin);
  }
  ++loads_;
  wave.also_wants = kWantsRegisters;
}

void UnwrittenValues::load(const ObservedWave &wave, const ObservedAccess &access,
                           const UnwrittenBytes &bytes, const Finding &finding) {
  if (access.data == ObservedAccess::none) return;
  const uint32_t number = sourceOf(wave, access, finding, false);
  Source &source = sources_[number];
  source.is_piece = access.size <= 4;
  source.unit = static_cast<uint8_t>(bytes.unit);
  if (finding.limit && source.is_piece)
    source.unit = static_cast<uint8_t>(std::bit_floor(access.size));
  follow(wave, access, bytes, number);
}

bool UnwrittenValues::loadWhole(const ObservedWave &wave, const ObservedAccess &access,
                                uint64_t lanes, const Finding &finding) {
  if (access.data == ObservedAccess::none || access.size > UnwrittenBytes::kMost) return false;
  UnwrittenBytes bytes(access.size);
  for (unsigned k = 0; k < bytes.count; ++k) bytes.lanes[k] = lanes;
  follow(wave, access, bytes, sourceOf(wave, access, finding, true));
  return true;
}

int UnwrittenValues::byteOf(const Value &value, const ObservedAccess &access, unsigned k) {
  const unsigned at = access.data_byte + k;
  if (access.data == ObservedAccess::none || value.number != access.data + at / 4 ||
      value.vector != (access.path != AccessPath::scalar))
    return -1;
  return static_cast<int>(at % 4);
}

uint64_t UnwrittenValues::stored(const ObservedAccess &access, unsigned k) const {
  uint64_t lanes = 0;
  for (const Value &v : values_)
    if (const int b = byteOf(v, access, k); b >= 0) lanes |= v.lanes[static_cast<unsigned>(b)];
  return lanes & access.lanes;
}

uint64_t UnwrittenValues::storedWhole(const ObservedAccess &access, unsigned k) const {
  uint64_t lanes = 0;
  for (const Value &v : values_)
    if (const int b = byteOf(v, access, k);
        b >= 0 && sources_[v.origin.source].is_whole && !v.origin.mixed)
      lanes |= v.lanes[static_cast<unsigned>(b)];
  return lanes & access.lanes;
}

/// Whether byte `byte` of a register, stored as byte `k`, comes to another place of a structure.
bool UnwrittenValues::isOutOfPlace(const Value &value, unsigned byte, uint64_t lanes,
                                   const ObservedAccess &access, unsigned k) const {
  const Source &source = sources_[value.origin.source];
  if (!(source.is_piece || value.origin.picked) || value.origin.strayed) return false;
  for (; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t was = source.address[lane] % kUnit + byte + value.origin.shift;
    if ((access.address[lane] + k) % source.unit != was % source.unit) return true;
  }
  return false;
}

uint64_t UnwrittenValues::backInPlace(const Value &value, unsigned byte, uint64_t lanes,
                                      const ObservedAccess &access, unsigned k) const {
  const Source &source = sources_[value.origin.source];
  uint64_t back = 0;
  if (source.finding.space != static_cast<uint32_t>(access.space) || value.origin.strayed) return 0;
  for (; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t offset = access.address[lane] + k - source.address[lane];
    if (offset < source.size && offset % kUnit == (byte + value.origin.shift) % kUnit)
      back |= uint64_t{1} << lane;
  }
  return back;
}

void UnwrittenValues::store(const ObservedWave &wave, const ObservedAccess &access,
                            Reporter &reporter, CopiedValues *copies) {
  const bool in_lds = access.space == AccessSpace::lds;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Value &v = values_[i];
    const Source &source = sources_[v.origin.source];
    if (v.origin.computed_at) {
      uint64_t stored = 0;
      for (unsigned k = 0; k < access.size; ++k)
        if (const int b = byteOf(v, access, k); b >= 0)
          stored |= v.lanes[static_cast<unsigned>(b)] & access.lanes;
      if (stored) report(wave, v, stored, access.pc, reporter);
      v.remove(stored);
      continue;
    }
    if (in_lds && access.kind == AccessKind::store) continue; // a copy, see storedWhole()
    if (in_lds && !source.is_whole) continue;
    uint64_t used = 0;
    for (unsigned k = 0; k < access.size; ++k) {
      const int b = byteOf(v, access, k);
      if (b < 0) continue;
      const auto byte = static_cast<unsigned>(b);
      uint64_t stored = v.lanes[byte] & access.lanes;
      const uint64_t back =
          stored && access.kind == AccessKind::store ? backInPlace(v, byte, stored, access, k) : 0;
      if (v.origin.mixed) v.lanes[byte] &= ~back; // it is written now
      if (v.origin.mixed || source.is_whole) stored &= ~back;
      if (source.is_whole || source.is_private || access.kind == AccessKind::atomic ||
          v.origin.derived || isOutOfPlace(v, byte, stored, access, k))
        used |= stored;
    }
    if (!used) continue;
    if (copies && isCopied(wave, access, v, used, reporter, *copies)) continue;
    report(wave, v, used, access.pc, reporter);
    v.remove(access.lanes);
  }
}

bool UnwrittenValues::isCopied(const ObservedWave &wave, const ObservedAccess &access,
                               const Value &value, uint64_t lanes, const Reporter &reporter,
                               CopiedValues &copies) const {
  const Source &source = sources_[value.origin.source];
  if (!source.is_whole || source.is_private || access.kind != AccessKind::store ||
      value.origin.derived || value.origin.masked || value.origin.mixed)
    return false;
  unsigned first = access.size, last = 0;
  for (unsigned k = 0; k < access.size; ++k)
    if (byteOf(value, access, k) >= 0) first = std::min(first, k), last = k;
  Finding f = source.finding;
  f.other = reporter.place(wave, static_cast<unsigned>(std::countr_zero(lanes)), access.pc,
                           AccessKind::load, 4);
  const bool is_whole = first == 0 && last + 1 == access.size;
  bool is_kept = true;
  forRuns(access, lanes, [&](uint64_t at, uint64_t size, uint64_t of_run) {
    const auto count = static_cast<uint64_t>(std::popcount(of_run));
    if (is_whole) {
      is_kept = is_kept && copies.add(f, at, size, count);
      return;
    }
    for (uint64_t i = 0; i < count && is_kept; ++i)
      is_kept = copies.add(f, at + i * access.size + first, last + 1 - first, 1);
  });
  return is_kept;
}

void UnwrittenValues::keep(const ObservedAccess &access) {
  for (unsigned k = 0; k < access.size; ++k) {
    const Value *holder = nullptr;
    unsigned byte = 0;
    uint64_t unwritten = 0;
    for (const Value &v : values_)
      if (const int b = byteOf(v, access, k); b >= 0 && v.lanes[static_cast<unsigned>(b)]) {
        byte = static_cast<unsigned>(b), holder = &v;
        unwritten |= v.lanes[byte];
      }
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const uint64_t bit = uint64_t{1} << lane, address = access.address[lane] + k;
      const bool sets_field =
          unwritten & bit && holder->origin.mixed && backInPlace(*holder, byte, bit, access, k);
      if (unwritten & bit && !sets_field) {
        Kept &kept = kept_[address / 4];
        kept.lanes[address % 4] |= bit;
        kept.origin = holder->origin;
        kept.origin.shift =
            static_cast<uint8_t>((byte + holder->origin.shift - address % 4) % kUnit);
      } else if (const auto at = kept_.find(address / 4); at != kept_.end()) {
        at->second.lanes[address % 4] &= ~bit;
      }
    }
  }
}

void UnwrittenValues::scratch(const ObservedWave &wave, const ObservedAccess &access) {
  if (values_.empty() && kept_.empty()) return;
  if (access.kind != AccessKind::load) return keep(access);
  if (access.data == ObservedAccess::none || kept_.empty()) return;
  std::array<uint64_t, UnwrittenBytes::kMost> memory{};
  Origin origin;
  bool any = false;
  for (unsigned k = 0; k < std::min<unsigned>(access.size, memory.size()); ++k)
    for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      const uint64_t address = access.address[lane] + k;
      const auto at = kept_.find(address / 4);
      if (at == kept_.end() || !(at->second.lanes[address % 4] >> lane & 1)) continue;
      memory[k] |= uint64_t{1} << lane;
      origin = at->second.origin;
      const uint64_t to = (access.data_byte + k) % 4;
      origin.shift = static_cast<uint8_t>((address % 4 + origin.shift - to) % kUnit);
      any = true;
    }
  if (!any) return;
  for (unsigned n = 0; 4 * n < access.data_byte + access.data_bytes && 4 * n < memory.size(); ++n)
    put(true, access.data + n, inRegister(access, memory.data(), n), origin);
  wave.also_wants = kWantsRegisters;
}

void UnwrittenValues::report(const ObservedWave &wave, const Value &value, uint64_t lanes,
                             uint64_t site, Reporter &reporter) {
  Finding f = sources_[value.origin.source].finding;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const bool is_computed = value.origin.computed_at;
  f.other = reporter.place(wave, value.vector ? lane : 0,
                           is_computed ? value.origin.computed_at : site, AccessKind::load, 4);
  reporter.report(f, value.vector ? static_cast<uint64_t>(std::popcount(lanes)) : 1);
  forget(value.origin, value.vector ? lanes : ~uint64_t{0});
}

/// Once is enough, wherever it has been put meanwhile.
void UnwrittenValues::forget(Origin origin, uint64_t lanes) {
  for (Value &v : values_)
    if (isOfSame(v.origin, origin)) v.remove(v.vector ? lanes : ~uint64_t{0});
  for (auto &[address, kept] : kept_)
    if (isOfSame(kept.origin, origin))
      for (uint64_t &l : kept.lanes) l &= ~lanes;
}

/// Whether both came with one execution of a load, and of a structure in the same register.
bool UnwrittenValues::isOfSame(const Origin &a, const Origin &b) const {
  return a.load == b.load && (sources_[a.source].is_whole || a.dword == b.dword);
}

/// An instruction that reads some.
struct UnwrittenValues::Step {
  const ObservedWave &wave;
  const ObservedInstruction &instruction;
  uint64_t site;
  Reporter &reporter;
  std::vector<std::size_t> read{}; ///< of values_
  std::vector<Value> after{};      ///< what its results are

  static constexpr uint32_t kMostResults = 12;
  std::array<ObservedBytes, kMostResults> results{};
  uint32_t count = 0; ///< of results
  void ask(const std::vector<ObservedBytes> &bytes) {
    count = instruction.trial->depends(bytes.data(), static_cast<uint32_t>(bytes.size()),
                                       results.data(), kMostResults);
    for (uint32_t i = 0; i < count; ++i)
      for (uint64_t &lanes : results[i].lanes)
        lanes &= results[i].vector ? instruction.lanes : ~uint64_t{0};
  }
  /// Of two operations in one instruction, the one that has this result.
  std::string_view nameOf(const ObservedBytes &result) const {
    const bool is_second =
        instruction.paired && result.vector && result.number == instruction.paired_result;
    return is_second ? instruction.paired : instruction.name;
  }
  static Lanes lanesOf(const ObservedBytes &result) {
    Lanes lanes;
    std::ranges::copy(result.lanes, lanes.begin());
    for (uint64_t &l : lanes)
      if (!result.vector && l) l = ~uint64_t{0};
    return lanes;
  }
};

namespace {

ObservedBytes bytesOf(bool vector, uint16_t number, const std::array<uint64_t, 4> &lanes) {
  ObservedBytes bytes{vector, number, {}};
  for (unsigned b = 0; b < 4; ++b) bytes.lanes[b] = vector ? lanes[b] : lanes[b] & 1;
  return bytes;
}

} // namespace

void UnwrittenValues::move(Step &step) const {
  const ObservedInstruction &in = step.instruction;
  for (const std::size_t i : step.read) {
    const Value &v = values_[i];
    const unsigned at = v.number - in.reads[0].first;
    if (!isIn(in.reads[0], v.vector, v.number) || !in.writes_count || at >= in.writes[0].count)
      continue;
    Value moved = v;
    moved.vector = in.writes[0].vector;
    moved.number = static_cast<uint16_t>(in.writes[0].first + at);
    for (uint64_t &lanes : moved.lanes)
      if (moved.vector) lanes &= in.lanes;
    step.after.push_back(moved);
  }
}

/// All of a register, and not put together from pieces.
bool UnwrittenValues::isWholeDword(const Value &v) const {
  return v.lanes[0] & v.lanes[1] & v.lanes[2] & v.lanes[3] && !sources_[v.origin.source].is_piece &&
         !v.origin.picked;
}

/// Byte by byte, so that it is known where each came from.
void UnwrittenValues::pick(Step &step) const {
  const bool crosses_lanes =
      step.instruction.selects || hasAny(step.instruction.name, {"lane", "ds_"});
  for (const std::size_t i : step.read) {
    const Value &v = values_[i];
    for (unsigned b = 0; b < 4; ++b) {
      if (!v.lanes[b]) continue;
      Lanes one{};
      one[b] = v.lanes[b];
      step.ask({bytesOf(v.vector, v.number, one)});
      for (uint32_t n = 0; n < step.count; ++n) {
        const Lanes lanes = Step::lanesOf(step.results[n]);
        for (unsigned to = 0; to < 4; ++to) {
          if (!lanes[to]) continue;
          Value picked{step.results[n].vector, step.results[n].number, {}, v.origin};
          picked.lanes[to] = lanes[to];
          picked.origin.shift = static_cast<uint8_t>((b + v.origin.shift - to) % kUnit);
          picked.origin.picked = true;
          picked.origin.strayed |= crosses_lanes || picked.vector != v.vector;
          picked.origin.masked |= masks(step.instruction.name);
          picked.origin.mixed |= mixes(step.instruction.name);
          picked.origin.derived |= isWholeDword(v);
          step.after.push_back(picked);
        }
      }
    }
  }
}

/// Whether it is only seen later what becomes of the result.
bool UnwrittenValues::awaits(Step &step, const Value &value, uint64_t lanes) const {
  const ObservedInstruction &in = step.instruction;
  if (!in.trial || in.paired || !value.vector || in.counter != WaitCounter::none ||
      useOf(in) != Use::computes || hasAny(in.name, {"lane", "dpp"}) || in.writes_count != 1 ||
      !in.writes[0].vector || in.writes[0].count > 2 ||
      value.origin.computed >= kMostBeforeSelection)
    return false;
  for (unsigned n = 0; n < in.writes[0].count; ++n) {
    Value result{true, static_cast<uint16_t>(in.writes[0].first + n), {}, value.origin};
    result.lanes.fill(lanes);
    if (!result.origin.computed_at) result.origin.computed_at = step.site;
    ++result.origin.computed;
    result.origin.passed_on = false;
    step.after.push_back(result);
  }
  return true;
}

/// Nor is what this instruction makes of it reported once more.
void UnwrittenValues::report(Step &step, const Value &value, uint64_t lanes) {
  const Origin origin = value.origin;
  const uint64_t done = value.vector ? lanes : ~uint64_t{0};
  report(step.wave, value, lanes, step.site, step.reporter);
  for (Value &v : step.after)
    if (isOfSame(v.origin, origin)) v.remove(v.vector ? done : ~uint64_t{0});
}

/// Lanes for which a result is not selected are done with it.
void UnwrittenValues::select(Step &step, Value &v) {
  step.ask({bytesOf(v.vector, v.number, v.lanes)});
  uint64_t selected = 0;
  for (uint32_t n = 0; n < step.count; ++n)
    for (const uint64_t lanes : step.results[n].lanes) selected |= lanes;
  selected &= v.any();
  const Value result = v;
  v.remove(step.instruction.lanes);
  if (selected) report(step, result, selected);
}

/// Results that are read.
void UnwrittenValues::reportComputed(Step &step) {
  std::erase_if(step.read, [&](std::size_t i) {
    Value &v = values_[i];
    if (!v.origin.computed_at) return false;
    const uint64_t lanes = v.any() & step.instruction.lanes;
    if (!lanes) return true;
    if (step.instruction.trial && !step.instruction.paired && selects(step.instruction.name)) {
      select(step, v);
    } else if (awaits(step, v, lanes)) {
      v.origin.passed_on = true;
    } else {
      report(step, v, lanes);
      v.remove(lanes);
    }
    return true;
  });
}

void UnwrittenValues::reportOverwritten(Step &step, const ObservedRange &range) {
  for (Value &v : values_) {
    if (!v.origin.computed_at || v.origin.passed_on || !isIn(range, v.vector, v.number)) continue;
    const uint64_t lanes = v.any() & step.instruction.lanes;
    if (lanes) report(step, v, lanes);
    v.remove(lanes);
  }
}

void UnwrittenValues::end(const ObservedWave &wave, Reporter &reporter) {
  for (Value &v : values_)
    if (const uint64_t lanes = v.any(); v.origin.computed_at && !v.origin.passed_on && lanes) {
      report(wave, v, lanes, v.origin.computed_at, reporter);
      v.remove(lanes);
    }
  std::erase_if(values_, [](const Value &v) { return v.any() == 0; });
  if (values_.empty()) wave.also_wants = 0;
}

void UnwrittenValues::reportAll(Step &step) {
  for (const std::size_t i : step.read) {
    Value &v = values_[i];
    const uint64_t lanes = v.vector ? v.any() & step.instruction.lanes : v.any();
    if (!lanes || awaits(step, v, lanes)) continue;
    report(step.wave, v, lanes, step.site, step.reporter);
    v.remove(v.vector ? lanes : ~uint64_t{0}); // once is enough
  }
}

/// Whether there is still nothing wrong with a load of which nothing was written.
bool UnwrittenValues::mayBeField(const Value &value, const ObservedInstruction &instruction) const {
  if (!sources_[value.origin.source].is_whole) return true;
  const Use use = useOf(instruction);
  if (use == Use::none || (use == Use::moves && !instruction.selects)) return true;
  // What is not selected may have been loaded too early.
  return instruction.trial && !instruction.paired &&
         (masks(instruction.name) || selects(instruction.name) ||
          (value.origin.masked && mixes(instruction.name)));
}

void UnwrittenValues::reportWhole(Step &step) {
  std::erase_if(step.read, [&](std::size_t i) {
    Value &v = values_[i];
    if (mayBeField(v, step.instruction)) return false;
    const uint64_t lanes = v.vector ? v.any() & step.instruction.lanes : v.any();
    if (lanes && !awaits(step, v, lanes)) report(step.wave, v, lanes, step.site, step.reporter);
    return true;
  });
}

void UnwrittenValues::compute(Step &step, bool any_use_counts) {
  std::vector<ObservedBytes> bytes;
  for (const std::size_t i : step.read)
    bytes.push_back(bytesOf(values_[i].vector, values_[i].number, values_[i].lanes));
  step.ask(bytes);
  bool is_mistake = false;
  const auto had = static_cast<std::ptrdiff_t>(step.after.size());
  for (uint32_t n = 0; n < step.count; ++n) {
    const ObservedBytes &result = step.results[n];
    const std::string_view name = step.nameOf(result);
    const Use use = useOf(name);
    const Lanes lanes = Step::lanesOf(result);
    const uint64_t any = lanes[0] | lanes[1] | lanes[2] | lanes[3];
    if (!any) continue;
    const bool is_first = step.instruction.writes_count &&
                          result.number == step.instruction.writes[0].first &&
                          result.vector == step.instruction.writes[0].vector;
    if (any_use_counts || use == Use::decides || (use == Use::computes && !keepsBytesApart(name)) ||
        (use == Use::computes && is_first && lanes[0] && !hasAny(name, {"v_pk_"})))
      is_mistake = true;
    else if (result.vector || (is_first && result.number < kObservedScc)) {
      Value after{result.vector, result.number, lanes, values_[step.read.front()].origin};
      after.origin.picked = after.origin.strayed = true;
      after.origin.derived = use == Use::computes;
      step.after.push_back(after);
    }
  }
  if (!is_mistake) return;
  step.after.erase(step.after.begin() + had, step.after.end());
  reportAll(step);
}

void UnwrittenValues::registers(const ObservedWave &wave, const ObservedInstruction &instruction,
                                uint64_t site, Reporter &reporter) {
  Step step{wave, instruction, site, reporter};
  bool has_scc = false, is_whole = false;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value &v = values_[i];
    for (uint32_t k = 0; k < instruction.reads_count; ++k)
      if (isIn(instruction.reads[k], v.vector, v.number)) {
        step.read.push_back(i);
        has_scc |= !v.vector && v.number == kObservedScc;
        is_whole |= isWholeDword(v) && !masks(instruction.name);
        break;
      }
  }
  reportComputed(step);
  reportWhole(step);
  if (!step.read.empty()) {
    const Use use = useOf(instruction),
              second = instruction.paired ? useOf(instruction.paired) : use;
    const bool computes = use == Use::computes || use == Use::decides || second == Use::computes ||
                          second == Use::decides;
    if (has_scc)
      reportAll(step);
    else if (use == Use::moves && !instruction.selects)
      move(step);
    else if (instruction.trial && (computes || (use == Use::picks && is_whole)))
      compute(step, !computes);
    else if (instruction.trial && use != Use::none)
      pick(step);
    else if (computes)
      reportAll(step);
  }
  for (uint32_t i = 0; i < instruction.writes_count; ++i) {
    reportOverwritten(step, instruction.writes[i]);
    drop(instruction.writes[i], instruction.lanes);
  }
  values_.insert(values_.end(), step.after.begin(), step.after.end());
  std::erase_if(values_, [](const Value &v) { return v.any() == 0; });
  if (values_.empty()) wave.also_wants = 0;
}

} // namespace fade::checks
