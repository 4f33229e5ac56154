// Shows that the checker can fail: takes a good stream and damages it, record by record.
#include "checks.h"

#include "checker.h"
#include "traced_ring.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace fade::silicon {
namespace {

using Bytes = std::vector<std::byte>;

struct Captured {
  Expected expected;
  Outcome outcome;
  Bytes bytes;
  std::vector<std::size_t> starts; // of the records, and the end
};

Captured capture(Backend &backend, bool quick) {
  Captured c;
  Expected wanted;
  wanted.plan.module = 42;
  wanted.plan.seed = 5;
  wanted.plan.calls = 40;
  wanted.plan.kinds = (1u << EMIT_KINDS) - 1;
  wanted.plan.shapes = (1u << EMIT_SHAPES) - 1;
  wanted.plan.masks = (1u << EMIT_MASKS) - 1;
  wanted.grid = {quick ? 1u : 2u, quick ? 2u : 4u};
  TracedRing ring(backend, Transport::host, 16 << 10, EMIT_COUNTERS);
  c.expected = ring.plan(wanted);
  ring.prepare();
  const auto launch = ring.launch();
  ring.read(*launch, {}, [&](std::span<const std::byte> piece) {
    c.bytes.insert(c.bytes.end(), piece.begin(), piece.end());
  });
  c.outcome = ring.outcome();
  RecordCursor cursor(c.bytes);
  Record record;
  do c.starts.push_back(cursor.offset());
  while (cursor.next(record) == RecordCursor::Status::record);
  return c;
}

bool isGood(const Captured &c, const Bytes &bytes, const Outcome &outcome) {
  Checker checker(c.expected);
  checker.add(bytes);
  checker.finish(outcome);
  return checker.isGood();
}

// Bytes that nobody can foretell: clocks, times and where a wave runs.
bool isFree(uint32_t kind, std::size_t offset) {
  const auto isIn = [&](std::size_t first, std::size_t size) {
    return offset >= first && offset < first + size;
  };
  switch (kind) {
  case FADE_RECORD_WAVE_BEGIN:
    return isIn(offsetof(fade_wave_begin, clock), 8) || isIn(offsetof(fade_wave_begin, time), 8) ||
           isIn(offsetof(fade_wave_begin, hardware_id), 12);
  case FADE_RECORD_WAVE_END:
    return isIn(offsetof(fade_wave_end, clock), 8) || isIn(offsetof(fade_wave_end, time), 8);
  case FADE_RECORD_BLOCK: return isIn(offsetof(fade_record, value), 8);
  default: return false;
  }
}

struct Tally {
  uint64_t tried = 0, missed = 0;
  void count(bool was_good) { ++tried, missed += was_good; }
};

Bytes without(const Captured &c, std::size_t i) {
  Bytes b(c.bytes.begin(), c.bytes.begin() + static_cast<std::ptrdiff_t>(c.starts[i]));
  b.insert(b.end(), c.bytes.begin() + static_cast<std::ptrdiff_t>(c.starts[i + 1]), c.bytes.end());
  return b;
}

Bytes twice(const Captured &c, std::size_t i) {
  const auto at = [&](std::size_t n) {
    return c.bytes.begin() + static_cast<std::ptrdiff_t>(c.starts[n]);
  };
  Bytes b(c.bytes.begin(), at(i + 1));
  b.insert(b.end(), at(i), at(i + 1));
  b.insert(b.end(), at(i + 1), c.bytes.end());
  return b;
}

// As if its last bytes had not arrived yet.
Bytes torn(const Captured &c, std::size_t i) {
  Bytes b = c.bytes;
  std::fill(b.begin() + static_cast<std::ptrdiff_t>(c.starts[i] + 8),
            b.begin() + static_cast<std::ptrdiff_t>(c.starts[i + 1]), std::byte{0});
  return b;
}

Tally tryAll(const Captured &c, Bytes (*damage)(const Captured &, std::size_t), bool fix_head) {
  Tally tally;
  for (std::size_t i = 0; i + 1 < c.starts.size(); ++i) {
    const Bytes bytes = damage(c, i);
    Outcome outcome = c.outcome;
    if (fix_head) outcome.head = bytes.size(); // the records alone must give it away
    tally.count(isGood(c, bytes, outcome));
  }
  return tally;
}

// Every byte that is not free, one flipped bit each.
Tally flipBytes(const Captured &c) {
  Tally tally;
  Bytes bytes = c.bytes;
  // Each costs a check of the whole stream; a prime step meets all kinds of places.
  const std::size_t step = 7;
  for (std::size_t i = 0; i + 1 < c.starts.size(); ++i) {
    const auto kind = static_cast<uint32_t>(bytes[c.starts[i] + offsetof(fade_header, kind)]);
    for (std::size_t at = c.starts[i] + i % step; at < c.starts[i + 1]; at += step) {
      if (isFree(kind, at - c.starts[i])) continue;
      const auto flip = static_cast<std::byte>(1u << at % 8);
      bytes[at] ^= flip;
      tally.count(isGood(c, bytes, c.outcome));
      bytes[at] ^= flip;
    }
  }
  return tally;
}

Tally changeOutcomes(const Captured &c) {
  Tally tally;
  const auto tryThis = [&](auto change) {
    Outcome outcome = c.outcome;
    change(outcome);
    tally.count(isGood(c, c.bytes, outcome));
  };
  tryThis([](Outcome &o) { o.head += 8; });
  tryThis([](Outcome &o) { ++o.dropped; });
  tryThis([](Outcome &o) { ++o.waves; });
  for (std::size_t i = 0; i < EMIT_COUNTERS; ++i) {
    tryThis([&](Outcome &o) { ++o.counters[i].entries; });
    tryThis([&](Outcome &o) { ++o.counters[i].more_lanes; });
  }
  return tally;
}

} // namespace

unsigned runSelfTest(Backend &backend, Report &report, bool quick) {
  const Captured c = capture(backend, quick);
  unsigned failed = 0;
  const auto say = [&](const char *what, Tally tally) {
    const bool good = tally.tried != 0 && tally.missed == 0;
    failed += !good;
    Row row;
    row.text("result", good ? "pass" : "FAIL").text("damage", what, 20);
    row.count("tried", tally.tried).count("missed", tally.missed);
    report.add("checker", std::move(row));
  };
  const bool good = isGood(c, c.bytes, c.outcome);
  say("none (must pass)", {1, !good});
  say("one record lost", tryAll(c, without, true));
  say("one record twice", tryAll(c, twice, true));
  say("one record torn", tryAll(c, torn, false));
  say("one bit flipped", flipBytes(c));
  say("wrong totals", changeOutcomes(c));
  return failed;
}

} // namespace fade::silicon
