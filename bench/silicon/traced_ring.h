// One ring with all that a dispatch needs to write to it and the host to read it, for either
// transport, and the loop that reads it while a kernel runs: with RingDrain and SegmentReader, as
// the runtime library does.
#pragma once

#include "backend.h"
#include "checker.h"
#include "fade/block_counts.h"
#include "fade/summary.h"
#include "stream/ring_drain.h"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace fade::silicon {

constexpr uint64_t kMiB = 1 << 20;

enum class Transport { host, device };
inline const char *nameOf(Transport t) { return t == Transport::host ? "host" : "device"; }

// How the host reads.
struct Reader {
  std::size_t most = 128 << 10;       // bytes of a piece
  std::chrono::microseconds pause{0}; // before each piece
  std::chrono::milliseconds late{0};  // before the first
  unsigned held = 0;                  // pieces that are kept before they are freed
  unsigned workers = 0;               // threads that clear pieces; 0: the reader itself does
};

// Where the reader's time went, in seconds.
struct DrainTimes {
  double total = 0, scan = 0, use = 0, clear = 0, copy = 0, idle = 0;
};

class TracedRing {
public:
  using Use = std::function<void(std::span<const std::byte>)>;

  // `counters` is the number of fade_counters.
  TracedRing(Backend &backend, Transport transport, uint64_t capacity, uint32_t counters);
  // The same for a kernel; without a stream it has copies of its counters.
  TracedRing(Backend &backend, Transport transport, uint64_t capacity, const SiteTable &table);

  // From now on for a kernel of the table that adds its accesses up, with this many workgroups and
  // work-items; has no effect for others.
  void sumUp(const SiteTable &table, uint32_t kernel, std::array<uint32_t, 3> groups,
             std::array<uint32_t, 3> workgroup);
  // Records of what it has added up, when it has ended.
  std::vector<std::byte> summaries();

  // Sets what the next dispatch does, except for plan.region, and lets the kernel run once without
  // recording: it then tells where its shared memory lies.
  Expected plan(const Expected &expected);
  // As before a dispatch.
  void prepare();
  std::unique_ptr<Launch> launch(Emitter emitter = Emitter::checked);

  // Reads until the kernel has ended and all of its records have been used. Ends the process when
  // nothing moves for 20 seconds.
  DrainTimes read(Launch &launch, const Reader &reader, const Use &use);
  // After a kernel that nobody read: waits for it and makes the ring empty.
  void discard(Launch &launch);

  Outcome outcome();
  uint64_t control() const { return control_.device(); }
  Transport transport() const { return transport_; }
  uint64_t capacity() const { return capacity_; }

private:
  using Clock = std::chrono::steady_clock;
  struct Reading;

  std::optional<uint64_t> lookForEnd(Reading &r, Launch &launch);
  bool readPiece(Reading &r);
  bool freeOldest(Reading &r);
  void waitForMore(Reading &r, Launch &launch, bool any);
  [[noreturn]] void giveUp(Launch &launch);

  Backend &backend_;
  const Transport transport_;
  const uint64_t capacity_;
  const uint32_t segment_shift_;
  Expected expected_;
  CounterCopies copies_; // none: by site
  Buffer control_, data_, tail_, plan_, region_, counters_;
  Buffer written_, mirror_, staging_; // of a segmented ring
  SummaryLayout sums_;                // none: nothing is added up
  fade_summary summary_{};
  Buffer tables_;
  std::unique_ptr<CopyEngine> engine_;
  std::optional<SegmentReader> segments_;
  RingDrain drain_;
};

} // namespace fade::silicon
