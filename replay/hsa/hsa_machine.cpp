#include "replay/hsa/hsa_machine.h"

#include "replay/hsa/cooperative_code.h"
#include "replay/time_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <hsa/amd_hsa_queue.h>
#include <utility>

namespace fade::replay {
namespace {

using capture::kPageSize;
using capture::RegionKind;
using codeobj::ArgKind;

/// What the runtime's own reservations can reach.
constexpr uint64_t kSteerable = uint64_t{1} << 47;

bool isPlain(const capture::Region &region) {
  return region.kind == RegionKind::managed || region.end() > kSteerable;
}

Range rangeOf(const capture::Region &region) { return {region.address, region.size}; }

struct AgentSearch {
  const HsaLibrary &hsa;
  const std::string &wanted;
  hsa_agent_t gpu{}, cpu{};
  std::string others;
};

struct PoolSearch {
  const HsaLibrary &hsa;
  hsa_amd_memory_pool_t coarse{}, fine{}, kernarg{};
};

PoolSearch poolsOf(const HsaLibrary &hsa, hsa_agent_t agent) {
  PoolSearch search{hsa, {}, {}, {}};
  (void)hsa.hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void *data) {
        auto &found = *static_cast<PoolSearch *>(data);
        hsa_amd_segment_t segment{};
        uint32_t flags = 0;
        const auto get = found.hsa.hsa_amd_memory_pool_get_info;
        (void)get(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
        (void)get(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
        if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
        auto &to = flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT     ? found.kernarg
                   : flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED ? found.coarse
                                                                            : found.fine;
        if (to.handle == 0) to = pool;
        return HSA_STATUS_SUCCESS;
      },
      &search);
  return search;
}

} // namespace

std::vector<Range> rangesOf(const capture::Description &description) {
  std::vector<Range> ranges;
  for (const capture::Region &region : description.regions) ranges.push_back(rangeOf(region));
  return ranges;
}

Result<std::unique_ptr<HsaMachine>> HsaMachine::create(capture::Reader &reader, Memory &memory) {
  std::unique_ptr<HsaMachine> machine(new HsaMachine(reader, memory));
  auto library = HsaLibrary::open();
  if (!library) return std::move(library).error();
  machine->hsa_ = *library;
  if (const hsa_status_t status = machine->hsa_.hsa_init(); status != HSA_STATUS_SUCCESS)
    return machine->failed("hsa_init", status);
  machine->faults_.watch();
  if (Status done = machine->findAgents(); !done) return std::move(done).error();
  if (Status done = machine->loadCode(); !done) return std::move(done).error();
  for (std::size_t i = 0; i < memory.regions(); ++i)
    if (Status done = machine->place(i); !done) return std::move(done).error();
  if (Status done = machine->prepareArguments(); !done) return std::move(done).error();
  if (reader.description().is_cooperative && meetAtCounter(reader.description().gpu))
    if (Status done = machine->prepareCooperative(); !done) return std::move(done).error();
  return machine;
}

HsaMachine::~HsaMachine() {
  hostcalls_ = nullptr;
  if (queue_) (void)hsa_.hsa_queue_destroy(queue_);
  for (const hsa_signal_t signal : {done_, doorbell_})
    if (signal.handle != 0) (void)hsa_.hsa_signal_destroy(signal);
  if (hsa_.hsa_shut_down) (void)hsa_.hsa_shut_down();
}

Status HsaMachine::findAgents() {
  AgentSearch search{hsa_, reader_.description().gpu, {}, {}, {}};
  (void)hsa_.hsa_iterate_agents(
      [](hsa_agent_t agent, void *data) {
        auto &found = *static_cast<AgentSearch *>(data);
        hsa_device_type_t type{};
        char name[64] = {};
        (void)found.hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        (void)found.hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_NAME, name);
        if (type == HSA_DEVICE_TYPE_CPU && found.cpu.handle == 0) found.cpu = agent;
        if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
        if (found.wanted == name && found.gpu.handle == 0) found.gpu = agent;
        found.others += (found.others.empty() ? "" : ", ") + std::string(name);
        return HSA_STATUS_SUCCESS;
      },
      &search);
  if (search.gpu.handle == 0)
    return wrong(fmt::format("it was captured on {}; here is {}", reader_.description().gpu,
                             search.others.empty() ? "no GPU" : search.others));
  gpu_ = search.gpu;
  cpu_ = search.cpu;
  name_ = reader_.description().gpu;
  device_ = poolsOf(hsa_, gpu_).coarse;
  const PoolSearch host = poolsOf(hsa_, cpu_);
  kernarg_ = host.kernarg;
  host_ = host.fine.handle != 0 ? host.fine : host.kernarg;
  if (device_.handle == 0 || host_.handle == 0) return wrong("a pool of memory is missing");
  hsa_status_t status = hsa_.hsa_queue_create(
      gpu_, 256,
      reader_.description().is_cooperative ? HSA_QUEUE_TYPE_COOPERATIVE : HSA_QUEUE_TYPE_MULTI,
      Faults::queueStopped, &faults_, UINT32_MAX, UINT32_MAX, &queue_);
  if (status == HSA_STATUS_SUCCESS) status = hsa_.hsa_signal_create(1, 0, nullptr, &done_);
  if (status == HSA_STATUS_SUCCESS) status = hsa_.hsa_signal_create(1, 0, nullptr, &doorbell_);
  if (status != HSA_STATUS_SUCCESS) return failed("a queue", status);
  (void)hsa_.hsa_amd_profiling_set_profiler_enabled(queue_, 1);
  const auto &queue = *reinterpret_cast<const amd_queue_t *>(queue_);
  shared_base_ = queue.group_segment_aperture_base_hi;
  private_base_ = queue.private_segment_aperture_base_hi;
  uint64_t frequency = 0;
  (void)hsa_.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
  if (frequency != 0) tick_ = 1.0 / static_cast<double>(frequency);
  return Done();
}

Result<uint64_t> HsaMachine::load(std::span<const uint8_t> bytes, Range wished,
                                  const std::string &kernel) {
  hsa_code_object_reader_t code{};
  hsa_executable_t executable{};
  hsa_status_t status =
      hsa_.hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &code);
  if (status == HSA_STATUS_SUCCESS)
    status = hsa_.hsa_executable_create_alt(
        HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable);
  if (status == HSA_STATUS_SUCCESS) {
    const Wish wish(wished); // of size 0: none
    status = hsa_.hsa_executable_load_agent_code_object(executable, gpu_, code, nullptr, nullptr);
  }
  if (status == HSA_STATUS_SUCCESS) status = hsa_.hsa_executable_freeze(executable, nullptr);
  if (status != HSA_STATUS_SUCCESS) return failed("its code cannot be loaded", status);
  hsa_executable_symbol_t symbol{};
  uint64_t object = 0;
  status =
      hsa_.hsa_executable_get_symbol_by_name(executable, (kernel + ".kd").c_str(), &gpu_, &symbol);
  if (status == HSA_STATUS_SUCCESS)
    status = hsa_.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                                 &object);
  if (status != HSA_STATUS_SUCCESS) return failed(kernel, status);
  return object;
}

/// By the runtime's loader, so that tools know the kernel; memory then gets the captured image.
Status HsaMachine::loadCode() {
  const capture::Description &d = reader_.description();
  const std::size_t region = memory_.find(d.kernel_object);
  if (region == memory_.regions() || reader_.code().empty())
    return wrong("the code of the kernel was not captured");
  captured_ = CapturedKernel::of(d, reader_.code(), reader_.folder());
  const auto object = load(reader_.code().front().bytes, rangeOf(memory_.region(region)), d.symbol);
  if (!object) return object.error();
  if (*object != d.kernel_object)
    return wrong(fmt::format("the runtime puts its code at {:#x} instead of {:#x}", *object,
                             d.kernel_object));
  code_region_ = region;
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  const hsa_status_t status = hsa_.hsa_amd_pointer_info(
      reinterpret_cast<void *>(memory_.region(region).address), &info, nullptr, nullptr, nullptr);
  code_size_ = status == HSA_STATUS_SUCCESS && info.sizeInBytes != 0
                   ? reinterpret_cast<uint64_t>(info.agentBaseAddress) + info.sizeInBytes -
                         memory_.region(region).address
                   : memory_.region(region).size;
  return Done();
}

uint64_t HsaMachine::sizeOf(std::size_t region) const {
  const uint64_t size = memory_.region(region).size;
  return region == code_region_ ? std::min(size, code_size_) : size;
}

Status HsaMachine::useCode(const std::string &path) {
  const capture::Description &d = reader_.description();
  auto kernel = OtherKernel::open(path, d, captured_);
  if (!kernel) return std::move(kernel).error();
  Other other;
  other.kernel = std::move(*kernel);
  const auto object = load(other.kernel.object->elf().blob().bytes(), {}, d.symbol);
  if (!object) return Error{path, "", 0, object.error().what};
  other.object = *object;
  const uint64_t here = *object - other.kernel.kernel.descriptor_address;
  for (const OtherKernel::Variable &variable : other.kernel.variables)
    other.variables.push_back(
        {captured_.base(d) + variable.captured, here + variable.here, variable.size});
  if (other.kernel.arguments) {
    std::vector<uint8_t> captured(captured_.layout->size);
    (void)memory_.space().read(d.kernarg_address, captured.data(), captured.size());
    std::vector<uint8_t> arguments(other.kernel.arguments->size());
    other.kernel.arguments->build(
        captured,
        dispatchFields(d, reinterpret_cast<uint64_t>(queue_), private_base_, shared_base_),
        arguments);
    if (other.kernel.hostcall_at)
      if (Status given = giveHostcalls(arguments, *other.kernel.hostcall_at); !given) return given;
    const auto memory = argumentMemory(arguments.size());
    if (!memory) return memory.error();
    other.kernarg = *memory;
    std::memcpy(other.kernarg, arguments.data(), arguments.size());
  }
  other_ = std::move(other);
  uses_other_ = true;
  return Done();
}

Status HsaMachine::giveHostcalls(std::vector<uint8_t> &arguments, uint32_t at) {
  const auto &grid = reader_.description().grid;
  const uint64_t packets = Hostcalls::packetsFor(uint64_t{grid[0]} * grid[1] * grid[2]);
  const uint64_t size = Hostcalls::bufferSize(packets);
  const auto memory = argumentMemory(size);
  if (!memory) return memory.error();
  const auto address = reinterpret_cast<uint64_t>(*memory);
  if (at + sizeof address > arguments.size()) return Done();
  std::memset(*memory, 0, size);
  Hostcalls::layOut(static_cast<std::byte *>(*memory), address, packets);
  std::memcpy(arguments.data() + at, &address, sizeof address);
  space_.map(address, size, *memory);
  hostcalls_ =
      Hostcalls::create(space_, address, [this](uint64_t bytes) { return heapMemory(bytes); });
  return Done();
}

/// The device's heap finds the head of a slab by its alignment, which the runtime gives large
/// allocations of itself, but not here (HSA_MAX_VA_ALIGN).
uint64_t HsaMachine::heapMemory(uint64_t size) {
  constexpr uint64_t slab = uint64_t{1} << 21;
  void *memory = nullptr;
  if (hsa_.hsa_amd_memory_pool_allocate(device_, size + slab, 0, &memory) != HSA_STATUS_SUCCESS)
    return 0;
  given_.push_back(memory);
  (void)hsa_.hsa_amd_agents_allow_access(1, &gpu_, nullptr, memory);
  return (reinterpret_cast<uint64_t>(memory) + slab - 1) / slab * slab;
}

Result<void *> HsaMachine::argumentMemory(std::size_t size) {
  void *memory = nullptr;
  const auto pool = kernarg_.handle != 0 ? kernarg_ : host_;
  const hsa_status_t status = hsa_.hsa_amd_memory_pool_allocate(pool, size, 0, &memory);
  if (status != HSA_STATUS_SUCCESS) return failed("memory for arguments", status);
  (void)hsa_.hsa_amd_agents_allow_access(1, &gpu_, nullptr, memory);
  return memory;
}

/// Workgroups meet at a counter of the GPU's, which has to be set before each launch.
Status HsaMachine::prepareCooperative() {
  const capture::Description &d = reader_.description();
  const auto code = cooperativeCodeFor(d.gpu);
  if (code.empty())
    return wrong(
        fmt::format("a cooperative launch on {} can be replayed on the executor only", d.gpu));
  const auto object = load(code, {}, kCooperativeKernel);
  if (!object) return object.error();
  uint32_t groups = 1;
  for (std::size_t i = 0; i < 3; ++i) groups *= (d.grid[i] + d.workgroup[i] - 1) / d.workgroup[i];
  const uint32_t groups_less_one = groups - 1;
  const auto memory = argumentMemory(sizeof groups_less_one);
  if (!memory) return memory.error();
  std::memcpy(*memory, &groups_less_one, sizeof groups_less_one);
  cooperative_ = {*object, *memory};
  return Done();
}

Status HsaMachine::carryVariables(bool back) {
  std::vector<uint8_t> bytes;
  for (const Other::Variable &variable : other_->variables) {
    bytes.resize(variable.size);
    const uint64_t from = back ? variable.here : variable.captured;
    const uint64_t to = back ? variable.captured : variable.here;
    hsa_status_t status =
        hsa_.hsa_memory_copy(bytes.data(), reinterpret_cast<const void *>(from), bytes.size());
    if (status == HSA_STATUS_SUCCESS)
      status = hsa_.hsa_memory_copy(reinterpret_cast<void *>(to), bytes.data(), bytes.size());
    if (status != HSA_STATUS_SUCCESS) return failed("a variable cannot be copied", status);
  }
  return Done();
}

Status HsaMachine::place(std::size_t index) {
  const capture::Region &region = memory_.region(index);
  void *wanted = reinterpret_cast<void *>(region.address);
  if (region.on_host || isPlain(region)) space_.map(region.address, region.size, wanted);
  if (index == code_region_) return Done();
  if (isPlain(region)) {
    hsa_amd_svm_attribute_pair_t access{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, gpu_.handle};
    if (!hsa_.hsa_amd_svm_attributes_set || !mapHere(rangeOf(region)))
      return wrong(fmt::format("managed memory at {:#x} is not available", region.address));
    const hsa_status_t status = hsa_.hsa_amd_svm_attributes_set(wanted, region.size, &access, 1);
    if (status != HSA_STATUS_SUCCESS)
      return failed(fmt::format("managed memory at {:#x}", region.address), status);
    return Done();
  }
  void *got = nullptr;
  hsa_status_t status;
  {
    const Wish wish(rangeOf(region));
    status =
        hsa_.hsa_amd_memory_pool_allocate(region.on_host ? host_ : device_, region.size, 0, &got);
  }
  if (status != HSA_STATUS_SUCCESS)
    return failed(fmt::format("{} bytes at {:#x}", region.size, region.address), status);
  if (got != wanted)
    return wrong(fmt::format("the runtime gives memory at {} instead of {}", got, wanted));
  (void)hsa_.hsa_amd_agents_allow_access(1, &gpu_, nullptr, got);
  return Done();
}

void HsaMachine::patchHidden(ArgKind kind, uint64_t value) {
  if (const auto *argument = captured_.layout->findHidden(kind))
    (void)memory_.patch(reader_.description().kernarg_address + argument->offset, &value,
                        std::min<std::size_t>(argument->size, sizeof value));
}

Status HsaMachine::prepareArguments() {
  const capture::Description &d = reader_.description();
  if (!d.arguments.empty())
    (void)memory_.patch(d.kernarg_address, d.arguments.data(), d.arguments.size());
  if (!captured_.layout) return Done();
  const codeobj::KernargLayout *layout = &*captured_.layout;
  patchHidden(ArgKind::HiddenQueuePtr, reinterpret_cast<uint64_t>(queue_));
  if (private_base_ != 0) patchHidden(ArgKind::HiddenPrivateBase, private_base_);
  if (shared_base_ != 0) patchHidden(ArgKind::HiddenSharedBase, shared_base_);
  if (const auto *argument = layout->findHidden(ArgKind::HiddenHostcallBuffer)) {
    uint64_t buffer = 0;
    (void)memory_.space().read(d.kernarg_address + argument->offset, &buffer, sizeof buffer);
    constexpr uint64_t doorbell_at = 16;
    if (buffer != 0 && memory_.patch(buffer + doorbell_at, &doorbell_.handle, 8)) {
      hostcall_region_ = memory_.find(buffer);
      if (Status done = restore(); !done) return done;
      hostcalls_ =
          Hostcalls::create(space_, buffer, [this](uint64_t size) { return heapMemory(size); });
    }
  }
  return Done();
}

Status HsaMachine::restore(std::size_t index, uint64_t first, uint64_t pages) {
  const capture::Region &region = memory_.region(index);
  const uint64_t begin = first * kPageSize, known = sizeOf(index);
  if (begin >= known) return Done();
  const uint64_t at = region.address + begin, size = std::min(pages * kPageSize, known - begin);
  void *to = reinterpret_cast<void *>(at);
  const uint8_t *from = memory_.captured({index, first});
  if (region.on_host) {
    std::memcpy(to, from, size);
    return Done();
  }
  const hsa_status_t status = hsa_.hsa_memory_copy(to, from, size);
  if (status != HSA_STATUS_SUCCESS)
    return failed(fmt::format("{} bytes to {:#x}", size, at), status);
  return Done();
}

Status HsaMachine::restore() {
  for (void *memory : given_before_) (void)hsa_.hsa_amd_memory_pool_free(memory);
  given_before_ = std::exchange(given_, {});
  if (!written_) {
    for (std::size_t i = 0; i < memory_.regions(); ++i)
      if (Status done = restore(i, 0, memory_.region(i).pages()); !done) return done;
    return Done();
  }
  // Neighbors in one piece.
  for (auto at = written_->begin(); at != written_->end();) {
    const PageId first = *at;
    uint64_t count = 1;
    for (++at; at != written_->end() && *at == PageId{first.region, first.page + count}; ++at)
      ++count;
    if (Status done = restore(first.region, first.page, count); !done) return done;
  }
  return Done();
}

Status HsaMachine::learnWritten() {
  auto changed = outcome();
  if (!changed) return std::move(changed).error();
  if (!written_) {
    written_.emplace();
    for (std::size_t i = 0; i < memory_.regions(); ++i) {
      uint64_t page = 0;
      for (const capture::Run &run : reader_.runs(capture::State::after, i)) {
        const bool is_changed =
            run.kind != capture::Run::kSame && run.kind != capture::Run::kAbsent;
        for (uint32_t k = 0; is_changed && k < run.count; ++k) written_->insert({i, page + k});
        page += run.count;
      }
    }
    // Answers to the kernel are written there.
    if (hostcall_region_)
      for (uint64_t k = 0; k < memory_.region(*hostcall_region_).pages(); ++k)
        written_->insert({*hostcall_region_, k});
  }
  for (const auto &[id, bytes] : changed->pages()) written_->insert(id);
  return Done();
}

Result<uint64_t> HsaMachine::changedBesides() {
  uint64_t besides = 0;
  if (!written_) return besides;
  auto changed = outcome();
  if (!changed) return std::move(changed).error();
  for (const auto &[id, bytes] : changed->pages()) besides += written_->contains(id) ? 0 : 1;
  if (besides != 0) written_.reset();
  return besides;
}

/// All but the header.
hsa_kernel_dispatch_packet_t HsaMachine::packetOf() const {
  const capture::Description &d = reader_.description();
  const Other *other = uses_other_ ? &*other_ : nullptr;
  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = d.dimensions;
  packet.workgroup_size_x = static_cast<uint16_t>(d.workgroup[0]);
  packet.workgroup_size_y = static_cast<uint16_t>(d.workgroup[1]);
  packet.workgroup_size_z = static_cast<uint16_t>(d.workgroup[2]);
  packet.grid_size_x = d.grid[0];
  packet.grid_size_y = d.grid[1];
  packet.grid_size_z = d.grid[2];
  packet.private_segment_size = other ? other->kernel.private_segment : d.private_segment;
  packet.group_segment_size = other ? other->kernel.group_segment : d.group_segment;
  packet.kernel_object = other ? other->object : d.kernel_object;
  packet.kernarg_address =
      other && other->kernarg ? other->kernarg : reinterpret_cast<void *>(d.kernarg_address);
  packet.completion_signal = done_;
  return packet;
}

void HsaMachine::submit(hsa_kernel_dispatch_packet_t packet) {
  constexpr uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                              1 << HSA_PACKET_HEADER_BARRIER |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                              HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  const uint64_t index = hsa_.hsa_queue_add_write_index_screlease(queue_, 1);
  auto *at =
      static_cast<hsa_kernel_dispatch_packet_t *>(queue_->base_address) + index % queue_->size;
  // What begins the packet comes last: the GPU may look at it at any time.
  constexpr std::size_t first = sizeof(uint32_t);
  std::memcpy(reinterpret_cast<char *>(at) + first, reinterpret_cast<const char *>(&packet) + first,
              sizeof packet - first);
  std::atomic_ref(*reinterpret_cast<uint32_t *>(at))
      .store(header | static_cast<uint32_t>(packet.setup) << 16, std::memory_order_release);
  hsa_.hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void HsaMachine::waitForEnd() const {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  // The runtime may come back earlier, and later by little.
  const uint64_t ticks =
      timeout_ > 0 && timeout_ < 1e9 ? static_cast<uint64_t>(timeout_ / tick_) : UINT64_MAX;
  while (hsa_.hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, ticks,
                                        HSA_WAIT_STATE_BLOCKED) > 0)
    if (timeout_ > 0 && std::chrono::duration<double>(Clock::now() - began).count() > timeout_)
      faults_.tooLate(notEndedText(timeout_));
}

Result<double> HsaMachine::run() {
  if (uses_other_)
    if (Status carried = carryVariables(false); !carried) return std::move(carried).error();
  hsa_.hsa_signal_store_relaxed(done_, 1);
  if (hostcalls_) hostcalls_->start();
  if (cooperative_.object != 0) {
    hsa_kernel_dispatch_packet_t packet{};
    packet.setup = packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = cooperative_.object;
    packet.kernarg_address = cooperative_.kernarg;
    submit(packet);
  }
  submit(packetOf());
  waitForEnd();
  if (hostcalls_) hostcalls_->stop();
  if (uses_other_)
    if (Status carried = carryVariables(true); !carried) return std::move(carried).error();
  hsa_amd_profiling_dispatch_time_t time{};
  (void)hsa_.hsa_amd_profiling_get_dispatch_time(gpu_, done_, &time);
  return static_cast<double>(time.end - time.start) * tick_;
}

Result<Outcome> HsaMachine::outcome() {
  Outcome result;
  std::vector<uint8_t> now;
  for (std::size_t i = 0; i < memory_.regions(); ++i) {
    const capture::Region &region = memory_.region(i);
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(region.address);
    if (!region.on_host) {
      // What the runtime does not know has not changed.
      const uint8_t *captured = memory_.captured({i, 0});
      now.assign(captured, captured + region.size);
      const hsa_status_t status = hsa_.hsa_memory_copy(now.data(), bytes, sizeOf(i));
      if (status != HSA_STATUS_SUCCESS)
        return failed(fmt::format("{} bytes from {:#x}", region.size, region.address), status);
      bytes = now.data();
    }
    for (uint64_t page = 0; page < region.pages(); ++page)
      if (const uint8_t *at = bytes + page * kPageSize;
          std::memcmp(at, memory_.captured({i, page}), kPageSize) != 0)
        result.add({i, page}, at);
  }
  return result;
}

} // namespace fade::replay
