#include "analysis/host_events/operation_view.h"

#include "analysis/host_events/api_text.h"
#include "base/hip_helpers.h"
#include "codeobj/demangle.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace fade::host_trace {
namespace {

using events::Direction;

/// hipMemcpyKind.
Direction directionOf(uint64_t kind) {
  constexpr std::array directions = {Direction::host_to_host, Direction::host_to_device,
                                     Direction::device_to_host, Direction::device_to_device};
  return kind < directions.size() ? directions[kind] : Direction::none;
}

Direction directionIn(std::string_view function) {
  constexpr std::array<std::pair<std::string_view, Direction>, 6> names = {
      {{"HtoD", Direction::host_to_device},
       {"DtoH", Direction::device_to_host},
       {"DtoD", Direction::device_to_device},
       {"HtoA", Direction::host_to_device},
       {"AtoH", Direction::device_to_host},
       {"Peer", Direction::device_to_device}}};
  for (const auto &[name, direction] : names)
    if (function.find(name) != function.npos) return direction;
  return Direction::none;
}

/// Of hipMemoryType of both sides. The host is 0 in HIP 5, and 1 since.
/// since.
Direction directionOf(uint64_t from, uint64_t to, unsigned hip_major) {
  const uint64_t host = hip_major == 5 ? 0 : 1;
  if (from == host) return to == host ? Direction::host_to_host : Direction::host_to_device;
  return to == host ? Direction::device_to_host : Direction::device_to_device;
}

/// The first of these arguments that the function has.
template <std::size_t N>
std::optional<uint64_t> firstOf(const Call &call, const std::array<std::string_view, N> &names) {
  for (const std::string_view name : names)
    if (const auto value = argument(call, name)) return value;
  return std::nullopt;
}

/// A copy that is described by a structure (hipMemcpy3D, hipMemcpyParam2D, hipDrvMemcpy3D).
void readDescription(const Call &call, CopyCall &copy) {
  const auto of = [&](const char *name) { return argument(call, name); };
  const auto address = [&](std::initializer_list<const char *> names) {
    for (const char *name : names)
      if (const auto value = of(name); value && *value != 0) return *value;
    return uint64_t{0};
  };
  if (const auto width = of("p.extent.width")) {
    // An array counts in elements, whose size nobody has said.
    const bool has_array = address({"p.srcArray", "p.dstArray"}) != 0;
    if (!has_array) copy.bytes = *width * *of("p.extent.height") * *of("p.extent.depth");
    copy.to = address({"p.dstPtr.ptr"});
    copy.from = address({"p.srcPtr.ptr"});
    if (const auto kind = of("p.kind")) copy.direction = directionOf(*kind);
  } else if (const auto bytes = of("pCopy.WidthInBytes")) {
    copy.bytes = *bytes * of("pCopy.Height").value_or(1) * of("pCopy.Depth").value_or(1);
    copy.to = address({"pCopy.dstDevice", "pCopy.dstHost"});
    copy.from = address({"pCopy.srcDevice", "pCopy.srcHost"});
    copy.direction = directionOf(of("pCopy.srcMemoryType").value_or(0),
                                 of("pCopy.dstMemoryType").value_or(0), call.hip_major);
  }
}

std::optional<uint64_t> bytesOf(const Call &call, std::string_view function) {
  const auto width = argument(call, "width"), height = argument(call, "height");
  if (width && height) return *width * *height;
  if (const auto row = argument(call, "extent.width")) // hipMemset3D
    return *row * argument(call, "extent.height").value_or(1) *
           argument(call, "extent.depth").value_or(1);
  const auto count = firstOf<4>(call, {"sizeBytes", "ByteCount", "count", "sizeInBytes"});
  if (!count) return std::nullopt;
  return *count * (function.find("D16") != function.npos   ? 2
                   : function.find("D32") != function.npos ? 4
                                                           : 1);
}

void copyDim3(const Call &call, std::string_view name, uint32_t (&to)[3]) {
  const auto words = argumentWords(call, name);
  if (words.size() == 2) std::memcpy(to, words.data(), sizeof to);
}

} // namespace

std::optional<CopyCall> copyOf(const Call &call) {
  const std::string_view function = call.function->name;
  CopyCall copy;
  copy.is_fill = function.starts_with("hipMemset");
  if (call.isNameOnly() || (!copy.is_fill && !function.starts_with("hipMemcpy") &&
                            !function.starts_with("hipDrvMemcpy")))
    return std::nullopt;
  copy.bytes = bytesOf(call, function);
  copy.to =
      firstOf<5>(call, {"dst", "dest", "dstDevice", "dstHost", "pitchedDevPtr.ptr"}).value_or(0);
  if (copy.is_fill) return copy;
  copy.from = firstOf<4>(call, {"src", "srcDevice", "srcHost", "symbol"}).value_or(0);
  const auto kind = argument(call, "kind");
  copy.direction = kind ? directionOf(*kind) : directionIn(function);
  readDescription(call, copy);
  return copy;
}

namespace {

/// Where a launch says how large it is: structures of three numbers, or three arguments.
struct SizeSources {
  std::vector<std::string_view> grid_words, workgroup_words, lds;
  std::array<std::vector<std::string>, 3> grid, workgroup; ///< by axis
};

/// Of what there may be, what this function has; of several the last one counts.
SizeSources makeSizeSources(const hip::FunctionInfo &function) {
  SizeSources sources;
  const auto add = [&](auto &to, std::string_view name) {
    if (hasArgument(function, name)) to.emplace_back(name);
  };
  for (const std::string_view name : {"numBlocks", "gridDim"}) add(sources.grid_words, name);
  for (const std::string_view name : {"dimBlocks", "blockDim"}) add(sources.workgroup_words, name);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const std::string name : {"gridDim", "globalWorkSize", "config.gridDim"})
      add(sources.grid[i], name + "XYZ"[i]);
    for (const std::string name : {"blockDim", "localWorkSize", "config.blockDim"})
      add(sources.workgroup[i], name + "XYZ"[i]);
    add(sources.grid[i], std::string("config.gridDim.") + "xyz"[i]);
    add(sources.workgroup[i], std::string("config.blockDim.") + "xyz"[i]);
  }
  for (const std::string_view name :
       {"sharedMemBytes", "sharedMem", "config.dynamicSmemBytes", "config.sharedMemBytes"})
    add(sources.lds, name);
  return sources;
}

const SizeSources &sizeSourcesOf(const hip::FunctionInfo &function) {
  static const auto all = [] {
    std::vector<SizeSources> sources;
    for (std::size_t i = 0; i < hip::kFunctionCount; ++i)
      sources.push_back(makeSizeSources(hip::kFunctions[i]));
    return sources;
  }();
  return all[static_cast<std::size_t>(&function - hip::kFunctions)];
}

} // namespace

LaunchSizes launchSizes(const Call &call) {
  LaunchSizes sizes;
  const SizeSources &sources = sizeSourcesOf(*call.function);
  for (const std::string_view name : sources.grid_words) copyDim3(call, name, sizes.grid);
  for (const std::string_view name : sources.workgroup_words) copyDim3(call, name, sizes.workgroup);
  const auto read = [&](const std::vector<std::string> &names, uint32_t &to) {
    for (const std::string &name : names)
      if (const auto value = argument(call, name)) to = static_cast<uint32_t>(*value);
  };
  for (std::size_t i = 0; i < 3; ++i) {
    read(sources.grid[i], sizes.grid[i]);
    read(sources.workgroup[i], sizes.workgroup[i]);
  }
  for (const std::string_view name : sources.lds)
    if (const auto value = argument(call, name)) {
      sizes.lds = *value;
      break;
    }
  return sizes;
}

bool isLaunch(const Call &call) {
  const std::string_view function = call.function->name;
  return function == "hipGraphLaunch" || function == "hipGraphLaunch_spt" ||
         (std::string_view(call.function->group) == "launch" &&
          function.find("HostFunc") == function.npos);
}

LaunchedKernels::LaunchedKernels(const HostEvents &events)
    : events_(events), first_(events.calls.size(), nullptr) {
  for (const Operation &operation : events.operations) {
    if (!operation.isKernel()) continue;
    if (const auto call = events.callAt(operation.event.call); call && !first_[*call])
      first_[*call] = &operation;
  }
}

std::string LaunchedKernels::nameOf(std::size_t index) const {
  const Call &call = events_.calls[index];
  if (!isLaunch(call) || call.isNameOnly() || std::string_view(call.function->group) == "graph")
    return "";
  if (const Operation *first = first_[index])
    return std::string(events_.textOf(first->pid, first->event.name));
  const uint64_t address = call.words.empty() ? 0 : call.words[0];
  return codeobj::demangle(std::string(events_.functionAt(call.thread.pid, address)));
}

std::string LaunchedKernels::moduleOf(std::size_t call) const {
  const Operation *first = first_[call];
  return !first || nameOf(call).empty() ? "" : events_.moduleOf(first->pid, first->event.name);
}

uint32_t LaunchedKernels::privateBytes(std::size_t call) const {
  return first_[call] ? first_[call]->event.private_bytes : 0;
}

const events::KernelEvent *LaunchedKernels::registersOf(std::size_t call) const {
  const Operation *first = first_[call];
  if (!first) return nullptr;
  const auto process = events_.processes.find(first->pid);
  if (process == events_.processes.end()) return nullptr;
  const auto kernel = process->second.kernels.find(first->event.name);
  return kernel == process->second.kernels.end() ? nullptr : &kernel->second;
}

OperationView viewOf(std::string_view kernel, const Operation &operation, const CopyCall *call) {
  const events::OperationEvent &event = operation.event;
  OperationView view;
  if (!operation.isKernel()) {
    view.purpose = Purpose::copy;
    view.direction = event.direction;
    view.bytes = event.bytes;
    view.to = event.to;
    view.from = event.from;
    return view;
  }
  view.kernel = kernel;
  if (!isHipHelper(kernel)) return view;
  const auto has = [&](std::string_view part) { return kernel.find(part) != kernel.npos; };
  if (has("fill"))
    view.purpose = Purpose::fill;
  else if (has("copy"))
    view.purpose = Purpose::copy;
  if (view.purpose == Purpose::kernel) return view;
  if (call) {
    view.purpose = call->is_fill ? Purpose::fill : Purpose::copy;
    view.direction = call->direction;
    view.bytes = call->bytes;
    view.to = call->to;
    view.from = call->from;
  }
  // One kernel may be a part of it only. The other end of a copy may be a buffer of HIP's own.
  if ((event.flags & events::kOperationBlit) == 0) return view;
  view.bytes = event.bytes;
  if (view.direction == Direction::none && view.purpose == Purpose::copy)
    view.direction = event.direction;
  if (view.to == 0 || view.purpose == Purpose::fill) view.to = event.to;
  if (view.from == 0) view.from = event.from;
  return view;
}

OperationView viewOf(const HostEvents &events, const Operation &operation) {
  const std::string_view kernel =
      operation.isKernel() ? events.textOf(operation.pid, operation.event.name) : "";
  const auto call = events.callAt(operation.event.call);
  std::optional<CopyCall> copy;
  if (call && isHipHelper(kernel)) copy = copyOf(events.calls[*call]);
  OperationView view = viewOf(kernel, operation, copy ? &*copy : nullptr);
  view.call = call;
  if (operation.isKernel()) view.module = events.moduleOf(operation.pid, operation.event.name);
  return view;
}

std::string_view nameOf(Direction direction) {
  switch (direction) {
  case Direction::host_to_host: return "host_to_host";
  case Direction::host_to_device: return "host_to_device";
  case Direction::device_to_host: return "device_to_host";
  case Direction::device_to_device: return "device_to_device";
  case Direction::none: break;
  }
  return "";
}

} // namespace fade::host_trace
