#include "device/gpu.h"

#include "base/card_mode.h"
#include "device/aql_processor.h"
#include "device/sdma_processor.h"

namespace fade::sim {
namespace {

std::unique_ptr<Caches> make_caches(const Arch &arch) {
  static const bool are_wanted = is_like_card("FADE_GPU_CACHES"); // said once, not for each device
  return are_wanted ? std::make_unique<Caches>(arch) : nullptr;
}

} // namespace

Gpu::Gpu(const Arch &arch, const std::string &name, uint64_t address_space_bytes,
         DoorbellPoller &poller, StatsLog *stats, Interrupts interrupts)
    : arch_(arch), poller_(poller), stats_(stats), interrupts_(std::move(interrupts)),
      store_(name.c_str(), address_space_bytes), caches_(make_caches(arch)), names_(memory_) {
  if (caches_)
    memory_.on_unmap([this](std::byte *host, uint64_t size) { caches_->forget(host, size); });
}

Gpu::~Gpu() {
  if (executor_) executor_->stop();
  queues_.clear();
}

Observer *Gpu::observer() {
  std::call_once(observer_once_,
                 [this] { observer_ = load_observer(arch_.name, observed_memory_); });
  return observer_;
}

Executor &Gpu::executor() {
  std::call_once(executor_once_, [this] {
    Executor::Hooks hooks;
    hooks.interrupt = [this](uint32_t event) { interrupts_.event(event); };
    hooks.kernel_name = [this](uint64_t address) { return names_.find(address); };
    hooks.caches = caches_.get();
    executor_ = std::make_unique<Executor>(arch_, memory_, hooks);
    executor_->observe(observer());
    if (compute_units_) executor_->set_compute_units(compute_units_);
  });
  return *executor_;
}

DispatchResult Gpu::run(const Dispatch &dispatch) { return executor().run(dispatch); }

bool Gpu::create_queue(QueueKind kind, const QueueSpec &spec) {
  std::unique_ptr<PacketProcessor> processor;
  if (kind == QueueKind::aql) {
    auto aql = std::make_unique<AqlProcessor>(*this, spec, stats_);
    if (!aql->valid()) return false;
    processor = std::move(aql);
  } else {
    auto sdma = std::make_unique<SdmaProcessor>(*this, spec, arch_.gfx12);
    if (!sdma->valid()) return false;
    processor = std::move(sdma);
  }
  std::string name =
      (kind == QueueKind::aql ? "fadegpu-q" : "fadegpu-dma") + std::to_string(spec.id);
  auto runner = std::make_unique<QueueRunner>(poller_, std::move(processor), name.c_str());
  std::lock_guard lock(queues_mutex_);
  queues_[spec.id] = {std::move(runner), spec.read_pointer - hsa::queue_read_dispatch_id};
  return true;
}

bool Gpu::destroy_queue(uint32_t id) {
  Queue queue;
  {
    std::lock_guard lock(queues_mutex_);
    auto it = queues_.find(id);
    if (it == queues_.end()) return false;
    queue = std::move(it->second);
    queues_.erase(it);
  }
  // Real ones are taken off at once. What runs here takes longer than there, so it gets some time
  // to end by itself.
  constexpr auto patience = std::chrono::seconds(2);
  if (!queue.runner->finish(patience) && executor_) executor_->stop(queue.address);
  return true; // the runner's thread ends here, without the lock
}

bool Gpu::update_queue(uint32_t id, uint64_t ring, uint64_t ring_bytes, bool active) {
  std::lock_guard lock(queues_mutex_);
  auto it = queues_.find(id);
  if (it == queues_.end()) return false;
  QueueRunner &runner = *it->second.runner;
  if (!active) {
    runner.pause(false); // a packet that runs is not taken back
    return true;
  }
  runner.pause(true);
  bool mapped = runner.set_ring(ring, ring_bytes);
  runner.resume();
  return mapped;
}

} // namespace fade::sim
