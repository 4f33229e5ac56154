#include "hsa/packet_rewrite.h"

#include "base/diagnostics.h"
#include "hip/recorder.h"
#include "hsa/executed.h"
#include "hsa/kernel_swap.h"
#include "hsa/operations.h"
#include "hsa/runtime.h"
#include "hsa/unseen.h"

#include <algorithm>
#include <cstring>
#include <exception>

namespace fade {
namespace {

/// One dispatch packet between the application and the GPU.
class DispatchRewrite {
public:
  DispatchRewrite(const PacketServices &services, const std::shared_ptr<QueueState> &queue,
                  DispatchPacket &packet, uint64_t number, uint64_t index)
      : services_(services), queue_(queue), packet_(packet), shape_(shapeOf(packet)),
        number_(number), index_(index), kernel_(services.swap.registry.find(packet.kernel_object)) {
  }

  void run();

private:
  void describe(DispatchRecord &record) const;
  void noteForDeath(DeathWatch &deaths, HsaDispatch &live, const void *arguments) const;

  const PacketServices &services_;
  const std::shared_ptr<QueueState> &queue_;
  DispatchPacket &packet_;
  const DispatchShape shape_;
  const uint64_t number_;                     ///< among those passed on
  const uint64_t index_;                      ///< in the application's queue
  const std::shared_ptr<KernelEntry> kernel_; ///< null if it is not known
};

void DispatchRewrite::describe(DispatchRecord &record) const {
  static const auto original = std::make_shared<const std::string>("original");
  if (kernel_) {
    record.setKernel(kernel_->info);
  } else {
    const std::string name = fmt::format("kernel object {:#x}", packet_.kernel_object);
    record.setKernel(services_.swap.registry.info({0, name, name, queue_->agent->target, ""}));
  }
  record.setVariant(original);
  fade_dispatch &view = record.view;
  if (isSoftwareGpu()) view.flags |= FADE_DISPATCH_IN_SOFTWARE;
  view.id = services_.dispatches.fetch_add(1, std::memory_order_relaxed) + 1;
  view.queue = queue_->number;
  view.agent = queue_->agent->number;
  view.group_segment = packet_.group_segment_size;
  std::ranges::copy(shape_.grid, view.grid);
  std::ranges::copy(shape_.workgroup, view.workgroup);
}

/// What will be wanted to be known of it if it does not end well.
void DispatchRewrite::noteForDeath(DeathWatch &deaths, HsaDispatch &live,
                                   const void *arguments) const {
  DeathWatch::Dispatch &note = live.watched;
  note.id = live.record->view.id;
  note.queue = queue_->number;
  note.agent = queue_->agent->number;
  note.kernel = live.record->kernel;
  note.records = live.record->last;
  note.adds_up = note.records && note.kernel && note.kernel->sums() &&
                 !services_.swap.instrumentation.wantsRecords();
  for (std::size_t i = 0; i < 3; ++i) {
    note.grid[i] = static_cast<uint32_t>(live.record->view.grid[i]);
    note.workgroup[i] = static_cast<uint32_t>(live.record->view.workgroup[i]);
  }
  note.signal = live.signal();
  note.arguments = arguments;
  note.arguments_size = kernel_ ? kernel_->device.kernarg_size : 0;
  deaths.dispatched(note);
}

void DispatchRewrite::run() {
  const uint64_t ordinal = kernel_ ? ++kernel_->dispatches : 0;
  auto live = std::make_unique<HsaDispatch>(services_.dispatch, queue_, number_, kernel_);
  live->record = std::make_unique<DispatchRecord>();
  describe(*live->record);
  if (!live->replaceSignal(packet_.completion_signal)) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) warn("the runtime has no signals left: dispatches are not seen");
    services_.swap.instrumentation.skipped(live->record->kernel->name(),
                                           "the runtime had no signal to time it with");
    return;
  }
  // What a recorded call has asked for is there, also if the recording was switched off meanwhile.
  const uint64_t call = queue_->calls ? queue_->calls->callOf(index_) : 0;
  if (call != 0 || (queue_->calls && hip::isRecording()))
    live->operation = recordKernel(
        *queue_->agent, *live->record, kernel_.get(), packet_.private_segment_size, call, index_,
        blitPlaces(kernel_.get(), packet_.kernarg_address, services_.swap.allocations));
  const void *arguments = packet_.kernarg_address;
  if (kernel_ && services_.swap.instrumentation.wants(*kernel_, ordinal))
    KernelSwap(services_.swap, *queue_, packet_, shape_, kernel_).run(*live, ordinal);
  if (DeathWatch *deaths = services_.dispatch.deaths) noteForDeath(*deaths, *live, arguments);
  services_.collector.add(std::move(live));
}

} // namespace

PacketServices PacketServices::of(Runtime &runtime) {
  return {{runtime.instrumentation(), runtime.registry(), runtime.allocations(), runtime.deaths()},
          DispatchServices::of(runtime),
          runtime.collector(),
          runtime.dispatchCount()};
}

void rewritePackets(const PacketServices &services, const std::shared_ptr<QueueState> &queue,
                    std::vector<DispatchPacket> &packets, uint64_t index) {
  const uint64_t count = packets.size();
  const uint64_t first = queue->flow.submit(count, services.dispatch.polled);
  for (uint64_t i = 0; i < count; ++i) {
    if (kindOf(packets[i]) == PacketKind::unknown)
      unseen().addPacket(typeOf(packets[i]), formatOf(packets[i]));
    if (!runsKernel(packets[i])) continue;
    const DispatchPacket before = packets[i];
    try {
      DispatchRewrite(services, queue, packets[i], first + i, index + i).run();
    } catch (const std::exception &e) {
      packets[i] = before;
      warn("a dispatch is passed on unchanged: {}", e.what());
    }
  }
  packets.reserve(count + 1); // a mark that is not passed on would be waited for
  if (const auto mark = queue->flow.mark(services.dispatch.polled))
    std::memcpy(&packets.emplace_back(), &*mark, sizeof *mark);
}

} // namespace fade
