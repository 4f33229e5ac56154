#include "checks/stream_calls.h"

#include "checks/allocations.h"
#include "checks/aside.h"
#include "checks/call_site.h"
#include "checks/graph_copies.h"
#include "checks/options.h"
#include "checks/overlap_check.h"
#include "checks/stream_memory.h"

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <iterator>
#include <map>
#include <mutex>

namespace fade::checks {
namespace {

HipQueries queries;

thread_local unsigned depth = 0; ///< HIP's functions call each other
thread_local StreamOrder::Ptr current_command;
thread_local bool is_captured = false;
std::atomic<bool> captures{false}; ///< some stream has been captured

/// Each thread has a stream of its own that goes by the same name.
uint64_t threadNumber() {
  static std::atomic<uint64_t> threads{0};
  thread_local const uint64_t own = ++threads;
  return own;
}

/// Host memory that HIP has mapped for the GPU.
struct Registered {
  struct Memory {
    AllocationInfo info{};
    uint64_t on_device = 0; ///< where kernels see it
  };
  std::mutex mutex;
  std::map<uint64_t, Memory> all;
  static Registered &instance() {
    static auto *registered = new Registered; // outlives every exit handler
    return *registered;
  }
  bool holds(uint64_t address) {
    const std::lock_guard lock(mutex);
    const auto after = all.upper_bound(address);
    return after != all.begin() &&
           address - std::prev(after)->first < std::prev(after)->second.info.size;
  }
};

bool isPageable(uint64_t address) {
  return !AllocationMap::instance().find(address) && !Registered::instance().holds(address);
}

using Range = MemoryUse::Range;
using Ranges = std::vector<Range>;

Ranges row(uint64_t begin, uint64_t size) {
  return begin && size ? Ranges{{begin, begin + size}} : Ranges{};
}

Ranges rows(uint64_t begin, uint64_t pitch, uint64_t width, uint64_t height) {
  constexpr uint64_t most = 1 << 12;
  if (pitch <= width) return row(begin, pitch * height);
  Ranges all;
  for (uint64_t y = 0; begin && width && y < height && height <= most; ++y)
    all.push_back({begin + y * pitch, begin + y * pitch + width});
  return all;
}

Ranges symbol(uint64_t of, uint64_t offset, uint64_t size) {
  void *address = nullptr;
  if (!queries.symbol_address ||
      queries.symbol_address(&address, reinterpret_cast<const void *>(of)) != 0)
    return {};
  return row(reinterpret_cast<uint64_t>(address) + offset, size);
}

/// One side of hipMemcpy3DParms: an array, or memory with a pitch; and from where on.
struct Volume {
  uint64_t array, x, y, z, base, pitch, width, height;
};
struct VolumeCopy {
  Volume from, to;
  uint64_t bytes, rows, slices, kind;
};
static_assert(sizeof(VolumeCopy) == 160);

Ranges volume(const Volume &of, const VolumeCopy &copy) {
  constexpr uint64_t most = 1 << 12;
  Ranges all;
  if (of.array || !of.base || !copy.bytes || !copy.rows || copy.slices > most / copy.rows)
    return all;
  for (uint64_t z = 0; z < copy.slices; ++z)
    for (uint64_t y = 0; y < copy.rows; ++y) {
      const uint64_t begin = of.base + ((of.z + z) * of.height + of.y + y) * of.pitch + of.x,
                     end = begin + copy.bytes;
      if (!all.empty() && all.back().end == begin)
        all.back().end = end;
      else
        all.push_back({begin, end});
    }
  return all;
}

bool startsWithAny(std::string_view name, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (name.starts_with(part)) return true;
  return false;
}

/// The bytes that a copy or fill reads and writes, as far as its arguments say.
bool rangesOf(std::string_view name, const uint64_t *w, MemoryUse &use) {
  if (name.ends_with("_spt")) name.remove_suffix(4);
  if (name == "hipMemcpy" || name == "hipMemcpyAsync" || name == "hipMemcpyWithStream" ||
      startsWithAny(name, {"hipMemcpyHtoD", "hipMemcpyDtoH", "hipMemcpyDtoD"})) {
    use.writes = row(w[0], w[2]), use.reads = row(w[1], w[2]);
  } else if (name == "hipMemcpyPeer" || name == "hipMemcpyPeerAsync") {
    use.writes = row(w[0], w[4]), use.reads = row(w[2], w[4]);
  } else if (name == "hipMemcpy2D" || name == "hipMemcpy2DAsync") {
    use.writes = rows(w[0], w[1], w[4], w[5]), use.reads = rows(w[2], w[3], w[4], w[5]);
  } else if (name == "hipMemcpy3D" || name == "hipMemcpy3DAsync") {
    const auto &copy = *reinterpret_cast<const VolumeCopy *>(w[0]);
    use.writes = volume(copy.to, copy), use.reads = volume(copy.from, copy);
  } else if (startsWithAny(name, {"hipMemcpyToSymbol"})) {
    use.writes = symbol(w[0], w[3], w[2]), use.reads = row(w[1], w[2]);
  } else if (startsWithAny(name, {"hipMemcpyFromSymbol"})) {
    use.writes = row(w[0], w[2]), use.reads = symbol(w[1], w[3], w[2]);
  } else if (name == "hipMemset" || name == "hipMemsetAsync" ||
             startsWithAny(name, {"hipMemsetD8"})) {
    use.writes = row(w[0], w[2]);
  } else if (startsWithAny(name, {"hipMemsetD16"})) {
    use.writes = row(w[0], w[2] * 2);
  } else if (startsWithAny(name, {"hipMemsetD32"})) {
    use.writes = row(w[0], w[2] * 4);
  } else if (name == "hipMemset2D" || name == "hipMemset2DAsync") {
    use.writes = rows(w[0], w[1], w[3], w[4]);
  } else {
    return false;
  }
  return true;
}

/// hipMemsetParams.
struct Fill {
  uint64_t to;
  uint32_t element;
  uint64_t height, pitch;
  uint32_t value;
  uint64_t width;
};
static_assert(sizeof(Fill) == 48);

/// hipMemAllocNodeParams.
struct GraphAllocation {
  uint64_t pool[11], access[2], bytes, memory;
};
static_assert(sizeof(GraphAllocation) == 120);

} // namespace

std::optional<MemoryUse> useOfNode(std::string_view name, const uint64_t *words) {
  MemoryUse use;
  const uint64_t *w = words + 4; // behind the node, its graph, and what it depends on
  if (name == "hipGraphAddMemcpyNode1D") {
    use.writes = row(w[0], w[2]), use.reads = row(w[1], w[2]);
  } else if (name == "hipGraphAddMemcpyNode") {
    const auto &copy = *reinterpret_cast<const VolumeCopy *>(w[0]);
    use.writes = volume(copy.to, copy), use.reads = volume(copy.from, copy);
  } else if (name == "hipGraphAddMemcpyNodeToSymbol") {
    use.writes = symbol(w[0], w[3], w[2]), use.reads = row(w[1], w[2]);
  } else if (name == "hipGraphAddMemcpyNodeFromSymbol") {
    use.writes = row(w[0], w[2]), use.reads = symbol(w[1], w[3], w[2]);
  } else if (name == "hipGraphAddMemsetNode") {
    const auto &fill = *reinterpret_cast<const Fill *>(w[0]);
    const uint64_t bytes = fill.width * fill.element;
    use.writes =
        fill.height <= 1 ? row(fill.to, bytes) : rows(fill.to, fill.pitch, bytes, fill.height);
  } else if (name == "hipGraphAddMemAllocNode") {
    const auto &made = *reinterpret_cast<const GraphAllocation *>(w[0]);
    use.kind = MemoryUse::Kind::pool_allocate;
    use.writes = row(made.memory, made.bytes);
  } else {
    return std::nullopt;
  }
  if (use.writes.empty()) return std::nullopt;
  return use;
}

namespace {

void setCaller(MemoryUse &use, const char *api) {
  const CallSite site = callSite(kMostCallers, api);
  use.api = FindingLog::instance().string(site.api.empty() ? api : site.api);
  use.callers = callersOf(site);
}

void keepRegistered(const uint64_t *words) {
  AllocationInfo info{};
  const CallSite site = callSite(kMostCallers, "hipHostRegister");
  info.base = words[0], info.size = words[1], info.on_host = 1;
  AllocationMap::instance().forgetFreed(info.base, info.base + info.size);
  info.number = AllocationMap::instance().takeNumber();
  info.api = FindingLog::instance().string("hipHostRegister");
  std::ranges::copy(callersOf(site), info.callers);
  void *on_device = nullptr;
  if (queries.device_pointer)
    (void)queries.device_pointer(&on_device, reinterpret_cast<void *>(info.base), 0);
  Registered &registered = Registered::instance();
  const std::lock_guard lock(registered.mutex);
  registered.all[info.base] = {info, reinterpret_cast<uint64_t>(on_device)};
}

void unregister(uint64_t base, StreamOrder::Ptr command) {
  MemoryUse use;
  use.kind = MemoryUse::Kind::unregister;
  use.command = std::move(command);
  {
    Registered &registered = Registered::instance();
    const std::lock_guard lock(registered.mutex);
    const auto at = registered.all.find(base);
    if (at == registered.all.end()) return;
    use.memory = at->second.info;
    use.writes = row(base, use.memory.size);
    if (const uint64_t there = at->second.on_device; there && there != base) {
      use.writes.push_back({there, there + use.memory.size});
      std::ranges::sort(use.writes, {}, &Range::begin);
    }
    registered.all.erase(at);
  }
  setCaller(use, "hipHostUnregister");
  OverlapCheck::instance().called(std::move(use));
}

} // namespace

void setHipQueries(const HipQueries &to) { queries = to; }

StreamOrder::Ptr StreamCall::current() { return current_command; }
bool StreamCall::isCaptured() { return is_captured; }

bool StreamCall::isIntoGraph() const {
  constexpr uint64_t named = 2; // up to here handles have a meaning of their own
  if (!captures || function_.stream < 0 || words_[function_.stream] <= named) return false;
  uint32_t status = 0;
  return queries.is_capturing &&
         queries.is_capturing(reinterpret_cast<void *>(words_[function_.stream]), &status) == 0 &&
         status != 0;
}

StreamOrder::Key StreamCall::key() const {
  constexpr uint64_t legacy = 1, per_thread = 2; // hipStreamLegacy, hipStreamPerThread
  const uint64_t handle = function_.stream < 0 ? 0 : words_[function_.stream];
  if (handle == per_thread || (handle == 0 && function_.per_thread))
    return {per_thread, threadNumber()};
  if (handle <= legacy) return {};
  StreamOrder &order = StreamOrder::instance();
  const StreamOrder::Key key{handle, 0};
  if (!order.knows(key) && function_.kind != StreamCallKind::destroy) {
    uint32_t flags = 0;
    if (!queries.stream_flags ||
        queries.stream_flags(reinterpret_cast<void *>(handle), &flags) != 0)
      order.doubt();
    order.create(key, flags & 1 ? StreamOrder::Kind::apart : StreamOrder::Kind::blocking);
  }
  return key;
}

StreamCall::StreamCall(const StreamFunction &function, const uint64_t *words)
    : function_(function), words_(words), is_outermost_(depth++ == 0) {
  if (!is_outermost_) return;
  aside([&] {
    if (is_captured = isIntoGraph(); is_captured) {
      // What an event recorded there stands for is known to the graph alone.
      constexpr uint64_t external = 1;
      const bool is_record = function_.kind == StreamCallKind::event_record;
      if (is_record) StreamOrder::instance().forgetEvent(words_[function_.event]);
      if (is_record && hasPart(function_.name, "WithFlags") && words_[2] & external)
        StreamOrder::instance().doubt();
      return;
    }
    switch (function_.kind) {
    case StreamCallKind::begin_capture:
      captures = true;
      if (!queries.is_capturing) StreamOrder::instance().doubt();
      break;
    case StreamCallKind::command:
    case StreamCallKind::waits:
      // hipMemcpyWithStream and hipMallocAsync, too: what comes later is behind them.
      command_ = StreamOrder::instance().add(key());
      current_command = command_;
      break;
    case StreamCallKind::host_unregister: command_ = StreamOrder::instance().addOfHost(); break;
    case StreamCallKind::graph_destroy: GraphCopies::instance().forgetNodesOf(words_[0]); break;
    case StreamCallKind::doubt:
      if (std::string_view(function_.name) != "hipSetDevice" || words_[0] != 0)
        StreamOrder::instance().doubt();
      break;
    default: break;
    }
  });
}

StreamCall::~StreamCall() {
  --depth;
  if (is_outermost_) current_command = nullptr, is_captured = false;
}

void StreamCall::noteUse(const StreamOrder::Key &stream) {
  if (!command_) return;
  const std::string_view name = function_.name;
  MemoryUse use;
  use.command = command_;
  if (name == "hipMallocAsync" || name == "hipMallocFromPoolAsync") {
    const uint64_t memory = *reinterpret_cast<const uint64_t *>(words_[0]);
    if (const auto before = OverlapCheck::instance().lastFree({{memory, memory + words_[1]}})) {
      // HIP gives it to somebody else when that is safe.
      StreamOrder::instance().follow(stream, *before);
      if (const auto behind = StreamOrder::instance().add(stream)) use.command = behind;
    }
    use.kind = MemoryUse::Kind::pool_allocate;
    use.writes = row(memory, words_[1]);
    use.memory = StreamMemory::instance().at(memory).value_or(AllocationInfo{});
  } else if (name == "hipFreeAsync") {
    const auto piece = StreamMemory::instance().at(words_[0]);
    if (!piece) return;
    use.kind = MemoryUse::Kind::pool_free;
    use.writes = row(piece->base, piece->size);
    use.memory = *piece;
  } else if (!rangesOf(name, words_, use)) {
    return;
  }
  setCaller(use, function_.name);
  OverlapCheck::instance().called(std::move(use));
}

/// What was called will be done by each launch of a graph.
void StreamCall::noteCaptured() const {
  const std::string_view name = function_.name;
  MemoryUse use;
  if (name == "hipMallocAsync" || name == "hipMallocFromPoolAsync") {
    use.kind = MemoryUse::Kind::pool_allocate;
    use.writes = row(*reinterpret_cast<const uint64_t *>(words_[0]), words_[1]);
  } else if (!rangesOf(name, words_, use)) {
    return;
  }
  GraphCopies &graphs = GraphCopies::instance();
  const uint64_t node = use.writes.empty() ? 0 : graphs.captured(words_[function_.stream]);
  if (!node) return;
  setCaller(use, function_.name);
  graphs.add(node, std::move(use));
}

void StreamCall::noteGraph() const {
  GraphCopies &graphs = GraphCopies::instance();
  switch (function_.kind) {
  case StreamCallKind::graph_node:
    if (auto use = useOfNode(function_.name, words_)) {
      setCaller(*use, function_.name);
      graphs.add(*reinterpret_cast<const uint64_t *>(words_[0]), std::move(*use));
    }
    break;
  case StreamCallKind::graph_node_change: graphs.forgetNode(words_[0]); break;
  case StreamCallKind::graph_instantiate:
    graphs.instantiate(*reinterpret_cast<const uint64_t *>(words_[0]), words_[1]);
    break;
  case StreamCallKind::graph_change: graphs.forget(words_[0]); break;
  default: break;
  }
}

/// All that the nodes of a graph do to memory is done by this call.
void StreamCall::noteLaunch() const {
  const auto memory = GraphCopies::instance().of(words_[0]);
  if (!memory || !command_) return;
  for (MemoryUse use : memory->copies) {
    use.command = command_;
    OverlapCheck::instance().called(std::move(use));
  }
}

void StreamCall::done(uint32_t result) {
  if (!is_outermost_ || result != 0) return;
  aside([&] {
    if (is_captured) return noteCaptured();
    // An event of a captured stream takes the stream that waits for it into the graph.
    if (function_.kind == StreamCallKind::event_wait && isIntoGraph()) return;
    StreamOrder &order = StreamOrder::instance();
    const std::string_view name = function_.name;
    switch (function_.kind) {
    case StreamCallKind::command: {
      const StreamOrder::Key stream = key();
      noteUse(stream);
      if (name.starts_with("hipGraphLaunch")) noteLaunch();
      if (name == "hipMemcpyWithStream") order.sawStream(stream);
      // The host has it when the call returns.
      const bool is_row = name.starts_with("hipMemcpyAsync") || name.starts_with("hipMemcpyDtoH");
      if (is_row && isPageable(words_[0])) order.sawStream(stream);
      if (function_.event >= 0) { // hipExtLaunchKernel: the second event is that of its end
        if (words_[function_.event]) order.record(words_[function_.event], stream);
        if (words_[function_.event + 1]) order.record(words_[function_.event + 1], stream);
      }
      break;
    }
    case StreamCallKind::waits:
      noteUse(key());
      order.sawStream(key());
      break;
    case StreamCallKind::create: {
      const bool has_flags =
          name == "hipStreamCreateWithFlags" || name == "hipStreamCreateWithPriority";
      order.create({*reinterpret_cast<const uint64_t *>(words_[0]), 0},
                   has_flags && (words_[1] & 1) ? StreamOrder::Kind::apart
                                                : StreamOrder::Kind::blocking);
      break;
    }
    case StreamCallKind::destroy: order.destroy(key()); break;
    case StreamCallKind::stream_saw: order.sawStream(key()); break;
    case StreamCallKind::event_saw:
      order.sawEvent(words_[function_.event]);
      if (name == "hipEventElapsedTime") order.sawEvent(words_[function_.event + 1]);
      break;
    case StreamCallKind::event_record: order.record(words_[function_.event], key()); break;
    case StreamCallKind::event_wait: order.wait(key(), words_[function_.event]); break;
    case StreamCallKind::event_destroy: order.forgetEvent(words_[function_.event]); break;
    case StreamCallKind::all_saw: order.sawAll(); break;
    case StreamCallKind::host_register: keepRegistered(words_); break;
    case StreamCallKind::graph_node:
    case StreamCallKind::graph_node_change:
    case StreamCallKind::graph_instantiate:
    case StreamCallKind::graph_change: noteGraph(); break;
    case StreamCallKind::host_unregister: unregister(words_[0], command_); break;
    default: break;
    }
  });
}

} // namespace fade::checks
