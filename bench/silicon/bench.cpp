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

constexpr uint64_t kLimitBytes = 256 * kMiB;
constexpr std::size_t kPiece = 256 << 10; // that a reader takes at a time
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

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double gigabytes(double bytes, double seconds) { return bytes / seconds * 1e-9; }

void waitFor(Launch &launch) {
  while (!launch.isDone()) std::this_thread::yield();
}

// What the machine allows.
struct Limits {
  double host_stores = 0, copies = 0;                    // bytes per second, best
  std::map<std::pair<Transport, uint32_t>, double> bare; // records per second, by size
};

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
    launches.reserve(n);
    threads.reserve(n);
    const auto start = Clock::now();
    for (TracedRing &ring : rings) launches.push_back(ring.launch(Emitter::fast));
    for (uint32_t r = 0; r < n; ++r)
      threads.emplace_back([&, r]() noexcept {
        backend.enterThread();
        drains[r] = rings[r].read(*launches[r], {.most = kPiece, .workers = workers},
                                  [](std::span<const std::byte>) {});
      });
    for (auto &thread : threads) thread.join();
    const double took = secondsSince(start);
    if (s.times.all.empty() || took < s.times.best()) s.drain = drains[0];
    s.times.add(took);
  }
  for (TracedRing &ring : rings) s.bytes += ring.outcome().head;
  return s;
}

class Bench {
public:
  Bench(CudaBackend &backend, Report &report, std::string only, bool quick)
      : backend_(backend), report_(report), only_(std::move(only)), quick_(quick),
        repeats_(quick ? 3 : kRepeats) {}

  void limits();
  void bare();
  void unread();
  void sustained();
  void kernels(const std::string &artefacts);

private:
  bool isWanted(const std::string &title) const { return title.find(only_) != std::string::npos; }
  Times storeTimes(Place place);
  Times copyTimes();
  double unreadRate(Transport transport, const Size &size);
  void sustainedRow(std::deque<TracedRing> &rings, const Size &size, unsigned workers);
  void kernelRow(const Workload &w, const char *mode, CUmodule module, const SiteTable &table,
                 TracedRing &ring, double plain);

  CudaBackend &backend_;
  Report &report_;
  const std::string only_;
  const bool quick_;
  const int repeats_;
  Limits limits_;
  std::map<std::pair<Transport, uint32_t>, double> unread_; // bytes per second, all waves
};

Times Bench::storeTimes(Place place) {
  Buffer to(backend_, place, kLimitBytes);
  uint64_t at = to.device(), count = kLimitBytes / 16;
  void *arguments[] = {&at, &count};
  Times times;
  for (int i = 0; i < kRepeats + 1; ++i) {
    const auto launch =
        backend_.launch(backend_.store16(), {backend_.multiprocessors() * 8}, {256}, arguments);
    waitFor(*launch);
    if (i != 0) times.add(launch->seconds());
  }
  return times;
}

Times Bench::copyTimes() {
  Buffer from(backend_, Place::device, kLimitBytes), to(backend_, Place::host, kLimitBytes);
  const auto engine = backend_.makeCopyEngine();
  Times times;
  for (int i = 0; i < kRepeats + 1; ++i) {
    const auto start = Clock::now();
    engine->start(1, to.host(), from.device(), kLimitBytes);
    while (!engine->isDone(1)) {
    }
    if (i != 0) times.add(secondsSince(start));
  }
  return times;
}

void Bench::limits() {
  const auto add = [&](const char *what, const Times &times) {
    Row row;
    row.text("limit", what, 40).number("GB/s best", gigabytes(kLimitBytes, times.best()));
    row.number("GB/s median", gigabytes(kLimitBytes, times.median()));
    report_.add("limits", std::move(row));
    return kLimitBytes / times.best();
  };
  limits_.host_stores = add("16-byte stores to host memory", storeTimes(Place::host));
  add("16-byte stores to device memory", storeTimes(Place::device));
  limits_.copies = add("copy engine, device to host", copyTimes());
  // A reader that clears cannot be quicker than this.
  Buffer to(backend_, Place::host, kLimitBytes);
  Times clears;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    std::fill(to.host(), to.host() + kLimitBytes, std::byte(i));
    clears.add(secondsSince(start));
  }
  add("one CPU thread that sets host memory", clears);
}

// As many waves as there may be, in a ring that nobody reads.
void Bench::bare() {
  constexpr uint64_t capacity = 512 * kMiB;
  const uint32_t waves = fullWaves(backend_);
  for (const Transport transport : {Transport::host, Transport::device}) {
    const Place place = transport == Transport::host ? Place::host : Place::device;
    Buffer ring(backend_, place, capacity + FADE_RING_SLACK), head(backend_, Place::device, 128);
    for (const Size &record : kSizes) {
      uint64_t at = ring.device(), mask = capacity - 1, counter = head.device();
      uint32_t size = record.bytes, count = static_cast<uint32_t>(capacity / 2 / size / waves);
      void *arguments[] = {&at, &mask, &counter, &size, &count};
      Times times;
      for (int i = 0; i < kRepeats + 1; ++i) {
        const auto launch = backend_.launch(backend_.bareRecords(), {waves / EMIT_WAVES_PER_GROUP},
                                            {EMIT_WAVES_PER_GROUP * EMIT_WAVE_SIZE}, arguments);
        waitFor(*launch);
        if (i != 0) times.add(launch->seconds());
      }
      const double records = static_cast<double>(count) * waves;
      limits_.bare[{transport, size}] = records / times.best();
      Row row;
      row.text("ring", nameOf(transport)).count("record B", size);
      row.number("M records/s", records / times.best() * 1e-6);
      row.number("median", records / times.median() * 1e-6);
      row.number("GB/s", gigabytes(records * size, times.best()));
      report_.add("bare records", std::move(row));
    }
  }
}

void Bench::unread() {
  const uint32_t full = fullWaves(backend_);
  for (const Transport transport : {Transport::host, Transport::device}) {
    if (!isWanted(std::string("device side ") + nameOf(transport))) continue;
    TracedRing ring(backend_, transport, 512 * kMiB, 1);
    for (const Size &size : kSizes)
      for (const uint32_t waves : {1u, 8u, 64u, 512u, full}) {
        if (quick_ && waves != full && waves != 64) continue;
        const Rate rate = measureUnread(backend_, ring, size, waves, repeats_);
        const auto bytes = static_cast<double>(rate.bytes), n = static_cast<double>(rate.records);
        if (waves == full) unread_[{transport, size.bytes}] = bytes / rate.times.best();
        Row row;
        row.text("ring", nameOf(transport)).count("record B", size.bytes).count("waves", waves);
        row.number("M records/s", n / rate.times.best() * 1e-6);
        row.number("median", n / rate.times.median() * 1e-6);
        row.number("GB/s", gigabytes(bytes, rate.times.best()));
        row.share("of bare", n / rate.times.best() / limits_.bare.at({transport, size.bytes}), 7);
        report_.add("device side", std::move(row));
      }
  }
}

double Bench::unreadRate(Transport transport, const Size &size) {
  double &rate = unread_[{transport, size.bytes}];
  if (rate == 0) {
    TracedRing ring(backend_, transport, 512 * kMiB, 1);
    const Rate r = measureUnread(backend_, ring, size, fullWaves(backend_), repeats_);
    rate = static_cast<double>(r.bytes) / r.times.best();
  }
  return rate;
}

void Bench::sustained() {
  struct Way {
    Transport transport;
    uint32_t rings, workers;
    uint64_t capacity;
  };
  constexpr auto host = Transport::host, device = Transport::device;
  constexpr Way ways[] = {
      {host, 1, 0, 64 * kMiB},   {host, 1, 4, 64 * kMiB},   {host, 4, 0, 64 * kMiB},
      {host, 4, 2, 64 * kMiB},   {host, 8, 0, 64 * kMiB},   {host, 1, 0, 16 * kMiB},
      {host, 8, 0, 16 * kMiB},   {device, 1, 0, 64 * kMiB}, {device, 4, 0, 64 * kMiB},
      {device, 8, 0, 64 * kMiB}, {device, 1, 0, 16 * kMiB}, {device, 8, 0, 16 * kMiB}};
  for (const auto &[transport, count, workers, capacity] : ways) {
    if (!isWanted(std::string("sustained ") + nameOf(transport))) continue;
    std::deque<TracedRing> rings;
    for (uint32_t i = 0; i < count; ++i) rings.emplace_back(backend_, transport, capacity, 1);
    for (const Size &size : kSizes)
      // Small rings: only to see what their size does.
      if (capacity == 64 * kMiB || size.bytes == kSizes[0].bytes)
        sustainedRow(rings, size, workers);
  }
}

void Bench::sustainedRow(std::deque<TracedRing> &rings, const Size &size, unsigned workers) {
  const Transport transport = rings.front().transport();
  const double unread = unreadRate(transport, size);
  const uint64_t total = (quick_ ? 256 : 768) * kMiB;
  const Sustained s = measureSustained(backend_, rings, size, total, workers, repeats_);
  const auto bytes = static_cast<double>(s.bytes);
  const double limit = transport == Transport::host ? limits_.host_stores : limits_.copies;
  const DrainTimes &d = s.drain;
  Row row;
  row.text("ring", nameOf(transport)).count("MiB", rings.front().capacity() / kMiB, 3);
  row.count("rings", rings.size(), 2).count("threads", 1 + workers, 2);
  row.count("B", size.bytes, 4);
  row.number("M rec/s", static_cast<double>(s.records) / s.times.best() * 1e-6);
  row.number("GB/s", gigabytes(bytes, s.times.best()), 5);
  row.number("median", gigabytes(bytes, s.times.median()), 5);
  row.share("limit", bytes / s.times.best() / limit);
  row.share("wait", std::max(0.0, 1 - bytes / unread / s.times.best()));
  row.share("scan", d.scan / d.total).share("clear", d.clear / d.total);
  row.share("copy", d.copy / d.total).share("idle", d.idle / d.total);
  report_.add("sustained", std::move(row));
}

void Bench::kernels(const std::string &artefacts) {
  const CUmodule plain = backend_.load(artefacts + "/five.ptx");
  const auto workloads = makeWorkloads(backend_, 0, true);
  std::map<std::string, double> plain_times;
  for (const Workload &w : workloads) {
    Times times;
    for (int i = 0; i < repeats_ + 1; ++i) {
      const auto launch = w.launch(backend_, backend_.function(plain, w.name.c_str()));
      waitFor(*launch);
      if (i != 0) times.add(launch->seconds());
    }
    plain_times[w.name] = times.best();
  }
  for (const char *mode : kModes) {
    const CUmodule module = backend_.load(artefacts + "/five-" + mode + ".ptx");
    std::string error;
    const auto table = SiteTable::parse(backend_.global(module, FADE_SITES_VARIABLE), error);
    if (!table) throw Error("sites of five-" + std::string(mode) + ": " + error);
    for (const Transport transport : {Transport::host, Transport::device}) {
      TracedRing ring(backend_, transport, 64 * kMiB, *table);
      for (const Workload &w : workloads)
        if (isWanted("slow-down " + w.name + " " + mode + " " + nameOf(transport)))
          kernelRow(w, mode, module, *table, ring, plain_times[w.name]);
    }
    backend_.unload(module);
  }
  backend_.unload(plain);
}

void Bench::kernelRow(const Workload &w, const char *mode, CUmodule module, const SiteTable &table,
                      TracedRing &ring, double plain) {
  backend_.doing = "slow-down of " + w.name + ", " + mode;
  const std::string clone = FADE_CLONE_PREFIX + w.name;
  Times times;
  for (uint32_t i = 0; i < table.kernels().size(); ++i)
    if (table.string(table.kernels()[i].name) == w.name)
      ring.sumUp(table, i, {w.groups.x, w.groups.y, 1}, {w.group.x, w.group.y, 1});
  for (int i = 0; i < repeats_; ++i) {
    ring.prepare();
    const auto launch =
        w.launch(backend_, backend_.function(module, clone.c_str()), ring.control());
    ring.read(*launch, {.most = kPiece}, [](std::span<const std::byte>) {});
    times.add(launch->seconds());
  }
  const auto bytes = static_cast<double>(ring.outcome().head);
  Row row;
  row.text("kernel", w.name, 16).text("mode", mode, 8).text("ring", nameOf(ring.transport()));
  row.number("plain ms", plain * 1e3).number("traced ms", times.best() * 1e3);
  row.number("median", times.median() * 1e3).number("times", times.best() / plain);
  row.number("MB", bytes * 1e-6).number("GB/s", gigabytes(bytes, times.best()));
  report_.add("slow-down", std::move(row));
}

} // namespace

void runBench(CudaBackend &backend, Report &report, const std::string &artefacts,
              const std::string &only, bool quick) {
  Bench bench(backend, report, only, quick);
  bench.limits(); // the others refer to these
  bench.bare();
  bench.unread();
  bench.sustained();
  if (only.empty() || only.find("slow-down") != std::string::npos) bench.kernels(artefacts);
}

} // namespace fade::silicon
