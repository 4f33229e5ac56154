#include "checks/access_spans.h"

#include "checks/aside.h"

#include <algorithm>
#include <bit>

namespace fade::checks {

AccessSpans::AccessSpans(const ObservedDispatch &dispatch)
    : dispatch_(dispatch), code_(FindingLog::instance().codeAt(dispatch.entry)) {
  for (std::size_t i = 0; i < 3; ++i)
    groups_[i] = (uint64_t{dispatch.grid[i]} + dispatch.workgroup[i] - 1) /
                 std::max(1u, dispatch.workgroup[i]);
}

AccessSpans::~AccessSpans() {
  aside([&] {
    for (const auto &[key, known] : spans_) FindingLog::instance().addSpan(known.span);
  });
}

void AccessSpans::widen(const ObservedWave &wave, const ObservedAccess &access,
                        const Reporter &reporter) {
  const uint64_t key = keyOf(access);
  const bool in_lds = access.space == AccessSpace::lds;
  const Who who = whoIs(wave);
  const uint64_t begin = in_lds ? 0 : code_.base;
  // Behind the last variable there is nothing up to the end of the page.
  constexpr uint64_t page = 4096;
  const uint64_t size =
      in_lds ? dispatch_.lds_bytes : (begin + code_.size + page - 1) / page * page - begin;
  Known *known = nullptr;
  for (uint64_t lanes = access.lanes; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t address = access.address[lane];
    // What is further away is known to be wrong.
    if (address - begin >= size || size - (address - begin) < access.size) continue;
    if (!known) {
      const auto at = spans_.find(key);
      if (at == spans_.end() && spans_.size() >= kMost) return;
      known = at != spans_.end() ? &at->second : &spans_[key];
      cache_[slotOf(key)] = {key, known};
    }
    Span &span = known->span;
    const bool is_new = span.kernel == 0;
    if (is_new) {
      span.kernel = FindingLog::instance().string(dispatch_.kernel);
      span.gpu = FindingLog::instance().string(dispatch_.gpu);
      span.space = static_cast<uint32_t>(access.space);
      span.size = access.size;
    }
    const auto place = [&] {
      return reporter.place(wave, lane, access.pc, access.kind, access.size);
    };
    if (is_new || address < span.lowest || (address == span.lowest && who < known->low)) {
      span.lowest = address, span.low = place(), known->low = who;
      span.dispatches[0] = dispatch_.number;
    }
    if (is_new || address > span.highest || (address == span.highest && who < known->high)) {
      span.highest = address, span.high = place(), known->high = who;
      span.dispatches[1] = dispatch_.number;
    }
  }
}

} // namespace fade::checks
