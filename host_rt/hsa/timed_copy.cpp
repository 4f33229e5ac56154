#include "hsa/timed_copy.h"

#include "base/handed_over.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/executed.h"
#include "hsa/operations.h"
#include "hsa/runtime.h"
#include "hsa/signal_times.h"

#include <memory>
#include <mutex>

namespace fade {
namespace {

using events::Direction;

void keepTimes() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (const auto enable = hsaApi().amd.hsa_amd_profiling_async_copy_enable_fn) (void)enable(true);
  });
}

uint64_t recordCopy(const Agents &agents, const CopyPlaces &places) {
  static std::atomic<uint64_t> copies{0};
  events::OperationEvent event{};
  event.header.kind = events::EventKind::operation;
  event.kind = events::OperationKind::copy;
  event.call = hip::currentCall();
  event.submitted_ns = hip::nowNs();
  if (isSoftwareGpu()) event.flags |= events::kOperationSoftware;
  if (const Agent *agent = agents.find(places.agent)) {
    event.agent = agent->number;
    event.gpu = static_cast<uint8_t>(agent->gpu);
  }
  event.sequence = copies.fetch_add(1, std::memory_order_relaxed);
  event.bytes = places.bytes;
  event.to = reinterpret_cast<uint64_t>(places.to);
  event.from = reinterpret_cast<uint64_t>(places.from);
  event.direction = places.direction;
  if (places.engine) {
    event.engine = *places.engine;
    event.flags |= events::kOperationEngine;
  }
  return hip::recordEvent(event);
}

} // namespace

CopyServices CopyServices::of(Runtime &runtime) {
  return {runtime.agents(), runtime.interruptSignals(), runtime.copyTeller(), runtime.captures()};
}

CopyPlaces placesOf(const Agents &agents, const void *to, hsa_agent_t to_agent, const void *from,
                    hsa_agent_t from_agent, uint64_t bytes) {
  const Agent *source = agents.find(from_agent), *target = agents.find(to_agent);
  const bool from_gpu = source && source->is_gpu, to_gpu = target && target->is_gpu;
  const Direction direction =
      from_gpu ? (to_gpu ? Direction::device_to_device : Direction::device_to_host)
               : (to_gpu ? Direction::host_to_device : Direction::host_to_host);
  return {to, from, bytes, from_gpu ? from_agent : to_agent, direction, std::nullopt};
}

TimedCopy *TimedCopy::begin(const CopyServices &services, const CopyPlaces &places,
                            hsa_signal_t completion, uint32_t count) {
  const bool is_recorded = hip::isRecording() || hip::currentCall() != 0;
  CaptureSession *captures = services.captures;
  if (!is_recorded && (!captures || captures->isOver())) return nullptr;
  if (is_recorded) keepTimes();
  std::unique_ptr<TimedCopy> copy(new TimedCopy(services, completion, count));
  copy->signal_ = services.signals.take();
  if (copy->signal_.handle == 0) return nullptr;
  if (count != 1) hsaApi().core.hsa_signal_store_relaxed_fn(copy->signal_, count);
  copy->is_recorded_ = is_recorded;
  if (is_recorded) copy->operation_ = recordCopy(services.agents, places);
  try {
    services.teller.add(*copy);
  } catch (...) { // no memory
    if (is_recorded) recordOperationEnd(copy->operation_, events::kOperationRefused, 0, 0);
    services.signals.giveBack(copy->signal_);
    throw;
  }
  handOver(copy.get());
  if (!ok(hsaApi().amd.hsa_amd_signal_async_handler_fn(copy->signal_, HSA_SIGNAL_CONDITION_LT, 1,
                                                       onEnd, copy.get()))) {
    services.teller.remove(*copy);
    if (is_recorded) recordOperationEnd(copy->operation_, events::kOperationRefused, 0, 0);
    services.signals.giveBack(copy->signal_);
    return nullptr;
  }
  return copy.release();
}

hsa_signal_t TimedCopy::goesToEngine() {
  CaptureSession *captures = services_.captures;
  if (!captures || is_under_way_) return {};
  const hsa_signal_t door = captures->admitCopy(signal_);
  is_under_way_ = door.handle == 0;
  return door;
}

void TimedCopy::isWithEngine() {
  CaptureSession *captures = services_.captures;
  if (captures && !is_under_way_.exchange(true)) captures->copyBegins(signal_);
}

void TimedCopy::started(bool success) {
  if (success) return; // it may be gone already
  is_refused_.store(true, std::memory_order_release);
  hsaApi().core.hsa_signal_store_screlease_fn(signal_, 0);
}

/// On a thread of the runtime.
bool TimedCopy::onEnd(hsa_signal_value_t value, void *data) {
  takeOver(data);
  const std::unique_ptr<TimedCopy> copy(static_cast<TimedCopy *>(data));
  copy->services_.teller.remove(*copy);
  copy->end(value);
  return false;
}

/// Once: notes when it ended, and does to the application's signal what the engine did to ours.
void TimedCopy::completeTheirs(hsa_signal_value_t value) noexcept {
  if (is_told_.exchange(true, std::memory_order_acq_rel)) return;
  const HsaApi &api = hsaApi();
  if (is_recorded_) { // before the application goes on: it may end then
    hsa_amd_profiling_async_copy_time_t time{};
    const auto read = api.amd.hsa_amd_profiling_get_async_copy_time_fn;
    if (!read || !ok(read(signal_, &time))) time = {};
    recordOperationEnd(operation_, value < 0 ? uint16_t{events::kOperationFailed} : uint16_t{0},
                       nanosecondsOf(time.start), nanosecondsOf(time.end));
  }
  if (application_.handle == 0) return;
  copyTimes(signal_, application_);
  if (value < 0)
    api.core.hsa_signal_store_screlease_fn(application_, value);
  else
    api.core.hsa_signal_subtract_screlease_fn(application_, count_);
}

void TimedCopy::tellApplication() noexcept {
  const hsa_signal_value_t value = hsaApi().core.hsa_signal_load_scacquire_fn(signal_);
  if (value <= 0 && !is_refused_.load(std::memory_order_acquire)) completeTheirs(value);
}

void TimedCopy::end(hsa_signal_value_t value) {
  if (CaptureSession *captures = services_.captures; captures && is_under_way_)
    captures->copyEnds(signal_);
  if (!is_refused_.load(std::memory_order_acquire))
    completeTheirs(value);
  else if (is_recorded_)
    recordOperationEnd(operation_, events::kOperationRefused, 0, 0);
  services_.signals.giveBack(signal_);
}

} // namespace fade
