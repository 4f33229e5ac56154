#include "bench.h"

#include "fade/clone.h"
#include "fade/site_table.h"
#include "five.h"
#include "five_checks.h"
#include "traced_ring.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <thread>

namespace fade::silicon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMiB = 1 << 20;
constexpr int kRepeats = 5;

struct Times {
  std::vector<double> all;
  void add(double seconds) {
    all.push_back(seconds);
    std::sort(all.begin(), all.end());
  }
  double best() const { return all.front(); }
  double median() const { return all[all.size() / 2]; }
};

// A size of record and how to get it.
struct Size {
  uint32_t bytes, shape, lanes;
};
constexpr Size kSizes[] = {{32, EMIT_AFFINE, 0xffffffffu},
                           {64, EMIT_DELTA, 0xffu},
                           {160, EMIT_DELTA, 0xffffffffu},
                           {280, EMIT_RAW, 0xffffffffu}};

Grid gridOf(uint32_t waves) {
  if (waves % EMIT_WAVES_PER_GROUP == 0 && waves > 512)
    return {waves / EMIT_WAVES_PER_GROUP, EMIT_WAVES_PER_GROUP};
  return {waves, 1}; // few waves: each where it has a processor to itself
}

// As many waves as a GPU of 64 waves per multiprocessor has.
uint32_t fullWaves(const CudaBackend &backend) { return backend.multiprocessors() * 64; }

Expected planOf(const Size &size, uint32_t waves, uint64_t bytes, uint32_t most_calls) {
  Expected e;
  e.grid = gridOf(waves);
  e.plan.kinds = 1u << EMIT_ACCESS;
  e.plan.shapes = size.shape;
  e.plan.masks = size.lanes;
  const uint64_t calls = bytes / size.bytes / waves;
  e.plan.calls = static_cast<uint32_t>(std::clamp<uint64_t>(calls, 20, most_calls));
  return e;
}

double gigabytes(double bytes, double seconds) { return bytes / seconds * 1e-9; }

void waitFor(Launch &launch) {
  while (!launch.isDone()) std::this_thread::yield();
}

// Into a ring that holds everything.
struct Rate {
  Times times;
  uint64_t records = 0, bytes = 0;
};

Rate measureUnread(Backend &backend, TracedRing &ring, const Size &size, uint32_t waves,
                   int repeats) {
  backend.doing = std::to_string(waves) + " waves, records of " + std::to_string(size.bytes) +
                  " bytes, ring not read";
  const Expected e = ring.plan(planOf(size, waves, ring.capacity() / 2, 20000));
  Rate rate;
  rate.records = uint64_t{e.grid.waves()} * e.plan.calls;
  for (int i = 0; i < repeats; ++i) {
    ring.prepare();
    const auto launch = ring.launch(Emitter::fast);
    ring.discard(*launch);
    rate.times.add(launch->seconds());
  }
  rate.bytes = ring.outcome().head;
  return rate;
}

// With the reader at work, through one ring or several at once.
struct Sustained {
  Times times; // of the kernels, from the first start to the last end as the host sees it
  DrainTimes drain;
  uint64_t records = 0, bytes = 0;
};

Sustained measureSustained(CudaBackend &backend, std::deque<TracedRing> &rings, const Size &size,
                           uint64_t bytes, unsigned workers, int repeats) {
  Sustained s;
  backend.doing = "sustained, records of " + std::to_string(size.bytes) + " bytes";
  const auto n = static_cast<uint32_t>(rings.size());
  for (TracedRing &ring : rings) {
    const Expected e = ring.plan(planOf(size, fullWaves(backend) / n, bytes / n, UINT32_MAX));
    s.records += uint64_t{e.grid.waves()} * e.plan.calls;
  }
  for (int i = 0; i < repeats; ++i) {
    for (TracedRing &ring : rings) ring.prepare();
    std::vector<std::unique_ptr<Launch>> launches;
    std::vector<DrainTimes> drains(n);
    std::vector<std::thread> threads;
    const auto start = Clock::now();
    for (TracedRing &ring : rings) launches.push_back(ring.launch(Emitter::fast));
    for (uint32_t r = 0; r < n; ++r)
      threads.emplace_back([&, r]() noexcept {
        backend.enterThread();
        drains[r] = rings[r].read(*launches[r], {.most = 256 << 10, .workers = workers},
                                  [](std::span<const std::byte>) {});
      });
    for (auto &thread : threads) thread.join();
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    if (s.times.all.empty() || took < s.times.best()) s.drain = drains[0];
    s.times.add(took);
  }
  for (TracedRing &ring : rings) s.bytes += ring.outcome().head;
  return s;
}

// Bare records of a size, with as many waves as there may be.
void measureBare(CudaBackend &backend, Report &report, Place place, uint32_t size, Limits &limits) {
  constexpr uint64_t capacity = 512 * kMiB;
  const uint32_t waves = fullWaves(backend);
  Buffer ring(backend, place, capacity + FADE_RING_SLACK), head(backend, Place::device, 128);
  uint64_t at = ring.device(), mask = capacity - 1, counter = head.device();
  auto count = static_cast<uint32_t>(capacity / 2 / size / waves);
  void *arguments[] = {&at, &mask, &counter, &size, &count};
  Times times;
  for (int i = 0; i < kRepeats + 1; ++i) {
    const auto launch = backend.launch(backend.bareRecords(), {waves / EMIT_WAVES_PER_GROUP},
                                       {EMIT_WAVES_PER_GROUP * EMIT_WAVE_SIZE}, arguments);
    waitFor(*launch);
    if (i != 0) times.add(launch->seconds());
  }
  const double records = double(count) * waves;
  limits.records[{place == Place::host, size}] = records / times.best();
  Row row;
  row.text("memory", place == Place::host ? "host" : "device").count("record B", size);
  row.number("M records/s", records / times.best() * 1e-6);
  row.number("median", records / times.median() * 1e-6);
  row.number("GB/s", gigabytes(records * size, times.best()));
  report.add("bare records", std::move(row));
}

} // namespace

Limits measureLimits(CudaBackend &backend, Report &report) {
  constexpr std::size_t size = 256 * kMiB;
  Limits limits;
  const auto stores = [&](Place place) {
    Buffer to(backend, place, size);
    uint64_t at = to.device(), count = size / 16;
    void *arguments[] = {&at, &count};
    Times times;
    for (int i = 0; i < kRepeats + 1; ++i) {
      const auto launch =
          backend.launch(backend.store16(), {backend.multiprocessors() * 8}, {256}, arguments);
      waitFor(*launch);
      if (i != 0) times.add(launch->seconds());
    }
    return times;
  };
  const auto add = [&](const char *what, const Times &times) {
    Row row;
    row.text("limit", what, 40).number("GB/s best", gigabytes(size, times.best()));
    row.number("GB/s median", gigabytes(size, times.median()));
    report.add("limits", std::move(row));
    return size / times.best();
  };
  limits.host_stores = add("16-byte stores to host memory", stores(Place::host));
  add("16-byte stores to device memory", stores(Place::device));

  Buffer from(backend, Place::device, size), to(backend, Place::host, size);
  const auto engine = backend.makeCopyEngine();
  Times times;
  for (int i = 0; i < kRepeats + 1; ++i) {
    const auto start = Clock::now();
    engine->start(1, to.host(), from.device(), size);
    while (!engine->isDone(1)) {
    }
    if (i != 0) times.add(std::chrono::duration<double>(Clock::now() - start).count());
  }
  limits.copies = add("copy engine, device to host", times);
  for (const Place place : {Place::host, Place::device})
    for (const Size &record : kSizes) measureBare(backend, report, place, record.bytes, limits);

  // A reader cannot be quicker than this.
  Times clears;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    std::fill(to.host(), to.host() + size, std::byte(i));
    clears.add(std::chrono::duration<double>(Clock::now() - start).count());
  }
  add("one CPU thread that sets host memory", clears);
  return limits;
}

void measureRates(CudaBackend &backend, Report &report, const Limits &limits, bool quick) {
  const int repeats = quick ? 3 : kRepeats;
  const uint32_t full = fullWaves(backend);
  std::map<std::pair<Transport, uint32_t>, double> unread; // bytes per second, all waves
  for (const Transport transport : {Transport::host, Transport::device}) {
    TracedRing ring(backend, transport, 512 * kMiB, 1);
    for (const Size &size : kSizes)
      for (const uint32_t waves : {1u, 8u, 64u, 512u, full}) {
        if (quick && waves != full && waves != 64) continue;
        const Rate rate = measureUnread(backend, ring, size, waves, repeats);
        const auto bytes = static_cast<double>(rate.bytes), n = static_cast<double>(rate.records);
        if (waves == full) unread[{transport, size.bytes}] = bytes / rate.times.best();
        Row row;
        row.text("ring", nameOf(transport)).count("record B", size.bytes).count("waves", waves);
        row.number("M records/s", n / rate.times.best() * 1e-6);
        row.number("median", n / rate.times.median() * 1e-6);
        row.number("GB/s", gigabytes(bytes, rate.times.best()));
        row.share("of bare", n / rate.times.best() /
                                 limits.records.at({transport == Transport::host, size.bytes}));
        report.add("device side", std::move(row));
      }
  }
  struct Way {
    Transport transport;
    uint32_t rings, workers;
  };
  for (const auto &[transport, count, workers] :
       {Way{Transport::host, 1, 0}, Way{Transport::host, 1, 4}, Way{Transport::host, 4, 0},
        Way{Transport::host, 4, 2}, Way{Transport::host, 8, 0}, Way{Transport::device, 1, 0},
        Way{Transport::device, 4, 0}, Way{Transport::device, 8, 0}}) {
    std::deque<TracedRing> rings;
    for (uint32_t i = 0; i < count; ++i) rings.emplace_back(backend, transport, 64 * kMiB, 1);
    for (const Size &size : kSizes) {
      const uint64_t total = (quick ? 256 : 768) * kMiB;
      const Sustained s = measureSustained(backend, rings, size, total, workers, repeats);
      const auto bytes = static_cast<double>(s.bytes);
      const double limit = transport == Transport::host ? limits.host_stores : limits.copies;
      const double alone = bytes / unread[{transport, size.bytes}];
      const DrainTimes &d = s.drain;
      Row row;
      row.text("ring", nameOf(transport)).count("rings", count, 2).count("threads", 1 + workers, 2);
      row.count("record B", size.bytes, 4);
      row.number("M rec/s", static_cast<double>(s.records) / s.times.best() * 1e-6);
      row.number("GB/s", gigabytes(bytes, s.times.best()));
      row.number("median", gigabytes(bytes, s.times.median()));
      row.share("of limit", bytes / s.times.best() / limit);
      row.share("waves wait", std::max(0.0, 1 - alone / s.times.best()));
      row.share("scan", d.scan / d.total).share("clear", d.clear / d.total);
      row.share("copy", d.copy / d.total).share("idle", d.idle / d.total);
      report.add("sustained", std::move(row));
    }
  }
}

void measureKernels(CudaBackend &backend, Report &report, const std::string &artefacts,
                    bool quick) {
  const int repeats = quick ? 3 : kRepeats;
  const CUmodule plain = backend.load(artefacts + "/five.ptx");
  const auto workloads = makeWorkloads(backend, 0, true);
  std::map<std::string, double> plain_times;
  for (const Workload &w : workloads) {
    Times times;
    for (int i = 0; i < repeats + 1; ++i) {
      const auto launch = w.launch(backend, backend.function(plain, w.name.c_str()));
      waitFor(*launch);
      if (i != 0) times.add(launch->seconds());
    }
    plain_times[w.name] = times.best();
  }
  for (const char *mode : kModes) {
    const CUmodule module = backend.load(artefacts + "/five-" + mode + ".ptx");
    const auto sites = backend.global(module, FADE_SITES_VARIABLE);
    std::string error;
    const auto table = SiteTable::parse(sites, error);
    if (!table) throw Error("sites of five-" + std::string(mode) + ": " + error);
    for (const Transport transport : {Transport::host, Transport::device}) {
      TracedRing ring(backend, transport, 64 * kMiB,
                      static_cast<uint32_t>(table->sites().size()) + 1);
      for (const Workload &w : workloads) {
        backend.doing = "slow-down of " + w.name + ", " + mode;
        const std::string clone = FADE_CLONE_PREFIX + w.name;
        Times times;
        for (int i = 0; i < repeats; ++i) {
          ring.prepare();
          const auto launch =
              w.launch(backend, backend.function(module, clone.c_str()), ring.control());
          ring.read(*launch, {.most = 256 << 10}, [](std::span<const std::byte>) {});
          times.add(launch->seconds());
        }
        const double bytes = static_cast<double>(ring.outcome().head);
        const double before = plain_times[w.name];
        Row row;
        row.text("kernel", w.name, 16).text("mode", mode, 8).text("ring", nameOf(transport));
        row.number("plain ms", before * 1e3).number("traced ms", times.best() * 1e3);
        row.number("median", times.median() * 1e3).number("times", times.best() / before);
        row.number("MB", bytes * 1e-6).number("GB/s", gigabytes(bytes, times.best()));
        report.add("slow-down", std::move(row));
      }
    }
    backend.unload(module);
  }
  backend.unload(plain);
}

} // namespace fade::silicon
