// Tables of every version of the HSA runtime, made from a list of their entries: each entry is the
// address of its own name.
#include "hsa/hsa_api.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
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
    {"5.0", 1, 48, 0}, {"5.5", 1, 51, 1}, {"5.6", 1, 55, 2}, {"6.0", 2, 67, 2},
    {"6.1", 2, 68, 2}, {"6.2", 2, 70, 2}, {"6.4", 2, 72, 2}, {"7.2", 2, 76, 2},
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

private:
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
  return taken;
}

TEST(HsaTables, EveryEntryIsFoundInEveryVersion) {
  ASSERT_EQ(listedEntries().size(), 76u);
  for (const Version &version : kVersions) {
    SCOPED_TRACE(version.rocm);
    FakeRuntime runtime(version.major, version.entries, version.column);
    HsaTables tables;
    ASSERT_TRUE(tables.read(runtime.table())) << tables.problem();
    for (const auto &[name, address] : takenEntries()) {
      // Younger runtimes have more.
      const auto &listed = *std::ranges::find(listedEntries(), name, &Entry::name);
      const int place = listed.places[version.column];
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
    ASSERT_TRUE(tables.read(runtime.table()));
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
    EXPECT_EQ(runtime.amd(), expected);
  }
}

TEST(HsaTables, ATableThatHasGrownAtItsEndWorks) {
  FakeRuntime runtime(2, 100, 2, 140);
  HsaTables tables;
  ASSERT_TRUE(tables.read(runtime.table())) << tables.problem();
  EXPECT_EQ(takenEntries()["hsa_amd_memory_lock"], FakeRuntime::addressOf("hsa_amd_memory_lock"));
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
  EXPECT_NE(tables.problem().find("ROCm 5.0 to 7.2"), std::string::npos);
}

} // namespace
} // namespace fade
