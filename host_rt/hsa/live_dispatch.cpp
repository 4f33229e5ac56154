#include "hsa/live_dispatch.h"

#include "base/handed_over.h"
#include "hsa/executed.h"
#include "hsa/operations.h"
#include "hsa/runtime.h"
#include "hsa/signal_times.h"

#include <algorithm>

namespace fade {
DispatchServices DispatchServices::of(Runtime &runtime) {
  return {runtime.deaths(), runtime.polledSignals(), runtime.interruptSignals()};
}

HsaDispatch::HsaDispatch(const DispatchServices &services, std::shared_ptr<QueueState> queue,
                         uint64_t packet, std::shared_ptr<KernelEntry> kernel)
    : services_(services), queue_(std::move(queue)), packet_(packet), kernel_(std::move(kernel)) {}

HsaDispatch::~HsaDispatch() {
  if (services_.deaths) services_.deaths->ended(watched);
  if (ring) static_cast<HsaRing *>(ring)->giveBackUnused();
  // What the GPU may still use is not used again.
  if (signal_.handle == 0 || hsaApi().core.hsa_signal_load_relaxed_fn(signal_) > 0) return;
  pool_->giveBack(signal_);
  if (kernarg_pool_) kernarg_pool_->giveBack(kernargs_);
}

bool HsaDispatch::replaceSignal(hsa_signal_t &completion) {
  const HsaApi &api = hsaApi();
  // The application waits for its own signal, so that one has to follow at once: the runtime's
  // event thread forwards it. All others are polled.
  const bool forwards = completion.handle != 0;
  pool_ = forwards ? &services_.interrupts : &services_.polled;
  signal_ = pool_->take();
  if (signal_.handle == 0) return false;
  application_ = completion;
  handOver(this);
  if (forwards && !ok(api.amd.hsa_amd_signal_async_handler_fn(signal_, HSA_SIGNAL_CONDITION_LT, 1,
                                                              forward, this))) {
    api.core.hsa_signal_store_relaxed_fn(signal_, 0);
    application_ = {};
    return false;
  }
  completion = signal_;
  return true;
}

/// Does to the application's signal what the GPU did to ours, once.
void HsaDispatch::completeTheirs() noexcept {
  if (is_told_.exchange(true, std::memory_order_acq_rel)) return;
  copyTimes(signal_, application_);
  hsaApi().core.hsa_signal_subtract_screlease_fn(application_, 1);
}

/// On the runtime's event thread.
bool HsaDispatch::forward(hsa_signal_value_t, void *data) {
  takeOver(data);
  auto &self = *static_cast<HsaDispatch *>(data);
  self.completeTheirs();
  self.forwarded_.store(true, std::memory_order_release); // the object may be gone after this
  return false;
}

/// On the collector's thread, which is also the one that ends this object.
void HsaDispatch::tellApplication() noexcept {
  if (application_.handle == 0 || is_told_.load(std::memory_order_relaxed)) return;
  if (hsaApi().core.hsa_signal_load_scacquire_fn(signal_) <= 0) completeTheirs();
}

bool HsaDispatch::hasEnded() noexcept {
  const bool ended = application_.handle != 0
                         ? forwarded_.load(std::memory_order_acquire)
                         : hsaApi().core.hsa_signal_load_scacquire_fn(signal_) <= 0;
  if (!ended) return queue_->destroyed.load(std::memory_order_acquire) && application_.handle == 0;
  queue_->flow.hasConsumed(packet_);
  return true;
}

void HsaDispatch::readTimes(fade_dispatch &view) noexcept {
  const HsaApi &api = hsaApi();
  if (ring && kernel_) { // only the collector's thread comes here
    const double bytes =
        static_cast<double>(ring->control().head) /
        std::max(1.0, static_cast<double>(view.grid[0]) * view.grid[1] * view.grid[2]);
    if (bytes > kernel_->bytes_per_item.load(std::memory_order_relaxed))
      kernel_->bytes_per_item.store(bytes, std::memory_order_relaxed);
  }
  if (signal_.handle == 0 || api.core.hsa_signal_load_scacquire_fn(signal_) > 0) {
    view.flags |= FADE_DISPATCH_INCOMPLETE;
    return;
  }
  if (isSoftwareGpu())
    if (const auto executed = takeExecuted(signal_.handle)) {
      view.wave_instructions = executed->waves;
      view.lane_instructions = executed->lanes;
      view.flags |= FADE_DISPATCH_HAS_INSTRUCTIONS;
    }
  hsa_amd_profiling_dispatch_time_t time{};
  if (!ok(api.amd.hsa_amd_profiling_get_dispatch_time_fn(queue_->agent->handle, signal_, &time)))
    return;
  view.start_ns = nanosecondsOf(time.start);
  view.end_ns = nanosecondsOf(time.end);
  view.flags |= FADE_DISPATCH_HAS_TIMES;
  recordOperationEnd(std::exchange(operation, 0), 0, view.start_ns, view.end_ns);
}

} // namespace fade
