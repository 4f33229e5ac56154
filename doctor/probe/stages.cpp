#include "stages.h"

#include "launch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fade::probe {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint32_t kItems = 1 << 16;

uint32_t expectedAt(uint32_t seed, uint32_t index) { return seed ^ index * 2654435761u; }

void checkStored(std::span<const uint32_t> got, uint32_t seed, const std::string &what) {
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;)
    if (got[i] != expectedAt(seed, static_cast<uint32_t>(i))) {
      ++wrong;
      first = i;
    }
  if (wrong != 0)
    throw Failed(what + ": " + std::to_string(wrong) + " of " + std::to_string(got.size()) +
                 " values are wrong, the first at " + std::to_string(first));
}

/// The stage for each GPU; the text is that of all of them.
template <class F> std::string onEach(F stage) {
  Runtime runtime;
  std::string text;
  for (Device &device : runtime.devices()) {
    const std::string one = stage(device);
    text += (text.empty() ? "" : "; ") + device.name() + (one.empty() ? "" : ": " + one);
  }
  return text;
}

std::string tryDriver() {
  const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (fd < 0) throw Failed(std::string("/dev/kfd: ") + std::strerror(errno));
  struct { // as linux/kfd_ioctl.h, which needs the headers of libdrm
    uint32_t major, minor;
  } version{};
  const int result = ioctl(fd, _IOR('K', 1, version), &version);
  const int error = errno;
  close(fd);
  if (result != 0) throw Failed(std::string("/dev/kfd does not answer: ") + std::strerror(error));
  return "interface " + std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::string tryAgents() {
  Runtime runtime;
  std::string text;
  for (const Device &device : runtime.devices()) {
    text += (text.empty() ? "" : ", ") + device.name();
    if (codeFor("probe", device.name()).empty())
      throw Limited(device.name() + " has no kernels in this FADE: no kernel will be tried");
  }
  return text + " through " + runtime.path();
}

std::string tryAllocate() {
  return onEach([](Device &device) {
    std::size_t count = 0;
    for (const auto *pools : {&device.pools(), &device.hostPools()})
      for (const Pool &pool : *pools) {
        const Buffer buffer(device, pool, kMiB);
        // Memory that the host can touch is written and read back.
        if (pool.owner.handle == device.host().handle) {
          std::memset(buffer.as<char>(), 0x5a, kMiB);
          if (buffer.as<unsigned char>()[kMiB - 1] != 0x5a) throw Failed("memory does not keep it");
        }
        ++count;
      }
    return std::to_string(count) + " pools";
  });
}

std::string tryCopy() {
  return onEach([](Device &device) -> std::string {
    constexpr uint64_t bytes = 4 * kMiB;
    const Buffer from(device, device.hostMemory(), bytes), back(device, device.hostMemory(), bytes);
    const Buffer one(device, device.memory(), bytes), two(device, device.memory(), bytes);
    auto *data = from.as<uint32_t>();
    for (uint32_t i = 0; i < bytes / 4; ++i) data[i] = expectedAt(7, i);
    std::memset(back.as<char>(), 0, bytes);
    device.copy(one.as<char>(), device.agent(), data, device.host(), bytes);
    device.copy(two.as<char>(), device.agent(), one.as<char>(), device.agent(), bytes);
    device.copy(back.as<char>(), device.host(), two.as<char>(), device.agent(), bytes);
    checkStored({back.as<uint32_t>(), bytes / 4}, 7, "to the GPU, on it, and back");
    return "4 MiB each way";
  });
}

std::string tryKernel() {
  return onEach([](Device &device) -> std::string {
    const Kernel store = device.kernel("probe_store");
    const Buffer out(device, device.memory(), kItems * 4);
    Queue queue(device);
    queue.launch(store, kItems, Arguments().add(out.as<uint32_t>()).add(uint32_t{11}).bytes());
    queue.wait();
    checkStored(contents(device, out.as<uint32_t>(), kItems), 11, "what a kernel stored");
    return "";
  });
}

std::string tryLds() {
  return onEach([](Device &device) -> std::string {
    const Kernel reverse = device.kernel("probe_lds");
    const Buffer data(device, device.memory(), kItems * 4);
    std::vector<uint32_t> values(kItems), expected(kItems);
    for (uint32_t i = 0; i < kItems; ++i) values[i] = expectedAt(3, i);
    for (uint32_t i = 0; i < kItems; ++i) expected[i] = values[i / 64 * 64 + 63 - i % 64];
    fill<uint32_t>(device, data.as<uint32_t>(), values);
    Queue queue(device);
    queue.launch(reverse, kItems, Arguments().add(data.as<uint32_t>()).bytes());
    queue.wait();
    if (contents(device, data.as<uint32_t>(), kItems) != expected)
      throw Failed("workgroups exchange wrong values through LDS");
    return "";
  });
}

/// Whether counters in this memory end where they must.
bool countsRight(Device &device, const Pool &pool) {
  const Kernel count = device.kernel("probe_atomic");
  const Buffer counters(device, pool, 4096);
  const std::array<uint32_t, 2> zeros{};
  fill<uint32_t>(device, counters.as<uint32_t>(), zeros);
  Queue queue(device);
  queue.launch(count, kItems, Arguments().add(counters.as<uint32_t>()).bytes());
  queue.wait();
  const auto got = contents(device, counters.as<uint32_t>(), 2);
  return got[0] == kItems && got[1] == kItems - 1;
}

std::string tryAtomics() {
  return onEach([](Device &device) -> std::string {
    if (!countsRight(device, device.memory())) throw Failed("atomics in device memory are wrong");
    if (!countsRight(device, device.hostMemory()))
      throw Limited(device.name() + ": atomics in host memory are wrong (no PCIe atomics?)");
    return "device and host memory";
  });
}

std::string tryQueues() {
  return onEach([](Device &device) -> std::string {
    constexpr uint32_t queues = 4, launches = 16, items = 4096;
    const Kernel store = device.kernel("probe_store");
    std::vector<std::unique_ptr<Queue>> all;
    std::vector<std::unique_ptr<Buffer>> out;
    for (uint32_t i = 0; i < queues; ++i) {
      all.push_back(std::make_unique<Queue>(device));
      out.push_back(std::make_unique<Buffer>(device, device.memory(), items * 4));
    }
    for (uint32_t n = 0; n < launches; ++n)
      for (uint32_t i = 0; i < queues; ++i)
        all[i]->launch(store, items,
                       Arguments().add(out[i]->as<uint32_t>()).add(i * 100 + n).bytes());
    for (uint32_t i = 0; i < queues; ++i) all[i]->wait();
    for (uint32_t i = 0; i < queues; ++i)
      checkStored(contents(device, out[i]->as<uint32_t>(), items), i * 100 + launches - 1,
                  "queue " + std::to_string(i));
    return std::to_string(queues) + " queues";
  });
}

std::string tryLarge() {
  return onEach([](Device &device) -> std::string {
    const Pool &pool = device.memory();
    const uint64_t bytes = std::min(pool.size / 2, pool.largest) / (2 * kMiB) * (2 * kMiB);
    const Buffer buffer(device, pool, bytes);
    const Kernel store = device.kernel("probe_store");
    Queue queue(device);
    // Its first and its last bytes are not the same ones.
    auto *first = buffer.as<uint32_t>();
    auto *last = buffer.as<uint32_t>() + bytes / 4 - 4096;
    queue.launch(store, 4096, Arguments().add(first).add(uint32_t{1}).bytes());
    queue.launch(store, 4096, Arguments().add(last).add(uint32_t{2}).bytes());
    queue.wait();
    checkStored(contents(device, first, 4096), 1, "its start");
    checkStored(contents(device, last, 4096), 2, "its end");
    return std::to_string(bytes / kMiB) + " MiB at once";
  });
}

std::string tryManaged() {
  return onEach([](Device &device) -> std::string {
    const HsaApi &api = device.api();
    bool is_supported = false;
    if (!api.hsa_amd_svm_attributes_set ||
        api.hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED),
                                &is_supported) != HSA_STATUS_SUCCESS ||
        !is_supported)
      throw Limited(device.name() + ": the driver or runtime has no shared virtual memory; managed "
                                    "memory is host memory");
    constexpr std::size_t bytes = kItems * 4;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Failed("the host has no memory left");
    std::memset(memory, 0, bytes);
    hsa_amd_svm_attribute_pair_t access{};
    access.attribute = HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE;
    access.value = device.agent().handle;
    api.check(api.hsa_amd_svm_attributes_set(memory, bytes, &access, 1),
              "giving the GPU access to the program's memory");
    Queue queue(device);
    queue.launch(device.kernel("probe_store"), kItems,
                 Arguments().add(static_cast<uint32_t *>(memory)).add(uint32_t{5}).bytes());
    queue.wait();
    checkStored({static_cast<uint32_t *>(memory), kItems}, 5, "in the program's own memory");
    return "";
  });
}

std::string tryMatmul() {
  return onEach([](Device &device) -> std::string {
    constexpr uint32_t n = 64;
    std::vector<float> a(n * n), b(n * n);
    for (uint32_t i = 0; i < n * n; ++i) { // small whole numbers: every sum is exact
      a[i] = static_cast<float>(i * 7 % 13) - 6;
      b[i] = static_cast<float>(i * 5 % 11) - 5;
    }
    const Buffer left(device, device.memory(), n * n * 4),
        right(device, device.memory(), n * n * 4);
    const Buffer out(device, device.memory(), n * n * 4);
    fill<float>(device, left.as<float>(), a);
    fill<float>(device, right.as<float>(), b);
    Queue queue(device);
    queue.launch(device.kernel("probe_matmul"), n * n,
                 Arguments()
                     .add(left.as<float>())
                     .add(right.as<float>())
                     .add(out.as<float>())
                     .add(n)
                     .bytes());
    queue.wait();
    const auto got = contents(device, out.as<float>(), n * n);
    for (uint32_t i = 0; i < n * n; ++i) {
      float sum = 0;
      for (uint32_t k = 0; k < n; ++k) sum += a[i / n * n + k] * b[k * n + i % n];
      if (got[i] != sum) throw Failed("element " + std::to_string(i) + " is wrong");
    }
    return "64 x 64";
  });
}

} // namespace

std::span<const Stage> stages() {
  static constexpr Stage all[] = {
      {"driver", "open /dev/kfd and ask for its version", tryDriver},
      {"agents", "start the runtime and list its GPUs", tryAgents},
      {"allocate", "allocate in each pool", tryAllocate},
      {"copy", "copy to the GPU, on it, and back", tryCopy},
      {"kernel", "run a kernel", tryKernel},
      {"lds", "exchange values through LDS", tryLds},
      {"atomics", "count in device and host memory", tryAtomics},
      {"queues", "use several queues at once", tryQueues},
      {"large", "allocate half of the memory at once", tryLarge},
      {"managed", "let a kernel write to the program's own memory", tryManaged},
      {"graphs", "run a HIP graph", tryGraphs},
      {"matmul", "multiply matrices", tryMatmul},
      {"rocblas", "multiply matrices with rocBLAS", tryRocblas},
      {"miopen", "a convolution with MIOpen", tryMiopen}};
  return all;
}

} // namespace fade::probe
