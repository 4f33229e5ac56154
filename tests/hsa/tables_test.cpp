// Tables of every version of the HSA runtime, made from a list of their entries: each entry is the
// address of its own name.
#include "fake_hsa.h"
#include "hsa/hsa_api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fade {
namespace {

constexpr std::size_t kHeader = sizeof(ApiTableVersion);

struct Version {
  const char *rocm;
  uint32_t major;
  std::size_t entries;
  int column; ///< of the list: 0 up to ROCm 5.4, 1 in 5.5, 2 since 5.6
};
constexpr Version kVersions[] = {
    {"5.0", 1, 48, 0},  {"5.5", 1, 51, 1}, {"5.6", 1, 55, 2},      {"6.0", 2, 67, 2},
    {"6.1", 2, 68, 2},  {"6.2", 2, 70, 2}, {"6.4", 2, 72, 2},      {"7.2", 2, 76, 2},
    {"7.14", 2, 84, 2}, {"10", 2, 87, 2},  {"after 10", 2, 91, 2},
};

struct Entry {
  std::string name;
  int places[3];
};

const std::vector<Entry> &listedEntries() {
  static const auto *list = [] {
    auto *entries = new std::vector<Entry>;
    std::ifstream in(FADE_TEST_DATA "/hsa/amd-ext-table.tsv");
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream fields(line);
      Entry entry;
      fields >> entry.name;
      for (int &place : entry.places) {
        std::string text;
        fields >> text;
        place = text == "-" ? -1 : std::stoi(text);
      }
      entries->push_back(entry);
    }
    return entries;
  }();
  return *list;
}

/// Memory of exactly the size that the runtime has, so that ASan sees who goes beyond.
class FakeRuntime {
public:
  FakeRuntime(uint32_t major, std::size_t entries, int column, std::size_t core_entries = 125)
      : core_((kHeader + core_entries * 8) / 8), amd_((kHeader + entries * 8) / 8) {
    setVersion(core_, major);
    setVersion(amd_, major);
    for (std::size_t i = 0; i < core_entries; ++i) core_[2 + i] = 0x1000 + i;
    for (std::size_t i = 0; i < entries; ++i) amd_[2 + i] = 0xbad0000 + i;
    for (const Entry &entry : listedEntries())
      if (const int place = entry.places[column];
          place >= 0 && static_cast<std::size_t>(place) < entries)
        at(place) = addressOf(entry.name);
    table_.version = {major == 1 ? 1u : 3u, sizeof table_, 0, 0};
    table_.core_ = reinterpret_cast<CoreApiTable *>(core_.data());
    table_.amd_ext_ = reinterpret_cast<AmdExtTable *>(amd_.data());
  }

  static uint64_t addressOf(const std::string &name) {
    for (const Entry &entry : listedEntries())
      if (entry.name == name) return reinterpret_cast<uint64_t>(entry.name.data());
    return 0;
  }
  uint64_t &at(int place) { return amd_[2 + static_cast<std::size_t>(place)]; }
  HsaApiTable &table() { return table_; }
  const std::vector<uint64_t> &amd() const { return amd_; }

  /// What the library exports: functions that call what is in the table at the place of their name.
  Exports exports() {
    current = this;
    return [](const char *name) {
      void *function = exported(name);
      return function ? std::vector{function} : std::vector<void *>();
    };
  }
  /// Where an export finds its function, if that is not where the list has it.
  std::map<std::string, int> moved;
  std::size_t entries() const { return amd_.size() - 2; }

private:
  static inline FakeRuntime *current = nullptr;
  template <int Name> FADE_ANY_FUNCTION static uint64_t call(uint64_t a, uint64_t b, uint64_t c) {
    static constexpr const char *names[] = {
#define FADE_NAME(name) #name,
        FADE_LATE_ENTRIES(FADE_NAME)
#undef FADE_NAME
    };
    const auto function = reinterpret_cast<uint64_t (*)(uint64_t, uint64_t, uint64_t)>(
        current->at(current->placeOf(names[Name])));
    return function(a, b, c);
  }
  int placeOf(const std::string &name) {
    if (const auto at = moved.find(name); at != moved.end()) return at->second;
    const auto listed = std::ranges::find(listedEntries(), name, &Entry::name);
    return listed == listedEntries().end() ? -1 : listed->places[2];
  }
  static void *exported(const std::string &name) {
    const int place = current->placeOf(name);
    if (place < 0 || static_cast<std::size_t>(place) >= current->entries()) return nullptr;
#define FADE_CALL(function)                                                                        \
  if (name == #function) return reinterpret_cast<void *>(call<__COUNTER__ - first - 1>);
    constexpr int first = __COUNTER__;
    FADE_LATE_ENTRIES(FADE_CALL)
#undef FADE_CALL
    return nullptr;
  }
  static void setVersion(std::vector<uint64_t> &table, uint32_t major) {
    const ApiTableVersion version{major, static_cast<uint32_t>(table.size() * 8), 0, 0};
    std::memcpy(table.data(), &version, sizeof version);
  }
  std::vector<uint64_t> core_, amd_;
  HsaApiTable table_{};
};

/// What FADE took for each extension.
std::map<std::string, uint64_t> takenEntries() {
  std::map<std::string, uint64_t> taken;
  const AmdApi &amd = hsaApi().amd;
#define FADE_TAKEN(name, early, late) taken[#name] = reinterpret_cast<uint64_t>(amd.name##_fn);
  FADE_AMD_ENTRIES(FADE_TAKEN)
#undef FADE_TAKEN
#define FADE_TAKEN(name) taken[#name] = reinterpret_cast<uint64_t>(amd.name##_fn);
  FADE_LATE_ENTRIES(FADE_TAKEN)
#undef FADE_TAKEN
  return taken;
}

TEST(HsaTables, EveryEntryIsFoundInEveryVersion) {
  ASSERT_EQ(listedEntries().size(), 91u);
  for (const Version &version : kVersions) {
    SCOPED_TRACE(version.rocm);
    FakeRuntime runtime(version.major, version.entries, version.column);
    HsaTables tables;
    ASSERT_TRUE(tables.read(runtime.table(), runtime.exports())) << tables.problem();
    EXPECT_TRUE(tables.gaps().empty()) << tables.gaps()[0];
    for (const auto &[name, address] : takenEntries()) {
      // Younger runtimes have more. Some names were there for a while only.
      const auto listed = std::ranges::find(listedEntries(), name, &Entry::name);
      const int place = listed == listedEntries().end() ? -1 : listed->places[version.column];
      const bool is_there = place >= 0 && static_cast<std::size_t>(place) < version.entries;
      EXPECT_EQ(address, is_there ? FakeRuntime::addressOf(name) : 0) << name;
    }
    EXPECT_EQ(reinterpret_cast<uint64_t>(hsaApi().core.hsa_init_fn), 0x1000u);
    EXPECT_EQ(&tables.core(), runtime.table().core_);
  }
}

TEST(HsaTables, ReplacingChangesTheOneEntryThatWasMeant) {
  for (const Version &version : kVersions) {
    SCOPED_TRACE(version.rocm);
    FakeRuntime runtime(version.major, version.entries, version.column);
    std::vector<uint64_t> expected = runtime.amd();
    HsaTables tables;
    ASSERT_TRUE(tables.read(runtime.table(), runtime.exports()));
    const auto replace = [&](auto entry, const char *name, uint64_t with) {
      using Function = std::remove_reference_t<decltype(hsaApi().amd.*entry)>;
      tables.replace(entry, reinterpret_cast<Function>(with));
      for (const Entry &listed : listedEntries())
        if (const int place = listed.places[version.column];
            listed.name == name && place >= 0 && static_cast<std::size_t>(place) < version.entries)
          expected[2 + static_cast<std::size_t>(place)] = with;
    };
    uint64_t with = 1;
#define FADE_REPLACE(name, early, late) replace(&AmdApi::name##_fn, #name, with++);
    FADE_AMD_ENTRIES(FADE_REPLACE)
#undef FADE_REPLACE
#define FADE_REPLACE(name) replace(&AmdApi::name##_fn, #name, with++);
    FADE_LATE_ENTRIES(FADE_REPLACE)
#undef FADE_REPLACE
    EXPECT_EQ(runtime.amd(), expected);
  }
}

TEST(HsaTables, ATableThatHasGrownAtItsEndWorks) {
  FakeRuntime runtime(2, 100, 2, 140);
  HsaTables tables;
  ASSERT_TRUE(tables.read(runtime.table())) << tables.problem();
  EXPECT_EQ(takenEntries()["hsa_amd_memory_lock"], FakeRuntime::addressOf("hsa_amd_memory_lock"));
}

TEST(HsaTables, AFunctionIsFoundWhereverTheRuntimeHasItBehindThoseOf72) {
  constexpr int ordered = 76;
  for (int entries = ordered + 1; entries < 110; ++entries)
    for (const int place : {ordered, (ordered + entries) / 2, entries - 1}) {
      SCOPED_TRACE(fmt::format("{} entries, at {}", entries, place));
      FakeRuntime runtime(2, static_cast<std::size_t>(entries), 2);
      runtime.moved = {{"hsa_amd_queue_create", place},
                       {"hsa_amd_counted_queue_acquire", -1},
                       {"hsa_amd_counted_queue_release", -1},
                       {"hsa_amd_memory_async_batch_copy", -1}};
      runtime.at(place) = 0x7777;
      const std::vector<uint64_t> before = runtime.amd();
      HsaTables tables;
      ASSERT_TRUE(tables.read(runtime.table(), runtime.exports()));
      EXPECT_EQ(runtime.amd(), before) << "it is left as it was";
      EXPECT_EQ(takenEntries()["hsa_amd_queue_create"], 0x7777u);
      EXPECT_EQ(takenEntries()["hsa_amd_counted_queue_acquire"], 0u);
    }
}

TEST(HsaTables, WhatTheRuntimeDoesNotExportIsNotLookedFor) {
  FakeRuntime runtime(2, 91, 2);
  HsaTables tables;
  ASSERT_TRUE(tables.read(runtime.table(), [](const char *) { return std::vector<void *>(); }));
  EXPECT_EQ(takenEntries()["hsa_amd_queue_create"], 0u);
  EXPECT_TRUE(tables.gaps().empty());
}

TEST(HsaTables, AFunctionThatDoesNotGoThroughTheTableIsNamed) {
  static int calls;
  calls = 0;
  FakeRuntime runtime(2, 80, 2);
  HsaTables tables;
  ASSERT_TRUE(tables.read(runtime.table(), [](const char *name) -> std::vector<void *> {
    const auto own = [](uint64_t agent, void *descriptors, uint32_t count) -> hsa_status_t {
      EXPECT_EQ(agent + count, 0u);
      EXPECT_EQ(descriptors, nullptr);
      ++calls;
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    };
    if (name != std::string_view("hsa_amd_queue_create")) return {};
    return {reinterpret_cast<void *>(+own)};
  }));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(takenEntries()["hsa_amd_queue_create"], 0u);
  ASSERT_EQ(tables.gaps().size(), 1u);
  EXPECT_TRUE(tables.gaps()[0].starts_with("hsa_amd_queue_create of ")) << tables.gaps()[0];
}

using SevenWords = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                uint64_t);
FADE_ANY_FUNCTION uint64_t callWithSeven(uint64_t function) {
  return reinterpret_cast<SevenWords>(function)(1, 2, 3, 4, 5, 6, 7);
}

TEST(HsaTables, AThreadThatCallsMeanwhileGetsTheRuntimesFunction) {
  static FakeRuntime *fake;
  static uint64_t result;
  FakeRuntime runtime(2, 91, 2);
  fake = &runtime;
  const auto theirs = [](uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                         uint64_t g) { return a + b + c + d + e + f + 10 * g; };
  constexpr int place = 80;
  runtime.at(place) = reinterpret_cast<uint64_t>(static_cast<SevenWords>(theirs));
  HsaTables tables;
  ASSERT_TRUE(tables.read(runtime.table(), [](const char *name) -> std::vector<void *> {
    const auto slow = []() -> uint64_t { // exported; meanwhile a thread calls what is in the table
      std::thread([] { result = callWithSeven(fake->at(place)); }).join();
      return 0;
    };
    if (name != std::string_view("hsa_amd_queue_create")) return {};
    return {reinterpret_cast<void *>(static_cast<uint64_t (*)()>(slow))};
  }));
  EXPECT_EQ(result, 91u);
}

TEST(HsaTables, TheExportOfAnotherRuntimeIsNotTakenForThisOnes) {
  static int others;
  others = 0;
  FakeRuntime runtime(2, 91, 2);
  const Exports own = runtime.exports();
  HsaTables tables;
  ASSERT_TRUE(tables.read(runtime.table(), [&](const char *name) {
    const auto foreign = []() -> uint64_t { return ++others, HSA_STATUS_ERROR_NOT_INITIALIZED; };
    std::vector<void *> both = own(name);
    both.insert(both.begin(), reinterpret_cast<void *>(static_cast<uint64_t (*)()>(foreign)));
    return both;
  }));
  EXPECT_EQ(others, 5) << "one for each name";
  EXPECT_EQ(takenEntries()["hsa_amd_queue_create"], FakeRuntime::addressOf("hsa_amd_queue_create"));
}

TEST(HsaTables, EntriesThatFadeDoesNotKnowAreNamed) {
  for (const std::size_t entries : {76u, 91u, 92u, 95u, 300u}) {
    FakeRuntime runtime(2, entries, 2);
    HsaTables tables;
    ASSERT_TRUE(tables.read(runtime.table(), runtime.exports()));
    ASSERT_EQ(tables.gaps().size(), entries > 91 ? 1u : 0u);
    if (entries == 92) {
      EXPECT_NE(tables.gaps()[0].find(" has 1 extension that this FADE does not know (92 entries"),
                std::string::npos)
          << tables.gaps()[0];
    }
  }
}

TEST(HsaTables, RuntimesNewerThan64GivePacketsInBatches) {
  for (const auto &[entries, expected] : {std::pair{72, false}, {73, true}, {76, true}}) {
    FakeRuntime runtime(2, static_cast<std::size_t>(entries), 2);
    HsaTables tables;
    ASSERT_TRUE(tables.read(runtime.table()));
    EXPECT_EQ(tables.givesBatches(), expected) << entries;
  }
}

TEST(HsaTables, TablesThatAreNotKnownAreNamedAndLeftAlone) {
  const auto problemOf = [](FakeRuntime runtime) {
    const std::vector<uint64_t> before = runtime.amd();
    HsaTables tables;
    EXPECT_FALSE(tables.read(runtime.table()));
    EXPECT_EQ(runtime.amd(), before);
    EXPECT_EQ(hsaApi().amd.hsa_amd_memory_pool_allocate_fn, nullptr);
    return tables.problem();
  };
  EXPECT_NE(problemOf({3, 80, 2}).find("(core 3 with 125 entries, AMD 3 with 80 entries)"),
            std::string::npos);
  EXPECT_NE(problemOf({0, 48, 0}).find("core 0"), std::string::npos);
  EXPECT_NE(problemOf({2, 72, 2, 124}).find("core 2 with 124 entries"), std::string::npos);
  // Too short to have queues that can be watched.
  EXPECT_NE(problemOf({1, 36, 0}).find("AMD 1 with 36 entries"), std::string::npos);
  EXPECT_NE(problemOf({2, 38, 2}).find("AMD 2 with 38 entries"), std::string::npos);
}

TEST(HsaTables, MissingTablesAreNamed) {
  HsaApiTable empty{};
  HsaTables tables;
  EXPECT_FALSE(tables.read(empty));
  EXPECT_NE(tables.problem().find("(core none, AMD none)"), std::string::npos) << tables.problem();
  EXPECT_NE(tables.problem().find("ROCm 5.0 to 10"), std::string::npos);
}

} // namespace
} // namespace fade
