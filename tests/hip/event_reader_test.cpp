// Files of host events that a test made, whole and damaged.
#include "analysis/host_events/event_reader.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

using namespace events;

constexpr uint16_t kApiName = 0; // hipApiName: one argument, a text as the result

class EventReader : public testing::Test {
protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("fade-event-reader-test." + std::to_string(getpid()));
    bytes_.resize(kHeaderBytes + 2 * kBlockBytes);
    put(0, FileHeader{kMagic, kVersion, kBlockBytes, 2, 0, 1000, 2000});
    static_assert(sizeof(FileHeader) <= kSwitchesAt);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  template <typename T> void put(std::size_t at, const T &value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  /// Appends an event to a block.
  template <typename Event> std::size_t add(unsigned block, Event event, std::size_t rest = 0) {
    const std::size_t start = kHeaderBytes + block * std::size_t{kBlockBytes};
    const std::size_t at = start + used_[block];
    event.header.words = static_cast<uint16_t>((sizeof event + rest + 7) / 8);
    put(at, event);
    used_[block] += event.header.words * 8u;
    put(start, BlockHeader{kBlockMagic, used_[block]});
    return at;
  }
  std::size_t addCall(unsigned block, uint64_t start, uint16_t flags = kCallReturned) {
    CallEvent call{};
    call.header.kind = EventKind::call;
    call.function = kApiName;
    call.flags = flags;
    call.start_ns = start;
    call.end_ns = start + 5;
    const bool is_name_only = (flags & kCallNameOnly) != 0;
    return add(block, call, is_name_only ? 0 : 8 * hip::kFunctions[0].words);
  }
  void addThread(unsigned block, uint32_t tid) {
    ThreadEvent thread{};
    thread.header.kind = EventKind::thread;
    thread.tid = tid;
    thread.pid = 77;
    add(block, thread);
  }
  Result<HostEvents> read() {
    std::ofstream(path_, std::ios::binary)
        .write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
    return HostEvents::read(path_);
  }

  std::string path_;
  std::vector<char> bytes_;
  uint32_t used_[2] = {sizeof(BlockHeader), sizeof(BlockHeader)};
};

TEST_F(EventReader, EventsOfAllBlocksComeInOrderOfTime) {
  addThread(0, 1);
  addCall(0, 20);
  addCall(0, 40);
  addThread(1, 2);
  addCall(1, 10);
  addThread(1, 3); // another thread goes on in the same block
  addCall(1, 30);
  const auto events = read();
  ASSERT_TRUE(events) << events.error().message();
  std::vector<std::pair<uint64_t, uint32_t>> found;
  for (const Call &call : events->calls) found.emplace_back(call.start_ns, call.thread.tid);
  EXPECT_EQ(found,
            (std::vector<std::pair<uint64_t, uint32_t>>{{10, 2}, {20, 1}, {30, 3}, {40, 1}}));
  EXPECT_EQ(events->calls[0].thread.pid, 77u);
  EXPECT_EQ(events->damaged, 0u);
  EXPECT_EQ(events->realtime_ns, 2000);
  EXPECT_EQ(events->callAt(events->calls[2].position), 2u);
  EXPECT_FALSE(events->callAt(3));
}

TEST_F(EventReader, ACallSaysFromWhereItWasMade) {
  CallEvent call{};
  call.header.kind = EventKind::call;
  call.function = kApiName;
  call.caller = 0x7f00'1234'5678;
  add(0, call, 8 * hip::kFunctions[0].words);
  const auto events = read();
  ASSERT_TRUE(events) << events.error().message();
  EXPECT_EQ(events->calls.at(0).caller, 0x7f00'1234'5678u);
}

TEST_F(EventReader, AFileOfAnEarlierVersionIsRefused) {
  addCall(0, 20);
  put(8, kVersion - 1); // its calls were shorter
  const auto events = read();
  ASSERT_FALSE(events);
  EXPECT_NE(events.error().message().find("another version"), std::string::npos);
}

TEST_F(EventReader, WhatLiesBeyondTheUsedPartIsNotRead) {
  addThread(0, 1);
  addCall(0, 20);
  const uint32_t used = used_[0];
  addCall(0, 40);
  put(kHeaderBytes, BlockHeader{kBlockMagic, used}); // the process was killed before it came
  EXPECT_EQ(read()->calls.size(), 1u);
}

TEST_F(EventReader, AFileThatIsCutOffAnywhereIsReadUpToThere) {
  addCall(0, 20);
  const std::size_t first = addCall(1, 30), second = addCall(1, 40);
  const std::vector<char> whole = bytes_;
  std::size_t last = 3;
  for (std::size_t size = whole.size(); size >= kHeaderBytes;
       size -= size > second + 64 ? 9973 : 1) {
    bytes_.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto events = read();
    ASSERT_TRUE(events) << size;
    if (size <= first && size > first - 64) {
      EXPECT_EQ(events->calls.size(), 1u) << size;
    }
    EXPECT_LE(events->calls.size(), last) << size;
    last = events->calls.size();
    if (size == first + 8 * hip::kFunctions[0].words + sizeof(CallEvent)) {
      EXPECT_EQ(last, 2u);
    }
    if (size < first - 128) break;
  }
  EXPECT_EQ(last, 1u);
}

TEST_F(EventReader, DamageCostsTheRestOfItsBlockAndIsCounted) {
  addCall(0, 20);
  const std::size_t broken = addCall(0, 30);
  addCall(0, 40);
  addCall(1, 50);
  for (const uint16_t words : {uint16_t{0}, uint16_t{1}, uint16_t{0xffff}}) {
    put(broken + 2, words);
    const auto events = read();
    ASSERT_TRUE(events);
    EXPECT_EQ(events->calls.size(), 2u) << words;
    EXPECT_EQ(events->damaged, 1u) << words;
  }
}

TEST_F(EventReader, ACallOfAFunctionThatDoesNotExistIsDamage) {
  const std::size_t at = addCall(0, 20);
  put(at + 4, uint16_t{60'000});
  EXPECT_EQ(read()->damaged, 1u);
}

TEST_F(EventReader, ABlockWithTooMuchInItIsDamage) {
  addCall(0, 20);
  put(kHeaderBytes, BlockHeader{kBlockMagic, kBlockBytes + 8});
  EXPECT_EQ(read()->damaged, 1u);
  put(kHeaderBytes, BlockHeader{0x1234, 16});
  EXPECT_EQ(read()->damaged, 1u);
  put(kHeaderBytes, BlockHeader{0, 0}); // not begun
  EXPECT_EQ(read()->damaged, 0u);
}

TEST_F(EventReader, TextsThatRunOutOfTheirEventAreDamage) {
  TextEvent text{};
  text.header.kind = EventKind::text;
  text.size = 9;
  add(0, text, 8);
  EXPECT_EQ(read()->damaged, 1u);
  ProcessEvent process{};
  process.header.kind = EventKind::process;
  const std::size_t at = add(1, process, 8);
  std::memset(bytes_.data() + at + sizeof process, 'x', 8); // no zero
  EXPECT_EQ(read()->damaged, 2u);
}

TEST_F(EventReader, OtherFilesAreRefusedByName) {
  put(0, uint64_t{1});
  EXPECT_NE(read().error().message().find("is no file of host events"), std::string::npos);
  put(0, FileHeader{kMagic, kVersion + 1, kBlockBytes, 0, 0, 0, 0});
  EXPECT_NE(read().error().message().find("another version"), std::string::npos);
  bytes_.resize(100);
  EXPECT_NE(read().error().message().find("too short"), std::string::npos);
  EXPECT_FALSE(HostEvents::read("/no/such/file"));
  EXPECT_FALSE(HostEvents::read("/tmp"));
}

TEST_F(EventReader, RandomBytesDoNoHarm) {
  std::srand(1);
  for (int round = 0; round < 200; ++round) {
    used_[0] = used_[1] = sizeof(BlockHeader);
    addThread(0, 1);
    for (uint64_t i = 0; i < 20; ++i) addCall(0, i);
    for (int i = 0; i < 8; ++i)
      bytes_[kHeaderBytes + 8 + static_cast<std::size_t>(std::rand()) % used_[0]] =
          static_cast<char>(std::rand());
    EXPECT_TRUE(read());
  }
}

TEST_F(EventReader, TheVersionOfHipIsInTheNameOfItsLibrary) {
  EXPECT_EQ(hipMajorOf("/usr/lib/libamdhip64.so.5"), 5u);
  EXPECT_EQ(hipMajorOf("/usr/lib/libamdhip64.so.6.4.43483"), 6u);
  EXPECT_EQ(hipMajorOf("/no/such/libamdhip64.so"), 0u);
}

} // namespace
} // namespace fade::host_trace
