#include "replay/comparison.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

namespace fade::replay {
namespace {

using capture::kPageSize;

constexpr std::size_t kSamples = 65536, kExamples = 5;
constexpr std::size_t kNear = 64; // bytes before and behind what differs

uint64_t wordAt(const uint8_t *at, std::size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, at, size);
  return value;
}

bool isWithin(const Distance &d, const Tolerance &tolerance) {
  // Without one, bits count: zeros with a sign and NaNs with other payloads have no distance.
  if (tolerance.isNone()) return false;
  return (d.ulp != UINT64_MAX && d.ulp <= tolerance.ulp) ||
         d.absolute <= tolerance.absolute + tolerance.relative * std::abs(d.expected);
}

void addElement(RegionDifference &to, uint64_t offset, uint64_t expected, uint64_t got,
                const Tolerance &tolerance) {
  const Distance d = distance(to.type, expected, got);
  to.largest_ulp = std::max(to.largest_ulp, d.ulp);
  to.largest_relative = std::max(to.largest_relative, d.relative);
  to.largest_absolute = std::max(to.largest_absolute, d.absolute);
  if (isWithin(d, tolerance)) {
    ++to.within_tolerance;
    return;
  }
  if (to.elements++ == 0) to.first = offset;
  to.last = offset;
  for (uint64_t x = expected ^ got; x != 0; x >>= 8) to.bytes += (x & 0xff) != 0 ? 1 : 0;
  if (to.examples.size() < kExamples) to.examples.push_back({offset, expected, got});
}

} // namespace

Outcome Outcome::of(const Memory &memory) {
  Outcome outcome;
  for (const PageId id : memory.written()) outcome.add(id, memory.now(id));
  return outcome;
}

/// Usually in order.
void Outcome::add(PageId id, const uint8_t *bytes) {
  if (!last_ || std::memcmp(last_->data(), bytes, kPageSize) != 0) {
    auto fresh = std::make_shared<std::array<uint8_t, kPageSize>>();
    std::memcpy(fresh->data(), bytes, kPageSize);
    last_ = std::move(fresh);
  }
  pages_.emplace_hint(pages_.end(), id, last_);
}

const uint8_t *Outcome::page(PageId id) const {
  const auto at = pages_.find(id);
  return at == pages_.end() ? nullptr : at->second->data();
}

bool Comparison::isEqual() const {
  return std::ranges::all_of(differences,
                             [](const RegionDifference &d) { return d.elements == 0; });
}

Status Comparer::load() {
  using capture::Run;
  for (std::size_t i = 0; i < memory_.regions(); ++i) {
    uint64_t at = 0;
    for (const Run &run : reader_.runs(capture::State::after, i)) {
      const bool is_stored = run.kind == Run::kStored || run.kind == Run::kEqual;
      // All of it is looked at once, so that no block is found to be damaged later.
      const uint32_t count = run.kind == Run::kEqual ? 1 : run.count;
      for (uint32_t k = 0; is_stored && k < count; ++k)
        if (const auto bytes = reader_.page(run.first + k); !bytes) return bytes.error();
      if (is_stored || run.kind == Run::kZero)
        changed_[{i, at}] = {run.count, run.kind, is_stored ? run.first : 0};
      at += run.count;
    }
  }
  return Done();
}

void Comparer::load(const Outcome &replayed) { replayed_ = replayed.pages(); }

/// Valid until the next call.
const uint8_t *Comparer::expected(PageId id) const {
  using capture::Run;
  static const std::array<uint8_t, kPageSize> zeros{};
  if (const auto at = replayed_.find(id); at != replayed_.end()) return at->second->data();
  const auto after = changed_.upper_bound(id);
  if (after == changed_.begin()) return memory_.captured(id);
  const auto &[first, run] = *std::prev(after);
  if (first.region != id.region || id.page - first.page >= run.count) return memory_.captured(id);
  if (run.kind == Run::kZero) return zeros.data();
  const auto number =
      run.stored + static_cast<uint32_t>(run.kind == Run::kStored ? id.page - first.page : 0);
  const auto bytes = reader_.page(number);
  return bytes ? *bytes : memory_.captured(id); // load() could read it: the file was changed since
}

const uint8_t *Comparer::resultOf(const Outcome &outcome, PageId id) const {
  const uint8_t *page = outcome.page(id);
  return page ? page : memory_.captured(id);
}

bool Comparer::isHeap(uint64_t address, uint64_t size) const {
  return std::ranges::any_of(heap_, [&](const Extent &extent) {
    return address < extent.address + extent.size && extent.address < address + size;
  });
}

Result<Comparer::Replays> Comparer::replays(const std::function<Result<Outcome>()> &replay_once,
                                            const Tolerance &tolerance) const {
  constexpr std::size_t fewest = 2, most = 8, most_pages = std::size_t{1} << 16;
  constexpr auto long_enough = std::chrono::seconds(10);
  const auto began = std::chrono::steady_clock::now();
  Replays all;
  while (all.size() < most) {
    if (all.size() >= fewest && (all[0].pages().size() > most_pages ||
                                 std::chrono::steady_clock::now() - began > long_enough ||
                                 compare(all[0], all, tolerance).isEqual()))
      break;
    auto outcome = replay_once();
    if (!outcome) return std::move(outcome).error();
    all.push_back(std::move(*outcome));
  }
  return all;
}

/// Pages that changed when it was captured, and that the tested code does not write. Those that the
/// captured code does not write, either, somebody else wrote at the same time. Goes by what was
/// written, not by the length of the run.
void Comparer::addUnwritten(PageId first, uint64_t count, const Outcome &tested,
                            const Replays &captured,
                            std::map<std::size_t, std::vector<PageId>> &pages,
                            Comparison &result) const {
  const auto forWritten = [&](const Outcome &outcome, const auto &use) {
    for (auto at = outcome.pages().lower_bound(first);
         at != outcome.pages().end() && at->first.region == first.region &&
         at->first.page - first.page < count;
         ++at)
      use(at->first);
  };
  uint64_t foreign = count;
  forWritten(tested, [&](PageId) { --foreign; });
  std::set<PageId> others;
  for (const Outcome &outcome : captured)
    forWritten(outcome, [&](PageId id) {
      if (!tested.page(id)) others.insert(id);
    });
  result.foreign_pages += foreign - others.size();
  if (excluded_ && first.region == *excluded_) return;
  for (const PageId id : others) pages[id.region].push_back(id);
}

Comparison Comparer::compare(const Outcome &tested, const Replays &captured,
                             const Tolerance &tolerance) const {
  Comparison result;
  std::map<std::size_t, std::vector<PageId>> pages;
  const auto add = [&](PageId id) {
    if (!excluded_ || id.region != *excluded_) pages[id.region].push_back(id);
  };
  for (const auto &[id, bytes] : tested.pages()) add(id);
  for (const auto &[id, run] : changed_)
    addUnwritten(id, run.count, tested, captured, pages, result);
  for (const auto &[id, bytes] : replayed_) addUnwritten(id, 1, tested, captured, pages, result);
  for (auto &[region, list] : pages) {
    std::ranges::sort(list);
    result.pages += list.size();
    compareRegion(region, list, tested, captured, tolerance, result);
  }
  return result;
}

namespace {

/// What differs in a page, and what is near it and does not.
void addSamples(const uint8_t *expected, const uint8_t *got, std::vector<WordPair> &pairs,
                std::vector<uint64_t> &neighbors) {
  std::size_t seen = 0; // how far neighbors were looked at
  for (std::size_t at = 0; at < kPageSize; at += 8) {
    const uint64_t x = wordAt(expected + at, 8), y = wordAt(got + at, 8);
    if (x == y) continue;
    pairs.push_back({x, y});
    const std::size_t end = std::min<std::size_t>(at + 8 + kNear, kPageSize);
    for (seen = std::max(seen, at - std::min(at, kNear)); seen < end; seen += 8)
      if (const uint64_t word = wordAt(expected + seen, 8);
          word != 0 && word == wordAt(got + seen, 8))
        neighbors.push_back(word);
  }
}

} // namespace

void Comparer::compareRegion(std::size_t region, const std::vector<PageId> &pages,
                             const Outcome &tested, const Replays &captured,
                             const Tolerance &tolerance, Comparison &result) const {
  // Pages in which something is different, with words that are the same each time.
  std::vector<PageId> different;
  std::vector<WordPair> samples;
  std::vector<uint64_t> neighbors;
  std::vector<uint8_t> got(kPageSize);
  struct Left {
    uint64_t not_deterministic = 0, foreign = 0;
  };
  // The page as it was tested, but for words that say nothing of it: those that differ from replay
  // to replay, and in host memory those that the captured code does not change, but somebody did.
  const bool on_host = memory_.region(region).on_host;
  const auto stable = [&](PageId id) {
    Left left;
    std::memcpy(got.data(), resultOf(tested, id), kPageSize);
    const uint8_t *a = resultOf(captured.front(), id), *e = expected(id);
    std::vector<const uint8_t *> others; // pages of further replays that are not the same
    for (const Outcome &outcome : captured)
      if (const uint8_t *page = resultOf(outcome, id);
          page != a && std::memcmp(a, page, kPageSize) != 0)
        others.push_back(page);
    const auto isSame = [&](std::size_t at) {
      return std::ranges::all_of(
          others, [&](const uint8_t *page) { return wordAt(page + at, 4) == wordAt(a + at, 4); });
    };
    const uint8_t *before = memory_.captured(id);
    const uint64_t address = memory_.region(region).address + id.page * kPageSize;
    const bool has_heap = isHeap(address, kPageSize);
    if (!on_host && !has_heap && others.empty()) return left;
    for (std::size_t at = 0; at < kPageSize; at += 4) {
      if (has_heap && isHeap(address + at, 4)) {
        left.not_deterministic += wordAt(got.data() + at, 4) != wordAt(e + at, 4) ? 1 : 0;
        std::memcpy(got.data() + at, e + at, 4);
        continue;
      }
      const uint64_t old = wordAt(before + at, 4);
      const bool is_same = isSame(at);
      const bool is_foreign =
          on_host && is_same && wordAt(a + at, 4) == old && wordAt(e + at, 4) != old;
      if (is_same && !is_foreign) continue;
      std::memcpy(got.data() + at, e + at, 4);
      ++(is_foreign ? left.foreign : left.not_deterministic);
      // The upper half of a clock: the same in two replays, but another one than a minute ago. What
      // the captured code leaves there today is what others have to leave, too.
      if (is_foreign || at % 8 != 0) continue;
      const uint64_t upper = wordAt(a + at + 4, 4);
      if (upper == wordAt(e + at + 4, 4) || !isSame(at + 4) ||
          upper != wordAt(got.data() + at + 4, 4))
        continue;
      std::memcpy(got.data() + at + 4, e + at + 4, 4);
      ++left.not_deterministic;
    }
    return left;
  };
  for (const PageId id : pages) {
    const Left left = stable(id);
    result.not_deterministic += left.not_deterministic;
    result.foreign_words += left.foreign;
    const uint8_t *e = expected(id);
    if (std::memcmp(got.data(), e, kPageSize) == 0) continue;
    different.push_back(id);
    if (samples.size() < kSamples) addSamples(e, got.data(), samples, neighbors);
  }
  if (different.empty()) return;
  RegionDifference difference;
  difference.region = region;
  difference.type = guessType(
      samples, [&](uint64_t address) { return memory_.find(address) != memory_.regions(); },
      neighbors);
  const uint32_t size = sizeOf(difference.type);
  for (const PageId id : different) {
    (void)stable(id);
    const uint8_t *e = expected(id);
    for (std::size_t at = 0; at < kPageSize; at += size)
      if (const uint64_t x = wordAt(e + at, size), y = wordAt(got.data() + at, size); x != y)
        addElement(difference, id.page * kPageSize + at, x, y, tolerance);
  }
  result.differences.push_back(std::move(difference));
}

namespace {

std::string allocationText(const capture::Region &region) {
  return fmt::format(
      "{:#x} ({} bytes, {}{})", region.address, region.used != 0 ? region.used : region.size,
      capture::kRegionKinds[static_cast<std::size_t>(region.kind)], region.on_host ? ", host" : "");
}

std::string errorText(const RegionDifference &d) {
  if (d.largest_ulp == UINT64_MAX && d.type != ElementType::f32 && d.type != ElementType::f64 &&
      d.type != ElementType::f16)
    return "";
  return fmt::format(", at most {} ulp, relative {:.3g}, absolute {:.3g}",
                     d.largest_ulp == UINT64_MAX ? "?" : fmt::format("{}", d.largest_ulp),
                     d.largest_relative, d.largest_absolute);
}

} // namespace

std::string comparisonText(const Comparison &comparison, const capture::Reader &reader,
                           bool of_captured_code) {
  std::string text;
  uint64_t within = 0;
  for (const RegionDifference &d : comparison.differences) {
    within += d.within_tolerance;
    if (d.elements == 0) continue;
    const capture::Region &region = reader.description().regions[d.region];
    text += fmt::format(
        "  {}: {} elements of type {} differ ({} bytes), offsets {:#x} to {:#x}{}\n",
        allocationText(region), d.elements, nameOf(d.type), d.bytes, d.first, d.last, errorText(d));
    for (const auto &element : d.examples)
      text += fmt::format("      [{}] {} instead of {}\n", element.offset / sizeOf(d.type),
                          elementText(d.type, element.got), elementText(d.type, element.expected));
  }
  std::string head = comparison.isEqual() ? "check: equal" : "check: differs";
  head += fmt::format(", {} pages compared", comparison.pages);
  if (within != 0) head += fmt::format(", {} elements within the tolerance", within);
  if (comparison.not_deterministic != 0)
    head += fmt::format(", {} words not deterministic", comparison.not_deterministic);
  if (comparison.foreign_pages != 0)
    head += fmt::format(", {} pages changed during the capture, but not by this kernel",
                        comparison.foreign_pages);
  if (comparison.foreign_words != 0)
    head +=
        fmt::format(", {} words of host memory changed by others, too", comparison.foreign_words);
  if (of_captured_code && !comparison.isEqual())
    text += fmt::format("the captured code itself gives a different result here: it depends on the "
                        "order of its waves ('fadeprobe check {}' finds races), or on memory that "
                        "was not captured\n",
                        reader.folder());
  return head + "\n" + text;
}

std::string comparisonJson(const Comparison &comparison, const capture::Reader &reader) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "check");
    json.field("version", 1);
    json.field("equal", comparison.isEqual());
    json.field("pages", comparison.pages);
    json.field("not_deterministic", comparison.not_deterministic);
    json.field("foreign_pages", comparison.foreign_pages);
    json.field("foreign_words", comparison.foreign_words);
    json.list("differences", [&] {
      for (const RegionDifference &d : comparison.differences)
        json.object([&] {
          const capture::Region &region = reader.description().regions[d.region];
          json.field("address", region.address);
          json.field("size", region.size);
          json.field("element", nameOf(d.type));
          json.field("elements", d.elements);
          json.field("bytes", d.bytes);
          json.field("within_tolerance", d.within_tolerance);
          json.field("first_offset", d.first);
          json.field("last_offset", d.last);
          if (d.largest_ulp != UINT64_MAX) json.field("largest_ulp", d.largest_ulp);
          json.field("largest_relative", d.largest_relative);
          json.field("largest_absolute", d.largest_absolute);
          json.list("examples", [&] {
            for (const auto &element : d.examples)
              json.object([&] {
                json.field("offset", element.offset);
                json.field("expected", elementText(d.type, element.expected));
                json.field("got", elementText(d.type, element.got));
              });
          });
        });
    });
  });
  return json.take();
}

} // namespace fade::replay
