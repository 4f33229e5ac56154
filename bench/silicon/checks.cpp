#include "checks.h"

#include "checker.h"
#include "traced_ring.h"

#include <chrono>
#include <deque>
#include <functional>
#include <thread>

namespace fade::silicon {
namespace {

constexpr uint32_t kAllKinds = (1u << EMIT_KINDS) - 1, kAllShapes = (1u << EMIT_SHAPES) - 1,
                   kAllMasks = (1u << EMIT_MASKS) - 1;
constexpr uint64_t kKiB = 1 << 10;

struct Case {
  std::string group, name;
  uint64_t capacity = kMiB;
  uint32_t calls = 0; // of each wave; 0: as many as suit the backend
  uint32_t kinds = kAllKinds, shapes = kAllShapes, masks = kAllMasks;
  Reader reader{};
  unsigned streams = 1;
  uint32_t flags = 0;
  uint32_t sample_executions = 1, sample_workgroups = 1;
  uint32_t first_group = 0, last_group = UINT32_MAX;
  uint32_t groups = 0; // 0: twice what runs at a time
  bool must_drop = false;
  bool is_long = false; // left out by --quick
};

// How much of everything.
struct Scale {
  uint32_t groups, calls, small_ring_calls;
  bool is_gpu;
};

Scale scaleOf(Backend &backend, bool quick) {
  if (std::string(backend.name()) == "cpu")
    return {16, quick ? 40u : 400u, quick ? 20u : 150u, false};
  return {2 * backend.fullGroups(), quick ? 24u : 64u, 8, true};
}

struct Named {
  const char *name;
  uint32_t bit;
};

void addKinds(std::vector<Case> &cases) {
  cases.push_back({.group = "kinds", .name = "all kinds, all shapes, all masks"});
  for (const auto &[name, bit] :
       {Named{"access", EMIT_ACCESS}, Named{"flat access", EMIT_FLAT},
        Named{"flat access in several spaces", EMIT_SPACES}, Named{"range", EMIT_RANGE},
        Named{"lengths", EMIT_LENGTHS}, Named{"flat range in several spaces", EMIT_RANGE_FLAT},
        Named{"block", EMIT_BLOCK}, Named{"count", EMIT_COUNT}})
    cases.push_back({.group = "kinds", .name = std::string("only ") + name, .kinds = 1u << bit});
  for (const auto &[name, bit] : {Named{"accesses", EMIT_SPLIT}, Named{"blocks", EMIT_SPLIT_BLOCK}})
    cases.push_back(
        {.group = "kinds", .name = std::string(name) + " on two ways at once", .kinds = 1u << bit});
  for (const auto &[name, bit] :
       {Named{"uniform", EMIT_UNIFORM}, Named{"affine", EMIT_AFFINE}, Named{"tiled", EMIT_TILED},
        Named{"delta", EMIT_DELTA}, Named{"raw", EMIT_RAW}})
    cases.push_back({.group = "kinds",
                     .name = std::string("only ") + name + " addresses, all lanes",
                     .kinds = 1u << EMIT_ACCESS | 1u << EMIT_RANGE,
                     .shapes = 1u << bit,
                     .masks = 1u << EMIT_FULL});
  for (const auto &[name, bit] :
       {Named{"single", EMIT_SINGLE}, Named{"alternate", EMIT_ALTERNATE},
        Named{"random", EMIT_RANDOM}, Named{"first", EMIT_PREFIX}, Named{"last", EMIT_SUFFIX}})
    cases.push_back(
        {.group = "kinds", .name = std::string("only ") + name + " lanes", .masks = 1u << bit});
}

std::string sizeName(uint64_t size) {
  if (size >= kMiB) return std::to_string(size / kMiB) + " MiB";
  return std::to_string(size / kKiB) + " KiB";
}

void addSizes(std::vector<Case> &cases, const Scale &scale) {
  for (const uint64_t size : {4 * kKiB, 8 * kKiB, 64 * kKiB, kMiB, 16 * kMiB})
    cases.push_back({.group = "sizes",
                     .name = "ring of " + sizeName(size),
                     .capacity = size,
                     .calls = size <= 8 * kKiB ? scale.small_ring_calls : 0});
  // More than one lap, where that is quick.
  const uint32_t much = scale.is_gpu ? 512 : 0;
  cases.push_back({.group = "sizes",
                   .name = "ring of 256 MiB",
                   .capacity = 256 * kMiB,
                   .calls = much,
                   .is_long = true});
  cases.push_back({.group = "sizes",
                   .name = "ring of 1 GiB",
                   .capacity = 1024 * kMiB,
                   .calls = much,
                   .kinds = 1u << EMIT_ACCESS,
                   .shapes = 1u << EMIT_RAW,
                   .masks = 1u << EMIT_FULL,
                   .is_long = true});
}

void addReaders(std::vector<Case> &cases, const Scale &scale) {
  using std::chrono::microseconds, std::chrono::milliseconds;
  const uint32_t few = scale.small_ring_calls;
  cases.push_back(
      {.group = "readers", .name = "fast reader, large pieces", .reader = {.most = 4 * kMiB}});
  cases.push_back(
      {.group = "readers", .name = "one record at a time", .calls = few, .reader = {.most = 1}});
  cases.push_back({.group = "readers",
                   .name = "slow reader",
                   .capacity = 64 * kKiB,
                   .calls = few,
                   .reader = {.most = 8 * kKiB, .pause = microseconds(50)}});
  cases.push_back({.group = "readers",
                   .name = "slow reader, smallest ring",
                   .capacity = 4 * kKiB,
                   .calls = 2,
                   .reader = {.most = 2048, .pause = microseconds(20)}});
  cases.push_back({.group = "readers",
                   .name = "reader that starts late",
                   .capacity = 64 * kKiB,
                   .reader = {.late = milliseconds(300)}});
  cases.push_back({.group = "readers",
                   .name = "others clear the pieces",
                   .capacity = 64 * kKiB,
                   .reader = {.most = 4 * kKiB, .workers = 3}});
  cases.push_back({.group = "readers",
                   .name = "pieces are freed later",
                   .capacity = 64 * kKiB,
                   .reader = {.most = 4 * kKiB, .held = 7}});
}

void addStreams(std::vector<Case> &cases, const Scale &scale) {
  for (const unsigned n : {4u, 16u}) {
    cases.push_back({.group = "streams",
                     .name = std::to_string(n) + " streams",
                     .calls = scale.small_ring_calls,
                     .streams = n,
                     .groups = std::max(1u, scale.groups / n)});
    cases.push_back({.group = "streams",
                     .name = std::to_string(n) + " streams, smallest rings",
                     .capacity = 4 * kKiB,
                     .calls = scale.small_ring_calls,
                     .streams = n,
                     .groups = std::max(1u, scale.groups / n / 2)});
  }
}

void addFilters(std::vector<Case> &cases) {
  using std::chrono::microseconds, std::chrono::milliseconds;
  cases.push_back({.group = "filters",
                   .name = "lossy, slow reader",
                   .capacity = 64 * kKiB,
                   .reader = {.most = 8 * kKiB, .pause = microseconds(50)},
                   .flags = FADE_CONTROL_LOSSY,
                   .must_drop = true});
  cases.push_back({.group = "filters",
                   .name = "lossy, late reader, smallest ring",
                   .capacity = 4 * kKiB,
                   .reader = {.late = milliseconds(100)},
                   .flags = FADE_CONTROL_LOSSY,
                   .must_drop = true});
  cases.push_back({.group = "filters",
                   .name = "lossy, and room for all",
                   .capacity = 256 * kMiB,
                   .flags = FADE_CONTROL_LOSSY});
  for (const uint32_t n : {1u, 7u, 64u})
    cases.push_back({.group = "filters",
                     .name = "one in " + std::to_string(n) + " executions",
                     .kinds = kAllKinds & ~(1u << EMIT_COUNT),
                     .flags = FADE_CONTROL_SAMPLE_EXECUTIONS,
                     .sample_executions = n});
  cases.push_back({.group = "filters", .name = "one in 3 workgroups", .sample_workgroups = 3});
  cases.push_back(
      {.group = "filters", .name = "workgroups 1 to 2", .first_group = 1, .last_group = 2});
  cases.push_back({.group = "filters", .name = "no workgroup", .first_group = 5, .last_group = 4});
}

std::vector<Case> casesFor(const Scale &scale) {
  std::vector<Case> cases;
  addKinds(cases);
  addSizes(cases, scale);
  addReaders(cases, scale);
  addStreams(cases, scale);
  addFilters(cases);
  return cases;
}

// One ring of a case and what came through it.
struct Stream {
  Stream(Backend &backend, Transport transport, const Case &what, uint32_t counters)
      : ring(backend, transport, what.capacity, counters) {}
  TracedRing ring;
  std::unique_ptr<Launch> launch;
  std::unique_ptr<Checker> checker;
};

Expected expectedOf(const Case &what, const Scale &scale, unsigned stream, bool is_gpu) {
  Expected e;
  e.plan.module = 0x1234567890abcdefull + stream;
  e.plan.kernel_index = stream;
  e.plan.seed = 17 + 1000 * stream;
  e.plan.calls = what.calls ? what.calls : scale.calls;
  e.plan.kinds = what.kinds;
  e.plan.shapes = what.shapes;
  e.plan.masks = what.masks;
  e.grid.groups = what.groups ? what.groups : scale.groups;
  e.flags = what.flags;
  e.sample_executions = what.sample_executions;
  e.sample_workgroups = what.sample_workgroups;
  e.first_group = what.first_group;
  e.last_group = what.last_group;
  e.drops_whole_calls = is_gpu;
  return e;
}

bool runCase(Backend &backend, Report &report, const Case &what, Transport transport,
             const Scale &scale) {
  const auto start = std::chrono::steady_clock::now();
  backend.doing = what.group + ", " + nameOf(transport) + " ring, " + what.name;
  // All memory first: allocations may wait for kernels.
  std::deque<Stream> streams;
  for (unsigned i = 0; i < what.streams; ++i) {
    const Expected wanted = expectedOf(what, scale, i, scale.is_gpu);
    Stream &s =
        streams.emplace_back(backend, transport, what, std::max(EMIT_COUNTERS, wanted.plan.calls));
    s.checker = std::make_unique<Checker>(s.ring.plan(wanted));
    s.ring.prepare();
  }
  std::vector<std::thread> threads;
  threads.reserve(streams.size());
  for (Stream &s : streams) s.launch = s.ring.launch();
  for (Stream &s : streams)
    threads.emplace_back([&]() noexcept { // an error ends the process: kernels may be running
      backend.enterThread();
      s.ring.read(*s.launch, what.reader,
                  [&](std::span<const std::byte> piece) { s.checker->add(piece); });
    });
  for (auto &thread : threads) thread.join();

  uint64_t records = 0, bytes = 0, dropped = 0, errors = 0;
  double device = 0;
  std::vector<std::string> messages;
  for (Stream &s : streams) {
    s.checker->finish(s.ring.outcome());
    device = std::max(device, s.launch->seconds());
    records += s.checker->records();
    bytes += s.checker->bytes();
    dropped += s.checker->dropped();
    errors += s.checker->errors();
    for (const auto &m : s.checker->messages()) messages.push_back(m);
  }
  if (what.must_drop != (dropped != 0)) {
    ++errors;
    messages.push_back(std::to_string(dropped) + " records were dropped");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  Row row;
  row.text("result", errors == 0 ? "pass" : "FAIL");
  row.text("group", what.group, 7).text("ring", nameOf(transport)).text("case", what.name, 34);
  row.count("records", records, 8).count("bytes", bytes, 10).count("dropped", dropped);
  row.count("errors", errors).number("ms", device * 1e3).number("s", took.count(), 5);
  messages.resize(std::min<std::size_t>(messages.size(), 3));
  report.add("checks", std::move(row), messages);
  return errors == 0;
}

} // namespace

std::vector<std::string> checkGroups() {
  return {"kinds", "sizes", "readers", "streams", "filters"};
}

unsigned runChecks(Backend &backend, Report &report, const std::string &group, bool quick) {
  const Scale scale = scaleOf(backend, quick);
  unsigned failed = 0;
  for (const Transport transport : {Transport::host, Transport::device})
    for (const Case &what : casesFor(scale)) {
      if (!group.empty() && what.group != group) continue;
      if (quick && what.is_long) continue;
      failed += !runCase(backend, report, what, transport, scale);
    }
  return failed;
}

} // namespace fade::silicon
