// Accesses that are added up on the device are those that the same twin records, class by class.
#include "access_kind.h"
#include "builds.h"
#include "cases.h"
#include "coalescing_and_bank_conflicts.h"

#include <fade/clone.h>
#include <fade/summary.h>

#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <set>

namespace {

using namespace fade::test;
using fade::Record;
using fade::RecordCursor;

struct Lanes : fade::handlers::WaveAccess {
  explicit Lanes(const Record &record) {
    mask = record.mask();
    record.forEachLane([&](uint32_t lane, uint64_t address) { addresses[lane] = address; });
  }
};

// What analyzers take for the distance of neighbours.
struct Distances {
  std::map<int64_t, std::size_t> counts;
  std::size_t pairs = 0, most = 0;
  // No distance is that of three quarters of them.
  bool isIrregular() const { return most * 4 < pairs * 3; }
  // All have the same, which is 0 if there is but one lane.
  std::optional<int64_t> only() const {
    if (counts.size() > 1) return std::nullopt;
    return counts.empty() ? 0 : counts.begin()->first;
  }
};
Distances distancesOf(const fade::handlers::WaveAccess &access) {
  Distances distances;
  int64_t before = -1;
  fade::handlers::forEachLane(access.mask, [&](uint32_t lane) {
    if (before >= 0) {
      const auto distance = static_cast<int64_t>(access.addresses[lane] - access.addresses[before]);
      distances.most = std::max(distances.most, ++distances.counts[distance / (lane - before)]);
      ++distances.pairs;
    }
    before = lane;
  });
  return distances;
}

// All that analyzers of memory look at, but the wave: site, lanes, and addresses as far as they
// matter. Those of records without a class are kept in full.
struct Class {
  uint32_t site, kind;
  uint64_t mask, base, length;
  int64_t stride;
  bool is_irregular;
  std::vector<uint64_t> distances; // from the first lane
  auto operator<=>(const Class &) const = default;
};
using Classes = std::map<Class, uint64_t>; // how often

struct Waves {
  uint64_t count = 0, executions = 0, most = 0;
  bool operator==(const Waves &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Waves &w) {
  return out << w.count << " waves, " << w.executions << " executions, most " << w.most;
}

template <typename F> void forEachRecord(const std::vector<std::byte> &bytes, F &&f) {
  RecordCursor cursor(bytes);
  Record record;
  RecordCursor::Status status;
  while ((status = cursor.next(record)) == RecordCursor::Status::record) f(record);
  EXPECT_EQ(status, RecordCursor::Status::end) << cursor.fault();
}

uint64_t keyOf(const fade_site &site) {
  if (site.space == FADE_SPACE_LDS) return 3;
  if (site.kind == FADE_SITE_ATOMIC) return ~uint64_t{0};
  return site.space == FADE_SPACE_FLAT ? 0xffff'ffff'0000'007f : 0x7f;
}

// Where in a cache line an access begins is left out where it makes no difference: lanes that begin
// at multiples of their size, and touch as many lines wherever in a line the first one is.
uint64_t keyOf(const fade_site &site, const Record &record) {
  const uint64_t key = keyOf(site), in_size = site.size - uint64_t{1};
  if (key != 0x7f || !std::has_single_bit(site.size) || site.size > key) return key;
  fade::handlers::DistinctCounter distinct;
  Lanes access(record);
  std::set<uint64_t> used;
  for (uint64_t at = 0; at <= key; at += site.size) {
    fade::handlers::forEachLane(access.mask, [&](uint32_t lane) {
      uint64_t &address = access.addresses[lane];
      if ((address & in_size) != 0) used.insert(0); // none of these
      address += site.size;
    });
    used.insert(fade::handlers::linesUsed(access, site.size, key + 1, distinct));
  }
  return used.size() == 1 ? in_size : key;
}

Classes classesOf(const std::vector<std::byte> &bytes, const fade::SiteTable &table) {
  Classes classes;
  forEachRecord(bytes, [&](const Record &record) {
    if (!record.hasLanes()) return;
    const bool has_class =
        !record.hasLength() && !record.isUser() && record.encoding() <= FADE_ENCODING_TILED;
    const uint64_t key = has_class ? keyOf(table.sites()[record.site()], record) : ~uint64_t{0};
    Class c{record.site(),
            record.isSummary() ? FADE_RECORD_ACCESS : record.kind(),
            record.mask(),
            record.base() & key,
            record.hasLength() ? record.length() : 0,
            record.stride(),
            !record.hasLength() && !record.isUser() && distancesOf(Lanes(record)).isIrregular(),
            {}};
    record.forEachLane(
        [&](uint32_t, uint64_t address) { c.distances.push_back(address - record.base()); });
    classes[c] += record.weight();
  });
  return classes;
}

// Only what always has a class, or is recorded.
Classes withoutIrregular(Classes classes) {
  std::erase_if(classes, [](const auto &entry) { return entry.first.is_irregular; });
  return classes;
}

// What analyzers make of all executions of a site.
struct Totals {
  uint64_t executions = 0, lanes = 0, needed = 0, used = 0, wasted = 0, conflicts = 0;
  uint64_t same_address = 0, same_turns = 0, irregular = 0;
  std::map<int64_t, uint64_t> strides; // executions in which all neighbours are so far apart
  bool operator==(const Totals &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Totals &t) {
  out << t.executions << " executions, " << t.lanes << " lanes, lines " << t.needed << " " << t.used
      << " " << t.wasted << ", conflicts " << t.conflicts << ", same " << t.same_address << " in "
      << t.same_turns << ", irregular " << t.irregular << ", strides";
  for (const auto &[stride, count] : t.strides) out << " " << stride << ": " << count;
  return out;
}

// By site. Flat accesses are never added up but by class.
std::map<uint32_t, Totals> totalsOf(const std::vector<std::byte> &bytes,
                                    const fade::SiteTable &table, uint32_t irregular) {
  std::map<uint32_t, Totals> totals;
  fade::handlers::DistinctCounter distinct;
  const uint32_t line = 1u << (irregular & 255), banks = 1u << (irregular >> 8);
  forEachRecord(bytes, [&](const Record &record) {
    if (record.isSums()) {
      const fade_sums_record s = record.sums();
      Totals &t = totals[record.site()];
      // The device looks at the first of several pieces, which meet as often.
      const uint64_t pieces = fade::handlers::piecesOf(table.sites()[record.site()]);
      t.executions += s.count;
      if (s.header.encoding == FADE_ENCODING_AFFINE)
        t.strides[s.stride] += s.count;
      else
        t.irregular += s.count;
      t.lanes += s.lanes;
      t.used += s.used;
      const bool is_lds = table.sites()[record.site()].space == FADE_SPACE_LDS;
      (is_lds ? t.same_turns : t.needed) += s.needed;
      (is_lds ? t.conflicts : t.wasted) += pieces * s.wasted;
      t.same_address += s.same_address;
      return;
    }
    if (!record.hasLanes() || record.isUser() || record.hasLength()) return;
    const fade_site &site = table.sites()[record.site()];
    if (site.space == FADE_SPACE_FLAT) return;
    const Lanes access(record);
    std::set<uint64_t> addresses;
    record.forEachLane([&](uint32_t, uint64_t address) { addresses.insert(address); });
    Totals &t = totals[record.site()];
    const uint64_t times = record.weight();
    t.executions += times;
    t.lanes += times * record.laneCount();
    const Distances distances = distancesOf(access);
    t.irregular += times * (distances.isIrregular() ? 1 : 0);
    if (const auto stride = distances.only()) t.strides[*stride] += times;
    if (site.kind == FADE_SITE_ATOMIC)
      t.same_address += times * (record.laneCount() - addresses.size());
    if (site.space == FADE_SPACE_LDS) {
      const uint64_t conflicts =
          fade::handlers::ldsConflicts(access, site.size, banks, fade::handlers::SameDword::shared,
                                       fade::handlers::widestOf(site));
      t.conflicts += times * conflicts;
      if (site.kind == FADE_SITE_ATOMIC)
        t.same_turns +=
            times * (ldsConflicts(access, site.size, banks, fade::handlers::SameDword::in_turns) -
                     conflicts);
      return;
    }
    const auto lines = fade::handlers::linesOfPieces(access, site.size, line, distinct);
    t.needed += times * lines.needed;
    t.used += times * lines.used;
    t.wasted += times * (lines.used - std::min(lines.used, lines.needed));
  });
  return totals;
}

// Executions that were added up without a class.
uint64_t sumsIn(const std::vector<std::byte> &bytes, uint32_t encoding) {
  uint64_t sum = 0;
  forEachRecord(bytes, [&](const Record &record) {
    if (record.isSums() && record.encoding() == encoding) sum += record.sums().count;
  });
  return sum;
}

// Of all classes, less those that were added up by stride instead.
Classes without(Classes classes, const Classes &found, uint64_t by_stride) {
  uint64_t missing = 0;
  for (auto &[c, n] : classes) {
    const auto at = found.find(c);
    const uint64_t there = at == found.end() ? 0 : at->second;
    if (there >= n) continue;
    missing += n - there;
    n = there;
  }
  std::erase_if(classes, [](const auto &entry) { return entry.second == 0; });
  EXPECT_EQ(missing, by_stride);
  return classes;
}

Waves wavesOf(const Recorded &recorded, const fade::SiteTable &table) {
  std::map<uint32_t, uint64_t> by_wave;
  forEachRecord(recorded.bytes, [&](const Record &record) {
    if (record.isAccess() && table.sites()[record.site()].space != FADE_SPACE_LDS)
      ++by_wave[record.wave()];
  });
  Waves waves;
  for (const auto &[wave, count] : by_wave) {
    ++waves.count;
    waves.executions += count;
    waves.most = std::max(waves.most, count);
  }
  return waves;
}

Waves wavesInSummaries(const Recorded &recorded) {
  Waves waves;
  forEachRecord(recorded.summaries, [&](const Record &record) {
    if (record.kind() != FADE_RECORD_WAVES) return;
    EXPECT_EQ(waves, Waves{}) << "more than one record of waves";
    const fade_waves_record w = record.waves();
    waves = {w.waves, w.executions, w.most};
  });
  return waves;
}

// Those that are not equal, for people.
std::string difference(const Classes &a, const Classes &b, const fade::SiteTable &table) {
  std::string out;
  const auto look = [&](const Classes &one, const Classes &other, const char *what) {
    for (const auto &[c, n] : one) {
      const auto at = other.find(c);
      if (at != other.end() && at->second == n) continue;
      char line[256];
      std::snprintf(line, sizeof line, "%s: site %u line %u mask %lx base %lx stride %ld: %lu\n",
                    what, c.site, table.sites()[c.site].line, (unsigned long)c.mask,
                    (unsigned long)c.base, (long)c.stride, (unsigned long)n);
      out += line;
    }
  };
  look(a, b, "recorded");
  look(b, a, "added up");
  return out.substr(0, 2000);
}

// How many lanes began where: by page, part of the page, and kind of access.
struct PartOfPage {
  uint64_t page;
  std::size_t part; // of a page that holds ends of buffers
  uint32_t kind, flags;
  auto operator<=>(const PartOfPage &) const = default;
};
using Places = std::map<PartOfPage, uint64_t>;

Places placesOf(const std::vector<std::byte> &bytes, const fade::SiteTable &table, uint32_t page,
                const std::vector<uint64_t> &ends) {
  Places places;
  forEachRecord(bytes, [&](const Record &record) {
    if (!record.hasLanes() || record.isUser()) return;
    const fade_site &site = table.sites()[record.site()];
    if (site.space == FADE_SPACE_LDS) return;
    if (record.isSummary())
      EXPECT_TRUE(record.spread() == 0 || uint64_t{1} << record.spread() == page)
          << record.spread();
    record.forEachLane([&](uint32_t, uint64_t address) {
      const auto part = std::upper_bound(ends.begin(), ends.end(), address) - ends.begin();
      places[{address / page, static_cast<std::size_t>(part), site.kind, site.flags}] +=
          record.weight();
    });
  });
  return places;
}

// Which lanes came by, wherever that was: sites have other numbers if there are accesses, too.
std::multiset<uint64_t> blocksOf(const Recorded &recorded) {
  std::multiset<uint64_t> lanes;
  for (const auto &block : recorded.blocks) lanes.insert(block.mask);
  EXPECT_FALSE(lanes.empty());
  return lanes;
}

// Where each announced wave is, with its lanes and how many blocks it has recorded. Waves that are
// not there leave gaps.
std::multiset<std::vector<uint64_t>> wavesWithBlocks(const Recorded &recorded) {
  std::vector<uint64_t> blocks(recorded.waves.size());
  for (const auto &block : recorded.blocks) ++blocks.at(block.wave);
  std::multiset<std::vector<uint64_t>> waves;
  for (std::size_t i = 0; i < recorded.waves.size(); ++i)
    if (const fade_wave_begin &w = recorded.waves[i]; w.mask != 0)
      waves.insert({w.workgroup_x, w.workgroup_y, w.workgroup_z, w.work_item, w.mask, blocks[i]});
  return waves;
}

void expectAnnouncedFirst(const Recorded &recorded) {
  std::set<uint32_t> announced;
  forEachRecord(recorded.bytes, [&](const Record &record) {
    if (record.kind() == FADE_RECORD_WAVE_BEGIN)
      announced.insert(record.wave());
    else
      EXPECT_TRUE(announced.contains(record.wave()));
  });
}

struct Share {
  uint64_t summed = 0, irregular = 0, by_stride = 0, recorded = 0, recorded_with_pages = 0;
};

// As if each buffer were two allocations: their ends. Pages then have parts that the same access
// goes to in turn.
std::vector<uint64_t> cuts(const Data &data) {
  std::vector<uint64_t> cuts = data.ends();
  for (std::size_t i = 0, n = cuts.size(); i < n; i += 2)
    cuts.push_back(cuts[i] + (cuts[i + 1] - cuts[i]) / 2 + 3);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

Stream irregular(uint32_t line_shift, uint32_t bank_shift) {
  Stream stream;
  stream.irregular = FADE_IRREGULAR(line_shift, bank_shift);
  return stream;
}

class SummaryOf : public testing::TestWithParam<Build> {
protected:
  static std::string object(const std::string &file) {
    return std::string(KERNELS_DIR "/summary_") + file + "_" + GetParam().name() + ".hsaco";
  }
  static bool fits(const Case &c) {
    const auto has = [](const std::vector<std::string> &list, const char *what) {
      return list.empty() || std::find(list.begin(), list.end(), what) != list.end();
    };
    return has(c.archs, GetParam().arch) && has(c.levels, GetParam().level);
  }
  // The same twin: recorded, and added up with pages of so many bytes and without. What has no
  // class but in pages is counted, too. With lines that are shorter than real ones, more executions
  // have the same class in a page, and whether they leave the page makes the more difference.
  static Share compare(const std::string &file, const std::vector<Case> &cases, uint32_t page = 0,
                       const Stream &stream = {}, uint32_t line = 128) {
    Session session(GetParam().arch, object(file), 1);
    Share share;
    for (const Case &c : cases) {
      if (c.file != file || !fits(c)) continue;
      Data data(session.device());
      const Arguments arguments = c.arguments(data);
      Stream records = stream;
      records.records_only = true;
      const Recorded recorded = session.runTwin(c.launch, arguments, records);
      const Classes a = classesOf(recorded.bytes, session.sites());
      const auto contents = data.contents();
      const auto sum = [&](const Stream &with) {
        data.reset();
        Recorded summed = session.runTwin(c.launch, arguments, with);
        EXPECT_EQ(data.contents(), contents) << c.name;
        std::vector<std::byte> all = summed.bytes;
        all.insert(all.end(), summed.summaries.begin(), summed.summaries.end());
        if (with.irregular != 0) {
          const Classes b = withoutIrregular(classesOf(all, session.sites()));
          const uint64_t by_stride = sumsIn(all, FADE_ENCODING_AFFINE);
          const Classes with_class = without(withoutIrregular(a), b, by_stride);
          EXPECT_TRUE(with_class == b) << c.name << "\n"
                                       << difference(with_class, b, session.sites());
          EXPECT_EQ(totalsOf(all, session.sites(), with.irregular),
                    totalsOf(recorded.bytes, session.sites(), with.irregular))
              << c.name;
          share.irregular += sumsIn(all, FADE_ENCODING_RAW);
          share.by_stride += by_stride;
        } else if (with.line == stream.line) {
          const Classes b = classesOf(all, session.sites());
          EXPECT_TRUE(a == b) << c.name << "\n" << difference(a, b, session.sites());
        }
        EXPECT_EQ(wavesInSummaries(summed), wavesOf(recorded, session.sites())) << c.name;
        expectWaves(recorded, summed, c);
        EXPECT_TRUE(summed.blocks.empty()) << c.name;
        return std::pair(std::move(summed), std::move(all));
      };
      const Recorded summed = sum(stream).first;
      share.recorded += summed.accesses.size();
      forEachRecord(summed.summaries, [&](const Record &record) {
        if (record.isSummary()) share.summed += record.count();
      });
      if (page == 0) continue;
      Stream with_pages = stream;
      with_pages.page = page;
      with_pages.ends = cuts(data);
      with_pages.line = line;
      with_pages.irregular = 0;
      const auto by_page = sum(with_pages);
      share.recorded_with_pages += by_page.first.accesses.size();
      EXPECT_EQ(placesOf(by_page.second, session.sites(), page, with_pages.ends),
                placesOf(recorded.bytes, session.sites(), page, with_pages.ends))
          << c.name;
    }
    return share;
  }
  // Waves that were not announced are where those of the same number were when all were.
  static void expectWaves(const Recorded &recorded, const Recorded &summed, const Case &c) {
    std::map<uint32_t, fade_wave_begin> known;
    forEachRecord(recorded.bytes, [&](const Record &record) {
      if (record.kind() == FADE_RECORD_WAVE_BEGIN) known[record.wave()] = record.waveBegin();
    });
    forEachRecord(summed.summaries, [&](const Record &record) {
      if (record.kind() != FADE_RECORD_WAVE_BEGIN) return;
      const fade_wave_begin w = record.waveBegin();
      ASSERT_TRUE(known.contains(w.wave)) << c.name;
      const fade_wave_begin &k = known[w.wave];
      EXPECT_EQ(w.workgroup_x, k.workgroup_x) << c.name;
      EXPECT_EQ(w.workgroup_y, k.workgroup_y) << c.name;
      EXPECT_EQ(w.workgroup_z, k.workgroup_z) << c.name;
      EXPECT_EQ(w.work_item, k.work_item) << c.name;
      EXPECT_EQ(w.module, k.module);
      EXPECT_EQ(w.shared_base, k.shared_base);
      EXPECT_EQ(w.private_base, k.private_base);
      EXPECT_EQ(w.header.encoding & FADE_WAVE_IS_WAVE32, k.header.encoding & FADE_WAVE_IS_WAVE32);
    });
  }
};

constexpr const char *kOfLongTests = "this target is tried in full with the long tests";

TEST_P(SummaryOf, AccessesIsWhatIsRecorded) {
  const Share share = compare("basic", basicCases(), 512, irregular(7, 5), 4);
  EXPECT_GT(share.summed, 4 * share.recorded); // most of them have a class
  EXPECT_GT(share.irregular, 0u);
  EXPECT_LT(share.recorded_with_pages, 2 * (share.recorded + share.irregular));
}
TEST_P(SummaryOf, AccessesIsWhatIsRecordedInMoreKernels) {
  if (!GetParam().isTriedInFull()) GTEST_SKIP() << kOfLongTests;
  compare("more", moreCases(), 256, irregular(6, 6));
}
TEST_P(SummaryOf, AccessesIsWhatIsRecordedInStrangeKernels) {
  if (!GetParam().isTriedInFull()) GTEST_SKIP() << kOfLongTests;
  compare("strange", strangeCases(), 0, irregular(7, 4));
}
TEST_P(SummaryOf, AccessesIsWhatIsRecordedInAllCorners) {
  compare("corners", cornerCases(), 1024, irregular(7, 5));
  // Tables that have room for some, and none.
  for (const uint32_t slots : {1, 16}) {
    Stream tight = irregular(6, 5);
    tight.slots = slots;
    compare("corners", cornerCases(), 0, tight);
  }
}
// What a wave keeps in registers while it is in a loop comes out in the end, whatever its lanes do.
TEST_P(SummaryOf, AccessesIsWhatIsRecordedOnAllPaths) {
  if (!GetParam().isTriedInFull()) GTEST_SKIP() << kOfLongTests;
  if (GetParam().level == std::string("O0")) GTEST_SKIP() << "nothing is kept in registers at -O0";
  compare("paths", pathCases(), 0, irregular(7, 5));
}

TEST_P(SummaryOf, AccessesThatFindNoRoomAreRecorded) {
  Stream tight;
  tight.slots = 1;
  const Share share = compare("basic", basicCases(), 0, tight);
  EXPECT_GT(share.summed, 0u);
  EXPECT_GT(share.recorded, 0u);
}

// But for those whose lanes are all equally far apart, if they may be added up without a class.
TEST_P(SummaryOf, AccessesThatFindNoRoomAreAddedUpByStride) {
  if (GetParam().level == std::string("O0")) return; // through flat pointers
  Stream tight = irregular(7, 5);
  for (const uint32_t slots : {1, 32}) {
    tight.slots = slots;
    const Share share = compare("basic", basicCases(), 0, tight);
    EXPECT_GT(share.by_stride, 0u) << slots;
    EXPECT_GT(share.recorded, 0u) << slots;
  }
}

// Twins need no stack where their originals need none, and vector registers as few as are promised.
TEST_P(SummaryOf, AccessesTakesNoStack) {
  if (GetParam().level == std::string("O0")) return; // everything is on the stack
  unsigned without = 0;
  std::vector<int> more;
  for (const auto &[file, cases] : {std::pair("basic", basicCases()), {"corners", cornerCases()}}) {
    Session session(GetParam().arch, object(file), 1);
    for (const Case &c : cases) {
      if (c.file != file || !fits(c)) continue;
      const KernelNeeds original = session.needs(c.name);
      const KernelNeeds twin = session.needs(FADE_CLONE_PREFIX + c.name);
      more.push_back(int(twin.vgprs) - int(original.vgprs));
      if (original.scratch != 0) continue;
      ++without;
      // A function that called nothing calls the runtime, and keeps where to return to.
      EXPECT_EQ(twin.scratch, c.name == "leaving" ? 16u : 0u) << c.name;
    }
  }
  EXPECT_GT(without, 20u);
  std::sort(more.begin(), more.end());
  std::cout << more[more.size() / 2] << " vector registers more in the median, " << more.back()
            << " at most, of " << more.size() << " kernels\n";
  EXPECT_LE(more[more.size() / 2], 40);
}

// Blocks and waves of a twin that could add up but records are those of one that only records.
TEST_P(SummaryOf, NothingIsAStreamOfBlocksAndWaves) {
  Session sums(GetParam().arch, object("basic"), 1);
  Session blocks(GetParam().arch, KERNELS_DIR "/blocks_basic_" + GetParam().name() + ".hsaco", 1);
  for (const char *name : {"volumes", "recursion", "vadd"}) {
    const Case c = findCase(name);
    Data sums_data(sums.device()), blocks_data(blocks.device());
    Stream records;
    records.records_only = true;
    const Recorded a = sums.runTwin(c.launch, c.arguments(sums_data), records);
    const Recorded b = blocks.runTwin(c.launch, c.arguments(blocks_data));
    EXPECT_EQ(blocksOf(a), blocksOf(b)) << name;
    EXPECT_EQ(wavesWithBlocks(a), wavesWithBlocks(b)) << name;
    expectAnnouncedFirst(a);
  }
}

TEST_P(SummaryOf, WorkgroupsThatAreNotWantedIsNothing) {
  Stream some;
  some.sample_workgroups = 3;
  compare("basic", {findCase("volumes"), findCase("recursion"), findCase("vadd")}, 0, some);
}

INSTANTIATE_TEST_SUITE_P(Builds, SummaryOf, testing::ValuesIn(builds()), nameOfBuild);

} // namespace
