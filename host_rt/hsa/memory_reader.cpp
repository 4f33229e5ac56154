#include "hsa/memory_reader.h"

#include "base/careful_read.h"
#include "base/diagnostics.h"

#include <algorithm>
#include <thread>

namespace fade {

MemoryReader::~MemoryReader() {
  for (Stage &stage : stages_) {
    if (stage.is_under_way) continue; // the engine may still write there
    if (stage.memory) freeMemory(stage.memory);
    if (stage.done.handle != 0) (void)hsaApi().core.hsa_signal_destroy_fn(stage.done);
  }
}

bool MemoryReader::read(const VisibleRegion &region, const Use &use) {
  return region.host != 0 ? readHost(region, use) : readDevice(region, use);
}

bool MemoryReader::readHost(const VisibleRegion &region, const Use &use) {
  buffer_.resize(kPiece);
  for (uint64_t at = 0; at < region.region.size; at += kPiece) {
    const std::size_t size = std::min<uint64_t>(kPiece, region.region.size - at);
    if (!readCarefully(buffer_.data(), region.host + at, size) ||
        !use(std::span(buffer_).first(size)))
      return false;
  }
  return true;
}

bool MemoryReader::makeStages() {
  const Agent *host = agents_.host();
  if (!host || !host->host_pool) return false;
  for (Stage &stage : stages_) {
    if (stage.memory) continue;
    void *memory = nullptr;
    if (!ok(hsaApi().amd.hsa_amd_memory_pool_allocate_fn(*host->host_pool, kPiece, 0, &memory)))
      return false;
    stage.memory = static_cast<uint8_t *>(memory);
    std::vector<hsa_agent_t> gpus;
    for (const Agent &agent : agents_.all())
      if (agent.is_gpu) gpus.push_back(agent.handle);
    if (!ok(hsaApi().amd.hsa_amd_agents_allow_access_fn(static_cast<uint32_t>(gpus.size()),
                                                        gpus.data(), nullptr, memory)) ||
        !ok(hsaApi().core.hsa_signal_create_fn(1, 0, nullptr, &stage.done)))
      return false;
  }
  return true;
}

bool MemoryReader::startCopy(unsigned slot, const VisibleRegion &region, uint64_t offset,
                             std::size_t size) {
  const HsaApi &api = hsaApi();
  Stage &stage = stages_[slot];
  api.core.hsa_signal_store_relaxed_fn(stage.done, 1);
  stage.is_under_way = ok(api.amd.hsa_amd_memory_async_copy_fn(
      stage.memory, agents_.host()->handle,
      reinterpret_cast<const void *>(region.region.address + offset), region.agent, size, 0,
      nullptr, stage.done));
  return stage.is_under_way;
}

bool MemoryReader::waitFor(unsigned slot) {
  using Clock = std::chrono::steady_clock;
  Stage &stage = stages_[slot];
  const auto deadline = Clock::now() + patience_;
  hsa_signal_value_t value = 1;
  for (unsigned n = 0; (value = hsaApi().core.hsa_signal_load_scacquire_fn(stage.done)) > 0; ++n) {
    if (Clock::now() > deadline) return false;
    if (n < 1000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  stage.is_under_way = false;
  return value == 0;
}

/// By a kernel on a queue of the runtime's own, or by the CPU: slow, but nobody stands before it.
bool MemoryReader::copyPlainly(unsigned slot, const VisibleRegion &region, uint64_t offset,
                               std::size_t size) {
  Stage &stage = stages_[slot];
  if (stage.is_under_way) { // lost: the engine may write there at any time
    stage = {};
    if (!makeStages()) return false;
  }
  return ok(hsaApi().core.hsa_memory_copy_fn(
      stage.memory, reinterpret_cast<const void *>(region.region.address + offset), size));
}

bool MemoryReader::readDevice(const VisibleRegion &region, const Use &use) {
  if (!makeStages()) return false;
  const uint64_t total = region.region.size;
  const auto sizeAt = [&](uint64_t at) -> std::size_t {
    return std::min<uint64_t>(kPiece, total - at);
  };
  unsigned slot = 0;
  if (engine_works_ && !startCopy(0, region, 0, sizeAt(0))) engine_works_ = false;
  for (uint64_t at = 0; at < total; at += kPiece, slot ^= 1) {
    if (engine_works_ && !waitFor(slot)) {
      warn("capture: a copy engine does not respond: using another way to read memory");
      engine_works_ = false;
    }
    // The next piece is on its way while this one is compressed.
    const bool had_engine = engine_works_;
    if (engine_works_ && at + kPiece < total &&
        !startCopy(slot ^ 1, region, at + kPiece, sizeAt(at + kPiece)))
      engine_works_ = false;
    if (!had_engine && !copyPlainly(slot, region, at, sizeAt(at))) return false;
    if (!use({stages_[slot].memory, sizeAt(at)})) {
      if (stages_[slot ^ 1].is_under_way) (void)waitFor(slot ^ 1);
      return false;
    }
  }
  return true;
}

} // namespace fade
