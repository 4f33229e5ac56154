#include "stream/dispatch_log.h"
#include "stream/room_watch.h"

#include <gtest/gtest.h>

namespace fade {
namespace {

/// What is written of one dispatch.
std::string logOf(Format format, uint32_t flags, const std::string &name = "k()") {
  Output output(format);
  DispatchLog log(output);
  DispatchRecord record;
  record.setKernel(std::make_shared<KernelInfo>(KernelIdentity{0, name, "k", "gfx90a"}, nullptr));
  record.setVariant(std::make_shared<std::string>("original"));
  record.view.id = 1;
  record.view.flags = flags;
  record.view.start_ns = flags & FADE_DISPATCH_HAS_TIMES ? 10 : 0;
  record.view.end_ns = flags & FADE_DISPATCH_HAS_TIMES ? 20 : 0;
  log.dispatch(record);
  if (format == Format::text) {
    log.skipped(name, "a \033[2Jreason");
    log.report();
  }
  return output.collected();
}

TEST(DispatchLog, TimesThatAreNotKnownAreNullInJsonAndEmptyInCsv) {
  EXPECT_NE(logOf(Format::json, 0).find(R"("start_ns":null,"end_ns":null)"), std::string::npos);
  EXPECT_NE(logOf(Format::csv, 0).find("\ndispatch,1,k(),1,0,0,,,0"), std::string::npos)
      << logOf(Format::csv, 0);
  EXPECT_NE(logOf(Format::csv, FADE_DISPATCH_HAS_TIMES).find("\ndispatch,1,k(),1,0,0,10,20,0"),
            std::string::npos);
}

TEST(DispatchLog, DispatchesThatWaitedForTheHostAreSaidWithWhatHelps) {
  const std::string text = logOf(Format::text, FADE_DISPATCH_HOST_BOUND);
  EXPECT_NE(text.find("1 dispatch waited most of the time for the host"), std::string::npos)
      << text;
  EXPECT_NE(text.find("--memory"), std::string::npos) << text;
  EXPECT_NE(logOf(Format::json, FADE_DISPATCH_HOST_BOUND).find(R"("host_bound":true)"),
            std::string::npos);
  EXPECT_EQ(logOf(Format::text, 0).find("waited"), std::string::npos);
}

TEST(RoomWatch, AKernelWaitedForTheHostIfItsRingWasFullForMoreThanHalfOfTheTime) {
  const auto bound = [](std::initializer_list<std::pair<int, bool>> looks) {
    RoomWatch watch;
    for (const auto &[ms, is_full] : looks)
      watch.look(RoomWatch::Time(std::chrono::milliseconds(ms)), is_full);
    return watch.isHostBound();
  };
  EXPECT_FALSE(bound({}));
  EXPECT_FALSE(bound({{1, true}})); // nobody knows for how long
  EXPECT_FALSE(bound({{1, false}, {10, true}, {19, false}}));
  EXPECT_TRUE(bound({{1, false}, {10, true}, {20, false}}));
  EXPECT_TRUE(bound({{1, true}, {5, true}, {9, false}, {15, false}}));
  EXPECT_FALSE(bound({{1, true}, {5, true}, {9, false}, {18, true}}));
}

TEST(DispatchLog, NamesDoNotMoveTheCursor) {
  const std::string text = logOf(Format::text, 0, "k\033[31m\r()");
  EXPECT_NE(text.find("k?[31m?()"), std::string::npos) << text;
  EXPECT_EQ(text.find_first_of("\033\r"), std::string::npos) << text;
}

} // namespace
} // namespace fade
