// Which commands are in order by HIP's rules, and what a call's name and parameters say of it.
#include "checks/memory_use.h"
#include "checks/stream_calls.h"
#include "checks/stream_order.h"

#include <gtest/gtest.h>

namespace fade::checks {
namespace {

using StreamKey = StreamOrder::Key;
constexpr StreamKey kNullStream{}, kApart{0xa00, 0}, kOther{0xb00, 0}, kBlocking{0xc00, 0};

struct SomeStreams {
  StreamOrder order;
  SomeStreams() {
    order.create(kApart, StreamOrder::Kind::apart);
    order.create(kOther, StreamOrder::Kind::apart);
    order.create(kBlocking, StreamOrder::Kind::blocking);
  }
};

TEST(StreamOrder, CommandsOfAStreamAreInOrder) {
  SomeStreams s;
  const auto first = s.order.add(kApart), second = s.order.add(kApart), other = s.order.add(kOther);
  EXPECT_TRUE(first->isBefore(*second));
  EXPECT_FALSE(second->isBefore(*first));
  EXPECT_FALSE(first->isOrderedWith(*other));
}

TEST(StreamOrder, AnEventOrdersWhatIsBeforeItWithWhatWaitsForIt) {
  SomeStreams s;
  const auto first = s.order.add(kApart);
  s.order.record(1, kApart);
  const auto behind = s.order.add(kApart);
  s.order.wait(kOther, 1);
  const auto then = s.order.add(kOther);
  EXPECT_TRUE(first->isBefore(*then));
  EXPECT_FALSE(behind->isOrderedWith(*then));
}

TEST(StreamOrder, TheNullStreamWaitsForStreamsThatBlock) {
  SomeStreams s;
  const auto blocking = s.order.add(kBlocking), apart = s.order.add(kApart);
  const auto null = s.order.add(kNullStream);
  EXPECT_TRUE(blocking->isBefore(*null));
  EXPECT_FALSE(apart->isOrderedWith(*null));
  EXPECT_TRUE(null->isBefore(*s.order.add(kBlocking)));
  EXPECT_FALSE(null->isOrderedWith(*s.order.add(kOther)));
}

TEST(StreamOrder, WhatTheHostHasWaitedForIsBeforeAllThatItDoesNext) {
  SomeStreams s;
  const auto first = s.order.add(kApart);
  const auto early = s.order.addOfHost();
  EXPECT_FALSE(first->isOrderedWith(*early));
  s.order.sawStream(kApart);
  const auto late = s.order.addOfHost();
  EXPECT_TRUE(first->isBefore(*late));
  EXPECT_TRUE(first->isBefore(*s.order.add(kOther)));
  EXPECT_TRUE(late->isBefore(*s.order.add(kOther)));
}

TEST(StreamOrder, AHandleThatIsUsedAgainIsAnotherStream) {
  SomeStreams s;
  const auto first = s.order.add(kApart);
  s.order.record(1, kOther);
  s.order.destroy(kApart);
  s.order.create(kApart, StreamOrder::Kind::apart);
  EXPECT_TRUE(first->isBefore(*s.order.add(kApart))); // to destroy a stream is to wait for it
  EXPECT_NE(first->stream, s.order.add(kApart)->stream);
}

TEST(StreamCalls, AreKnownByNameAndParameters) {
  constexpr auto copy = streamFunction("hipMemcpyAsync", "copy",
                                       "dst:void*, src:const void*, sizeBytes:size_t, "
                                       "kind:hipMemcpyKind, stream:hipStream_t");
  static_assert(copy.kind == StreamCallKind::command && copy.stream == 4 && copy.event == -1);
  constexpr auto create = streamFunction("hipStreamCreate", "stream", "stream:hipStream_t*");
  static_assert(create.kind == StreamCallKind::create && create.stream == -1);
  constexpr auto wait = streamFunction("hipStreamWaitEvent", "stream",
                                       "stream:hipStream_t, event:hipEvent_t, flags:unsigned int");
  static_assert(wait.kind == StreamCallKind::event_wait && wait.stream == 0 && wait.event == 1);
  static_assert(streamFunction("hipMemcpy", "copy", "dst:void*").kind == StreamCallKind::waits);
  static_assert(
      streamFunction("hipGraphLaunch", "graph", "graphExec:hipGraphExec_t, stream:hipStream_t")
          .kind == StreamCallKind::command);
  static_assert(
      streamFunction("hipStreamBeginCapture", "graph", "stream:hipStream_t, m:int").kind ==
      StreamCallKind::begin_capture);
  static_assert(streamFunction("hipGraphAddEventWaitNode", "graph", "node:hipGraphNode_t*").kind ==
                StreamCallKind::doubt);
  static_assert(streamFunction("hipGraphAddKernelNode", "graph", "node:hipGraphNode_t*").kind ==
                StreamCallKind::none);
  static_assert(streamFunction("hipStreamGetFlags", "stream", "stream:hipStream_t, f:int*").kind ==
                StreamCallKind::none);
  static_assert(streamFunction("hipMemcpy_spt", "copy", "dst:void*").per_thread);
}

TEST(MemoryUse, KnowsItsBytes) {
  const std::vector<MemoryUse::Range> rows{{100, 103}, {128, 136}};
  EXPECT_EQ(MemoryUse::bytesOf(rows, 100), 7u);
  EXPECT_EQ(MemoryUse::bytesOf(rows, 104), 0u);
  EXPECT_EQ(MemoryUse::bytesOf(rows, 132), 15u);
  EXPECT_EQ(MemoryUse::bytesOf(rows, 136), 0u);
  EXPECT_TRUE(MemoryUse::overlap(rows, {{102, 110}}));
  EXPECT_FALSE(MemoryUse::overlap(rows, {{103, 128}}));
}

} // namespace
} // namespace fade::checks
