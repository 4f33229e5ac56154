// How many records per second a core decodes and analyzes.
//   bench_handlers            every stream through every handler, then one worker against two
//   bench_handlers SECONDS    spends so long on each figure (0.5)
//   bench_handlers SECONDS N  stream N alone (from 0), without the workers
//
// Times are CPU times of the threads that work, so that other programs on the machine disturb the
// figures little. Decoding is counted in: the check that the engine makes before handlers see a
// record, and the handler's own walk.
#include "fade/decode.h"
#include "fade/encode.h"
#include "fade/sites.h"
#include "stream/analysis.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <time.h>

namespace {

using namespace fade;

constexpr uint64_t kModule = 1;
constexpr uint32_t kSites = 8;
constexpr std::size_t kBatch = 128 << 10;
constexpr uint64_t kBuffer = uint64_t{64} << 20; // bytes of memory that the kernels touch
constexpr uint64_t kBase = 0x7f0000000000;

/// Sites of one kind: half loads, half stores.
std::shared_ptr<const ModuleSites> sitesIn(uint32_t space) {
  std::vector<fade_site> sites(kSites);
  for (uint32_t i = 0; i < kSites; ++i) {
    sites[i].kind = i % 2 == 0 ? FADE_SITE_LOAD : FADE_SITE_STORE;
    sites[i].flags = i % 2 == 0 ? FADE_SITE_READS : FADE_SITE_WRITES;
    sites[i].space = space;
    sites[i].size = 4;
    sites[i].line = i + 1;
    sites[i].inlined_at = sites[i].block = FADE_NO_INDEX;
  }
  fade_sites header{};
  header.magic = FADE_SITES_MAGIC;
  header.version = FADE_SITES_VERSION;
  header.message_version = FADE_MESSAGE_VERSION;
  header.module_id = kModule;
  header.kernels_offset = header.sites_offset = sizeof header;
  header.site_count = kSites;
  header.frames_offset = header.lines_offset = header.strings_offset =
      header.sites_offset + kSites * static_cast<uint32_t>(sizeof(fade_site));
  header.strings_size = 8;
  header.size = header.strings_offset + header.strings_size;
  // A site belongs to a kernel of the table or to none.
  for (fade_site &site : sites) site.kernel = FADE_NO_INDEX;
  std::vector<std::byte> bytes(header.size);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + header.sites_offset, sites.data(), sites.size() * sizeof(fade_site));
  std::string why;
  auto table = SiteTable::parse(bytes, why);
  if (!table) throw std::runtime_error(why);
  return std::make_shared<ModuleSites>(ModuleSites{*std::move(table), ""});
}

using AddressOf = std::function<uint64_t(uint64_t record, uint64_t lane)>;

/// A stream of full waves that all do an access at each site.
std::vector<std::byte> streamOf(uint64_t records, const AddressOf &address) {
  RecordEncoder encoder;
  std::vector<uint64_t> addresses(64);
  for (uint64_t i = 0; i < records; ++i) {
    if (i % kSites == 0) {
      fade_wave_begin wave{};
      wave.mask = ~uint64_t{0};
      wave.wave = static_cast<uint32_t>(i / kSites);
      wave.module = kModule;
      wave.shared_base = 0x10000;
      wave.private_base = 0x20000;
      encoder.waveBegin(wave);
    }
    for (uint64_t lane = 0; lane < 64; ++lane) addresses[lane] = address(i, lane);
    encoder.access(static_cast<uint32_t>(i % kSites), static_cast<uint32_t>(i / kSites),
                   ~uint64_t{0}, addresses);
  }
  return encoder.take();
}

struct Pattern {
  const char *name;
  uint32_t space;
  std::vector<std::byte> bytes;
};

std::vector<Pattern> patterns() {
  std::mt19937_64 random(1);
  const auto wave = [](uint64_t i) { return kBase + i / kSites * 256 % kBuffer; };
  std::vector<Pattern> all;
  all.push_back({"affine, coalesced", FADE_SPACE_GLOBAL,
                 streamOf(1 << 18, [&](uint64_t i, uint64_t lane) { return wave(i) + 4 * lane; })});
  all.push_back({"affine, never aligned alike", FADE_SPACE_GLOBAL,
                 streamOf(1 << 18, [&](uint64_t i, uint64_t lane) {
                   return wave(i) + 4 * (i * 7 % 31) + 4 * lane;
                 })});
  all.push_back(
      {"affine, 128 bytes apart", FADE_SPACE_GLOBAL,
       streamOf(1 << 18, [&](uint64_t i, uint64_t lane) { return wave(i) + 128 * lane; })});
  all.push_back({"affine, through flat pointers", FADE_SPACE_FLAT,
                 streamOf(1 << 18, [&](uint64_t i, uint64_t lane) { return wave(i) + 4 * lane; })});
  all.push_back(
      {"affine, LDS column", FADE_SPACE_LDS,
       streamOf(1 << 18, [&](uint64_t i, uint64_t lane) { return 4 * (i % 64) + 256 * lane; })});
  all.push_back(
      {"tiled, 16 wide", FADE_SPACE_GLOBAL, streamOf(1 << 17, [&](uint64_t i, uint64_t lane) {
         return wave(i) + lane % 16 * 4 + lane / 16 * 4096;
       })});
  all.push_back(
      {"32-bit deltas, random", FADE_SPACE_GLOBAL,
       streamOf(1 << 16, [&](uint64_t, uint64_t) { return kBase + random() % kBuffer / 4 * 4; })});
  all.push_back({"raw, random", FADE_SPACE_GLOBAL, streamOf(1 << 16, [&](uint64_t, uint64_t) {
                   return kBase + random() % 4096 * (uint64_t{1} << 32) + random() % 65536 * 4;
                 })});
  return all;
}

double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// CPU time of each of the process's threads with this name.
std::vector<double> secondsOf(const std::string &name) {
  std::vector<double> all;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return all;
  while (const dirent *task = readdir(tasks)) {
    const std::string at = std::string("/proc/self/task/") + task->d_name;
    std::string comm;
    std::getline(std::ifstream(at + "/comm") >> std::ws, comm);
    uint64_t ns = 0;
    if (comm == name && std::ifstream(at + "/schedstat") >> ns)
      all.push_back(static_cast<double>(ns) * 1e-9);
  }
  closedir(tasks);
  return all;
}

Handlers loadOne(const std::string &name, Output &output) {
  std::vector<std::string> complaints;
  Handlers handlers = loadHandlers({{name, ""}}, FADE_HANDLER_DIR, output, complaints);
  for (const std::string &line : complaints) fmt::print(stderr, "{}\n", line);
  if (handlers.empty()) std::exit(1);
  return handlers;
}

std::unique_ptr<DispatchRecord> dispatchOf(uint32_t space) {
  auto record = std::make_unique<DispatchRecord>();
  record->setKernel(std::make_shared<KernelInfo>(
      KernelIdentity{space, "kernel()", "kernel", "gfx90a"}, sitesIn(space)));
  record->setVariant(std::make_shared<std::string>("instrumented"));
  record->setAllocations(std::make_shared<Allocations>(
      std::vector<fade_allocation>{{kBase, kBuffer + (uint64_t{1} << 20), 1, 1, 0, 0}}));
  record->view.id = 1;
  record->view.flags = FADE_DISPATCH_INSTRUMENTED;
  return record;
}

int noWave(const void *, fade_u32, fade_wave_begin *) { return 0; }

/// Whole records, at least kBatch bytes of them at a time.
std::vector<std::span<const std::byte>> batchesOf(std::span<const std::byte> bytes) {
  std::vector<std::span<const std::byte>> batches;
  RecordCursor cursor(bytes);
  Record record;
  std::size_t start = 0;
  while (cursor.next(record) == RecordCursor::Status::record)
    if (cursor.offset() - start >= kBatch || cursor.offset() == bytes.size()) {
      batches.push_back(bytes.subspan(start, cursor.offset() - start));
      start = cursor.offset();
    }
  return batches;
}

/// What the engine does with a piece of the stream: check every record, then the handler.
uint64_t process(std::span<const std::byte> bytes, const fade_handler_api *api, void *shard,
                 const fade_dispatch &dispatch) {
  RecordCursor cursor(bytes);
  Record record;
  uint64_t accesses = 0, records = 0;
  while (cursor.next(record) == RecordCursor::Status::record) {
    ++records;
    if (!record.isAccess()) continue;
    if (record.site() >= kSites) std::exit(1);
    ++accesses;
  }
  if (!api) return accesses;
  fade_batch batch{};
  batch.size = sizeof batch;
  batch.shared_base = 0x10000;
  batch.private_base = 0x20000;
  batch.wave_size = 64;
  batch.dispatch = &dispatch;
  batch.bytes = bytes.data();
  batch.byte_count = bytes.size();
  batch.record_count = records;
  batch.find_wave = noWave;
  api->records(shard, &batch);
  return accesses;
}

/// A handler as any host would load it.
class LoadedAlone {
public:
  explicit LoadedAlone(const std::string &name) {
    void *library = dlopen((FADE_HANDLER_DIR "/lib" + name + ".so").c_str(), RTLD_NOW);
    void *entry = library ? dlsym(library, FADE_HANDLER_ENTRY) : nullptr;
    if (!entry) {
      fmt::print(stderr, "{}\n", dlerror());
      std::exit(1);
    }
    api = reinterpret_cast<const fade_handler_api *(*)()>(entry)();
    host_.size = sizeof host_;
    host_.format = FADE_FORMAT_JSON;
    host_.write = [](void *, const char *, fade_u64) {};
    host_.write_file = [](void *, const char *, const char *, fade_u64) { return 1; };
    host_.warn = [](void *, const char *text) { fmt::print(stderr, "{}\n", text); };
    std::array<char, 256> error{};
    instance = api->create(&host_, "", error.data(), error.size());
  }
  ~LoadedAlone() { api->destroy(instance); }
  LoadedAlone(const LoadedAlone &) = delete;
  LoadedAlone &operator=(const LoadedAlone &) = delete;

  const fade_handler_api *api = nullptr;
  void *instance = nullptr;

private:
  fade_host host_{};
};

double rateOf(const Pattern &pattern, const char *name, double seconds) {
  const auto dispatch = dispatchOf(pattern.space);
  std::optional<LoadedAlone> handler;
  const fade_handler_api *api = nullptr;
  void *shard = nullptr;
  if (name) {
    handler.emplace(name);
    api = handler->api;
    shard = api->shard(handler->instance, &dispatch->view);
  }
  const auto batches = batchesOf(pattern.bytes);
  uint64_t accesses = 0;
  const double start = threadSeconds();
  double spent = 0;
  while (spent < seconds) {
    for (const auto batch : batches) accesses += process(batch, api, shard, dispatch->view);
    spent = threadSeconds() - start;
  }
  if (shard) api->shard_free(shard);
  return static_cast<double>(accesses) / spent;
}

struct WorkersResult {
  double wall = 0;    ///< seconds
  double busiest = 0; ///< CPU seconds of the worker that had the most to do
  double all = 0;     ///< CPU seconds of all workers
};

/// The same stream, many times over, through the real engine.
WorkersResult withWorkers(const Pattern &pattern, const char *name, unsigned workers, int times) {
  Output output{Format::json};
  AnalysisOptions options;
  options.workers = workers;
  Analysis analysis(options, loadOne(name, output), output, nullptr);
  auto dispatch = dispatchOf(pattern.space);
  analysis.begin(*dispatch);
  fade_wave_begin wave{};
  wave.module = kModule;
  wave.shared_base = 0x10000;
  wave.private_base = 0x20000;
  Analysis::announce(*dispatch, wave);
  const auto batches = batchesOf(pattern.bytes);
  const auto start = std::chrono::steady_clock::now();
  uint64_t position = 0;
  for (int round = 0; round < times; ++round) {
    std::deque<StreamBatch> pieces;
    for (const auto bytes : batches) {
      StreamBatch &piece = pieces.emplace_back();
      piece.dispatch = dispatch.get();
      piece.bytes = const_cast<std::byte *>(bytes.data());
      piece.size = bytes.size();
      piece.position = position;
      position += bytes.size();
      while (!analysis.submit(piece)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    for (const StreamBatch &piece : pieces)
      while (!piece.done.load(std::memory_order_acquire))
        std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  WorkersResult result;
  result.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const double one : secondsOf("fade-worker")) {
    result.busiest = std::max(result.busiest, one);
    result.all += one;
  }
  while (!analysis.end(dispatch)) std::this_thread::yield();
  analysis.close(std::chrono::seconds(60));
  return result;
}

void compareWorkers(const Pattern &pattern, const char *name) {
  const int times = 40;
  const WorkersResult one = withWorkers(pattern, name, 1, times);
  const WorkersResult two = withWorkers(pattern, name, 2, times);
  fmt::print("{:<32} {:<15} {:>9.2f} {:>15.2f} {:>20.2f}\n", pattern.name, name,
             one.wall / two.wall, one.all / two.busiest, two.all / one.all);
}

} // namespace

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  auto all = patterns();
  const bool only_one = argc > 2;
  if (only_one) all = {all.at(static_cast<std::size_t>(std::atoi(argv[2])))};
  const std::vector<const char *> handlers = {nullptr, "MemoryAnalysis", "Heatmap"};
  fmt::print("million records of full waves per second and core\n{:<32} {:>12} {:>16} {:>12}\n", "",
             "decode alone", "MemoryAnalysis", "Heatmap");
  for (const Pattern &pattern : all) {
    fmt::print("{:<32}", pattern.name);
    for (const char *name : handlers)
      fmt::print(" {:>{}.1f}", rateOf(pattern, name, seconds) / 1e6,
                 name && name[0] == 'M' ? 16 : 12);
    fmt::print("\n");
  }
  if (only_one) return 0;
  fmt::print("\ntwo workers against one\n{:<32} {:<15} {:>9} {:>15} {:>20}\n", "", "", "by clock",
             "by busiest CPU", "CPU of two/of one");
  for (const std::size_t i : {std::size_t{0}, all.size() - 1})
    for (const char *name : {"MemoryAnalysis", "Heatmap"}) compareWorkers(all[i], name);
  return 0;
}
