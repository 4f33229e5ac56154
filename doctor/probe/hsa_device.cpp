#include "hsa_device.h"

#include "fade/gpu.h"
#include "open_library.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace fade::probe {
namespace {

constexpr uint32_t kQueuePackets = 256, kWorkgroup = 64;

std::string hexText(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

/// What the driver says of an access that went wrong.
hsa_status_t onEvent(const hsa_amd_event_t *event, void *) {
  if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_SUCCESS;
  const auto &fault = event->memory_fault;
  std::string reason;
  if (fault.fault_reason_mask & 1) reason += ", page not present";
  if (fault.fault_reason_mask & 2) reason += ", read only";
  endWith("failed", "memory fault at " + hexText(fault.virtual_address) + reason);
}

hsa_status_t addPool(hsa_amd_memory_pool_t handle, void *to, const HsaApi &api, hsa_agent_t owner) {
  auto &pools = *static_cast<std::vector<Pool> *>(to);
  hsa_amd_segment_t segment{};
  bool can_allocate = false;
  api.hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  api.hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED,
                                   &can_allocate);
  if (segment != HSA_AMD_SEGMENT_GLOBAL || !can_allocate) return HSA_STATUS_SUCCESS;
  Pool pool;
  pool.handle = handle;
  pool.owner = owner;
  uint32_t flags = 0;
  size_t size = 0, granule = 0, largest = 0;
  api.hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  api.hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
  api.hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE,
                                   &granule);
  api.hsa_amd_memory_pool_get_info(handle, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, &largest);
  pool.is_fine_grained = flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  pool.is_kernarg = flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
  pool.size = size;
  pool.granule = granule;
  pool.largest = largest ? largest : size;
  pools.push_back(pool);
  return HSA_STATUS_SUCCESS;
}

struct PoolSearch {
  const HsaApi *api;
  hsa_agent_t owner;
  std::vector<Pool> pools;
};

std::vector<Pool> poolsOf(const HsaApi &api, hsa_agent_t agent) {
  PoolSearch search{&api, agent, {}};
  api.check(api.hsa_amd_agent_iterate_memory_pools(
                agent,
                [](hsa_amd_memory_pool_t pool, void *data) {
                  auto *s = static_cast<PoolSearch *>(data);
                  return addPool(pool, &s->pools, *s->api, s->owner);
                },
                &search),
            "listing memory pools");
  return std::move(search.pools);
}

} // namespace

void HsaApi::check(hsa_status_t status, const std::string &what) const {
  if (status == HSA_STATUS_SUCCESS) return;
  const char *text = nullptr;
  if (hsa_status_string) hsa_status_string(status, &text);
  std::string name = text ? text : "error " + hexText(static_cast<uint64_t>(status));
  name.resize(std::min(name.find(':'), name.size())); // an explanation follows
  throw Failed(what + ": " + name);
}

// ---- memory

Buffer::Buffer(const Device &device, const Pool &pool, uint64_t bytes) : api_(device.api()) {
  const uint64_t granule = std::max<uint64_t>(pool.granule, 1);
  bytes_ = (bytes + granule - 1) / granule * granule;
  api_.check(api_.hsa_amd_memory_pool_allocate(pool.handle, bytes_, 0, &address_),
             "allocating " + std::to_string(bytes_) + " bytes");
  // Its owner has access by itself; the other side is asked for, where there can be any.
  const hsa_agent_t both[] = {device.agent(), device.host()};
  const hsa_status_t status = api_.hsa_amd_agents_allow_access(
      pool.owner.handle == device.agent().handle ? 1 : 2, both, nullptr, address_);
  if (status == HSA_STATUS_SUCCESS) return;
  api_.hsa_amd_memory_pool_free(address_);
  api_.check(status, "giving the GPU access");
}

Buffer::~Buffer() { api_.hsa_amd_memory_pool_free(address_); }

// ---- queues

Queue::Queue(const Device &device) : device_(device) {
  const HsaApi &api = device.api();
  const auto on_error = [](hsa_status_t status, hsa_queue_t *, void *data) {
    static_cast<Queue *>(data)->error_ = static_cast<int>(status);
  };
  api.check(api.hsa_queue_create(device.agent(), kQueuePackets, HSA_QUEUE_TYPE_MULTI, on_error,
                                 this, UINT32_MAX, UINT32_MAX, &queue_),
            "creating a queue");
  const hsa_status_t status = api.hsa_signal_create(0, 0, nullptr, &done_);
  if (status == HSA_STATUS_SUCCESS) return;
  api.hsa_queue_destroy(queue_);
  api.check(status, "creating a signal");
}

Queue::~Queue() {
  device_.api().hsa_queue_destroy(queue_);
  device_.api().hsa_signal_destroy(done_);
}

void Queue::launch(const Kernel &kernel, uint32_t items, std::span<const uint8_t> arguments) {
  if (arguments_.size() >= kQueuePackets) throw Failed("the probe launches more than fits");
  const HsaApi &api = device_.api();
  arguments_.push_back(std::make_unique<Buffer>(
      device_, device_.kernargs(), std::max<uint64_t>(kernel.kernarg_bytes, arguments.size())));
  auto *block = arguments_.back()->as<uint8_t>();
  std::memset(block, 0, arguments_.back()->bytes());
  std::memcpy(block, arguments.data(), arguments.size());

  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  packet.workgroup_size_x = kWorkgroup;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.group_segment_size = kernel.group_bytes;
  packet.private_segment_size = kernel.private_bytes;
  packet.kernel_object = kernel.object;
  packet.kernarg_address = block;
  packet.completion_signal = done_;
  api.hsa_signal_add_screlease(done_, 1);
  const uint64_t index = api.hsa_queue_add_write_index_scacq_screl(queue_, 1);
  auto *slot =
      static_cast<hsa_kernel_dispatch_packet_t *>(queue_->base_address) + index % queue_->size;
  std::memcpy(reinterpret_cast<char *>(slot) + 4, reinterpret_cast<char *>(&packet) + 4,
              sizeof packet - 4);
  const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                          1 << HSA_PACKET_HEADER_BARRIER |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                          HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n(reinterpret_cast<uint32_t *>(slot), header | uint32_t{packet.setup} << 16,
                   __ATOMIC_RELEASE);
  api.hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void Queue::wait() {
  const HsaApi &api = device_.api();
  if (arguments_.empty()) return;
  constexpr uint64_t a_moment = 100'000'000; // of the runtime's clock
  while (api.hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, a_moment,
                                       HSA_WAIT_STATE_BLOCKED) > 0) {
    if (error_ == 0) continue;
    api.check(static_cast<hsa_status_t>(error_.load()), "the queue stopped");
  }
  if (error_ != 0) api.check(static_cast<hsa_status_t>(error_.load()), "the queue stopped");
  arguments_.clear();
}

// ---- devices

Device::Device(const HsaApi &api, hsa_agent_t agent, hsa_agent_t host)
    : api_(api), agent_(agent), host_(host), pools_(poolsOf(api, agent)),
      host_pools_(poolsOf(api, host)) {
  char name[64] = {};
  api.hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
  name_ = name;
}

const Pool &Device::memory() const {
  const auto coarse =
      std::ranges::find_if(pools_, [](const Pool &pool) { return !pool.is_fine_grained; });
  if (coarse != pools_.end()) return *coarse;
  if (pools_.empty()) throw Failed("the GPU has no memory pool");
  return pools_.front();
}

const Pool &Device::hostMemory() const {
  const auto fine = std::ranges::find_if(
      host_pools_, [](const Pool &pool) { return pool.is_fine_grained && !pool.is_kernarg; });
  if (fine != host_pools_.end()) return *fine;
  return kernargs();
}

const Pool &Device::kernargs() const {
  const auto found =
      std::ranges::find_if(host_pools_, [](const Pool &pool) { return pool.is_kernarg; });
  if (found == host_pools_.end()) throw Failed("the host has no memory pool for arguments");
  return *found;
}

std::span<const uint8_t> codeFor(std::string_view kind, std::string_view processor) {
  const auto own = codeNamed(kind, processor);
  return own.empty() ? codeNamed(kind, genericOf(processor)) : own;
}

void Device::load(const char *kind) {
  const auto code = codeFor(kind, name_);
  if (code.empty()) throw Skipped("this FADE has no probe kernels for " + name_);
  hsa_code_object_reader_t reader{};
  api_.check(api_.hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader),
             "reading the probe's code");
  api_.check(api_.hsa_executable_create_alt(
                 HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_),
             "making an executable");
  api_.check(
      api_.hsa_executable_load_agent_code_object(executable_, agent_, reader, nullptr, nullptr),
      "loading code for " + name_);
  api_.check(api_.hsa_executable_freeze(executable_, nullptr), "freezing the code");
}

Kernel Device::kernel(const char *name, const char *kind) {
  if (executable_.handle == 0) load(kind);
  hsa_executable_symbol_t symbol{};
  const std::string full = std::string(name) + ".kd";
  api_.check(api_.hsa_executable_get_symbol_by_name(executable_, full.c_str(), &agent_, &symbol),
             full);
  Kernel kernel;
  const auto ask = [&](hsa_executable_symbol_info_t what, void *to) {
    api_.check(api_.hsa_executable_symbol_get_info(symbol, what, to), full);
  };
  ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.kernarg_bytes);
  ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_bytes);
  ask(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_bytes);
  return kernel;
}

void Device::copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
                  uint64_t bytes) const {
  hsa_signal_t done{};
  api_.check(api_.hsa_signal_create(1, 0, nullptr, &done), "creating a signal");
  api_.check(
      api_.hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, nullptr, done),
      "starting a copy");
  const auto value = api_.hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                                    HSA_WAIT_STATE_BLOCKED);
  api_.hsa_signal_destroy(done);
  if (value < 0) throw Failed("a copy ended with an error");
}

// ---- the runtime

Runtime::Runtime() {
  void *library = nullptr;
  try {
    library = openLibrary({"libhsa-runtime64.so.1"});
  } catch (const Skipped &why) {
    throw Failed(why.what()); // nothing works without it
  }
  link_map *map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map) path_ = map->l_name;
#define FADE_FIND(name)                                                                            \
  api_.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));                          \
  if (!api_.name) throw Failed(path_ + " has no " #name);
  FADE_HSA_FUNCTIONS(FADE_FIND)
#undef FADE_FIND
  api_.hsa_amd_svm_attributes_set = reinterpret_cast<decltype(&::hsa_amd_svm_attributes_set)>(
      dlsym(library, "hsa_amd_svm_attributes_set"));
  api_.check(api_.hsa_init(), "hsa_init");
  api_.hsa_amd_register_system_event_handler(onEvent, nullptr);
  struct Agents {
    const HsaApi *api;
    std::vector<hsa_agent_t> gpus, hosts;
  } agents{&api_, {}, {}};
  api_.check(api_.hsa_iterate_agents(
                 [](hsa_agent_t agent, void *data) {
                   auto *all = static_cast<Agents *>(data);
                   hsa_device_type_t type{};
                   all->api->hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
                   if (type == HSA_DEVICE_TYPE_GPU) all->gpus.push_back(agent);
                   if (type == HSA_DEVICE_TYPE_CPU) all->hosts.push_back(agent);
                   return HSA_STATUS_SUCCESS;
                 },
                 &agents),
             "listing agents");
  if (agents.gpus.empty()) throw Failed("the runtime (" + path_ + ") lists no GPU");
  if (agents.hosts.empty()) throw Failed("the runtime lists no CPU");
  for (const hsa_agent_t gpu : agents.gpus) devices_.emplace_back(api_, gpu, agents.hosts.front());
}

} // namespace fade::probe
