// ROCr as it is in ROCm 10, from the point of view of a tool: Debian's ROCr 7.2 does the work, and
// what a tool sees is this library's.
//
//   - the table of AMD's extensions has the entries that came after 7.2, hsa_amd_queue_create with
//     descriptors among them; they are exported, too, and work;
//   - HIP makes its queues with it: in the copy of Debian's HIP the name hsa_queue_create is
//     next_queue_creat, which is here;
//   - tables are given to rocprofiler-register; if it has a client, HSA_TOOLS_LIB is read only if
//     HSA_TOOLS_ROCPROFILER_V1_TOOLS is set; HSA_TOOLS_DISABLE_REGISTER leaves the client out.
#include "front.h"

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>
#include <rocprofiler-register/rocprofiler-register.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#define FRONT_EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
#define FRONT_TABLE(table, slots)                                                                  \
  extern char front_##table[];                                                                     \
  extern char front_is_ready_##table;
#include "exports.inc"
extern char front_is_ready_direct;
hsa_status_t hsa_amd_queue_create(hsa_agent_t, struct QueueDescriptor *, uint32_t); // the export
}

/// hsa_amd_queue_create_desc_t.
struct QueueDescriptor {
  uint16_t version = 1, flags = 0;
  uint8_t engine = 0, reserved_header[3] = {};
  uint32_t ring_bytes = 0;
  uint32_t priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;
  void (*callback)(hsa_status_t, hsa_queue_t *, void *) = nullptr;
  void *callback_data = nullptr;
  hsa_queue_t *queue = nullptr;
  const uint32_t *cu_mask = nullptr;
  uint32_t type = 0, private_size = UINT32_MAX, cu_mask_bits = 0, reserved_compute[3] = {};
  uint32_t traffic_class = 0;
  uint8_t reserved[20] = {};
};
static_assert(sizeof(QueueDescriptor) == 96);

/// hsa_amd_memory_copy_op_t.
struct CopyOperation {
  uint16_t version, type, entries, traffic_class;
  hsa_signal_t completion;
  const void *from;
  hsa_agent_t from_agent, to_agent;
  void *to;
  uint64_t size, second_size, wait[4], signal[3], reserved;
};
static_assert(sizeof(CopyOperation) == 128);

namespace {

using Callback = void (*)(hsa_status_t, hsa_queue_t *, void *);

constexpr std::size_t kVersionBytes = sizeof(ApiTableVersion);
const char *const kReal = "libhsa-runtime64-re.1";

const HsaApiTable *real_tables = nullptr; ///< of Debian's ROCr, while it is open
HsaApiTable tables;
std::mutex mutex;
unsigned users = 0;
std::vector<void *> tools;

// ---- functions that Debian's ROCr does not have yet

const CoreApiTable &core() { return *real_tables->core_; }
const AmdExtTable &amd() { return *real_tables->amd_ext_; }

hsa_status_t makeQueue(hsa_agent_t agent, QueueDescriptor &wanted) {
  wanted.queue = nullptr;
  const bool is_zero =
      std::ranges::all_of(wanted.reserved, [](uint8_t b) { return b == 0; }) &&
      std::ranges::all_of(wanted.reserved_header, [](uint8_t b) { return b == 0; });
  if (wanted.version != 1 || !is_zero || wanted.traffic_class != 0)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (wanted.engine != 0) return HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
  if (wanted.ring_bytes % 64 != 0 || wanted.cu_mask_bits % 32 != 0)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  hsa_status_t status = core().hsa_queue_create_fn(
      agent, wanted.ring_bytes / 64, static_cast<hsa_queue_type32_t>(wanted.type), wanted.callback,
      wanted.callback_data, wanted.private_size, UINT32_MAX, &wanted.queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  if (wanted.priority != HSA_AMD_QUEUE_PRIORITY_NORMAL)
    status = amd().hsa_amd_queue_set_priority_fn(
        wanted.queue, static_cast<hsa_amd_queue_priority_t>(wanted.priority));
  if (status == HSA_STATUS_SUCCESS && wanted.cu_mask_bits != 0)
    status = amd().hsa_amd_queue_cu_set_mask_fn(wanted.queue, wanted.cu_mask_bits, wanted.cu_mask);
  if (status == HSA_STATUS_SUCCESS) return status;
  core().hsa_queue_destroy_fn(wanted.queue);
  wanted.queue = nullptr;
  return status;
}

hsa_status_t queueCreate(hsa_agent_t agent, QueueDescriptor *wanted, uint32_t count) {
  if (!real_tables) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (!wanted || count == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  hsa_status_t first = HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) // those that succeed stay
    if (const hsa_status_t status = makeQueue(agent, wanted[i]);
        first == HSA_STATUS_SUCCESS && status != HSA_STATUS_SUCCESS)
      first = status;
  return first;
}

struct CountedQueue {
  hsa_queue_t *queue;
  unsigned users;
};
using CountedKey = std::tuple<uint64_t, uint32_t, uint32_t>;
std::map<CountedKey, CountedQueue> counted;
std::mutex counted_mutex;

hsa_status_t countedAcquire(hsa_agent_t agent, uint32_t type, uint32_t priority, Callback callback,
                            void *data, uint64_t, hsa_queue_t **queue) {
  if (!real_tables) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (!queue) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const std::lock_guard lock(counted_mutex);
  const CountedKey key{agent.handle, type, priority};
  if (const auto at = counted.find(key); at != counted.end()) {
    ++at->second.users;
    *queue = at->second.queue;
    return HSA_STATUS_SUCCESS;
  }
  QueueDescriptor wanted;
  wanted.ring_bytes = 16384 * 64;
  wanted.priority = priority;
  wanted.callback = callback;
  wanted.callback_data = data;
  wanted.type = type;
  const hsa_status_t status = makeQueue(agent, wanted);
  if (status == HSA_STATUS_SUCCESS) counted[key] = {wanted.queue, 1};
  *queue = wanted.queue;
  return status;
}

hsa_status_t countedRelease(hsa_queue_t *queue) {
  if (!real_tables) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock(counted_mutex);
  const auto at =
      std::ranges::find_if(counted, [&](const auto &one) { return one.second.queue == queue; });
  if (at == counted.end()) return HSA_STATUS_ERROR_INVALID_QUEUE;
  if (--at->second.users != 0) return HSA_STATUS_SUCCESS;
  counted.erase(at);
  return core().hsa_queue_destroy_fn(queue);
}

/// Only ordinary copies.
hsa_status_t batchCopy(const CopyOperation *copies, uint32_t count, uint32_t wait_count,
                       const hsa_signal_t *waits_for) {
  if (!real_tables) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (!copies || count == 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < count; ++i)
    if (copies[i].version != 1 || copies[i].type != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < count; ++i)
    if (const hsa_status_t status = amd().hsa_amd_memory_async_copy_fn(
            copies[i].to, copies[i].to_agent, copies[i].from, copies[i].from_agent, copies[i].size,
            wait_count, waits_for, copies[i].completion);
        status != HSA_STATUS_SUCCESS)
      return status;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t notHere() { return HSA_STATUS_ERROR_INVALID_ARGUMENT; }

/// In the order of tests/rocm_next/build; those with nothing here have only their places.
struct NewEntry {
  std::size_t slot;
  void *function;
};
constexpr std::size_t kFirstNew = 76, kEndNew = 91;
const NewEntry kNew[] = {{76, reinterpret_cast<void *>(countedAcquire)},
                         {77, reinterpret_cast<void *>(countedRelease)},
                         {78, reinterpret_cast<void *>(batchCopy)},
                         {86, reinterpret_cast<void *>(queueCreate)}};

// ---- tables

void **slotsOf(char *table) { return reinterpret_cast<void **>(table + kVersionBytes); }

/// Null in a real table: also null here.
void setEntry(char *table, std::size_t slot, std::size_t number, void *real) {
  front_real[number] = real;
  slotsOf(table)[slot] = real ? front_entries[number] : nullptr;
}

void *realEntry(const void *table, std::size_t slot) {
  const auto *version = static_cast<const ApiTableVersion *>(table);
  if (!version || kVersionBytes + (slot + 1) * sizeof(void *) > version->minor_id) return nullptr;
  return reinterpret_cast<void *const *>(static_cast<const char *>(table) + kVersionBytes)[slot];
}

void setVersion(char *table, std::size_t slots, const ApiTableVersion &of) {
  auto &version = *reinterpret_cast<ApiTableVersion *>(table);
  version = of;
  version.minor_id = static_cast<uint32_t>(kVersionBytes + slots * sizeof(void *));
}

hsa_status_t openRuntime();
hsa_status_t closeRuntime();

void setOwn() {
  const std::size_t init = 0, shut_down = 1; // the first two of CoreApiTable
  slotsOf(front_core)[init] = reinterpret_cast<void *>(openRuntime);
  slotsOf(front_core)[shut_down] = reinterpret_cast<void *>(closeRuntime);
  for (std::size_t slot = kFirstNew; slot < kEndNew; ++slot)
    slotsOf(front_amd_ext)[slot] = reinterpret_cast<void *>(notHere);
  for (const NewEntry &entry : kNew) slotsOf(front_amd_ext)[entry.slot] = entry.function;
}

void fillFromExports() {
  void *real = front::openReal(kReal);
#define FRONT_ENTRY(number, table, slot, name)                                                     \
  setEntry(front_##table, slot, number, dlsym(real, #name));
#define FRONT_DIRECT(number, name) front_real[number] = dlsym(real, #name);
#include "exports.inc"
  setOwn();
}

void fillFromTables() {
  const struct {
    const void *core, *amd_ext, *finalizer_ext, *image_ext, *tools, *pc_sampling_ext;
  } real = {real_tables->core_,      real_tables->amd_ext_, real_tables->finalizer_ext_,
            real_tables->image_ext_, real_tables->tools_,   real_tables->pc_sampling_ext_};
#define FRONT_TABLE(table, slots)                                                                  \
  setVersion(front_##table, slots, *static_cast<const ApiTableVersion *>(real.table));
#define FRONT_ENTRY(number, table, slot, name)                                                     \
  setEntry(front_##table, slot, number, realEntry(real.table, slot));
#include "exports.inc"
  setOwn();
  reinterpret_cast<ApiTableVersion *>(front_amd_ext)->step_id = 0x10;
  tables.version = real_tables->version;
  tables.core_ = reinterpret_cast<CoreApiTable *>(front_core);
  tables.amd_ext_ = reinterpret_cast<AmdExtTable *>(front_amd_ext);
  tables.finalizer_ext_ = reinterpret_cast<FinalizerExtTable *>(front_finalizer_ext);
  tables.image_ext_ = reinterpret_cast<ImageExtTable *>(front_image_ext);
  tables.tools_ = reinterpret_cast<ToolsApiTable *>(front_tools);
  tables.pc_sampling_ext_ = reinterpret_cast<PcSamplingExtTable *>(front_pc_sampling_ext);
}

// ---- tools

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

} // namespace

extern "C" __attribute__((visibility("default"))) uint32_t rocprofiler_register_import_hsa() {
  return ROCPROFILER_REGISTER_COMPUTE_VERSION_3(1, 21, 0);
}

namespace {

bool isRegistered() {
  if (variable("HSA_TOOLS_DISABLE_REGISTER") == "1") return false;
  void *all[] = {&tables};
  rocprofiler_register_library_indentifier_t id{};
  const auto status = rocprofiler_register_library_api_table(
      "hsa", &rocprofiler_register_import_hsa, rocprofiler_register_import_hsa(), all, 1, &id);
  if (status != ROCP_REG_SUCCESS && status != ROCP_REG_NO_TOOLS &&
      variable("HSA_TOOLS_REPORT_REGISTER_FAILURE") == "1")
    std::fprintf(stderr, "rocprofiler-register: %s\n", rocprofiler_register_error_string(status));
  return status == ROCP_REG_SUCCESS;
}

void loadTools(const std::string &names) {
  using OnLoad = bool(HsaApiTable *, uint64_t, uint64_t, const char *const *);
  if (isRegistered() && variable("HSA_TOOLS_ROCPROFILER_V1_TOOLS").empty()) return;
  std::vector<std::string> failed;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    const std::string name = names.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    void *tool = dlopen(name.c_str(), RTLD_LAZY);
    std::vector<const char *> pointers;
    for (const std::string &one : failed) pointers.push_back(one.c_str());
    auto *load = tool ? reinterpret_cast<OnLoad *>(dlsym(tool, "OnLoad")) : nullptr;
    if (tool && (!load || load(&tables, tables.version.major_id, failed.size(), pointers.data()))) {
      tools.push_back(tool);
      continue;
    }
    if (variable("HSA_TOOLS_REPORT_LOAD_FAILURE") == "1")
      std::fprintf(stderr, "Tool lib \"%s\" failed to load.\n", name.c_str());
    failed.push_back(name);
    if (tool) dlclose(tool);
  }
}

void unloadTools() {
  for (auto tool = tools.rbegin(); tool != tools.rend(); ++tool)
    if (auto *unload = reinterpret_cast<void (*)()>(dlsym(*tool, "OnUnload"))) unload();
  for (void *tool : tools) dlclose(tool);
  tools.clear();
}

/// Debian's ROCr has one tool: this library, which takes its tables from it.
hsa_status_t openReal(const std::string &names) {
  Dl_info own{};
  if (dladdr(reinterpret_cast<void *>(&openReal), &own) == 0) return HSA_STATUS_ERROR;
  setenv("HSA_TOOLS_LIB", own.dli_fname, 1);
  const auto open = reinterpret_cast<hsa_status_t (*)()>(dlsym(front::openReal(kReal), "hsa_init"));
  const hsa_status_t status = open();
  if (names.empty())
    unsetenv("HSA_TOOLS_LIB");
  else
    setenv("HSA_TOOLS_LIB", names.c_str(), 1);
  if (status == HSA_STATUS_SUCCESS && !real_tables) return HSA_STATUS_ERROR;
  return status;
}

hsa_status_t openRuntime() {
  const std::lock_guard lock(mutex);
  if (users == 0) {
    const std::string names = variable("HSA_TOOLS_LIB");
    if (const hsa_status_t status = openReal(names); status != HSA_STATUS_SUCCESS) return status;
    fillFromTables();
    loadTools(names);
  }
  ++users;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t closeRuntime() {
  const std::lock_guard lock(mutex);
  if (users == 0) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (--users != 0) return HSA_STATUS_SUCCESS;
  unloadTools();
  const auto close =
      reinterpret_cast<hsa_status_t (*)()>(dlsym(front::openReal(kReal), "hsa_shut_down"));
  real_tables = nullptr;
  fillFromExports();
  return close();
}

std::once_flag is_filled;
void fillOnce() { std::call_once(is_filled, fillFromExports); }

} // namespace

extern "C" {
#define FRONT_TABLE(table, slots)                                                                  \
  void front_open_##table() {                                                                      \
    fillOnce();                                                                                    \
    front::setReady(front_is_ready_##table);                                                       \
  }
#include "exports.inc"
void front_open_direct() {
  fillOnce();
  front::setReady(front_is_ready_direct);
}
}

/// Called by Debian's ROCr.
FRONT_EXPORT bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
  real_tables = table;
  return true;
}
FRONT_EXPORT void OnUnload() {}

/// Called by HIP instead of hsa_queue_create: what HIP of ROCm 10 does.
FRONT_EXPORT hsa_status_t next_queue_creat(hsa_agent_t agent, uint32_t size, uint32_t type,
                                           Callback callback, void *data, uint32_t private_size,
                                           uint32_t, hsa_queue_t **queue) {
  QueueDescriptor wanted;
  wanted.ring_bytes = size * 64;
  wanted.callback = callback;
  wanted.callback_data = data;
  wanted.type = type;
  wanted.private_size = private_size;
  const hsa_status_t status = hsa_amd_queue_create(agent, &wanted, 1);
  *queue = wanted.queue;
  return status;
}

/// Looked at by debuggers only; the real one is in the other library.
extern "C" __attribute__((visibility("default"))) char _amdgpu_r_debug[64];
char _amdgpu_r_debug[64];
