#include "replay/machine.h"

#include "device/hsa_abi.h"
#include "replay/time_limit.h"
#include "replay/touched_pages.h"
#include "semantics/constants.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace fade::replay {
namespace {

using codeobj::ArgKind;

constexpr uint64_t kQueueAt = 4096, kArgumentsAt = 8192; ///< in Machine::own_

} // namespace

Machine::~Machine() { hostcalls_ = nullptr; }

Result<std::unique_ptr<Machine>> Machine::create(capture::Reader &reader, Memory &memory,
                                                 unsigned workers) {
  std::unique_ptr<Machine> machine(new Machine(reader, memory));
  if (Status done = machine->prepare(workers); !done) return std::move(done).error();
  return machine;
}

/// Below and between the regions, far from them, so that a kernel that goes astray hits nothing.
uint64_t Machine::gap(uint64_t size) {
  constexpr uint64_t step = uint64_t{1} << 21;
  const uint64_t needed = (size + 2 * step) / step * step;
  if (next_gap_ == 0) next_gap_ = step;
  for (const capture::Region &region : reader_.description().regions) {
    if (next_gap_ + needed <= region.address) break;
    if (region.end() > next_gap_) next_gap_ = (region.end() + 2 * step) / step * step;
  }
  const uint64_t found = next_gap_;
  next_gap_ += needed;
  return found;
}

Status Machine::prepare(unsigned workers) {
  const capture::Description &d = reader_.description();
  const sim::Arch *arch = sim::find_arch(d.gpu);
  if (!arch)
    return Error{reader_.folder(), "", 0, fmt::format("the executor does not know '{}'", d.gpu)};
  captured_ = CapturedKernel::of(d, reader_.code(), reader_.folder());
  own_address_ = gap(own_.size());
  memory_.space().map(own_address_, own_.size(), own_.data());
  // What kernels read in their queue: where LDS and private memory begin.
  constexpr std::size_t group_at = 0x40, private_at = 0x44;
  std::memcpy(own_.data() + kQueueAt + group_at, &sim::shared_aperture_hi, 4);
  std::memcpy(own_.data() + kQueueAt + private_at, &sim::private_aperture_hi, 4);
  if (Status done = prepareArguments(); !done) return done;
  sim::Executor::Hooks hooks;
  hooks.interrupt = [](uint32_t) {};
  hooks.start_thread = TouchedPages::startThread;
  hooks.kernel_name = [this](uint64_t) { return reader_.description().symbol; };
  executor_ = std::make_unique<sim::Executor>(*arch, memory_.space(), std::move(hooks), workers);
  observed_ = std::make_unique<sim::MemoryForObservers>(memory_.space());
  executor_->observe(sim::load_observer(arch->name, *observed_));
  return Done();
}

void Machine::patchHidden(ArgKind kind, uint64_t value) {
  const auto *argument = captured_.layout ? captured_.layout->findHidden(kind) : nullptr;
  if (argument)
    (void)memory_.patch(reader_.description().kernarg_address + argument->offset, &value,
                        std::min<std::size_t>(argument->size, sizeof value));
}

Machine::Block Machine::makeBlock(uint64_t size) {
  Block block;
  block.memory.reset(static_cast<std::byte *>(std::calloc(size, 1)));
  if (!block.memory) return block;
  block.size = size;
  block.address = gap(size);
  memory_.space().map(block.address, size, block.memory.get());
  return block;
}

/// 0 if there is none left: the kernel's malloc() says so.
uint64_t Machine::giveMemory(uint64_t size) {
  Block block = makeBlock(size);
  if (!block.memory) return 0;
  given_.push_back(std::move(block));
  return given_.back().address;
}

void Machine::restore() {
  for (const Block &block : given_) memory_.space().unmap(block.address, block.size);
  given_.clear();
  memory_.restore();
}

/// The arguments are those of the application, but for what belongs to its queue.
Status Machine::prepareArguments() {
  const capture::Description &d = reader_.description();
  if (d.kernarg_address != 0 && !d.arguments.empty() &&
      !memory_.patch(d.kernarg_address, d.arguments.data(), d.arguments.size()))
    return Error{reader_.folder(), "", 0,
                 fmt::format("the arguments at {:#x} were not captured", d.kernarg_address)};
  patchHidden(ArgKind::HiddenQueuePtr, own_address_ + kQueueAt);
  patchHidden(ArgKind::HiddenPrivateBase, sim::private_aperture_hi);
  patchHidden(ArgKind::HiddenSharedBase, sim::shared_aperture_hi);
  if (!captured_.layout) return Done();
  const auto read = [&](ArgKind kind) {
    uint64_t value = 0;
    if (const auto *argument = captured_.layout->findHidden(kind))
      (void)memory_.space().read(d.kernarg_address + argument->offset, &value, sizeof value);
    return value;
  };
  for (const ArgKind kind : {ArgKind::HiddenDefaultQueue, ArgKind::HiddenCompletionAction})
    if (read(kind) != 0) return Error{reader_.folder(), "", 0, "the kernel launches other kernels"};
  if (const uint64_t buffer = read(ArgKind::HiddenHostcallBuffer)) {
    hostcalls_ = Hostcalls::create(memory_.space(), buffer,
                                   [this](uint64_t size) { return giveMemory(size); });
    hostcall_region_ = memory_.find(buffer);
  }
  return Done();
}

Status Machine::loadCode(const std::string &path) {
  const capture::Description &d = reader_.description();
  auto kernel = OtherKernel::open(path, d, captured_);
  if (!kernel) return std::move(kernel).error();
  Other other;
  other.kernel = std::move(*kernel);
  if (other.kernel.arguments) {
    std::vector<uint8_t> captured(captured_.layout->size);
    (void)memory_.space().read(d.kernarg_address, captured.data(), captured.size());
    other.arguments.resize(other.kernel.arguments->size());
    other.kernel.arguments->build(captured,
                                  dispatchFields(d, own_address_ + kQueueAt,
                                                 sim::private_aperture_hi, sim::shared_aperture_hi),
                                  other.arguments);
    if (other.kernel.hostcall_at) giveHostcalls(other.arguments, *other.kernel.hostcall_at);
  }
  const auto bytes = other.kernel.object->elf().blob().bytes();
  other.address = gap(bytes.size() + (uint64_t{64} << 20));
  other_ = std::move(other);
  uses_other_ = true;
  return loadOther();
}

void Machine::giveHostcalls(std::vector<uint8_t> &arguments, uint32_t at) {
  const auto &grid = reader_.description().grid;
  const uint64_t packets = Hostcalls::packetsFor(uint64_t{grid[0]} * grid[1] * grid[2]);
  const uint64_t size = Hostcalls::bufferSize(packets);
  hostcall_buffer_ = makeBlock(size);
  const uint64_t address = hostcall_buffer_.address;
  if (address == 0 || at + sizeof address > arguments.size()) return;
  Hostcalls::layOut(hostcall_buffer_.memory.get(), address, packets);
  std::memcpy(arguments.data() + at, &address, sizeof address);
  hostcalls_ = Hostcalls::create(memory_.space(), address,
                                 [this](uint64_t bytes) { return giveMemory(bytes); });
}

/// A fresh image, as after loading.
Status Machine::loadOther() try {
  other_->loaded = nullptr;
  const auto bytes = other_->kernel.object->elf().blob().bytes();
  other_->loaded = std::make_unique<sim::CodeObject>(bytes, memory_.space(), other_->address);
  return Done();
} catch (const std::exception &e) {
  return Error{other_->kernel.path, "", 0, e.what()};
}

void Machine::carryVariables(bool back) {
  std::vector<uint8_t> bytes;
  const uint64_t base = captured_.object ? captured_.base(reader_.description()) : 0;
  for (const OtherKernel::Variable &variable : other_->kernel.variables) {
    bytes.resize(variable.size);
    const uint64_t captured = base + variable.captured, here = other_->address + variable.here;
    const uint64_t from = back ? here : captured, to = back ? captured : here;
    std::vector<uint8_t> now(variable.size);
    // What is the same already is not written: it would count as the kernel's.
    if (memory_.space().read(from, bytes.data(), bytes.size()) &&
        memory_.space().read(to, now.data(), now.size()) && now != bytes)
      (void)memory_.space().write(to, bytes.data(), bytes.size());
  }
}

void Machine::makePacket(sim::Dispatch &dispatch) {
  const capture::Description &d = reader_.description();
  const Other *other = uses_other_ ? &*other_ : nullptr;
  dispatch.grid = d.grid;
  dispatch.workgroup = d.workgroup;
  dispatch.private_segment_size = other ? other->kernel.private_segment : d.private_segment;
  dispatch.group_segment_size = other ? other->kernel.group_segment : d.group_segment;
  dispatch.kernel_object =
      other ? other->address + other->kernel.kernel.descriptor_address : d.kernel_object;
  dispatch.kernarg_address = d.kernarg_address;
  if (other && !other->arguments.empty()) {
    std::memcpy(own_.data() + kArgumentsAt, other->arguments.data(), other->arguments.size());
    dispatch.kernarg_address = own_address_ + kArgumentsAt;
  }
  dispatch.packet_address = own_address_;
  dispatch.queue_address = own_address_ + kQueueAt;
  sim::hsa::KernelDispatch packet{};
  packet.header = sim::hsa::packet_kernel_dispatch;
  packet.setup = d.dimensions;
  for (std::size_t i = 0; i < 3; ++i) {
    packet.workgroup_size[i] = static_cast<uint16_t>(d.workgroup[i]);
    packet.grid_size[i] = d.grid[i];
  }
  packet.private_segment_size = dispatch.private_segment_size;
  packet.group_segment_size = dispatch.group_segment_size;
  packet.kernel_object = dispatch.kernel_object;
  packet.kernarg_address = dispatch.kernarg_address;
  std::memcpy(own_.data(), &packet, sizeof packet);
}

Result<Execution> Machine::run() {
  if (uses_other_) {
    if (Status loaded = loadOther(); !loaded) return std::move(loaded).error();
    carryVariables(false);
  }
  sim::Dispatch dispatch;
  makePacket(dispatch);
  if (reader_.description().is_cooperative) {
    // What a kernel of HIP's does before each cooperative launch: one of each workgroup meets.
    uint32_t groups = 1;
    for (std::size_t i = 0; i < 3; ++i)
      groups *= (dispatch.grid[i] + dispatch.workgroup[i] - 1) / dispatch.workgroup[i];
    executor_->init_global_sync(groups);
  }
  if (hostcalls_) hostcalls_->start();
  sim::DispatchResult result;
  {
    const TimeLimit limit(timeout_, [this] { executor_->stop(); });
    result = executor_->run(dispatch);
  }
  if (hostcalls_) hostcalls_->stop();
  if (result.status == sim::DispatchResult::Status::stopped)
    return Error{uses_other_ ? other_->kernel.path : reader_.folder(), "", 0,
                 fmt::format("{}: kernel {}: {}", reader_.description().gpu,
                             reader_.description().symbol, notEndedText(timeout_))};
  if (result.status != sim::DispatchResult::Status::ok)
    return Error{reader_.folder(), "", 0,
                 result.message + (result.status == sim::DispatchResult::Status::memory_fault
                                       ? memory_.whyNotAt(result.fault_address)
                                       : "")};
  if (hostcalls_ && hostcalls_->isStuck())
    return Error{reader_.folder(), "", 0, "the kernel calls a function of the host"};
  if (uses_other_) carryVariables(true);
  return Execution{result.stats.seconds, result.stats.total().waves};
}

std::string Machine::hostcallSummary() const { return hostcalls_ ? hostcalls_->summary() : ""; }

std::optional<std::size_t> Machine::hostcallRegion() const { return hostcall_region_; }

} // namespace fade::replay
