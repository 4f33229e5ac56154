#include "checker.h"

#include "fade/encode.h"

#include <algorithm>
#include <sstream>

namespace fade::silicon {
namespace {

constexpr std::size_t kMessages = 8;

bool pointsAnywhere(const emit_call &call) {
  return call.kind == EMIT_SPACES || call.kind == EMIT_RANGE_FLAT;
}

// The lanes that the records of a call speak of.
uint32_t lanesOf(const emit_call &call) {
  if (call.kind == EMIT_COUNT) return 0;
  if (!pointsAnywhere(call) && call.kind != EMIT_LENGTHS) return call.mask;
  uint32_t lanes = 0;
  detail::forEachBit(call.mask, [&](uint32_t lane) {
    const bool is_left_out =
        call.kind == EMIT_LENGTHS ? emit_length(call, lane) == 0 : emit_space(call, lane) == 5;
    if (!is_left_out) lanes |= 1u << lane;
  });
  return lanes;
}

uint32_t lanesOfLength(const emit_call &call, uint32_t lanes, uint64_t length) {
  uint32_t same = 0;
  detail::forEachBit(lanes, [&](uint32_t lane) {
    if (emit_length(call, lane) == length) same |= 1u << lane;
  });
  return same;
}

uint32_t lanesOnWay(const emit_call &call, uint32_t way) {
  uint32_t lanes = 0;
  detail::forEachBit(call.mask, [&](uint32_t lane) {
    if (emit_way(call, lane) == way) lanes |= 1u << lane;
  });
  return lanes;
}

// How many records a call leads to, if only these lanes are left of it.
uint32_t recordsOf(const emit_call &call, uint32_t lanes) {
  if (call.kind != EMIT_LENGTHS) return lanes != 0;
  uint32_t n = 0;
  for (; lanes != 0; ++n)
    lanes &= ~lanesOfLength(call, lanes,
                            emit_length(call, static_cast<uint32_t>(std::countr_zero(lanes))));
  return n;
}

uint32_t kindOf(const emit_call &call) {
  switch (call.kind) {
  case EMIT_BLOCK:
  case EMIT_SPLIT_BLOCK: return FADE_RECORD_BLOCK;
  case EMIT_RANGE:
  case EMIT_LENGTHS:
  case EMIT_RANGE_FLAT: return FADE_RECORD_RANGE;
  default: return FADE_RECORD_ACCESS;
  }
}

} // namespace

Checker::Checker(const Expected &expected)
    : expected_(expected), waves_(expected.grid.waves()), announced_(expected.grid.waves()),
      samples_(expected.plan.calls) {
  for (uint32_t group = 0; group < expected_.grid.groups; ++group)
    if (expected_.isTraced(group)) traced_ += expected_.grid.waves_per_group;
}

template <typename... T> void Checker::fail(const T &...what) {
  ++errors_;
  if (messages_.size() == kMessages) return;
  std::ostringstream text;
  text << "record " << records_ << " at byte " << bytes_ << ": ";
  (text << ... << what);
  messages_.push_back(text.str());
}

void Checker::add(std::span<const std::byte> bytes) {
  RecordCursor cursor(bytes);
  Record record;
  while (true) {
    switch (cursor.next(record)) {
    case RecordCursor::Status::record: break;
    case RecordCursor::Status::end: return;
    case RecordCursor::Status::unpublished: return fail("a zero header inside a piece");
    case RecordCursor::Status::malformed: return fail(cursor.fault());
    }
    check(record);
    ++records_;
    bytes_ += record.size();
  }
}

void Checker::check(const Record &record) {
  if (record.kind() >= by_kind_.size()) return fail("kind ", record.kind());
  ++by_kind_[record.kind()];
  if (record.mask() >> 32 != 0) return fail("lanes beyond 31");
  if (record.wave() >= waves_.size()) return fail("wave ", record.wave(), " of ", waves_.size());
  if (record.kind() == FADE_RECORD_WAVE_BEGIN) return begin(record);
  Wave &wave = waves_[record.wave()];
  if (wave.number == UINT32_MAX) return fail("wave ", record.wave(), " was not announced");
  if (wave.ended) return fail("wave ", record.wave(), " has ended before");
  if (record.kind() == FADE_RECORD_WAVE_END) return end(record, wave);
  checkCall(record, wave);
}

void Checker::begin(const Record &record) {
  const fade_wave_begin said = record.waveBegin();
  const emit_plan &plan = expected_.plan;
  Wave &wave = waves_[said.wave];
  if (wave.number != UINT32_MAX) return fail("wave ", said.wave, " is announced twice");
  const uint32_t in_group = said.work_item / EMIT_WAVE_SIZE;
  if (said.work_item % EMIT_WAVE_SIZE != 0 || in_group >= expected_.grid.waves_per_group ||
      said.workgroup_x >= expected_.grid.groups || said.workgroup_y != 0 || said.workgroup_z != 0)
    return fail("wave ", said.wave, " is at work-item ", said.work_item, " of group ",
                said.workgroup_x, ",", said.workgroup_y, ",", said.workgroup_z);
  const uint32_t number = said.workgroup_x * expected_.grid.waves_per_group + in_group;
  if (announced_[number]) return fail("the wave at ", number, " announces itself twice");
  if (!expected_.isTraced(said.workgroup_x)) fail("group ", said.workgroup_x, " is not traced");
  if (said.header.site != plan.kernel_index || said.module != plan.module)
    fail("wave ", said.wave, " is of kernel ", said.header.site, ", module ", said.module);
  if (said.header.encoding != FADE_WAVE_IS_WAVE32 || said.mask != 0xffffffffu)
    fail("flags ", +said.header.encoding, " and lanes ", said.mask, " of a wave");
  announced_[number] = true;
  wave.number = number;
  wave.clock = said.clock;
  wave.shared_base = said.shared_base;
}

void Checker::end(const Record &record, Wave &wave) {
  const fade_wave_end said = record.waveEnd();
  skip(wave, expected_.plan.calls);
  wave.ended = true;
  if (said.header.site != expected_.plan.kernel_index || said.header.encoding != 0 ||
      said.mask != 0xffffffffu || said.reserved != 0)
    fail("the end of wave ", said.wave, " is damaged");
  if (said.clock < wave.clock) fail("the clock of wave ", said.wave, " runs backwards");
}

// The calls before `to` that have not come: lost, unless the run allows it.
void Checker::skip(Wave &wave, uint32_t to) {
  const bool lossy = (expected_.flags & FADE_CONTROL_LOSSY) != 0;
  if (wave.open != 0) {
    if (lossy && !expected_.drops_whole_calls)
      dropped_ += recordsOf(callOf(wave, wave.next - 1), wave.open);
    else
      fail("a part of call ", wave.next - 1, " of the wave at ", wave.number, " is lost");
    wave.open = 0;
  }
  for (; wave.next < to; ++wave.next) {
    if ((expected_.flags & FADE_CONTROL_SAMPLE_EXECUTIONS) != 0) continue;
    const emit_call call = callOf(wave, wave.next);
    const uint32_t n = recordsOf(call, lanesOf(call));
    if (n == 0) continue;
    if (!lossy) fail("call ", wave.next, " of the wave at ", wave.number, " is lost");
    dropped_ += expected_.drops_whole_calls ? 1 : n;
  }
}

// Moves the wave on to the call of this record.
bool Checker::advance(const Record &record, Wave &wave) {
  const uint32_t site = callNumber(record.site());
  if (site >= expected_.plan.calls || record.site() >= 2 * expected_.plan.calls) {
    fail("site ", record.site(), " of ", expected_.plan.calls);
    return false;
  }
  if (site + 1 == wave.next && wave.open != 0) return true;
  if (site < wave.next) {
    fail("call ", site, " of the wave at ", wave.number, " comes twice or too late");
    return false;
  }
  skip(wave, site);
  wave.next = site + 1;
  wave.open = lanesOf(callOf(wave, site));
  ++samples_[site];
  return true;
}

void Checker::checkCall(const Record &record, Wave &wave) {
  if (!advance(record, wave)) return;
  const emit_call call = callOf(wave, callNumber(record.site()));
  uint32_t lanes = wave.open;
  // Those on the same way may come in several parts.
  if (isSplit())
    lanes &= lanesOnWay(call, record.site() / expected_.plan.calls) & uint32_t(record.mask());
  if (call.kind == EMIT_LENGTHS && record.hasLength())
    lanes = lanesOfLength(call, lanes, record.length());
  if (record.kind() != kindOf(call) || lanes == 0 || record.mask() != lanes) {
    wave.open = 0;
    return fail("call ", record.site(), " of the wave at ", wave.number, ": kind ", record.kind(),
                " with lanes ", std::hex, record.mask(), ", not ", kindOf(call), " with ", lanes);
  }
  wave.open &= ~lanes;
  checkContents(record, wave, call);
}

void Checker::checkContents(const Record &record, Wave &wave, const emit_call &call) {
  if (record.kind() == FADE_RECORD_BLOCK) {
    if (record.encoding() != 0 || record.stride() != 0) fail("a block with an encoding");
    if (record.clock() < wave.clock) fail("the clock of wave ", record.wave(), " runs backwards");
    wave.clock = record.clock();
    return;
  }
  if (record.hasLength() && call.kind != EMIT_LENGTHS && record.length() != call.length)
    fail("length ", record.length(), " instead of ", call.length);
  checkAddresses(record, wave, call);
}

uint64_t Checker::addressOf(const Wave &wave, const emit_call &call, uint32_t lane) const {
  const emit_plan &plan = expected_.plan;
  if (pointsAnywhere(call) && emit_space(call, lane) == 3)
    return uint64_t{wave.shared_base} << 32 | (plan.shared_offset + 4 * lane);
  if (pointsAnywhere(call) || call.kind == EMIT_FLAT)
    return plan.region + emit_region_offset(call, lane);
  return emit_address(call, lane);
}

// What is decoded must be what the lanes touched, and the encoding the one that the reference
// encoder would have chosen.
void Checker::checkAddresses(const Record &record, const Wave &wave, const emit_call &call) {
  std::array<uint64_t, EMIT_WAVE_SIZE> addresses{};
  detail::forEachBit(record.mask(),
                     [&](uint32_t lane) { addresses[lane] = addressOf(wave, call, lane); });
  bool same = true;
  record.forEachLane([&](uint32_t lane, uint64_t address) {
    if (address == addresses[lane] || !same) return;
    same = false;
    fail("site ", record.site(), " of the wave at ", wave.number, ", lane ", lane, ": address ",
         std::hex, address, " instead of ", addresses[lane]);
  });
  ++by_encoding_[record.encoding()];
  const AddressEncoding best = chooseEncoding(record.mask(), addresses);
  if (record.encoding() != best.encoding || record.stride() != best.stride)
    return fail("encoding ", record.encoding(), " with stride ", record.stride(), " instead of ",
                best.encoding, " with ", best.stride);
  if (best.encoding == FADE_ENCODING_TILED &&
      (record.tile().row_stride != best.tile.row_stride || record.tile().width != best.tile.width))
    fail("a tile of other rows");
  if (best.encoding == FADE_ENCODING_DELTA32 && record.laneCount() % 2 == 0) {
    uint32_t padding;
    std::memcpy(&padding, record.bytes().data() + record.size() - 4, 4);
    if (padding != 0) fail("padding that is not zero");
  }
}

void Checker::finish(const Outcome &outcome) {
  uint32_t ended = 0;
  for (const Wave &wave : waves_) ended += wave.ended;
  if (ended != traced_) fail(ended, " waves have ended, not ", traced_);
  if (outcome.waves != traced_) fail(outcome.waves, " waves were counted, not ", traced_);
  if (outcome.head != bytes_) fail(outcome.head, " bytes were reserved, ", bytes_, " have come");
  if (outcome.dropped != dropped_)
    fail(outcome.dropped, " records were dropped, ", dropped_, " are missing");
  if ((expected_.flags & FADE_CONTROL_SAMPLE_EXECUTIONS) != 0)
    checkSamples(outcome);
  else if (!outcome.counters.empty())
    checkCounters(outcome);
}

void Checker::checkCounters(const Outcome &outcome) {
  std::vector<fade_counter> sums(EMIT_COUNTERS);
  for (const Wave &wave : waves_) {
    if (wave.number == UINT32_MAX) continue;
    for (uint32_t site = 0; site < expected_.plan.calls; ++site) {
      const emit_call call = callOf(wave, site);
      if (call.kind != EMIT_COUNT) continue;
      ++sums[site % EMIT_COUNTERS].entries;
      sums[site % EMIT_COUNTERS].more_lanes += static_cast<uint32_t>(std::popcount(call.mask)) - 1;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const fade_counter &got = outcome.counters[i];
    if (got.entries != sums[i].entries || got.more_lanes != sums[i].more_lanes)
      fail("counter ", i, " is ", got.entries, " + ", got.more_lanes, ", not ", sums[i].entries,
           " + ", sums[i].more_lanes);
  }
}

void Checker::checkSamples(const Outcome &outcome) {
  const uint64_t n = expected_.sample_executions;
  for (uint32_t site = 0; site < expected_.plan.calls; ++site) {
    uint64_t calls = 0;
    for (const Wave &wave : waves_)
      if (wave.number != UINT32_MAX) calls += lanesOf(callOf(wave, site)) != 0;
    if (samples_[site] != (calls + n - 1) / n || outcome.counters[site].entries != calls)
      fail("site ", site, " was recorded ", samples_[site], " times of ", calls, ", counted ",
           outcome.counters[site].entries);
  }
}

} // namespace fade::silicon
