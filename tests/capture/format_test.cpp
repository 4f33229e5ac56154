// Captures as folders: what is written is read back, and nothing else is read.
#include "base/fnv1a.h"
#include "capture/reader.h"
#include "capture/writer.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

namespace fade::capture {
namespace {

namespace fs = std::filesystem;
using Page = std::vector<uint8_t>;

Page filled(uint8_t value) { return Page(kPageSize, value); }
Page random(unsigned seed) {
  Page page(kPageSize);
  std::mt19937 engine(seed);
  for (uint8_t &byte : page) byte = static_cast<uint8_t>(engine());
  return page;
}
Page joined(const std::vector<Page> &pages) {
  Page all;
  for (const Page &page : pages) all.insert(all.end(), page.begin(), page.end());
  return all;
}

class CaptureFormat : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "fade-capture-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }

  static Description describe(const std::vector<uint64_t> &pages) {
    Description d;
    d.fade = "1";
    d.runtime = "5.2.3";
    d.gpu = "gfx90a";
    d.isa = "amdgcn-amd-amdhsa--gfx90a";
    d.kernel = "saxpy(float*)";
    d.symbol = "_Z5saxpyPf";
    d.dispatch = 3;
    d.grid = {256, 2, 1};
    d.workgroup = {64, 1, 1};
    d.dimensions = 2;
    d.group_segment = 512;
    d.kernel_object = 0x7f0000001040;
    d.kernarg_address = 0x7f0000002000;
    d.arguments = {1, 2, 0xff};
    uint64_t at = 0x7f0000000000;
    for (const uint64_t count : pages) {
      d.regions.push_back({at, count * kPageSize, RegionKind::pool, false, 1, 4});
      at += (count + 1) * kPageSize;
    }
    return d;
  }

  /// A capture with two regions: 4 pages, of which the third changes, and 1 page.
  std::string make(const std::string &name = "saxpy") {
    auto writer = Writer::create(dir_, name);
    EXPECT_TRUE(writer.ok());
    (*writer)->begin(State::before, 0);
    EXPECT_TRUE((*writer)->add(joined({random(1), filled(0), random(2), random(1)})).ok());
    (*writer)->begin(State::before, 1);
    EXPECT_TRUE((*writer)->add(random(3)).ok());
    (*writer)->begin(State::after, 0);
    EXPECT_TRUE((*writer)->add(joined({random(1), filled(0), random(4), random(1)})).ok());
    (*writer)->begin(State::after, 1);
    EXPECT_TRUE((*writer)->add(filled(0)).ok());
    const Status done =
        (*writer)->finish(describe({4, 1}), std::vector<Code>{{{'E', 'L', 'F'}, 7}});
    EXPECT_TRUE(done.ok());
    return (*writer)->path();
  }

  static std::string bytesOf(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  /// Of opening it and reading all of its pages; empty if nothing is wrong.
  static std::string mistakeIn(const std::string &folder) {
    auto reader = Reader::open(folder);
    if (!reader) return reader.error().message();
    for (std::size_t i = 0; i < (*reader)->description().regions.size(); ++i)
      for (const State state : {State::before, State::after})
        if (const Status read = (*reader)->forStored(state, i, [](uint64_t, const uint8_t *) {});
            !read)
          return read.error().message();
    return "";
  }

  std::string dir_;
};

TEST_F(CaptureFormat, WhatIsWrittenIsReadBack) {
  const std::string path = make();
  auto reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  const Description &d = (*reader)->description();
  EXPECT_EQ(d.symbol, "_Z5saxpyPf");
  EXPECT_EQ(d.dispatch, 3u);
  EXPECT_EQ(d.grid, (std::array<uint32_t, 3>{256, 2, 1}));
  EXPECT_EQ(d.arguments, (std::vector<uint8_t>{1, 2, 0xff}));
  EXPECT_EQ(d.kernel_object, 0x7f0000001040u);
  ASSERT_EQ(d.regions.size(), 2u);
  EXPECT_EQ(d.regions[1].address, 0x7f0000000000u + 5 * kPageSize);
  ASSERT_EQ((*reader)->code().size(), 1u);
  EXPECT_EQ((*reader)->code()[0].bytes, (std::vector<uint8_t>{'E', 'L', 'F'}));
  EXPECT_EQ((*reader)->code()[0].base, 7u);
  std::map<uint64_t, Page> before, after;
  const auto into = [](auto &pages) {
    return [&](uint64_t n, const uint8_t *bytes) { pages[n] = Page(bytes, bytes + kPageSize); };
  };
  ASSERT_TRUE((*reader)->forStored(State::before, 0, into(before)).ok());
  ASSERT_TRUE((*reader)->forStored(State::after, 0, into(after)).ok());
  EXPECT_EQ(before, (std::map<uint64_t, Page>{{0, random(1)}, {2, random(2)}, {3, random(1)}}));
  EXPECT_EQ(after, (std::map<uint64_t, Page>{{2, random(4)}}));
  std::map<uint64_t, Page> second;
  ASSERT_TRUE((*reader)->forStored(State::after, 1, into(second)).ok());
  EXPECT_EQ(second, (std::map<uint64_t, Page>{{0, filled(0)}}));
  EXPECT_EQ((*reader)->sizes().stored, 4u); // one of them is there twice
  EXPECT_EQ((*reader)->sizes().changed, 2u);
  EXPECT_EQ((*reader)->sizes().memory, 5 * kPageSize);
}

TEST_F(CaptureFormat, ZeroAndEqualPagesCostNothing) {
  auto writer = Writer::create(dir_, "large");
  ASSERT_TRUE(writer.ok());
  constexpr uint64_t pages = 4096;
  std::vector<Page> all(pages, filled(0));
  for (std::size_t i = pages / 2; i < pages; ++i) all[i] = random(1);
  for (const State state : {State::before, State::after}) {
    (*writer)->begin(state, 0);
    ASSERT_TRUE((*writer)->add(joined(all)).ok());
  }
  ASSERT_TRUE((*writer)->finish(describe({pages}), {}).ok());
  EXPECT_EQ((*writer)->sizes().stored, 1u);
  EXPECT_LT((*writer)->sizes().on_disk, 3 * kPageSize);
  EXPECT_EQ(mistakeIn((*writer)->path()), "");
}

TEST_F(CaptureFormat, ManyDifferentPagesComeBack) {
  auto writer = Writer::create(dir_, "many");
  ASSERT_TRUE(writer.ok());
  constexpr unsigned pages = 50; // not a whole number of blocks
  (*writer)->begin(State::before, 0);
  for (unsigned i = 0; i < pages; ++i) ASSERT_TRUE((*writer)->add(random(i)).ok());
  ASSERT_TRUE((*writer)->finish(describe({pages}), {}).ok());
  auto reader = Reader::open((*writer)->path());
  ASSERT_TRUE(reader.ok()) << reader.error().message();
  unsigned seen = 0;
  ASSERT_TRUE((*reader)
                  ->forStored(State::before, 0,
                              [&](uint64_t n, const uint8_t *bytes) {
                                EXPECT_EQ(Page(bytes, bytes + kPageSize),
                                          random(static_cast<unsigned>(n)));
                                ++seen;
                              })
                  .ok());
  EXPECT_EQ(seen, pages);
  EXPECT_TRUE((*reader)->runs(State::after, 0).empty());
}

TEST_F(CaptureFormat, WhatIsNotFinishedIsNoCapture) {
  {
    auto writer = Writer::create(dir_, "cut");
    ASSERT_TRUE(writer.ok());
    (*writer)->begin(State::before, 0);
    ASSERT_TRUE((*writer)->add(random(1)).ok());
    EXPECT_FALSE(fs::exists((*writer)->path()));
    const std::string partial = (*writer)->path() + std::string(kPartial);
    ASSERT_TRUE(fs::exists(partial)); // what kill -9 would leave
    EXPECT_NE(mistakeIn(partial).find("not finished"), std::string::npos);
  }
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(CaptureFormat, NamesAreTakenOnce) {
  EXPECT_EQ(make(), dir_ + "/saxpy");
  EXPECT_EQ(make(), dir_ + "/saxpy-2");
  const auto first = Writer::create(dir_, "other"), second = Writer::create(dir_, "other");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*second)->path(), dir_ + "/other-2");
}

TEST_F(CaptureFormat, AFullDiskLeavesNothing) {
  struct rlimit old {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    auto writer = Writer::create(dir_, "full");
    ASSERT_TRUE(writer.ok());
    struct rlimit little = old;
    little.rlim_cur = 100'000;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    (*writer)->begin(State::before, 0);
    Status status = Done();
    for (unsigned i = 0; i < 64 && status.ok(); ++i) status = (*writer)->add(random(i));
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message().find("pages.zst"), std::string::npos);
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(CaptureFormat, EveryChangedByteIsNoticed) {
  const std::string path = make();
  for (const char *file : {"manifest.jsonl", "pages.idx", "pages.zst", "code/0.hsaco"}) {
    const std::string whole = bytesOf(path + "/" + file);
    const std::size_t step = std::max<std::size_t>(1, whole.size() / 300);
    for (std::size_t at = 0; at < whole.size(); at += step) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      put(path + "/" + file, changed);
      EXPECT_NE(mistakeIn(path), "") << file << " at " << at;
    }
    for (const std::size_t length : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
      put(path + "/" + file, whole.substr(0, length));
      EXPECT_NE(mistakeIn(path), "") << file << " of " << length;
    }
    put(path + "/" + file, whole);
    EXPECT_EQ(mistakeIn(path), "");
    fs::remove(path + "/" + file);
    EXPECT_NE(mistakeIn(path).find(file), std::string::npos);
    put(path + "/" + file, whole);
  }
}

TEST_F(CaptureFormat, LinksOutOfTheFolderAreNotFollowed) {
  const std::string path = make();
  fs::rename(path + "/pages.zst", dir_ + "/elsewhere");
  fs::create_symlink(dir_ + "/elsewhere", path + "/pages.zst");
  EXPECT_NE(mistakeIn(path).find("pages.zst: it is a symbolic link"), std::string::npos);
}

TEST_F(CaptureFormat, NorIsAFolderInItThatLeadsOutOfIt) {
  const std::string path = make();
  fs::rename(path + "/code", dir_ + "/elsewhere");
  fs::create_symlink(dir_ + "/elsewhere", path + "/code");
  EXPECT_NE(mistakeIn(path).find("/code: it is a symbolic link"), std::string::npos);
}

/// The manifest with a change in one of its first lines, and a checksum that fits.
std::string withLine(std::string text, const std::string &from, const std::string &to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto end = text.rfind("{\"type\":\"end\"");
  const auto sum = text.rfind(",\"checksum\":");
  return text.substr(0, sum) + ",\"checksum\":" +
         std::to_string(fnv1a(text.substr(0, end) + text.substr(end, sum - end))) + "}\n";
}

TEST_F(CaptureFormat, ForgedManifestsAreRefusedInOneLine) {
  const std::string path = make(), file = path + "/" + kManifestFile;
  const std::string whole = bytesOf(file);
  const std::vector<std::pair<std::string, std::string>> changes = {
      {R"("version":1)", R"("version":2)"},
      {R"("size":16384)", R"("size":16385)"},
      {R"("size":16384)", R"("size":18446744073709547520)"},
      {R"("size":16384)", R"("size":1099511627776)"}, // reaches into the next one
      {R"("size":16384)", R"("size":0)"},
      {R"("kind":"pool")", R"("kind":"puddle")"},
      {R"("grid":[256,2,1])", R"("grid":[256,0,1])"},
      {R"("grid":[256,2,1])", R"("grid":[256,2])"},
      {R"("arguments":"0102ff")", R"("arguments":"0102f")"},
      {R"("arguments":"0102ff")", R"("arguments":"01x2ff")"},
      {R"("has_after":true)", R"("has_after":1)"},
      {R"("type":"region")", R"("type":"religion")"},
      {R"("dispatch":3)", R"("dispatch":-3)"},
      {R"("gpu":"gfx90a")", R"("gpu":"gfx\u001b[2J")"},
      {R"("gpu":"gfx90a")", R"("gpu":"gfx\n")"},
  };
  for (const auto &[from, to] : changes) {
    put(file, withLine(whole, from, to));
    const std::string mistake = mistakeIn(path);
    EXPECT_NE(mistake, "") << to;
    EXPECT_EQ(mistake.find('\n'), std::string::npos) << mistake;
  }
  put(file, withLine(whole, R"("dispatch":3)", R"("dispatch":4)"));
  EXPECT_EQ(mistakeIn(path), "");
}

TEST(CaptureNames, AreMadeOfLettersAndDigits) {
  EXPECT_EQ(folderName("saxpy(float*, int)"), "saxpy");
  EXPECT_EQ(folderName("void ns::scan<int, 4>(int*)"), "ns-scan-int-4");
  EXPECT_EQ(folderName("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(folderName("(anonymous)"), "kernel");
  EXPECT_EQ(folderName(std::string(500, 'x')).size(), 60u);
}

} // namespace
} // namespace fade::capture
