// Which findings are one cause, what is advised, and what stays the same from run to run.
#include "check/advice.h"
#include "check/baseline.h"
#include "check/causes.h"
#include "check/data_flow.h"
#include "check/hang_text.h"
#include "fade/observer.h"

#include <gtest/gtest.h>

#include <fstream>

namespace fade::cli {
namespace {

using namespace fade::checks;

FoundPlace placeAt(uint32_t line, AccessKind kind, uint32_t column = 3) {
  FoundPlace p;
  p.raw.kind = static_cast<uint32_t>(kind);
  p.raw.pc = 0x1000 + line * 16 + column, p.raw.size = 4, p.raw.code = 1;
  p.shown = {"f", "/a/x.hip", line, column};
  p.stack = {p.shown};
  p.source = "line " + std::to_string(line);
  return p;
}

FoundFinding findingOf(Check check, Problem problem, const std::string &kernel, FoundPlace place) {
  FoundFinding f;
  f.raw.check = static_cast<uint32_t>(check), f.raw.problem = static_cast<uint32_t>(problem);
  f.kernel = f.symbol = kernel, f.gpu = "gfx90a";
  f.raw.place = place.raw, f.place = std::move(place);
  return f;
}

FoundFinding race(uint32_t line, uint32_t other, const std::string &kernel = "void k<int>(int*)") {
  FoundFinding f = findingOf(Check::race, Problem::race, kernel, placeAt(line, AccessKind::store));
  f.other = placeAt(other, AccessKind::load), f.raw.other = f.other.raw;
  return f;
}

FoundFinding overflow(uint32_t line, AccessKind kind, uint32_t allocated_at,
                      const std::string &kernel = "k(int*)") {
  FoundFinding f = findingOf(Check::memory, Problem::gap, kernel, placeAt(line, kind));
  f.raw.allocation.number = 1, f.raw.allocation.size = 400;
  f.allocation.raw = f.raw.allocation;
  f.allocation.caller = {"main", "/a/x.hip", allocated_at, 1};
  return f;
}

std::size_t causesOf(std::vector<FoundFinding> findings) {
  groupByCause(findings);
  return findings.size();
}

TEST(Causes, InstancesOfATemplateHaveOneName) {
  EXPECT_EQ(templateName("void ns::scale<float, 3>(float*, int)"), "ns::scale");
  EXPECT_EQ(templateName("scale(int*)"), "scale");
  EXPECT_EQ(templateName("(anonymous namespace)::k(int)"), "(anonymous namespace)::k");
  EXPECT_EQ(templateName("void (anonymous namespace)::k<a<b>>(int)"), "(anonymous namespace)::k");
  EXPECT_EQ(templateName("void S<int>::operator()<float>(int) const"), "S::operator()");
}

TEST(Causes, RacesThatShareALineAreOne) {
  EXPECT_EQ(causesOf({race(10, 20), race(10, 21), race(30, 20)}), 1u);
  EXPECT_EQ(causesOf({race(10, 20), race(10, 20, "void k<float>(float*)")}), 1u);
  EXPECT_EQ(causesOf({race(10, 20), race(11, 21)}), 2u);
  EXPECT_EQ(causesOf({race(10, 20), race(10, 20, "other(int*)")}), 2u);
}

TEST(Causes, StoresOfAllWorkItemsToOneAllocationAreOne) {
  const auto own = [](uint32_t line, uint32_t allocated_at, AccessKind other = AccessKind::store) {
    FoundFinding f = race(line, line);
    f.other = placeAt(line, other), f.raw.other = f.other.raw;
    f.allocation.raw.number = 1;
    f.allocation.caller = {"main", "/a/x.hip", allocated_at, 1};
    return f;
  };
  EXPECT_EQ(causesOf({own(10, 3), own(11, 3), own(12, 3)}), 1u);
  EXPECT_EQ(causesOf({own(10, 3), own(11, 4)}), 2u);
  EXPECT_EQ(causesOf({own(10, 3), own(11, 3, AccessKind::load)}), 2u);
  FoundFinding in_lds = own(10, 3), also = own(11, 3);
  in_lds.allocation = also.allocation = {};
  EXPECT_EQ(causesOf({in_lds, also}), 2u);
}

TEST(Causes, WhatAnUnorderedLaunchMeetsIsOne) {
  const auto overlap = [](uint32_t line, uint32_t other, uint32_t allocated_at,
                          const char *kernel) {
    FoundFinding f = race(line, other, kernel);
    f.raw.problem = static_cast<uint32_t>(Problem::overlap);
    f.allocation.raw.number = 1;
    f.allocation.caller = {"main", "/a/x.hip", allocated_at, 1};
    return f;
  };
  EXPECT_EQ(causesOf({overlap(10, 20, 3, "set()"), overlap(10, 10, 3, "scale()")}), 1u);
  EXPECT_EQ(causesOf({overlap(10, 20, 3, "set()"), overlap(11, 21, 3, "scale()")}), 2u);
  EXPECT_EQ(causesOf({overlap(10, 20, 3, "set()"), overlap(10, 10, 4, "scale()")}), 2u);
  // Whether the launch came before the one that writes is chance.
  FoundFinding unwritten =
      findingOf(Check::init, Problem::uninitialized, "sum()", placeAt(20, AccessKind::load));
  unwritten.allocation.raw.number = 1;
  unwritten.allocation.caller = {"main", "/a/x.hip", 3, 1};
  std::vector<FoundFinding> both = {unwritten, overlap(10, 20, 3, "set()")};
  groupByCause(both);
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].raw.problem, static_cast<uint32_t>(Problem::overlap)) << "the cause is shown";
  EXPECT_EQ(both[0].details.size(), 1u);
  EXPECT_EQ(causesOf({unwritten, overlap(10, 21, 3, "set()")}), 2u);
}

TEST(Causes, NeighboringLinesThatOneBarrierOrdersAreOne) {
  const auto within = [](uint32_t line, uint32_t other) {
    FoundFinding f = race(line, other);
    f.path = FoundFinding::Path::forward;
    return f;
  };
  EXPECT_EQ(causesOf({within(10, 20), within(11, 21)}), 1u);
  EXPECT_EQ(causesOf({within(10, 20), within(11, 30)}), 2u);
  EXPECT_EQ(causesOf({within(10, 20), within(15, 21)}), 2u);
  FoundFinding other_way = within(11, 21), between_groups = within(11, 21);
  other_way.path = FoundFinding::Path::loop;
  between_groups.raw.other.group[0] = 1;
  EXPECT_EQ(causesOf({within(10, 20), other_way}), 2u);
  EXPECT_EQ(causesOf({within(10, 20), between_groups}), 2u);
  EXPECT_EQ(causesOf({race(10, 20), race(11, 21)}), 2u) << "the way is not known";
}

TEST(Causes, RacesThatOneFenceWouldOrderAreOne) {
  const auto unfenced = [](uint32_t line, uint32_t other, uint32_t atomic) {
    FoundFinding f = race(line, other);
    f.raw.lacks = static_cast<uint32_t>(Between::no_release);
    f.between = placeAt(atomic, AccessKind::atomic);
    return f;
  };
  EXPECT_EQ(causesOf({unfenced(10, 20, 15), unfenced(11, 21, 15)}), 1u);
  EXPECT_EQ(causesOf({unfenced(10, 20, 15), unfenced(11, 21, 16)}), 2u);
  EXPECT_EQ(causesOf({unfenced(10, 20, 15), race(11, 21)}), 2u);
}

TEST(Causes, LanesAndWavesThatMissOneBarrierAreOne) {
  const auto sync = [](Problem problem) {
    return findingOf(Check::sync, problem, "k(int*)", placeAt(10, AccessKind::load));
  };
  EXPECT_EQ(causesOf({sync(Problem::divergent_barrier), sync(Problem::missing_waves)}), 1u);
  EXPECT_EQ(causesOf({sync(Problem::divergent_barrier), sync(Problem::inactive_lane)}), 2u);
}

TEST(Causes, BarriersBehindOneEarlyReturnAreOne) {
  const auto sync = [](uint32_t line, uint32_t item, uint32_t lanes) {
    FoundFinding f = findingOf(Check::sync, Problem::divergent_barrier, "k(int*)",
                               placeAt(line, AccessKind::load));
    f.raw.place.item[0] = item, f.raw.waves = lanes, f.raw.limit = 64;
    return f;
  };
  EXPECT_EQ(causesOf({sync(10, 8, 32), sync(20, 8, 32), sync(30, 8, 32)}), 1u);
  EXPECT_EQ(causesOf({sync(10, 8, 32), sync(20, 9, 32)}), 2u) << "other work-items miss it";
  EXPECT_EQ(causesOf({sync(10, 8, 32), sync(20, 8, 33)}), 2u);
  const auto waves = [](uint32_t line, uint32_t ended) {
    FoundFinding f =
        findingOf(Check::sync, Problem::missing_waves, "k(int*)", placeAt(line, AccessKind::load));
    f.other = placeAt(ended, AccessKind::load), f.raw.other = f.other.raw;
    return f;
  };
  EXPECT_EQ(causesOf({waves(10, 40), waves(20, 40)}), 1u);
  EXPECT_EQ(causesOf({waves(10, 40), waves(20, 41)}), 2u);
}

TEST(Advice, AnEarlyReturnThatEndsAtTheBraceIsBeforeTheBarrier) {
  FoundFinding f =
      findingOf(Check::sync, Problem::missing_waves, "k(int*)", placeAt(10, AccessKind::load));
  f.other = placeAt(40, AccessKind::load), f.raw.other = f.other.raw;
  EXPECT_NE(adviceOf(f).find("early return at line 40"), std::string::npos) << adviceOf(f);
  f.other.source = "}";
  EXPECT_NE(adviceOf(f).find("early return before line 10"), std::string::npos) << adviceOf(f);
}

TEST(Causes, LanesOfOneWaveAndOtherWavesAtOneLineAreOne) {
  FoundFinding lanes = race(10, 10);
  lanes.raw.problem = static_cast<uint32_t>(Problem::lost_update);
  EXPECT_EQ(causesOf({race(10, 10), lanes}), 1u);
  lanes.raw.problem = static_cast<uint32_t>(Problem::overlap);
  EXPECT_EQ(causesOf({race(10, 10), lanes}), 2u);
}

TEST(Causes, MemoryOfAPoolThatAStreamUsesTooEarlyOrTooLongIsOne) {
  const auto early = [](Problem problem, uint32_t line) {
    FoundFinding f = findingOf(Check::memory, problem, "k(int*)", placeAt(line, AccessKind::store));
    f.raw.address = 0x1010;
    f.allocation.raw.number = 3, f.allocation.raw.base = 0x1000, f.allocation.raw.size = 256;
    return f;
  };
  const FoundFinding used = early(Problem::used_early, 10);
  EXPECT_EQ(causesOf({used, early(Problem::freed_early, 10)}), 1u);
  EXPECT_EQ(causesOf({used, early(Problem::freed_early, 11)}), 2u);
  FoundFinding overlap = race(20, 10);
  overlap.raw.problem = static_cast<uint32_t>(Problem::overlap);
  overlap.raw.address = 0x1020;
  EXPECT_EQ(causesOf({used, overlap}), 1u) << "with what another stream does there";
  overlap.raw.address = 0x2020;
  EXPECT_EQ(causesOf({used, overlap}), 2u) << "other memory";
}

TEST(Causes, AccessesBeyondTheSameMemoryAreOne) {
  EXPECT_EQ(causesOf({overflow(5, AccessKind::load, 40), overflow(6, AccessKind::store, 40)}), 1u);
  EXPECT_EQ(causesOf({overflow(5, AccessKind::load, 40), overflow(6, AccessKind::store, 41)}), 2u);
  FoundFinding before = overflow(5, AccessKind::load, 40);
  before.raw.distance = -4;
  EXPECT_EQ(causesOf({overflow(5, AccessKind::load, 40), before}), 2u);
}

TEST(Causes, AnAccessFarAwayBelongsToTheOverflowOfItsLine) {
  const auto far = [](uint32_t line, const std::string &kernel = "k(int*)") {
    return findingOf(Check::memory, Problem::outside, kernel, placeAt(line, AccessKind::load));
  };
  std::vector<FoundFinding> findings = {far(5), overflow(5, AccessKind::load, 40),
                                        overflow(6, AccessKind::load, 40)};
  groupByCause(findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].raw.problem, static_cast<uint32_t>(Problem::gap)) << "names the memory";
  EXPECT_EQ(findings[0].details.size(), 2u);
  EXPECT_EQ(causesOf({overflow(5, AccessKind::load, 40), far(6)}), 2u) << "another line";
  EXPECT_EQ(causesOf({overflow(5, AccessKind::load, 40), far(5, "other(int*)")}), 2u);
}

TEST(Causes, ARaceWithAStoreThatIsOutOfBoundsFollowsFromIt) {
  std::vector<FoundFinding> findings = {overflow(10, AccessKind::store, 40),
                                        race(10, 20, "k(int*)")};
  groupByCause(findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].raw.check, static_cast<uint32_t>(Check::memory));
  ASSERT_EQ(findings[0].details.size(), 1u);
  EXPECT_EQ(findings[0].details[0].raw.check, static_cast<uint32_t>(Check::race));
  EXPECT_EQ(causesOf({overflow(10, AccessKind::load, 40), race(10, 20, "k(int*)")}), 2u)
      << "a load beyond the end changes nothing";
}

TEST(Causes, LoadsOfOneLineThatAreNotWaitedForAreOne) {
  const auto unwaited = [](uint32_t line, uint32_t loaded, uint64_t number) {
    FoundFinding f =
        findingOf(Check::wait, Problem::unwaited, "k(int*)", placeAt(line, AccessKind::load));
    f.other = placeAt(loaded, AccessKind::load), f.raw.other = f.other.raw;
    f.raw.address = number, f.raw.waves = static_cast<uint32_t>(WaitCounter::vector);
    return f;
  };
  EXPECT_EQ(causesOf({unwaited(30, 10, 1), unwaited(31, 10, 2), unwaited(31, 11, 3)}), 1u);
  EXPECT_EQ(causesOf({unwaited(30, 10, 1), unwaited(31, 11, 2)}), 2u);
  FoundFinding scalar = unwaited(30, 10, 1);
  scalar.raw.waves = static_cast<uint32_t>(WaitCounter::scalar);
  EXPECT_EQ(causesOf({unwaited(30, 10, 1), scalar}), 2u) << "another wait is missing";
}

TEST(Advice, NamesWhatIsMissingAndWhere) {
  FoundFinding f = race(10, 20);
  EXPECT_EQ(adviceOf(f), "in a loop: add __syncthreads() after line 20, before line 10 is reached "
                         "again");
  f.is_turned = true; // the store came first
  EXPECT_EQ(adviceOf(f), "add __syncthreads() after line 10, before line 20");
  f.is_turned = false; // the load came first, but no wave comes from there to the store
  f.path = FoundFinding::Path::forward;
  EXPECT_EQ(adviceOf(f), "add __syncthreads() after line 10, before line 20");
  f.bare_barrier = 4;
  EXPECT_EQ(adviceOf(f).find("add __syncthreads() after line 10, before line 20; the barrier at "
                             "line 4 does not order memory for the compiler"),
            0u);
  f.bare_barrier = 0;
  // Nor is __syncthreads() always one: a load without a line of its own was moved.
  f.raw.space = static_cast<uint32_t>(AccessSpace::lds);
  f.other.is_near = true;
  f.other.raw.kind = static_cast<uint32_t>(AccessKind::load);
  EXPECT_NE(adviceOf(f).find("if it is there, the compiler has moved the load across it"),
            std::string::npos);
  f.raw.space = static_cast<uint32_t>(AccessSpace::global);
  EXPECT_EQ(adviceOf(f), "add __syncthreads() after line 10, before line 20");
  f.other.is_near = false;
  f.path = FoundFinding::Path::loop;
  f.place.raw.address = 0x100, f.other.raw.address = 0x180;
  EXPECT_EQ(adviceOf(f), "in a loop: add __syncthreads() after line 20, before line 10 is reached "
                         "again");
  f.raw.place.group[0] = 1;
  EXPECT_NE(adviceOf(f).find("workgroups run in any order"), std::string::npos);
  f.raw.lacks = static_cast<uint32_t>(Between::no_release);
  f.between = placeAt(15, AccessKind::atomic);
  EXPECT_EQ(adviceOf(f).find("the atomic at line 15 comes between, but without __threadfence() "
                             "before it"),
            0u);
  f.narrow = {"fence", "/a/x.hip", 14, 0};
  EXPECT_EQ(adviceOf(f),
            "the fence at line 14 is only workgroup-wide, and another workgroup reads: "
            "use __threadfence()");
  f.raw.lacks = static_cast<uint32_t>(Between::no_acquire);
  EXPECT_EQ(adviceOf(f),
            "the access at line 15 comes between, but without __threadfence() after it");
  EXPECT_EQ(pageOf(f), "docs/check.md#race");
  EXPECT_EQ(adviceOf(overflow(5, AccessKind::load, 40)),
            "there are 100 elements of 4 bytes: check the index before the access");
}

TEST(Baseline, IdsStayWhenLinesMoveAndDifferWhenTextDoes) {
  std::vector<FoundFinding> before = {race(10, 20), race(10, 20), race(11, 20)};
  std::vector<FoundFinding> after = before;
  for (FoundFinding &f : after) f.place.shown.line += 7, f.other.shown.line += 7;
  after[0].kernel = "void k<float>(float*)";
  setIds(before), setIds(after);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].id, after[i].id);
    EXPECT_TRUE(isFindingId(before[i].id)) << before[i].id;
  }
  EXPECT_EQ(before[0].id + "-2", before[1].id);
  EXPECT_NE(before[0].id, before[2].id);
  EXPECT_FALSE(isFindingId("race"));
  EXPECT_FALSE(isFindingId("race-histogram_12"));
}

TEST(Baseline, WhatIsInTheFileIsKnown) {
  std::vector<FoundFinding> findings = {race(10, 20), race(11, 21)};
  setIds(findings);
  const std::string path = testing::TempDir() + "/fade_baseline.jsonl";
  std::ofstream(path) << "{\"id\":\"" << findings[0].id << "\"}\n{\"id\":\"sync-0123456789ab\"}\n";
  const auto baseline = Baseline::read(path);
  ASSERT_TRUE(baseline);
  baseline->mark(findings);
  EXPECT_TRUE(findings[0].is_known);
  EXPECT_FALSE(findings[1].is_known);
  EXPECT_EQ(baseline->gone(findings), 1u);
  std::ofstream(path) << "no json\n";
  EXPECT_FALSE(Baseline::read(path));
  EXPECT_FALSE(Baseline::read("/nonexistent"));
}

TEST(DataFlow, ASumOfWhatWasLoadedIsToldFromAConstant) {
  EXPECT_TRUE(accumulates({"global_load_dword v3, v[0:1], off", "s_waitcnt vmcnt(0)",
                           "v_add_u32_e32 v3, 1, v3", "global_store_dword v[0:1], v3, off"}));
  EXPECT_TRUE(accumulates({"ds_read_b32 v1, v0", "v_add_f32_e32 v2, 1.0, v1",
                           "v_mov_b32_e32 v4, v2", "ds_write_b32 v0, v4"}));
  EXPECT_TRUE(accumulates({"buffer_load_dword v3, off, s[0:3], 0", "v_mul_lo_u32 v3, v3, v5",
                           "buffer_store_dword v3, off, s[0:3], 0"}));
  EXPECT_FALSE(accumulates({"global_load_dword v3, v[0:1], off", "v_cmp_eq_u32_e32 vcc, 0, v3",
                            "v_mov_b32_e32 v3, 1", "global_store_dword v[0:1], v3, off"}));
  EXPECT_FALSE(accumulates({"global_load_dword v3, v[0:1], off", "v_max_u32_e32 v3, 5, v3",
                            "global_store_dword v[0:1], v3, off"}))
      << "twice the same as once";
  EXPECT_FALSE(accumulates({"global_load_dword v3, v[0:1], off", "v_add_u32_e32 v4, 1, v5",
                            "global_store_dword v[0:1], v4, off"}));
  EXPECT_TRUE(accumulates({"global_load_dwordx2 v[4:5], v[2:3], off",
                           "v_fmac_f64_e32 v[4:5], 0x40080000, v[0:1]",
                           "global_store_dwordx2 v[2:3], v[4:5], off"}))
      << "adds to its result";
  EXPECT_FALSE(accumulates({"global_load_dword v4, v[2:3], off", "v_fmac_f32_e32 v5, v0, v1",
                            "global_store_dword v[2:3], v5, off"}));
  EXPECT_TRUE(accumulates({"global_load_d16_b16 v2, v[0:1], off", "v_add_nc_u16 v2.l, v2.l, 1",
                           "global_store_b16 v[0:1], v2, off"}))
      << "a half of the register";
}

TEST(DataFlow, TheAddressOfALoadIsOfItsEntryIfNothingElseThereLoads) {
  const std::vector<std::string> own = {"v_lshl_add_u32 v0, s0, 2, v1", "s_nop 0",
                                        "ds_read_b32 v0, v0 offset:256"};
  EXPECT_TRUE(computesAddress(own, 2));
  EXPECT_FALSE(computesAddress(own, 0));
  EXPECT_FALSE(computesAddress(own, 3));
  EXPECT_FALSE(computesAddress({"ds_read_b32 v0, v0"}, 0)) << "computed elsewhere";
  EXPECT_FALSE(computesAddress({"v_lshl_add_u32 v2, s0, 2, v1", "ds_read_b32 v0, v0"}, 1));
  EXPECT_FALSE(computesAddress(
      {"v_lshl_add_u32 v0, s0, 2, v1", "ds_read_b32 v2, v0 offset:256", "ds_read_b32 v3, v0"}, 1))
      << "one of them was moved";
  EXPECT_FALSE(computesAddress({"v_lshlrev_b32_e32 v0, 2, v0", "ds_write_b32 v0, v1"}, 1))
      << "a store has the place of its operator";
}

FoundFinding wait(Problem problem, uint32_t line, uint32_t column) {
  FoundFinding f = findingOf(Check::hang, problem, "k", placeAt(line, AccessKind::load, column));
  f.raw.count = 2;
  return f;
}

TEST(WaitChain, ABarrierAndAPollInOneLineAreTwoBoxes) {
  FoundFinding barrier = wait(Problem::at_barrier, 7, 3);
  FoundFinding poll = wait(Problem::polls, 7, 40);
  barrier.other = poll.place, barrier.raw.other = poll.place.raw;
  poll.raw.lacks = static_cast<uint32_t>(Writer::nobody);
  poll.raw.space = static_cast<uint32_t>(AccessSpace::lds);
  barrier.details = {poll};
  EXPECT_EQ(chainText(waitChain(barrier)),
            "[x.hip:7, 2 waves] --barrier--> [x.hip:7, 2 waves] --byte 0 of LDS--> (never "
            "written)");
}

TEST(WaitChain, AnUnknownWriterIsSaid) {
  FoundFinding poll = wait(Problem::polls, 7, 40);
  poll.raw.lacks = static_cast<uint32_t>(Writer::unknown);
  poll.raw.space = static_cast<uint32_t>(AccessSpace::lds);
  EXPECT_EQ(chainText(waitChain(poll)), "[x.hip:7, 2 waves] --byte 0 of LDS--> (unknown writer)");
  EXPECT_EQ(wakerText(poll), "its writer is unknown");
}

} // namespace
} // namespace fade::cli
