// What the hooks look up about loaded libraries while another thread is in dlopen(), in a
// constructor that waits for them.
#include "base/module_symbols.h"
#include "fake_hsa.h"
#include "hsa/allocation_policy.h"
#include "hsa/allocations.h"
#include "hsa/death_watch.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <future>
#include <thread>

namespace fade {
namespace {

using namespace std::chrono_literals;

std::function<void()> at_load;

/// Runs `what` on another thread while this one is in a constructor of a library. Whether it came
/// to an end before the constructor did.
bool endsWhileALibraryIsLoaded(const std::function<void()> &what) {
  std::promise<void> ended;
  std::thread thread;
  bool has_ended = false;
  at_load = [&] {
    thread = std::thread([&] {
      what();
      ended.set_value();
    });
    has_ended = ended.get_future().wait_for(20s) == std::future_status::ready;
  };
  void (*const call)() = [] { at_load(); };
  char address[32];
  std::snprintf(address, sizeof address, "%llx",
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(call)));
  setenv("FADE_TEST_AT_LOAD", address, 1);
  void *library = dlopen(FADE_LOADING_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  unsetenv("FADE_TEST_AT_LOAD");
  EXPECT_NE(library, nullptr) << dlerror();
  if (thread.joinable()) thread.join();
  if (library) dlclose(library);
  return has_ended;
}

TEST(LoaderLock, WhoAllocatedIsFoundWithoutWaitingForALibraryThatIsBeingLoaded) {
  AllocationTable table;
  DeathWatch deaths;
  int place = 0;
  table.add(&place, sizeof place, 1, false);
  deaths.allocated(&place, sizeof place);
  std::shared_ptr<const Allocations> found;
  EXPECT_TRUE(endsWhileALibraryIsLoaded([&] { found = table.snapshot(&deaths); }));
  ASSERT_EQ(found->origins.size(), 1u);
  EXPECT_NE(found->origins[0], 0u) << "this test";
  const std::string origin = found->names.c_str() + found->origins[0];
  // FADE is a part of this program: its own functions come first, by name if it knows its lines.
  const bool is_own = origin.find("hsa_tests") != std::string::npos ||
                      origin.find("death_watch.cpp") != std::string::npos;
  EXPECT_TRUE(is_own) << origin;
}

TEST(LoaderLock, TheApplicationAllocatesWhileSomebodyLooksForNames) {
  AllocationTable table;
  DeathWatch deaths;
  std::vector<int> places(2000);
  for (int &place : places) {
    table.add(&place, sizeof place, 1, false);
    deaths.allocated(&place, sizeof place);
  }
  // One thread looks, the other one changes the table: neither waits for the other's locks.
  std::atomic<bool> has_ended{false};
  std::thread looks([&] {
    while (!has_ended) (void)table.snapshot(&deaths);
  });
  for (int i = 0; i < 2000; ++i) {
    table.remove(&places[static_cast<std::size_t>(i)]);
    table.add(&places[static_cast<std::size_t>(i)], sizeof(int), 1, false);
  }
  has_ended = true;
  looks.join();
  EXPECT_EQ(table.snapshot(&deaths)->list.size(), 2000u);
}

TEST(LoaderLock, CallersOfAnAllocationAreMatchedWithoutWaitingForALibraryThatIsBeingLoaded) {
  const FakeHsa hsa;
  AllocationRule rule;
  rule.place = AllocationPlace::fine;
  rule.caller = "libno-such-library";
  AllocationPolicy policy({rule});
  EXPECT_TRUE(endsWhileALibraryIsLoaded(
      [&] { EXPECT_FALSE(policy.changeFor(*hsa.gpu.device_pool, 1 << 20, 0)); }));
}

TEST(ModuleSymbols, AreWhatTheLoaderSays) {
  for (void *address : {reinterpret_cast<void *>(&std::snprintf), reinterpret_cast<void *>(&dlopen),
                        dlsym(RTLD_DEFAULT, "_ZNSt9exceptionD1Ev")}) {
    Dl_info info{};
    ASSERT_NE(dladdr(address, &info), 0);
    const auto found = moduleSymbolAt(reinterpret_cast<uint64_t>(address));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->file, info.dli_fname);
    EXPECT_EQ(found->start, reinterpret_cast<uint64_t>(info.dli_fbase));
    ASSERT_FALSE(found->function.empty());
    EXPECT_EQ(dlsym(RTLD_DEFAULT, found->function.c_str()),
              info.dli_saddr); // it may have two names
  }
  int place = 0;
  EXPECT_FALSE(moduleSymbolAt(reinterpret_cast<uint64_t>(&place))) << "the stack is no file's";
  const auto own = moduleSymbolAt(reinterpret_cast<uint64_t>(&endsWhileALibraryIsLoaded));
  ASSERT_TRUE(own);
  EXPECT_NE(own->file.find("hsa_tests"), std::string::npos);
}

} // namespace
} // namespace fade
