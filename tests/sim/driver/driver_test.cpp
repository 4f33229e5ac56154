// The driver through its ioctls, as the runtime calls them, without the runtime.
#include "base/clock.h"
#include "device/hsa_abi.h"
#include "kfd/driver.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <libdrm/amdgpu_drm.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace fade::sim::kfd {
namespace {

constexpr uint64_t gib = 1ull << 30;
constexpr uint32_t vram = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
                   gtt = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
                   userptr = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;

class DriverTest : public testing::Test {
protected:
  explicit DriverTest(const char *list = "gfx90a") : driver(cards(list), {2, 4 * gib}, "") {}
  static std::vector<Card> cards(const char *list) {
    std::string error;
    return cards_from(list, error);
  }

  template <class Args> int call(unsigned long request, Args &args) {
    return driver.ioctl({.is_kfd = true}, request, &args);
  }
  kfd_ioctl_alloc_memory_of_gpu_args allocate(uint64_t va, uint64_t size, uint32_t flags,
                                              size_t gpu = 0, uint64_t host = 0) {
    kfd_ioctl_alloc_memory_of_gpu_args args{};
    args.va_addr = va;
    args.size = size;
    args.flags = flags;
    args.gpu_id = gpu_id(gpu);
    args.mmap_offset = host;
    result = call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args);
    return args;
  }
  int map(uint64_t handle, std::vector<uint32_t> ids = {gpu_id(0)}) {
    kfd_ioctl_map_memory_to_gpu_args args{};
    args.handle = handle;
    args.device_ids_array_ptr = reinterpret_cast<uint64_t>(ids.data());
    args.n_devices = static_cast<uint32_t>(ids.size());
    int r = call(AMDKFD_IOC_MAP_MEMORY_TO_GPU, args);
    mapped = args.n_success;
    return r;
  }
  int free_memory(uint64_t handle) {
    kfd_ioctl_free_memory_of_gpu_args args{handle};
    return call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, args);
  }
  uint64_t available(size_t gpu = 0) {
    kfd_ioctl_get_available_memory_args args{};
    args.gpu_id = gpu_id(gpu);
    EXPECT_EQ(call(AMDKFD_IOC_AVAILABLE_MEMORY, args), 0);
    return args.available;
  }
  // Host view of an allocation, by the file as the runtime maps it.
  template <class T> T *host_view(const kfd_ioctl_alloc_memory_of_gpu_args &a, const char *path) {
    int fd = driver.open_device(*driver.files().find(path));
    void *p = mmap(nullptr, a.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   static_cast<off_t>(a.mmap_offset));
    close(fd);
    return p == MAP_FAILED ? nullptr : static_cast<T *>(p);
  }

  Driver driver;
  int result = 0;
  uint32_t mapped = 0;
};

TEST_F(DriverTest, VersionIsThatOfARecentKernel) {
  kfd_ioctl_get_version_args args{};
  EXPECT_EQ(call(AMDKFD_IOC_GET_VERSION, args), 0);
  EXPECT_EQ(args.major_version, 1u);
  EXPECT_GE(args.minor_version, 14u);
}

TEST_F(DriverTest, RequestsAreKnownByNumberWhateverTheirSize) {
  kfd_ioctl_get_version_args args{};
  EXPECT_EQ(call(_IOC(_IOC_READ, 'K', 0x01, 200), args), 0);
  EXPECT_EQ(args.major_version, 1u);
}

TEST_F(DriverTest, UnknownRequestsFail) {
  uint64_t args[16] = {};
  EXPECT_EQ(call(_IOC(_IOC_READ, 'K', 0x7f, 8), args), -EINVAL);
  EXPECT_EQ(call(_IOC(_IOC_READ, 'd', 0x01, 8), args), -ENOTTY);
}

TEST_F(DriverTest, AperturesLieInsideFortySevenBits) {
  kfd_process_device_apertures a[2]{};
  kfd_ioctl_get_process_apertures_new_args args{};
  EXPECT_EQ(call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args), 0);
  EXPECT_EQ(args.num_of_nodes, 1u);
  args.kfd_process_device_apertures_ptr = reinterpret_cast<uint64_t>(a);
  args.num_of_nodes = 2;
  EXPECT_EQ(call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args), 0);
  EXPECT_EQ(args.num_of_nodes, 1u);
  EXPECT_EQ(a[0].gpu_id, gpu_id(0));
  EXPECT_LT(a[0].gpuvm_limit, 1ull << 47);
}

// Runtimes translate the GPU's times by such pairs; what passes between two readings would be an
// error of every time.
TEST_F(DriverTest, PairsOfClocksAreOfOneInstant) {
  for (int i = 0; i < 1000; ++i) {
    kfd_ioctl_get_clock_counters_args pair{};
    ASSERT_EQ(call(AMDKFD_IOC_GET_CLOCK_COUNTERS, pair), 0);
    ASSERT_EQ(pair.gpu_clock_counter * 10, pair.system_clock_counter);
  }
}

TEST_F(DriverTest, ClocksAgree) {
  kfd_ioctl_get_clock_counters_args a{}, b{};
  call(AMDKFD_IOC_GET_CLOCK_COUNTERS, a);
  do call(AMDKFD_IOC_GET_CLOCK_COUNTERS, b);
  while (b.system_clock_counter - a.system_clock_counter < 20'000'000);
  double gpu_seconds = static_cast<double>(b.gpu_clock_counter - a.gpu_clock_counter) / 100e6;
  double host_seconds = static_cast<double>(b.system_clock_counter - a.system_clock_counter) / 1e9;
  EXPECT_NEAR(gpu_seconds, host_seconds, 0.002);
  EXPECT_GE(gpu_seconds, 0.02);
}

TEST_F(DriverTest, VramIsLimitedToWhatTheCardHas) {
  EXPECT_EQ(available(), 64 * gib);
  auto a = allocate(0x100000000, 40 * gib, vram);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(available(), 24 * gib);
  allocate(0x2000000000, 24 * gib + 4096, vram);
  EXPECT_EQ(result, -ENOMEM);
  auto b = allocate(0x2000000000, 24 * gib, vram);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(available(), 0u);
  EXPECT_EQ(free_memory(a.handle), 0);
  EXPECT_EQ(free_memory(b.handle), 0);
  EXPECT_EQ(available(), 64 * gib);
}

TEST_F(DriverTest, HostMemoryIsLimitedToWhatTheMachineHas) {
  allocate(0x100000000, 4 * gib + 4096, gtt);
  EXPECT_EQ(result, -ENOMEM);
  auto a = allocate(0x100000000, 3 * gib, gtt);
  EXPECT_EQ(result, 0);
  allocate(0x300000000, 2 * gib, gtt);
  EXPECT_EQ(result, -ENOMEM);
  free_memory(a.handle);
  allocate(0x300000000, 2 * gib, gtt);
  EXPECT_EQ(result, 0);
}

TEST_F(DriverTest, FragmentedVramIsStillUsable) {
  std::vector<uint64_t> handles;
  for (uint64_t i = 0; i < 64; ++i)
    handles.push_back(allocate(0x1000000000 + i * gib, gib, vram).handle);
  for (size_t i = 0; i < handles.size(); i += 2) free_memory(handles[i]);
  allocate(0x4000000000, 32 * gib, vram); // no hole is that large
  EXPECT_EQ(result, 0);
}

TEST_F(DriverTest, NonsenseAllocationsAreRefused) {
  allocate(0x1000, 0, vram);
  EXPECT_EQ(result, -EINVAL);
  allocate(0x1000, 4096, KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
  EXPECT_EQ(result, -EINVAL);
  allocate(0x1000, 4096, userptr, 0, 0x10); // nothing is mapped there
  EXPECT_EQ(result, -EFAULT);
  EXPECT_EQ(free_memory(999), -EINVAL);
  EXPECT_EQ(map(999), -EINVAL);
}

TEST_F(DriverTest, MappingToAnUnknownDeviceFailsAndTellsHowFarItGot) {
  auto a = allocate(0x100000000, 4096, vram);
  EXPECT_EQ(map(a.handle, {gpu_id(0), 12345}), -EINVAL);
  EXPECT_EQ(mapped, 1u);
}

TEST_F(DriverTest, XnackCannotBeSwitchedOn) {
  kfd_ioctl_set_xnack_mode_args args{-1};
  EXPECT_EQ(call(AMDKFD_IOC_SET_XNACK_MODE, args), 0);
  EXPECT_EQ(args.xnack_enabled, 0);
  args.xnack_enabled = 1;
  EXPECT_EQ(call(AMDKFD_IOC_SET_XNACK_MODE, args), -EPERM);
}

TEST_F(DriverTest, DescriptorsAreKnownByTheirFile) {
  int fd = driver.open_device(*driver.files().find("/dev/kfd"));
  int render = driver.open_device(*driver.files().find("/dev/dri/renderD128"));
  struct stat st;
  ASSERT_EQ(fstat(fd, &st), 0);
  ASSERT_TRUE(driver.node_of(st.st_dev, st.st_ino));
  EXPECT_TRUE(driver.node_of(st.st_dev, st.st_ino)->is_kfd);
  ASSERT_EQ(fstat(render, &st), 0);
  ASSERT_TRUE(driver.node_of(st.st_dev, st.st_ino));
  EXPECT_FALSE(driver.node_of(st.st_dev, st.st_ino)->is_kfd);
  ASSERT_EQ(fstat(STDERR_FILENO, &st), 0);
  EXPECT_FALSE(driver.node_of(st.st_dev, st.st_ino));
  close(fd);
  close(render);
}

TEST_F(DriverTest, RenderNodeTellsTheCard) {
  drm_amdgpu_info_device info{};
  drm_amdgpu_info args{};
  args.return_pointer = reinterpret_cast<uint64_t>(&info);
  args.return_size = sizeof info;
  args.query = AMDGPU_INFO_DEV_INFO;
  EXPECT_EQ(driver.ioctl({.is_kfd = false, .gpu = 0}, DRM_IOCTL_AMDGPU_INFO, &args), 0);
  EXPECT_EQ(info.device_id, 0x740fu);
  EXPECT_EQ(info.pci_rev, 0x02u);
  EXPECT_EQ(info.cu_active_number, 104u);
}

// ---- a queue: SDMA is enough to see that memory, doorbells and interrupts meet

class DriverQueueTest : public DriverTest {
protected:
  explicit DriverQueueTest(const char *list = "gfx90a") : DriverTest(list) {}
  static constexpr uint64_t ring_va = 0x200000, pointers_va = 0x300000, source_va = 0x400000,
                            target_va = 0x500000;

  /// Lets the GPU reach memory of the process.
  int share(void *memory, uint64_t size) {
    alignas(kfd_ioctl_svm_args) char
        buffer[sizeof(kfd_ioctl_svm_args) + sizeof(kfd_ioctl_svm_attribute)] = {};
    auto *args = reinterpret_cast<kfd_ioctl_svm_args *>(buffer);
    args->start_addr = reinterpret_cast<uint64_t>(memory);
    args->size = size;
    args->op = KFD_IOCTL_SVM_OP_SET_ATTR;
    args->nattr = 1;
    args->attrs[0] = {KFD_IOCTL_SVM_ATTR_ACCESS, gpu_id(0)};
    return call(AMDKFD_IOC_SVM, *args);
  }

  void SetUp() override {
    auto ring_buffer = allocate(ring_va, 4096, gtt),
         pointer_buffer = allocate(pointers_va, 4096, gtt);
    map(ring_buffer.handle);
    map(pointer_buffer.handle);
    ring = host_view<uint32_t>(ring_buffer, "/dev/dri/renderD128");
    ASSERT_TRUE(ring);
    kfd_ioctl_create_event_args event{};
    event.event_type = KFD_IOC_EVENT_SIGNAL;
    event.auto_reset = 1;
    ASSERT_EQ(call(AMDKFD_IOC_CREATE_EVENT, event), 0);
    event_id = event.event_id;
    kfd_ioctl_create_event_args memory{};
    memory.event_type = KFD_IOC_EVENT_MEMORY;
    memory.auto_reset = 1;
    ASSERT_EQ(call(AMDKFD_IOC_CREATE_EVENT, memory), 0);
    memory_event_id = memory.event_id;
  }
  int create_queue(uint64_t ring_address = ring_va, uint32_t type = KFD_IOC_QUEUE_TYPE_SDMA,
                   size_t gpu = 0, uint64_t pointers = pointers_va) {
    kfd_ioctl_create_queue_args args{};
    args.ring_base_address = ring_address;
    args.ring_size = 4096;
    args.read_pointer_address = pointers;
    args.write_pointer_address = pointers + 8;
    args.gpu_id = gpu_id(gpu);
    args.queue_type = type;
    args.queue_percentage = 100;
    int r = call(AMDKFD_IOC_CREATE_QUEUE, args);
    queue_id = args.queue_id;
    doorbell_offset = args.doorbell_offset;
    return r;
  }
  int destroy_queue() {
    kfd_ioctl_destroy_queue_args args{queue_id, 0};
    return call(AMDKFD_IOC_DESTROY_QUEUE, args);
  }
  // Maps the doorbell as the runtime does and rings it.
  void ring_bell(uint64_t value) {
    int fd = driver.open_device(*driver.files().find("/dev/kfd"));
    auto *mapped = static_cast<char *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                                            static_cast<off_t>(doorbell_offset & ~8191ull)));
    close(fd);
    ASSERT_NE(mapped, MAP_FAILED);
    *reinterpret_cast<volatile uint64_t *>(mapped + (doorbell_offset & 8191)) = value;
    munmap(mapped, 8192);
  }
  void submit_copy_and_trap(uint64_t to, uint64_t from, uint32_t bytes) {
    uint32_t packets[] = {1,
                          bytes - 1,
                          0,
                          static_cast<uint32_t>(from),
                          static_cast<uint32_t>(from >> 32),
                          static_cast<uint32_t>(to),
                          static_cast<uint32_t>(to >> 32),
                          6,
                          event_id};
    std::copy(std::begin(packets), std::end(packets), ring);
    ring_bell(sizeof packets);
  }
  // Somebody else submits and waits for it, again and again: whoever looks for work has looked at
  // all queues meanwhile.
  void serve_another_queue() {
    constexpr uint64_t other_ring_va = 0x800000, other_target_va = 0x900000;
    auto ring_buffer = allocate(other_ring_va, 4096, gtt),
         target = allocate(other_target_va, 4096, vram);
    map(ring_buffer.handle);
    map(target.handle);
    uint32_t *const first_ring =
        std::exchange(ring, host_view<uint32_t>(ring_buffer, "/dev/dri/renderD128"));
    const uint32_t first_queue = queue_id;
    const uint64_t first_doorbell = doorbell_offset;
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(create_queue(other_ring_va, KFD_IOC_QUEUE_TYPE_SDMA, 0, pointers_va + 64), 0);
      submit_copy_and_trap(other_target_va, source_va, 4);
      ASSERT_EQ(wait(), event_id);
      ASSERT_EQ(destroy_queue(), 0);
    }
    ring = first_ring;
    queue_id = first_queue;
    doorbell_offset = first_doorbell;
  }
  // Which of the two events came.
  uint32_t wait(EventData *memory_data = nullptr) {
    EventData data[2] = {};
    data[0].event_id = event_id;
    data[1].event_id = memory_event_id;
    kfd_ioctl_wait_events_args args{};
    args.events_ptr = reinterpret_cast<uint64_t>(data);
    args.num_events = 2;
    args.timeout = 10000;
    EXPECT_EQ(call(AMDKFD_IOC_WAIT_EVENTS, args), 0);
    if (args.wait_result != KFD_IOC_WAIT_RESULT_COMPLETE) return 0;
    if (memory_data) *memory_data = data[1];
    return data[1].memory.gpu_id ? memory_event_id : event_id;
  }

  uint32_t *ring = nullptr;
  uint32_t event_id = 0, memory_event_id = 0, queue_id = 0;
  uint64_t doorbell_offset = 0;
};

TEST_F(DriverQueueTest, CopyBetweenUserMemoryAndVram) {
  alignas(65536) static char user[65536] = "some bytes of the program";
  auto host = allocate(source_va, sizeof user, userptr, 0, reinterpret_cast<uint64_t>(user));
  auto device = allocate(target_va, 65536, vram);
  ASSERT_EQ(map(host.handle), 0);
  ASSERT_EQ(map(device.handle), 0);
  ASSERT_EQ(create_queue(), 0);
  submit_copy_and_trap(target_va, source_va, 64);
  EXPECT_EQ(wait(), event_id);
  EXPECT_STREQ(host_view<char>(device, "/dev/dri/renderD128"), "some bytes of the program");
  EXPECT_EQ(destroy_queue(), 0);
  EXPECT_EQ(destroy_queue(), -EINVAL);
}

TEST_F(DriverQueueTest, BufferThatIsNotMappedFaults) {
  auto host = allocate(source_va, 4096, gtt);
  allocate(target_va, 4096, vram);
  map(host.handle);
  ASSERT_EQ(create_queue(), 0);
  submit_copy_and_trap(target_va, source_va, 64);
  EventData data{};
  EXPECT_EQ(wait(&data), memory_event_id);
  EXPECT_EQ(data.memory.va, target_va);
  EXPECT_EQ(data.memory.gpu_id, gpu_id(0));
  EXPECT_EQ(data.memory.failure.NotPresent, 1u);
  EXPECT_EQ(destroy_queue(), 0);
}

TEST_F(DriverQueueTest, FreedBufferFaults) {
  auto source = allocate(source_va, 4096, vram), target = allocate(target_va, 4096, vram);
  map(source.handle);
  map(target.handle);
  free_memory(source.handle);
  ASSERT_EQ(create_queue(), 0);
  submit_copy_and_trap(target_va, source_va, 64);
  EventData data{};
  EXPECT_EQ(wait(&data), memory_event_id);
  EXPECT_EQ(data.memory.va, source_va);
  destroy_queue();
}

TEST_F(DriverQueueTest, SharedVirtualMemoryIsReachableOnceAccessIsGiven) {
  uint64_t size = 65536;
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::strcpy(static_cast<char *>(memory), "managed");
  auto target = allocate(target_va, 4096, vram);
  map(target.handle);
  ASSERT_EQ(share(memory, size), 0);
  ASSERT_EQ(create_queue(), 0);
  submit_copy_and_trap(target_va, reinterpret_cast<uint64_t>(memory), 8);
  EXPECT_EQ(wait(), event_id);
  EXPECT_STREQ(host_view<char>(target, "/dev/dri/renderD128"), "managed");

  // Given back to the system, the GPU no longer sees it.
  munmap(memory, size);
  driver.host_unmapped(reinterpret_cast<uint64_t>(memory), size);
  std::copy_n(ring, 9, ring + 9);
  ring_bell(2 * 9 * 4);
  EventData data{};
  EXPECT_EQ(wait(&data), memory_event_id);
  EXPECT_EQ(data.memory.va, reinterpret_cast<uint64_t>(memory));
  destroy_queue();
}

TEST_F(DriverQueueTest, UnmappedSharedMemoryTakesNoBufferWithIt) {
  uint64_t size = 65536;
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto source = allocate(source_va, 4096, vram), target = allocate(target_va, 4096, vram);
  map(source.handle);
  map(target.handle);
  std::strcpy(host_view<char>(source, "/dev/dri/renderD128"), "kept");
  ASSERT_EQ(share(memory, size), 0);
  driver.host_unmapped(0, 1ull << 47);
  ASSERT_EQ(create_queue(), 0);
  submit_copy_and_trap(target_va, source_va, 8);
  EXPECT_EQ(wait(), event_id);
  EXPECT_STREQ(host_view<char>(target, "/dev/dri/renderD128"), "kept");
  destroy_queue();
  munmap(memory, size);
}

TEST_F(DriverQueueTest, SuspendedQueueDoesNothingUntilResumed) {
  auto source = allocate(source_va, 4096, vram), target = allocate(target_va, 4096, vram);
  map(source.handle);
  map(target.handle);
  ASSERT_EQ(create_queue(), 0);
  kfd_ioctl_update_queue_args update{};
  update.queue_id = queue_id;
  update.ring_base_address = ring_va;
  update.ring_size = 4096;
  update.queue_percentage = 0;
  ASSERT_EQ(call(AMDKFD_IOC_UPDATE_QUEUE, update), 0);
  *host_view<char>(source, "/dev/dri/renderD128") = 'x';
  submit_copy_and_trap(target_va, source_va, 4);
  serve_another_queue();
  EXPECT_EQ(*host_view<char>(target, "/dev/dri/renderD128"), 0);
  update.queue_percentage = 100;
  ASSERT_EQ(call(AMDKFD_IOC_UPDATE_QUEUE, update), 0);
  EXPECT_EQ(wait(), event_id);
  EXPECT_EQ(*host_view<char>(target, "/dev/dri/renderD128"), 'x');
  destroy_queue();
}

TEST_F(DriverQueueTest, RingOutsideOfMemoryIsRefused) { EXPECT_EQ(create_queue(0x77000), -EFAULT); }
TEST_F(DriverQueueTest, Pm4QueuesAreRefused) {
  EXPECT_EQ(create_queue(ring_va, KFD_IOC_QUEUE_TYPE_COMPUTE), -EINVAL);
}
TEST_F(DriverQueueTest, FirstDoorbellOffsetFitsTheOldRuntime) {
  ASSERT_EQ(create_queue(), 0);
  EXPECT_LT(doorbell_offset & 0xffffffff, DeviceFile::doorbell_bytes);
  destroy_queue();
}

// ---- several devices

class TwoDevicesTest : public DriverQueueTest {
protected:
  TwoDevicesTest() : DriverQueueTest("gfx90a,gfx90a") {}
};

TEST_F(TwoDevicesTest, EachHasItsOwnMemory) {
  allocate(0x100000000, 10 * gib, vram, 1);
  EXPECT_EQ(available(0), 64 * gib);
  EXPECT_EQ(available(1), 54 * gib);
}

TEST_F(TwoDevicesTest, BufferOfOneIsSeenByTheOtherOnlyIfMapped) {
  auto source = allocate(source_va, 4096, vram, 1), target = allocate(target_va, 4096, vram, 0);
  *host_view<char>(source, "/dev/dri/renderD129") = 'p';
  map(source.handle, {gpu_id(1)});
  map(target.handle, {gpu_id(0)});
  ASSERT_EQ(create_queue(), 0);
  submit_copy_and_trap(target_va, source_va, 4);
  EXPECT_EQ(wait(), memory_event_id);
  destroy_queue();

  map(source.handle, {gpu_id(0)});
  ASSERT_EQ(create_queue(), 0);
  submit_copy_and_trap(target_va, source_va, 4);
  EXPECT_EQ(wait(), event_id);
  EXPECT_EQ(*host_view<char>(target, "/dev/dri/renderD128"), 'p');
  destroy_queue();
}

TEST(DriverWithoutCardsTest, HasNoDevice) {
  Driver driver({}, {2, gib}, "");
  EXPECT_FALSE(driver.has_gpu());
  EXPECT_FALSE(driver.files().find("/dev/kfd"));
  EXPECT_FALSE(driver.files().find("/sys/module/amdgpu/initstate"));
}

} // namespace
} // namespace fade::sim::kfd
