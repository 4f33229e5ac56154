#include "device/aql_processor.h"

#include "base/card_mode.h"
#include "base/clock.h"
#include "base/failures.h"
#include "base/trace.h"
#include "device/queue_runner.h"
#include "device/stats_log.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace fade::sim {
namespace {

uint16_t load_header(const void *packet) {
  return __atomic_load_n(static_cast<const uint16_t *>(packet), __ATOMIC_ACQUIRE);
}
uint8_t type_of(uint16_t header) { return header & 0xff; }
Reach reach_of(uint8_t scope) {
  return scope == hsa::scope_system  ? Reach::system
         : scope == hsa::scope_agent ? Reach::device
                                     : Reach::workgroup;
}
bool has_scopes(uint16_t header) {
  return hsa::acquire_scope(header) <= hsa::scope_system &&
         hsa::release_scope(header) <= hsa::scope_system;
}
uint32_t first_dword(const hsa::KernelDispatch &p) { return p.header | uint32_t{p.setup} << 16; }

template <class... T> std::string text(const char *format, T... args) {
  char line[1024];
  std::snprintf(line, sizeof line, format, args...);
  return line;
}

Dispatch describe(const hsa::KernelDispatch &p, uint64_t packet_va, uint64_t queue_va,
                  uint64_t index) {
  Dispatch d;
  for (int i = 0; i < 3; ++i) d.grid[i] = p.grid_size[i], d.workgroup[i] = p.workgroup_size[i];
  d.private_segment_size = p.private_segment_size;
  d.group_segment_size = p.group_segment_size;
  d.kernel_object = p.kernel_object;
  d.kernarg_address = p.kernarg_address;
  d.packet_address = packet_va;
  d.queue_address = queue_va;
  d.dispatch_id = index;
  return d;
}

} // namespace

AqlProcessor::AqlProcessor(QueueHost &host, const QueueSpec &spec, StatsLog *stats)
    : host_(host), memory_(host.memory()), stats_(stats), id_(spec.id),
      read_pointer_(spec.read_pointer), read_index_(memory_.at<uint64_t>(spec.read_pointer)),
      doorbell_(spec.doorbell), overlaps_(is_like_card("FADE_GPU_OVERLAP")) {
  set_ring(spec.ring, spec.ring_bytes);
}

bool AqlProcessor::set_ring(uint64_t address, uint64_t size) {
  auto *ring = size >= hsa::packet_size ? memory_.translate(address, size) : nullptr;
  if (!ring) return false;
  ring_va_ = address;
  slots_ = size / hsa::packet_size;
  ring_ = ring;
  return true;
}

AqlProcessor::Packet *AqlProcessor::packet_at(uint64_t index) const {
  return reinterpret_cast<Packet *>(ring_.load() + index % slots_ * hsa::packet_size);
}

// A doorbell says only that there is something: with several producers the last value written need
// not be the largest. What may be consumed is told by the packet headers.
bool AqlProcessor::has_work() const {
  if (halted_ || *doorbell_ == doorbell_unrung) return false;
  uint64_t index = __atomic_load_n(read_index_, __ATOMIC_RELAXED);
  return type_of(load_header(packet_at(index))) != hsa::packet_invalid;
}

PacketProcessor::Step AqlProcessor::step() try {
  if (halted_) return Step::halted;
  if (hangs_) return Step::waiting;
  if (!has_work()) return Step::idle;
  uint64_t index = __atomic_load_n(read_index_, __ATOMIC_RELAXED);
  if (const unsigned count = overlaps_ ? neighbours(index) : 0; count > 1)
    return run_together(index, count);
  Packet &packet = *packet_at(index);
  uint64_t start = gpu_clock();
  Step step;
  if (!has_scopes(packet.header))
    return fail(hsa::error_packet_format,
                text("%s: queue %u: AQL packet %" PRIu64
                     " (%08x) has a fence of scope 3, which does not exist: 0 is none, 1 agent, "
                     "2 system",
                     host_.arch().name, id_, index, first_dword(packet)));
  switch (uint8_t type = type_of(load_header(&packet))) {
  case hsa::packet_kernel_dispatch: step = dispatch(packet, index); break;
  case hsa::packet_barrier_and:
  case hsa::packet_barrier_or:
    step = barrier(reinterpret_cast<const hsa::Barrier &>(packet), index);
    break;
  case hsa::packet_vendor_specific: step = vendor(packet, index); break;
  default:
    step = fail(hsa::error_packet_format,
                text("%s: queue %u: AQL packet %" PRIu64
                     " (%08x) has type %u, which the software GPU does not know",
                     host_.arch().name, id_, index, first_dword(packet), type));
  }
  return step == Step::progressed ? complete(packet, index, start) : step;
} catch (const std::exception &e) { // mostly std::bad_alloc: nothing here may need memory
  say("%s: queue %u: packet failed: %s", host_.arch().name, id_, e.what());
  return fail(hsa::error_resources, "");
}

// Who watches is told what the packet has waited for, and who may be waiting for it.
void AqlProcessor::tell_end(const Packet &packet, uint64_t index) {
  ObservedPacket o{read_pointer_ - hsa::queue_read_dispatch_id, index, packet.completion_signal};
  const uint8_t type = type_of(packet.header);
  if (type == hsa::packet_barrier_and || type == hsa::packet_barrier_or) {
    const auto &barrier = reinterpret_cast<const hsa::Barrier &>(packet);
    o.waited = barrier.dep_signal, o.waited_count = std::size(barrier.dep_signal);
  } else if (type == hsa::packet_vendor_specific &&
             (packet.setup & 0xff) == hsa::vendor_barrier_value) {
    o.waited = &reinterpret_cast<const hsa::BarrierValue &>(packet).signal, o.waited_count = 1;
  }
  host_.packet_ended(o);
}

// The host may turn it on and off at any time. Packet processors write no times without it.
bool AqlProcessor::is_profiled() const {
  const uint64_t queue = read_pointer_ - hsa::queue_read_dispatch_id;
  const auto *properties = memory_.at<uint32_t>(queue + hsa::queue_properties);
  return properties && __atomic_load_n(properties, __ATOMIC_RELAXED) & hsa::queue_is_profiled;
}

unsigned AqlProcessor::neighbours(uint64_t index) const {
  constexpr unsigned most = 8, barrier_bit = 8;
  unsigned n = 0;
  for (; n < most && n < slots_; ++n) {
    const uint16_t header = load_header(packet_at(index + n));
    if (type_of(header) != hsa::packet_kernel_dispatch || !has_scopes(header)) break;
    if (n && header >> barrier_bit & 1) break;
  }
  return n;
}

// The slots are freed at the end, in order: kernels may look at their packets.
PacketProcessor::Step AqlProcessor::run_together(uint64_t first, unsigned count) {
  std::vector<Step> ends(count, Step::halted);
  const auto run = [&](unsigned i) {
    Packet &packet = *packet_at(first + i);
    const uint64_t start = gpu_clock();
    ends[i] = dispatch(packet, first + i);
    if (ends[i] == Step::progressed) ends[i] = complete(packet, first + i, start, false);
  };
  {
    std::vector<std::unique_ptr<DeviceThread>> others;
    for (unsigned i = 1; i < count; ++i)
      others.push_back(std::make_unique<DeviceThread>("fadegpu-next", [&run, i] { run(i); }));
    run(0);
  }
  for (unsigned i = 0; i < count; ++i) {
    if (ends[i] != Step::progressed) return ends[i];
    free_slot(*packet_at(first + i), first + i);
  }
  return Step::progressed;
}

void AqlProcessor::free_slot(Packet &packet, uint64_t index) {
  __atomic_store_n(&packet.header, static_cast<uint16_t>(hsa::packet_invalid), __ATOMIC_RELEASE);
  __atomic_store_n(read_index_, index + 1, __ATOMIC_RELEASE);
}

PacketProcessor::Step AqlProcessor::complete(Packet &packet, uint64_t index, uint64_t start,
                                             bool frees_slot) {
  // A dispatch has seen to its acquire before it ran.
  if (type_of(packet.header) != hsa::packet_kernel_dispatch)
    host_.acquire(reach_of(hsa::acquire_scope(packet.header)));
  host_.release(reach_of(hsa::release_scope(packet.header)));
  tell_end(packet, index);
  hsa::Signal *signal = nullptr;
  if (packet.completion_signal) {
    signal = memory_.at<hsa::Signal>(packet.completion_signal);
    if (!signal) return fault(packet.completion_signal, true, "completion signal");
    if (is_profiled()) {
      // Dispatches that run at once may share a signal.
      __atomic_store_n(&signal->start_ts, start, __ATOMIC_RELAXED);
      __atomic_store_n(&signal->end_ts, gpu_clock(), __ATOMIC_RELAXED);
    }
  }
  if (frees_slot) free_slot(packet, index);
  if (!signal) return Step::progressed;

  // The host may reuse the signal as soon as its value changes, so what is needed of it is read
  // before.
  uint64_t mailbox = signal->event_mailbox;
  uint32_t event = signal->event_id;
  __atomic_sub_fetch(&signal->value, 1, __ATOMIC_ACQ_REL);
  if (!mailbox) return Step::progressed;
  auto *slot = memory_.at<uint64_t>(mailbox);
  if (!slot) return fault(mailbox, true, "event mailbox");
  __atomic_store_n(slot, uint64_t{event}, __ATOMIC_RELEASE);
  host_.set_event(event);
  return Step::progressed;
}

PacketProcessor::Step AqlProcessor::dispatch(const Packet &p, uint64_t index) {
  const char *arch = host_.arch().name;
  uint64_t lanes = uint64_t{p.workgroup_size[0]} * p.workgroup_size[1] * p.workgroup_size[2];
  auto bad = [&](int64_t code, const std::string &why) {
    return fail(code, text("%s: kernel %s: %s", arch, host_.kernel_name(p.kernel_object).c_str(),
                           why.c_str()));
  };
  if (!p.grid_size[0] || !p.grid_size[1] || !p.grid_size[2] || !lanes)
    return bad(hsa::error_dimensions,
               text("grid %ux%ux%u of workgroups %ux%ux%u is empty", p.grid_size[0], p.grid_size[1],
                    p.grid_size[2], p.workgroup_size[0], p.workgroup_size[1], p.workgroup_size[2]));
  if (lanes > 1024)
    return bad(hsa::error_workgroup_size,
               text("a workgroup of %" PRIu64 " work-items is more than 1024", lanes));
  if (p.group_segment_size > host_.arch().lds_bytes)
    return bad(hsa::error_group_memory, text("%u bytes of LDS are more than %u",
                                             p.group_segment_size, host_.arch().lds_bytes));
  if (trace().packets)
    say("queue %u: %" PRIu64 ": dispatch %s grid %ux%ux%u workgroup %ux%ux%u lds %u private %u "
        "kernarg 0x%" PRIx64 " signal 0x%" PRIx64,
        id_, index, host_.kernel_name(p.kernel_object).c_str(), p.grid_size[0], p.grid_size[1],
        p.grid_size[2], p.workgroup_size[0], p.workgroup_size[1], p.workgroup_size[2],
        p.group_segment_size, p.private_segment_size, p.kernarg_address, p.completion_signal);

  if (auto step = fail_on_purpose(p)) return *step;
  uint64_t packet_va = ring_va_ + index % slots_ * hsa::packet_size;
  Dispatch d = describe(p, packet_va, read_pointer_ - hsa::queue_read_dispatch_id, index);
  host_.acquire(reach_of(hsa::acquire_scope(p.header)));
  DispatchResult result = host_.run(d);
  if (stats_) stats_->write(host_.kernel_name(p.kernel_object), d, result.stats);
  using Status = DispatchResult::Status;
  if (p.completion_signal) {
    const auto total = result.stats.total();
    note_executed(p.completion_signal, total.waves, total.lanes);
  }
  if (result.pc) note_stop(result.pc);
  switch (result.status) {
  case Status::ok: return Step::progressed;
  case Status::memory_fault:
    if (!result.message.empty()) say("%s", result.message.c_str());
    halted_ = true;
    host_.memory_fault(result.fault_address, result.fault_write);
    return Step::halted;
  case Status::memory_violation: return fail(hsa::error_memory_violation, result.message);
  case Status::illegal_instruction: return fail(hsa::error_illegal_instruction, result.message);
  case Status::trap: return fail(hsa::error_trap, result.message);
  case Status::bad_dispatch: return fail(hsa::error_code_object, result.message);
  case Status::out_of_resources: return fail(hsa::error_resources, result.message);
  case Status::stopped: halted_ = true; return Step::halted;
  }
  return Step::halted;
}

std::optional<PacketProcessor::Step> AqlProcessor::fail_on_purpose(const Packet &p) {
  constexpr uint64_t nowhere = 0xf000; // in the first 64 KiB nobody has memory
  const auto name = [&] { return host_.kernel_name(p.kernel_object); };
  const auto say_what = [&](const char *what) {
    return text("%s: kernel %s: %s, on purpose", host_.arch().name, name().c_str(), what);
  };
  switch (failures().at_dispatch(name)) {
  case Failure::fault:
    say("%s", say_what("memory fault").c_str());
    halted_ = true;
    host_.memory_fault(nowhere, true);
    return Step::halted;
  case Failure::violation: return fail(hsa::error_memory_violation, say_what("memory violation"));
  case Failure::illegal:
    return fail(hsa::error_illegal_instruction, say_what("illegal instruction"));
  case Failure::hang: hangs_ = true; return Step::waiting;
  case Failure::lost: halted_ = true; return Step::halted;
  case Failure::reset: return reset(say_what("the GPU is reset"), false);
  case Failure::ecc: return reset(say_what("the GPU is reset for an ECC error"), true);
  case Failure::skip: return Step::progressed;
  default: return std::nullopt;
  }
}

PacketProcessor::Step AqlProcessor::reset(const std::string &message, bool is_ecc_error) {
  say("%s", message.c_str());
  halted_ = true;
  host_.reset(is_ecc_error);
  return Step::halted;
}

PacketProcessor::Step AqlProcessor::barrier(const hsa::Barrier &p, uint64_t index) {
  bool all = type_of(p.header) == hsa::packet_barrier_and;
  unsigned signals = 0, done = 0;
  for (uint64_t handle : p.dep_signal) {
    if (!handle) continue;
    auto value = signal_value(handle);
    if (!value) return fault(handle, false, "barrier signal");
    ++signals;
    done += *value == 0;
  }
  if (signals && (all ? done < signals : done == 0)) return Step::waiting;
  if (trace().packets)
    say("queue %u: %" PRIu64 ": barrier_%s of %u signals, signal 0x%" PRIx64, id_, index,
        all ? "and" : "or", signals, p.completion_signal);
  return Step::progressed;
}

PacketProcessor::Step AqlProcessor::vendor(const Packet &packet, uint64_t index) {
  uint8_t format = packet.setup & 0xff;
  if (format == hsa::vendor_pm4_ib) return pm4(reinterpret_cast<const hsa::Pm4Ib &>(packet), index);
  if (format == hsa::vendor_barrier_value)
    return barrier_value(reinterpret_cast<const hsa::BarrierValue &>(packet), index);
  return fail(hsa::error_vendor_packet,
              text("%s: queue %u: AQL packet %" PRIu64
                   " (%08x) has vendor format %u, which the software GPU does not know",
                   host_.arch().name, id_, index, first_dword(packet), format));
}

PacketProcessor::Step AqlProcessor::barrier_value(const hsa::BarrierValue &p, uint64_t index) {
  if (p.signal) { // none means that there is nothing to wait for
    auto value = signal_value(p.signal);
    if (!value) return fault(p.signal, false, "barrier signal");
    int64_t v = *value & p.mask;
    bool met = p.condition == 0   ? v == p.value
               : p.condition == 1 ? v != p.value
               : p.condition == 2 ? v < p.value
                                  : v >= p.value;
    if (!met) return Step::waiting;
  }
  if (trace().packets)
    say("queue %u: %" PRIu64 ": barrier_value of 0x%" PRIx64 ", signal 0x%" PRIx64, id_, index,
        p.signal, p.completion_signal);
  return Step::progressed;
}

// The runtime uses PM4 to drop instruction caches after it has loaded code. Commands of that kind
// are taken for a fence of all caches, others are refused.
PacketProcessor::Step AqlProcessor::pm4(const hsa::Pm4Ib &p, uint64_t index) {
  constexpr uint8_t nop = 0x10, event_write = 0x46, acquire_mem = 0x58;
  uint64_t address = uint64_t{p.jump[2] & 0xffff} << 32 | (p.jump[1] & ~3u);
  uint32_t dwords = p.jump[3] & 0xfffff;
  for (uint32_t i = 0; i < dwords;) {
    uint32_t header;
    uint64_t bad = 0;
    if (!memory_.read(address + 4 * i, &header, sizeof header, &bad))
      return fault(bad, false, "PM4 commands");
    uint8_t op = header >> 8 & 0xff;
    if (header >> 30 != 3 || (op != nop && op != event_write && op != acquire_mem))
      return fail(hsa::error_vendor_packet,
                  text("%s: queue %u: PM4 command 0x%08x in AQL packet %" PRIu64
                       " is one that the software GPU does not know",
                       host_.arch().name, id_, header, index));
    i += 2 + (header >> 16 & 0x3fff);
  }
  host_.release(Reach::system);
  host_.acquire(Reach::system);
  if (trace().packets)
    say("queue %u: %" PRIu64 ": pm4 of %u dwords, signal 0x%" PRIx64, id_, index, dwords,
        p.completion_signal);
  return Step::progressed;
}

std::optional<int64_t> AqlProcessor::signal_value(uint64_t handle) const {
  auto *signal = memory_.at<hsa::Signal>(handle);
  if (!signal) return std::nullopt;
  return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
}

PacketProcessor::Step AqlProcessor::fault(uint64_t address, bool write, const char *what) {
  halted_ = true;
  say("%s: queue %u: %s at 0x%" PRIx64 " is not mapped", host_.arch().name, id_, what, address);
  host_.memory_fault(address, write);
  return Step::halted;
}

PacketProcessor::Step AqlProcessor::fail(int64_t code, const std::string &message) {
  halted_ = true;
  if (!message.empty()) say("%s", message.c_str());
  uint64_t queue = read_pointer_ - hsa::queue_read_dispatch_id;
  auto *handle = memory_.at<uint64_t>(queue + hsa::queue_inactive_signal);
  auto *signal = handle ? memory_.at<hsa::Signal>(*handle) : nullptr;
  if (!signal) return Step::halted; // a runtime that wants no errors
  uint64_t mailbox = signal->event_mailbox;
  uint32_t event = signal->event_id;
  __atomic_store_n(&signal->value, code, __ATOMIC_RELEASE);
  if (auto *slot = mailbox ? memory_.at<uint64_t>(mailbox) : nullptr) {
    __atomic_store_n(slot, uint64_t{event}, __ATOMIC_RELEASE);
    host_.set_event(event);
  }
  return Step::halted;
}

} // namespace fade::sim
