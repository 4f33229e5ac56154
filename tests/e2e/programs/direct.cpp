// Uses HSA itself, as other runtimes than HIP do: direct HOW FILE
//   memory, file, part, old: how the code object gets to the runtime
//   again: everything twice, with the runtime shut down in between
//   copies: copies that wait for a kernel are with the runtime before that starts
//   rows: the same, and a rectangle among them
//   full: hardly any device memory is left
//   times: says when the last dispatch of each batch began and ended
//   descriptors, counted: through queues that are made in the ways of ROCm 10
//   batch: copies, several in one call
//   scopes: says what a copy finds behind a packet without a release, and behind one with it
//   vram: arguments are in the card's memory, where HIP has them on MI300
//   handler: ends while a handler of a signal runs, and says whether that had returned by then
//   forgotten: shuts the runtime down, twice, while a handler of a signal is registered
//   cooperative: through the agent's cooperative queue, which is asked for and given back twice
// Runs the kernel `scale` of the file in batches of packets with barriers between them, with a
// completion signal on some, and checks the results and the times that its own profiling gives.
#include "late_hsa.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const hsa_status_t check_status = (call);                                                      \
    if (check_status != HSA_STATUS_SUCCESS && check_status != HSA_STATUS_INFO_BREAK) {             \
      std::fprintf(stderr, "%s: %#x\n", #call, static_cast<unsigned>(check_status));               \
      std::exit(99);                                                                               \
    }                                                                                              \
  } while (false)
#define EXPECT(what)                                                                               \
  do {                                                                                             \
    if (!(what)) {                                                                                 \
      std::printf("line %d: not so: %s\n", __LINE__, #what);                                       \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

namespace {

template <hsa_device_type_t wanted> hsa_agent_t findAgent() {
  hsa_agent_t found{};
  CHECK(hsa_iterate_agents(
      [](hsa_agent_t agent, void *data) {
        hsa_device_type_t type;
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
        if (type != wanted) return HSA_STATUS_SUCCESS;
        *static_cast<hsa_agent_t *>(data) = agent;
        return HSA_STATUS_INFO_BREAK;
      },
      &found));
  EXPECT(found.handle != 0);
  return found;
}

struct Regions {
  hsa_region_t device{}, kernarg{};
};

Regions findRegions(hsa_agent_t gpu) {
  Regions found;
  const auto look = [](hsa_region_t region, void *data) {
    auto &regions = *static_cast<Regions *>(data);
    hsa_region_segment_t segment;
    CHECK(hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment));
    uint32_t flags = 0;
    if (segment != HSA_REGION_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    CHECK(hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
    if ((flags & HSA_REGION_GLOBAL_FLAG_KERNARG) != 0)
      regions.kernarg = region;
    else if ((flags & HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED) != 0 && regions.device.handle == 0)
      regions.device = region;
    return HSA_STATUS_SUCCESS;
  };
  CHECK(hsa_agent_iterate_regions(gpu, look, &found));
  EXPECT(found.device.handle != 0 && found.kernarg.handle != 0);
  return found;
}

std::vector<char> bytesOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The bytes of the code object must live until the executable is frozen.
void load(const std::string &how, const std::string &path, hsa_agent_t gpu,
          std::vector<char> &bytes, hsa_executable_t executable) {
  bytes = bytesOf(path);
  EXPECT(!bytes.empty());
  if (how == "old") {
    hsa_code_object_t code;
    CHECK(hsa_code_object_deserialize(bytes.data(), bytes.size(), nullptr, &code));
    CHECK(hsa_executable_load_code_object(executable, gpu, code, nullptr));
    return;
  }
  hsa_code_object_reader_t reader{};
  int fd = -1;
  if (how == "file") {
    fd = open(path.c_str(), O_RDONLY);
    CHECK(hsa_code_object_reader_create_from_file(fd, &reader));
  } else if (how == "part") { // in the middle of another file
    char name[] = "/tmp/direct-XXXXXX";
    fd = mkstemp(name);
    unlink(name);
    const std::string before(4096, 'x');
    EXPECT(write(fd, before.data(), before.size()) == 4096);
    EXPECT(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    EXPECT(write(fd, before.data(), before.size()) == 4096);
    hsa_ven_amd_loader_1_02_pfn_t loader{};
    CHECK(
        hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader));
    CHECK(loader.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
        fd, 4096, bytes.size(), &reader));
  } else {
    CHECK(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader));
  }
  CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  CHECK(hsa_code_object_reader_destroy(reader));
  if (fd >= 0) close(fd);
}

struct Arguments {
  float *x;
  float by;
  int n;
};

/// Not with memset and memcpy: TSan would see those, but not the store of the packet's header that
/// hands the block over, which is in code that it does not know.
void setArguments(volatile char *block, const Arguments &values) {
  struct {
    Arguments values;
    // The first hidden arguments of code objects from version 5 on. Older ones have a global offset
    // there, which kernels of HIP do not look at.
    uint32_t workgroups[3];
    uint16_t workgroup_size[3], remainder[3];
  } all{values, {static_cast<uint32_t>(values.n) / 64, 1, 1}, {64, 1, 1}, {}};
  for (int i = 0; i < 512; ++i) block[i] = 0;
  const auto *from = reinterpret_cast<const char *>(&all);
  for (std::size_t i = 0; i < sizeof all; ++i) block[i] = from[i];
}

enum class Made { plainly, by_descriptor, counted } made = Made::plainly;

/// Of two in one call the first is refused, and the other is there.
hsa_queue_t *queueByDescriptor(hsa_agent_t gpu) {
  late::QueueDescriptor wanted[2];
  constexpr uint32_t all[2] = {UINT32_MAX, UINT32_MAX};
  wanted[0].engine = 2; // not here
  wanted[1].cu_mask = all;
  wanted[1].cu_mask_bits = 64;
  EXPECT(late::find<late::QueueCreate>("hsa_amd_queue_create")(gpu, wanted, 2) !=
         HSA_STATUS_SUCCESS);
  EXPECT(!wanted[0].queue && wanted[1].queue);
  return wanted[1].queue;
}

hsa_queue_t *countedQueue(hsa_agent_t gpu) {
  hsa_queue_t *queue = nullptr;
  CHECK(late::find<late::QueueAcquire>("hsa_amd_counted_queue_acquire")(
      gpu, HSA_QUEUE_TYPE_MULTI, HSA_AMD_QUEUE_PRIORITY_NORMAL, nullptr, nullptr, 0, &queue));
  EXPECT(queue);
  return queue;
}

void release(hsa_queue_t *queue) {
  CHECK(late::find<late::QueueRelease>("hsa_amd_counted_queue_release")(queue));
}

class Queue {
public:
  explicit Queue(hsa_agent_t gpu, uint32_t size = 1024,
                 hsa_queue_type_t type = HSA_QUEUE_TYPE_MULTI) {
    if (made == Made::by_descriptor) {
      queue_ = queueByDescriptor(gpu);
    } else if (made == Made::counted) {
      hsa_queue_t *other = countedQueue(gpu);
      queue_ = countedQueue(gpu);
      release(other);
    } else {
      CHECK(hsa_queue_create(gpu, size, type, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue_));
    }
    CHECK(hsa_amd_profiling_set_profiler_enabled(queue_, 1));
  }
  ~Queue() {
    if (made == Made::counted)
      release(queue_);
    else
      CHECK(hsa_queue_destroy(queue_));
  }

  void dispatch(uint64_t object, void *arguments, hsa_signal_t signal, uint32_t items = 256,
                bool releases = true) {
    hsa_kernel_dispatch_packet_t packet{};
    packet.setup = 1;
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = items;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = object;
    packet.kernarg_address = arguments;
    packet.completion_signal = signal;
    const uint16_t scopes = header(HSA_PACKET_TYPE_KERNEL_DISPATCH, true);
    constexpr uint16_t release = 3 << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    put(&packet, releases ? scopes : static_cast<uint16_t>(scopes & ~release));
  }
  void barrier(hsa_signal_t wait, hsa_signal_t signal) {
    hsa_barrier_and_packet_t packet{};
    packet.dep_signal[0] = wait;
    packet.completion_signal = signal;
    put(&packet, header(HSA_PACKET_TYPE_BARRIER_AND, true));
  }
  /// Waits for nothing, in one way or the other.
  void freeBarrier(bool is_or) {
    hsa_barrier_or_packet_t packet{};
    put(&packet, header(is_or ? HSA_PACKET_TYPE_BARRIER_OR : HSA_PACKET_TYPE_BARRIER_AND, true));
  }
  void ring() { hsa_signal_store_screlease(queue_->doorbell_signal, last_); }

private:
  static uint16_t header(int type, bool barrier) {
    return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE |
                                 (barrier ? 1 : 0) << HSA_PACKET_HEADER_BARRIER |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
  }
  void put(const void *packet, uint16_t header) {
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue_) >= queue_->size) {
      if (last_ >= 0) ring(); // of a packet that nobody has heard of, none behind it is taken out
      usleep(10);
    }
    auto *slot = static_cast<char *>(queue_->base_address) + index % queue_->size * 64;
    std::memcpy(slot + 2, static_cast<const char *>(packet) + 2, 62);
    __atomic_store_n(reinterpret_cast<uint16_t *>(slot), header, __ATOMIC_RELEASE);
    last_ = static_cast<hsa_signal_value_t>(index);
  }

  hsa_queue_t *queue_ = nullptr;
  static thread_local hsa_signal_value_t last_; ///< packet of this thread
};

thread_local hsa_signal_value_t Queue::last_ = -1;

uint64_t now() {
  uint64_t ticks = 0;
  CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks));
  return ticks;
}

void runBatches(hsa_agent_t gpu, const Regions &regions, uint64_t object, uint32_t kernarg_size,
                bool says_times, hsa_queue_type_t type = HSA_QUEUE_TYPE_MULTI,
                bool arguments_in_vram = false) {
  float *x;
  CHECK(hsa_memory_allocate(regions.device, 256 * sizeof(float), reinterpret_cast<void **>(&x)));
  std::vector<float> host(256, 1);
  CHECK(hsa_memory_copy(x, host.data(), 256 * sizeof(float)));
  EXPECT(kernarg_size >= sizeof(Arguments));
  char *arguments;
  constexpr int batches = 6, per_batch = 5;
  CHECK(hsa_memory_allocate(arguments_in_vram ? regions.device : regions.kernarg,
                            batches * per_batch * 512, reinterpret_cast<void **>(&arguments)));
  std::vector<char> staged(512);
  hsa_signal_t one, all;
  CHECK(hsa_signal_create(0, 0, nullptr, &one));
  CHECK(hsa_signal_create(batches, 0, nullptr, &all));
  Queue queue(gpu, 1024, type);
  float expected = 1;
  for (int b = 0; b < batches; ++b) {
    const uint64_t before = now();
    hsa_signal_store_relaxed(one, 1);
    for (int i = 0; i < per_batch; ++i) { // multiplications and additions do not commute
      char *block = arguments + (b * per_batch + i) * 512;
      const Arguments values{x, i % 2 ? 0.5f : 3.0f, 256};
      setArguments(arguments_in_vram ? staged.data() : block, values);
      if (arguments_in_vram) CHECK(hsa_memory_copy(block, staged.data(), staged.size()));
      expected *= values.by;
      queue.dispatch(object, block, i == per_batch - 1 ? one : hsa_signal_t{0});
    }
    queue.barrier(one, all);
    queue.ring();
    while (hsa_signal_wait_scacquire(all, HSA_SIGNAL_CONDITION_LT, batches - b, UINT64_MAX,
                                     HSA_WAIT_STATE_BLOCKED) >= batches - b) {
    }
    EXPECT(hsa_signal_load_scacquire(one) == 0);
    hsa_amd_profiling_dispatch_time_t time{};
    CHECK(hsa_amd_profiling_get_dispatch_time(gpu, one, &time));
    EXPECT(before <= time.start && time.start < time.end && time.end <= now());
    if (says_times)
      std::printf("%llu %llu\n", static_cast<unsigned long long>(time.start),
                  static_cast<unsigned long long>(time.end));
  }
  CHECK(hsa_memory_copy(host.data(), x, 256 * sizeof(float)));
  for (const float value : host) EXPECT(value == expected);
  CHECK(hsa_signal_destroy(one));
  CHECK(hsa_signal_destroy(all));
  CHECK(hsa_memory_free(arguments));
  CHECK(hsa_memory_free(x));
}

/// One of several threads that put packets into the same queue, which is much too short for them.
void produce(Queue &queue, const Regions &regions, uint64_t object, int packets) {
  float *x;
  CHECK(hsa_memory_allocate(regions.device, 256 * sizeof(float), reinterpret_cast<void **>(&x)));
  std::vector<float> host(256, 1);
  CHECK(hsa_memory_copy(x, host.data(), 256 * sizeof(float)));
  char *arguments;
  CHECK(hsa_memory_allocate(regions.kernarg, static_cast<size_t>(packets) * 512,
                            reinterpret_cast<void **>(&arguments)));
  hsa_signal_t end;
  CHECK(hsa_signal_create(1, 0, nullptr, &end));
  for (int i = 0; i < packets; ++i) {
    char *block = arguments + i * 512;
    const bool is_last = i == packets - 1;
    setArguments(block, {x, is_last ? 3.0f : i % 2 ? 0.5f : 2.0f, 256});
    if (i % 16 == 0) queue.freeBarrier(i % 32 == 0);
    queue.dispatch(object, block, is_last ? end : hsa_signal_t{0});
    if (i % 4 == 0 || is_last) queue.ring();
  }
  while (hsa_signal_wait_scacquire(end, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) >= 1) {
  }
  CHECK(hsa_memory_copy(host.data(), x, 256 * sizeof(float)));
  for (const float value : host) EXPECT(value == 3.0f);
  CHECK(hsa_signal_destroy(end));
  CHECK(hsa_memory_free(arguments));
  CHECK(hsa_memory_free(x));
}

void runProducers(hsa_agent_t gpu, const Regions &regions, uint64_t object) {
  Queue queue(gpu, 64);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { produce(queue, regions, object, 201); });
  for (std::thread &thread : threads) thread.join();
}

hsa_signal_t makeSignal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  CHECK(hsa_signal_create(value, 0, nullptr, &signal));
  return signal;
}

void waitFor(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) >= 1) {
  }
}

/// What is true on a card is up to its caches; the software GPU can have some.
void runScopes(hsa_agent_t gpu, const Regions &regions, uint64_t object) {
  constexpr std::size_t size = 256 * sizeof(float);
  const hsa_agent_t cpu = findAgent<HSA_DEVICE_TYPE_CPU>();
  float *x, *host;
  char *arguments;
  CHECK(hsa_memory_allocate(regions.device, size, reinterpret_cast<void **>(&x)));
  CHECK(hsa_memory_allocate(regions.kernarg, size, reinterpret_cast<void **>(&host)));
  CHECK(hsa_memory_allocate(regions.kernarg, 512, reinterpret_cast<void **>(&arguments)));
  for (int i = 0; i < 256; ++i) host[i] = 1;
  CHECK(hsa_memory_copy(x, host, size));
  setArguments(arguments, {x, 3.0f, 256});
  const hsa_signal_t end = makeSignal(1), copied = makeSignal(1);
  const auto copy = [&] {
    hsa_signal_store_relaxed(copied, 1);
    CHECK(hsa_amd_memory_async_copy(host, cpu, x, gpu, size, 0, nullptr, copied));
    waitFor(copied);
    return static_cast<double>(host[255]);
  };
  Queue queue(gpu);
  queue.dispatch(object, arguments, end, 256, false);
  queue.ring();
  waitFor(end);
  std::printf("without a release: %g\n", copy());
  hsa_signal_store_relaxed(end, 1);
  queue.barrier({}, end);
  queue.ring();
  waitFor(end);
  std::printf("with one: %g\n", copy());
  for (const hsa_signal_t signal : {end, copied}) CHECK(hsa_signal_destroy(signal));
  for (void *memory :
       {static_cast<void *>(x), static_cast<void *>(host), static_cast<void *>(arguments)})
    CHECK(hsa_memory_free(memory));
}

/// A kernel with many waves. Before it starts there are copies, to and from the device, that wait
/// for its end, and copies behind them that do not say so and rely on the order.
void runCopies(hsa_agent_t gpu, const Regions &regions, uint64_t object, const std::string &how) {
  constexpr uint32_t items = 1 << 17; // twice as many records as fit into a ring of 128 KiB
  constexpr std::size_t size = items * sizeof(float);
  const hsa_agent_t cpu = findAgent<HSA_DEVICE_TYPE_CPU>();
  float *x, *y, *host;
  char *arguments;
  CHECK(hsa_memory_allocate(regions.device, size, reinterpret_cast<void **>(&x)));
  CHECK(hsa_memory_allocate(regions.device, size, reinterpret_cast<void **>(&y)));
  CHECK(hsa_memory_allocate(regions.kernarg, 4 * size, reinterpret_cast<void **>(&host)));
  CHECK(hsa_memory_allocate(regions.kernarg, 512, reinterpret_cast<void **>(&arguments)));
  float *first = host, *second = host + items, *rows = host + 2 * items, *input = host + 3 * items;
  for (uint32_t i = 0; i < items; ++i) input[i] = static_cast<float>(i % 1000);
  CHECK(hsa_memory_copy(x, input, size));
  const hsa_signal_t go = makeSignal(1), end = makeSignal(1), copied = makeSignal(4);
  std::memset(arguments, 0, 512);
  setArguments(arguments, {x, 2.0f, static_cast<int>(items)});
  Queue queue(gpu);
  queue.barrier(go, {});
  queue.dispatch(object, arguments, end, items);
  queue.ring();
  if (how == "batch") {
    late::Copy both[2];
    for (late::Copy &one : both) {
      one.completion = copied;
      one.from = x;
      one.from_agent = gpu;
      one.to_agent = cpu;
      one.size = size;
    }
    both[0].to = first;
    both[1].to = second;
    CHECK(late::find<late::BatchCopy>("hsa_amd_memory_async_batch_copy")(both, 2, 1, &end));
  } else {
    CHECK(hsa_amd_memory_async_copy(first, cpu, x, gpu, size, 1, &end, copied));
    CHECK(hsa_amd_memory_async_copy(second, cpu, x, gpu, size, 0, nullptr, copied));
  }
  const hsa_pitched_ptr_t from{x, 1024, size}, to{rows, 1024, size};
  const hsa_dim3_t zero{0, 0, 0}, range{1024, size / 1024, 1};
  if (how == "rows")
    CHECK(hsa_amd_memory_async_copy_rect(&to, &zero, &from, &zero, &range, gpu, hsaDeviceToHost, 1,
                                         &end, copied));
  else
    CHECK(hsa_amd_memory_async_copy(rows, cpu, x, gpu, size, 1, &end, copied));
  CHECK(hsa_amd_memory_async_copy(y, gpu, input, cpu, size, 1, &end, copied));
  usleep(20000);
  EXPECT(hsa_signal_load_scacquire(copied) == 4);
  hsa_signal_store_screlease(go, 0);
  waitFor(copied);
  for (uint32_t i = 0; i < items; ++i) {
    const float expected = 2 * static_cast<float>(i % 1000);
    EXPECT(first[i] == expected && second[i] == expected && rows[i] == expected);
  }
  CHECK(hsa_memory_copy(second, y, size));
  EXPECT(std::memcmp(second, input, size) == 0);
  for (const hsa_signal_t signal : {go, end, copied}) CHECK(hsa_signal_destroy(signal));
  for (void *memory : {static_cast<void *>(x), static_cast<void *>(y), static_cast<void *>(host),
                       static_cast<void *>(arguments)})
    CHECK(hsa_memory_free(memory));
}

/// Takes all device memory but for a few megabytes.
void fill(const Regions &regions, std::vector<void *> &pieces) {
  for (std::size_t size = std::size_t{64} << 30; size >= std::size_t{4} << 20; size /= 2) {
    void *piece;
    while (hsa_memory_allocate(regions.device, size, &piece) == HSA_STATUS_SUCCESS)
      pieces.push_back(piece);
  }
  CHECK(hsa_memory_free(pieces.back()));
  pieces.pop_back();
}

void runOnce(const std::string &how, const std::string &path) {
  if (how == "descriptors") made = Made::by_descriptor;
  if (how == "counted") made = Made::counted;
  CHECK(hsa_init());
  const hsa_agent_t gpu = findAgent<HSA_DEVICE_TYPE_GPU>();
  const Regions regions = findRegions(gpu);
  hsa_executable_t executable;
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                  nullptr, &executable));
  std::vector<char> bytes;
  load(how, path, gpu, bytes, executable);
  CHECK(hsa_executable_freeze(executable, nullptr));
  bytes.assign(bytes.size(), 0);
  hsa_executable_symbol_t symbol;
  CHECK(hsa_executable_get_symbol_by_name(executable, "scale.kd", &gpu, &symbol));
  uint64_t object = 0;
  uint32_t kernarg_size = 0;
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
  CHECK(hsa_executable_symbol_get_info(
      symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernarg_size));
  std::vector<void *> pieces;
  if (how == "full") fill(regions, pieces);
  if (how == "producers")
    runProducers(gpu, regions, object);
  else if (how == "copies" || how == "rows" || how == "batch")
    runCopies(gpu, regions, object, how);
  else if (how == "scopes")
    runScopes(gpu, regions, object);
  else
    runBatches(gpu, regions, object, kernarg_size, how == "times", HSA_QUEUE_TYPE_MULTI,
               how == "vram");
  if (how == "cooperative")
    for (int i = 0; i < 2; ++i) {
      const Queue same(gpu, 1024, HSA_QUEUE_TYPE_COOPERATIVE); // is there meanwhile
      runBatches(gpu, regions, object, kernarg_size, false, HSA_QUEUE_TYPE_COOPERATIVE);
    }
  for (void *piece : pieces) CHECK(hsa_memory_free(piece));
  CHECK(hsa_executable_destroy(executable));
  CHECK(hsa_shut_down());
}

// As HIP: its state is gone when the program's static objects are destroyed.
struct State {
  std::atomic<bool> is_used = false, has_returned = false;
  ~State() {
    if (is_used) std::puts(has_returned ? "the handler had returned" : "the handler still ran");
  }
} state;

void endBesideHandler() {
  CHECK(hsa_init());
  hsa_signal_t signal;
  CHECK(hsa_signal_create(1, 0, nullptr, &signal));
  const auto handler = [](hsa_signal_value_t, void *) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    state.has_returned = true;
    return false;
  };
  state.is_used = true;
  CHECK(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, handler, nullptr));
  hsa_signal_store_relaxed(signal, 0);
}

void endWithHandlers() {
  for (int i = 0; i < 2; ++i) {
    CHECK(hsa_init());
    hsa_signal_t signal;
    CHECK(hsa_signal_create(1, 0, nullptr, &signal));
    const auto handler = [](hsa_signal_value_t, void *) { return false; };
    CHECK(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, handler, nullptr));
    CHECK(hsa_shut_down());
  }
  std::puts("all was shut down");
}

} // namespace

int main(int, char **argv) {
  const std::string how = argv[1];
  if (how == "handler" || how == "forgotten") {
    how == "handler" ? endBesideHandler() : endWithHandlers();
    return 0;
  }
  runOnce(how == "again" ? "memory" : how, argv[2]);
  if (how == "again") runOnce("memory", argv[2]);
  std::puts("all batches are right");
  return 0;
}
