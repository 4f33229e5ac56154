// A kernel's accesses, made up, and what MemoryAnalysis says about them.
#pragma once

#include "handler_host.h"

#include <gtest/gtest.h>

namespace fade::testing {

using nlohmann::json;

inline constexpr uint64_t kWave32 = 0xffff'ffff;

class MemoryAnalysisTest : public ::testing::Test {
protected:
  SiteTableBuilder table;
  Stream stream;
  std::string target = "gfx90a";

  uint32_t site(uint32_t kind, uint32_t space, uint32_t size, uint32_t flags = 0) {
    SiteTableBuilder::Site site;
    site.kind = kind;
    site.space = space;
    site.size = size;
    site.flags |= flags;
    site.line = ++line_;
    return table.add(site);
  }
  uint32_t load(uint32_t size = 4) { return site(FADE_SITE_LOAD, FADE_SPACE_GLOBAL, size); }
  uint32_t ldsLoad(uint32_t size = 4) { return site(FADE_SITE_LOAD, FADE_SPACE_LDS, size); }

  json run(unsigned workers = 1) {
    HostOptions options;
    options.target = target;
    options.workers = workers;
    options.batch = 4096;
    HandlerHost host({{"MemoryAnalysis", ""}}, options);
    host.dispatch("kernel()", table.build("kernel"), stream);
    auto all = host.finish("memory");
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? json::object() : all[0];
  }
  // The only access to global memory, or to LDS.
  json global() { return only(run()["global"]); }
  json lds() { return only(run()["lds"]); }

  void expectLines(uint64_t executions, uint64_t lanes, uint64_t needed, uint64_t used) {
    const json access = global();
    EXPECT_EQ(access["executions"], executions);
    EXPECT_EQ(access["lanes"], lanes);
    EXPECT_EQ(access["lines_needed"], needed);
    EXPECT_EQ(access["lines_used"], used);
  }

  static json only(const json &list) {
    EXPECT_EQ(list.size(), 1u);
    return list.empty() ? json::object() : list[0];
  }

private:
  uint32_t line_ = 0;
};

} // namespace fade::testing
