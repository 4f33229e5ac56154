// A handler at the C interface, as a host sees it: what it does with hosts of other sizes, with
// colors, and with wrong options.
#include "fade/handler.h"
#include "handler_host.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <dlfcn.h>

namespace fade::testing {
namespace {

const fade_handler_api *apiOf(const std::string &name) {
  void *library = dlopen((FADE_HANDLER_DIR "/lib" + name + ".so").c_str(), RTLD_NOW);
  EXPECT_NE(library, nullptr) << dlerror();
  void *entry = library ? dlsym(library, FADE_HANDLER_ENTRY) : nullptr;
  EXPECT_NE(entry, nullptr);
  return entry ? reinterpret_cast<const fade_handler_api *(*)()>(entry)() : nullptr;
}

fade_host hostThatCollects(std::string &report, uint32_t flags, uint32_t columns) {
  fade_host host{};
  host.size = sizeof host;
  host.format = FADE_FORMAT_TEXT;
  host.context = &report;
  host.write = [](void *context, const char *text, fade_u64 size) {
    static_cast<std::string *>(context)->append(text, size);
  };
  host.write_file = [](void *, const char *, const char *, fade_u64) { return 0; };
  host.warn = [](void *, const char *) {};
  host.flags = flags;
  host.columns = columns;
  return host;
}

/// A strided access through the whole life of a handler.
void runOnce(const fade_handler_api &api, const fade_host &host) {
  SiteTableBuilder table;
  const auto load = table.add({});
  Stream stream;
  stream.wave();
  stream.affine(load, 0x10000, 128);
  DispatchRecord dispatch;
  dispatch.setKernel(std::make_shared<KernelInfo>(
      KernelIdentity{0, "kernel(int)", "kernel", "gfx90a"}, table.build("kernel")));
  dispatch.setVariant(std::make_shared<std::string>("instrumented"));
  dispatch.view.id = 1;
  dispatch.view.flags = FADE_DISPATCH_INSTRUMENTED;
  void *handler = api.create(&host, "", nullptr, 0);
  ASSERT_NE(handler, nullptr);
  void *shard = api.shard(handler, &dispatch.view);
  ASSERT_NE(shard, nullptr);
  fade_batch batch{};
  batch.size = sizeof batch;
  batch.wave_size = 64;
  batch.dispatch = &dispatch.view;
  batch.bytes = stream.bytes().data();
  batch.byte_count = stream.bytes().size();
  batch.record_count = 2;
  batch.find_wave = [](const void *, fade_u32, fade_wave_begin *) { return 0; };
  api.records(shard, &batch);
  api.dispatch_end(handler, &dispatch.view, &shard, 1);
  api.shard_free(shard);
  api.report(handler);
  api.destroy(handler);
}

class HandlerInterface : public ::testing::TestWithParam<std::string_view> {};

TEST_P(HandlerInterface, IsCompleteAndOfThisVersion) {
  const fade_handler_api *api = apiOf(GetParam().data());
  ASSERT_NE(api, nullptr);
  EXPECT_EQ(api->size, sizeof *api);
  EXPECT_EQ(api->abi, FADE_HANDLER_ABI);
  EXPECT_EQ(api->message_version, FADE_MESSAGE_VERSION);
  EXPECT_EQ(api->name, GetParam());
  EXPECT_NE(std::string(api->summary), "");
}

TEST_P(HandlerInterface, NamesTheOptionThatIsWrong) {
  const fade_handler_api *api = apiOf(GetParam().data());
  ASSERT_NE(api, nullptr);
  std::string report;
  const fade_host host = hostThatCollects(report, 0, 0);
  std::array<char, 200> error{};
  EXPECT_EQ(api->create(&host, "nonsense=1", error.data(), error.size()), nullptr);
  EXPECT_NE(std::string(error.data()).find("unknown option 'nonsense'"), std::string::npos);
  // A short buffer is filled and ended, one of no size left alone.
  std::array<char, 8> little{};
  EXPECT_EQ(api->create(&host, "nonsense=1", little.data(), little.size()), nullptr);
  EXPECT_STREQ(little.data(), "unknown");
  EXPECT_EQ(api->create(&host, "nonsense=1", nullptr, 0), nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, HandlerInterface,
                         ::testing::ValuesIn(handlerNames().begin(), handlerNames().end()),
                         [](const auto &name) { return std::string(name.param); });

TEST(HandlerColor, IsUsedOnlyIfTheHostHasIt) {
  for (const char *name : {"Heatmap", "MemoryAnalysis", "BlockCounts"}) {
    std::string plain, colored;
    runOnce(*apiOf(name), hostThatCollects(plain, 0, 0));
    runOnce(*apiOf(name), hostThatCollects(colored, FADE_HOST_COLOR, 0));
    EXPECT_FALSE(plain.empty()) << name;
    EXPECT_EQ(plain.find('\x1b'), std::string::npos) << name;
    EXPECT_NE(colored.find("\x1b[1m"), std::string::npos) << name;
    // Without the colors it is the same text.
    for (std::size_t at = 0; (at = colored.find('\x1b')) != std::string::npos;)
      colored.erase(at, colored.find('m', at) + 1 - at);
    EXPECT_EQ(colored, plain) << name;
  }
}

TEST(HandlerColor, AHostThatIsOlderThanColorsHasNone) {
  std::string report;
  fade_host host = hostThatCollects(report, FADE_HOST_COLOR, 1);
  host.size = offsetof(fade_host, flags);
  runOnce(*apiOf("MemoryAnalysis"), host);
  EXPECT_NE(report.find("kernel(int)"), std::string::npos);
  EXPECT_EQ(report.find('\x1b'), std::string::npos);
}

TEST(HandlerColumns, AdviceFitsTheTerminal) {
  std::string report;
  runOnce(*apiOf("MemoryAnalysis"), hostThatCollects(report, 0, 72));
  const auto advice = report.find("->");
  ASSERT_NE(advice, std::string::npos) << report;
  for (auto at = report.rfind('\n', advice) + 1; at < report.size();) {
    const auto end = report.find('\n', at);
    EXPECT_LE(end - at, 72u) << report.substr(at, end - at);
    at = end + 1;
  }
}

/// Keeps the tables that its shards were given.
struct TableKeeper : Handler {
  static constexpr const char *name = "TableKeeper", *summary = "site tables";
  static constexpr uint32_t needs = FADE_NEEDS_ACCESSES;
  using Handler::Handler;
  static inline std::vector<const SiteTable *> tables;

  struct Shard {
    Shard(const TableKeeper &, const Dispatch &dispatch) {
      tables.push_back(dispatch.kernel().sites());
    }
    void records(const Batch &) {}
  };
};

TEST(HandlerSites, TheTableOfAModuleIsReadOnceIfTheHostSharesIt) {
  SiteTableBuilder builder;
  builder.add({});
  const auto sites = builder.build("first");
  const fade_handler_api &api = *detail::HandlerGlue<TableKeeper>::api();
  for (const uint32_t flags : {0u, FADE_HOST_SHARES_SITES}) {
    std::string report;
    const fade_host host = hostThatCollects(report, flags, 0);
    void *handler = api.create(&host, "", nullptr, 0);
    TableKeeper::tables.clear();
    for (uint32_t id = 0; id < 3; ++id) {
      DispatchRecord dispatch; // the third has no sites
      const std::string name = "kernel " + std::to_string(id);
      dispatch.setKernel(std::make_shared<KernelInfo>(KernelIdentity{id, name, name, "gfx90a"},
                                                      id < 2 ? sites : nullptr));
      api.shard_free(api.shard(handler, &dispatch.view));
    }
    ASSERT_EQ(TableKeeper::tables.size(), 3u);
    ASSERT_NE(TableKeeper::tables[0], nullptr);
    EXPECT_EQ(TableKeeper::tables[0]->sites().size(), 1u);
    EXPECT_EQ(TableKeeper::tables[0] == TableKeeper::tables[1], flags != 0);
    EXPECT_EQ(TableKeeper::tables[2], nullptr);
    api.destroy(handler);
  }
}

} // namespace
} // namespace fade::testing
