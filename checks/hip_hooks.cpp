// Which bytes a copy from the host writes: HIP makes small ones with the CPU, which nobody sees.
// What HIP hands out of pools and takes back, and what it refuses to free.
//
// Each wrapper calls HIP's own function first and takes a note then. HIP 6 and later call through a
// table, in which the wrappers take their places; in HIP 5 functions begin with a jump to them.
#include "checks/hip_hooks.h"

#include "checks/allocations.h"
#include "checks/aside.h"
#include "checks/call_site.h"
#include "checks/copied_values.h"
#include "checks/graph_copies.h"
#include "checks/init_check.h"
#include "checks/options.h"
#include "checks/stream_calls.h"
#include "checks/stream_memory.h"

#include "base/diagnostics.h"
#include "fade/hip_api.h"
#include "hip/entry_patch.h"
#include "hip/hip_library.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace fade::checks {
namespace {

constexpr uint32_t kHostToDevice = 1, kDeviceToHost = 2, kDefault = 4; // hipMemcpyKind

/// Functions that write to device memory in ways that are not followed: by structures.
constexpr bool isDoubtful(std::string_view name) {
  for (const std::string_view part :
       {"hipMemcpy3D", "hipDrvMemcpy", "hipMemcpyParam2D", "BatchAsync"})
    if (name.find(part) != name.npos) return true;
  return false;
}
constexpr bool isRow(std::string_view name) {
  for (const std::string_view one : {"hipMemcpy", "hipMemcpyAsync", "hipMemcpyWithStream",
                                     "hipMemcpy_spt", "hipMemcpyAsync_spt"})
    if (name == one) return true;
  return false;
}
constexpr bool isToDevice(std::string_view name) {
  return name == "hipMemcpyHtoD" || name == "hipMemcpyHtoDAsync";
}
constexpr bool isToHost(std::string_view name) {
  return name == "hipMemcpyDtoH" || name == "hipMemcpyDtoHAsync";
}
constexpr bool isRectangle(std::string_view name) {
  for (const std::string_view one :
       {"hipMemcpy2D", "hipMemcpy2DAsync", "hipMemcpy2D_spt", "hipMemcpy2DAsync_spt"})
    if (name == one) return true;
  return false;
}

constexpr bool launchesGraph(std::string_view name) { return name.starts_with("hipGraphLaunch"); }

constexpr bool allocatesFromPool(std::string_view name) {
  return name == "hipMallocAsync" || name == "hipMallocFromPoolAsync";
}
constexpr bool allocatesManaged(std::string_view name) { return name == "hipMallocManaged"; }
constexpr bool frees(std::string_view name) {
  for (const std::string_view one : {"hipFree", "hipFreeAsync", "hipHostFree"})
    if (name == one) return true;
  return false;
}

bool comesFromHost(const void *from, uint32_t kind) {
  if (kind != kHostToDevice && kind != kDefault) return false;
  const auto source = AllocationMap::instance().find(reinterpret_cast<uint64_t>(from));
  return !source || source->on_host;
}

bool goesToHost(const void *to, uint32_t kind) {
  if (kind != kDeviceToHost && kind != kDefault) return false;
  const auto target = AllocationMap::instance().find(reinterpret_cast<uint64_t>(to));
  return !target || target->on_host;
}

void noteRow(const void *to, const void *from, uint64_t size, uint32_t kind) {
  aside([&] {
    CopiedValues &copied = CopiedValues::instance();
    copied.hostGoesOn();
    if (goesToHost(to, kind)) copied.hostReads(reinterpret_cast<uint64_t>(from), size);
    if (comesFromHost(from, kind)) InitCheck::noteHostCopy(reinterpret_cast<uint64_t>(to), size);
  });
}

void noteRectangle(const void *to, uint64_t pitch, const void *from, uint64_t from_pitch,
                   uint64_t width, uint64_t height, uint32_t kind) {
  aside([&] {
    if (goesToHost(to, kind))
      for (uint64_t y = 0; y < height; ++y)
        CopiedValues::instance().hostReads(reinterpret_cast<uint64_t>(from) + y * from_pitch,
                                           width);
    if (!comesFromHost(from, kind)) return;
    for (uint64_t y = 0; y < height; ++y)
      InitCheck::noteHostCopy(reinterpret_cast<uint64_t>(to) + y * pitch, width);
  });
}

template <typename... Rest> void notePool(const char *api, void **memory, uint64_t size, Rest...) {
  aside([&] {
    AllocationInfo info{};
    const CallSite site = callSite(kMostCallers, api);
    info.base = reinterpret_cast<uint64_t>(*memory), info.size = size;
    info.api = FindingLog::instance().string(site.api);
    std::ranges::copy(callersOf(site), info.callers);
    StreamMemory::instance().add(info);
  });
}

/// Managed memory that HIP takes from the system: ROCr's tables do not see it come and go.
struct ManagedMemory {
  std::mutex mutex;
  std::set<uint64_t> bases;
  static ManagedMemory &instance() {
    static auto *managed = new ManagedMemory; // outlives every exit handler
    return *managed;
  }
  bool take(uint64_t base) {
    const std::lock_guard lock(mutex);
    return bases.erase(base) != 0;
  }
};

void addManaged(uint64_t base, uint64_t size, const CallSite &site) {
  constexpr uint64_t page = 4096;
  Allocation a;
  a.base = base, a.size = size;
  a.end_of_block = base + (size + page - 1) / page * page;
  a.on_host = true;
  a.api = FindingLog::instance().string(site.api);
  a.callers = callersOf(site);
  a.path = site.path;
  AllocationMap::instance().add(a);
  ManagedMemory &managed = ManagedMemory::instance();
  const std::lock_guard lock(managed.mutex);
  managed.bases.insert(base);
}

/// Now its size is known to the byte.
template <typename... Rest>
void noteManaged(const char *api, void **memory, uint64_t size, Rest...) {
  aside([&] {
    const auto base = reinterpret_cast<uint64_t>(*memory);
    const auto known = AllocationMap::instance().find(base);
    const bool is_pools = known && !known->is_freed && !ManagedMemory::instance().take(base);
    if (base && !is_pools) addManaged(base, size, callSite(kMostCallers, api));
  });
}

/// HIP has refused to free it.
void reportRefused(uint64_t memory, const char *api) {
  std::optional<AllocationInfo> freed = StreamMemory::instance().freed(memory);
  if (const auto known = AllocationMap::instance().find(memory);
      !freed && known && known->is_freed && known->base == memory)
    freed = known->info();
  if (!freed) return;
  Finding f{};
  f.check = static_cast<uint32_t>(Check::memory);
  f.problem = static_cast<uint32_t>(Problem::freed_twice);
  f.address = memory;
  f.allocation = *freed;
  f.api = FindingLog::instance().string(api);
  std::ranges::copy(callersOf(callSite(kMostCallers, api)), f.called_by);
  FindingLog::instance().add(f, 1);
}

template <typename... Rest> void noteFree(const char *api, bool is_done, void *memory, Rest...) {
  const auto base = reinterpret_cast<uint64_t>(memory);
  if (!base) return;
  aside([&] {
    CopiedValues::instance().hostGoesOn();
    const bool is_wanted = options().has(Check::memory);
    if (!is_done) return is_wanted ? reportRefused(base, api) : void();
    const auto by = callersOf(callSite(kMostCallers, api));
    if (ManagedMemory::instance().take(base)) AllocationMap::instance().free(base, by);
    HostCall callers[kMostCallers];
    std::ranges::copy(by, callers);
    StreamMemory::instance().free(base, callers);
  });
}

template <typename... Rest>
void noteRowArguments(void *to, const void *from, uint64_t size, uint32_t kind, Rest...) {
  noteRow(to, from, size, kind);
}
template <typename... Rest>
void noteToDeviceArguments(void *to, const void *from, uint64_t size, Rest...) {
  noteRow(to, from, size, kHostToDevice);
}
template <typename... Rest>
void noteToHostArguments(void *to, const void *from, uint64_t size, Rest...) {
  noteRow(to, from, size, kDeviceToHost);
}
template <typename... Rest>
void noteRectangleArguments(void *to, uint64_t pitch, const void *from, uint64_t from_pitch,
                            uint64_t width, uint64_t height, uint32_t kind, Rest...) {
  noteRectangle(to, pitch, from, from_pitch, width, height, kind);
}

void noteGraph(void (GraphCopies::*note)(uint64_t), void *executable, void *) {
  aside([&] { (GraphCopies::instance().*note)(reinterpret_cast<uint64_t>(executable)); });
}

/// An argument as a number; structures are not needed.
template <typename T> uint64_t wordOf(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<uint64_t>(value);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<uint64_t>(value);
  else
    return 0;
}

/// Number: in kFunctions.
template <std::size_t Number, typename Signature> struct Hook;
template <std::size_t Number, typename R, typename... A> struct Hook<Number, R(A...)> {
  static inline R (*next)(A...) = nullptr;
  static constexpr std::string_view kName = hip::kFunctions[Number].name;
  static constexpr bool kIsNoted = isDoubtful(kName) || launchesGraph(kName) || isRow(kName) ||
                                   isToDevice(kName) || isToHost(kName) || isRectangle(kName) ||
                                   allocatesFromPool(kName) || allocatesManaged(kName) ||
                                   frees(kName);
  static constexpr StreamFunction kStream =
      streamFunction(hip::kFunctions[Number].name, hip::kFunctions[Number].group,
                     hip::kFunctions[Number].parameters);
  static constexpr bool kIsOrdered =
      kStream.kind != StreamCallKind::none && std::is_same_v<R, uint32_t>;

  static R call(A... values) {
    if constexpr (kIsOrdered) {
      const uint64_t words[] = {wordOf(values)..., 0};
      StreamCall around(kStream, words);
      const R result = noted(values...);
      around.done(result);
      return result;
    } else {
      return noted(values...);
    }
  }
  static R noted(A... values) {
    if constexpr (isDoubtful(kName)) InitCheck::doubtHostCopies(); // before the first byte
    if constexpr (launchesGraph(kName)) noteGraph(&GraphCopies::launches, values...);
    const R result = next(values...);
    if constexpr (launchesGraph(kName)) noteGraph(&GraphCopies::launched, values...);
    if (StreamCall::isCaptured()) return result;
    if constexpr (isRow(kName)) {
      if (result == 0) noteRowArguments(values...);
    } else if constexpr (isToDevice(kName)) {
      if (result == 0) noteToDeviceArguments(values...);
    } else if constexpr (isToHost(kName)) {
      if (result == 0) noteToHostArguments(values...);
    } else if constexpr (isRectangle(kName)) {
      if (result == 0) noteRectangleArguments(values...);
    } else if constexpr (allocatesFromPool(kName)) {
      if (result == 0) notePool(kName.data(), values...);
    } else if constexpr (allocatesManaged(kName)) {
      if (result == 0) noteManaged(kName.data(), values...);
    } else if constexpr (frees(kName)) {
      noteFree(kName.data(), result == 0, values...);
    }
    return result;
  }
};

/// What is needed to know which bytes were written is apart from what orders streams.
struct Hooks {
  std::vector<hip::ApiFunction> all;
  std::vector<bool> are_noted; ///< of these
};

template <std::size_t Number, typename Signature>
void add(Hooks &to, hip::Table table, unsigned index) {
  using H = Hook<Number, Signature>;
  if constexpr (H::kIsNoted || H::kIsOrdered)
    to.all.push_back({hip::kFunctions[Number], table, static_cast<uint16_t>(index),
                      reinterpret_cast<void *>(&H::call), reinterpret_cast<void **>(&H::next)});
  if constexpr (H::kIsNoted || H::kIsOrdered) to.are_noted.push_back(H::kIsNoted);
}

enum Numbers : std::size_t {
#define FADE_HIP(table, index, name, group, result, arguments, result_type, parameters)            \
  number_##table##_##index,
#include "fade/hip_functions.inc"
#undef FADE_HIP
};

const Hooks &hooks() {
  using namespace hip;
  static const auto *all = [] {
    auto *made = new Hooks; // outlives every exit handler
#define FADE_HIP(table, index, name, group, result, arguments, result_type, parameters)            \
  add<number_##table##_##index, result arguments>(*made, Table::table, index);
#include "fade/hip_functions.inc"
#undef FADE_HIP
    return made;
  }();
  return *all;
}

/// HIP 6 and 7: the wrappers take their places in the table.
bool fill(const hip::FunctionTable &table) {
  for (const hip::ApiFunction &one : hooks().all) {
    if (one.table != hip::Table::runtime || one.index >= table.count) continue;
    void *&entry = table.entries[one.index];
    if (!entry || *one.next) continue;
    *one.next = entry;
    std::atomic_ref(entry).store(one.wrapper, std::memory_order_release);
  }
  return true;
}

/// HIP 5. Doubt about what one of them does is doubt about all.
bool patch(const hip::LoadedLibrary &library) {
  std::vector<const hip::ApiFunction *> noted, others;
  for (std::size_t i = 0; i < hooks().all.size(); ++i)
    (hooks().are_noted[i] ? noted : others).push_back(&hooks().all[i]);
  const auto outcome = hip::patchEntries(library, noted);
  if (!outcome) note("check: {}", outcome.error().message());
  const bool is_complete = outcome && outcome->refused.empty();
  const bool wants_order = options().has(Check::race) || options().has(Check::memory);
  const auto order = wants_order ? hip::patchEntries(library, others) : outcome;
  if (!is_complete || !order || !order->refused.empty()) StreamOrder::instance().doubt();
  return is_complete;
}

} // namespace

void tellOfTorch() {
  for (const char *library : {"libc10_hip.so", "libc10_cuda.so"})
    if (hip::findLibrary(library)) {
      warn("check: PyTorch allocates each tensor by itself in this run "
           "(PYTORCH_NO_CUDA_MEMORY_CACHING=1)");
      return;
    }
}

void hookHip() {
  constexpr std::size_t least = 300, most = 4000; // functions of HIP
  if (!options().has(Check::init) && !options().has(Check::memory) && !options().has(Check::race))
    return;
  const auto library = hip::findLibrary("libamdhip64.so");
  if (!library) return;
  void *handle = dlopen(library->path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  HipQueries queries;
  const auto find = [&]<typename F>(F &function, const char *name) {
    function = handle ? reinterpret_cast<F>(dlsym(handle, name)) : nullptr;
  };
  find(queries.stream_flags, "hipStreamGetFlags");
  find(queries.symbol_address, "hipGetSymbolAddress");
  find(queries.device_pointer, "hipHostGetDevicePointer");
  find(queries.is_capturing, "hipStreamIsCapturing");
  setHipQueries(queries);
  GraphQueries graphs;
  find(graphs.capture, "hipStreamGetCaptureInfo_v2");
  find(graphs.nodes, "hipGraphGetNodes");
  find(graphs.edges, "hipGraphGetEdges");
  find(graphs.type, "hipGraphNodeGetType");
  find(graphs.kernel, "hipGraphKernelNodeGetParams");
  find(graphs.name, "hipKernelNameRefByPtr");
  const bool is_five = handle && !dlsym(handle, "hipGetDevicePropertiesR0600");
  graphs.is_five = is_five;
  GraphCopies::instance().setQueries(graphs);
  const hip::FunctionTable table =
      is_five ? hip::FunctionTable{} : hip::findTable(*library, least, most);
  if (table ? fill(table) : is_five && patch(*library)) InitCheck::knowHostCopies();
}

void noteSharedPages(const void *memory, uint64_t size) {
  const CallSite site = callSite(kMostCallers);
  if (site.api == "hipMallocManaged") addManaged(reinterpret_cast<uint64_t>(memory), size, site);
}

} // namespace fade::checks
