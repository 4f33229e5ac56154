#include "hsa/pending_code.h"

#include "codeobj/code_object.h"

#include <fmt/format.h>

namespace fade {

FactsBySymbol kernelFactsOf(const codeobj::Blob &blob) {
  FactsBySymbol all;
  const auto object = codeobj::CodeObject::open(codeobj::Blob::borrow(blob.bytes(), blob.name()));
  if (!object) return all;
  for (std::size_t i = 0; i < (*object)->kernelCount(); ++i) {
    const auto kernel = (*object)->kernel(i);
    if (!kernel || !kernel->has_metadata) continue;
    const codeobj::KernelMetadata &data = kernel->metadata;
    all[data.name] = {data.vgpr_count,       data.agpr_count,       data.sgpr_count,
                      data.vgpr_spill_count, data.sgpr_spill_count, BlitKernel::of(data)};
  }
  return all;
}

void PendingCode::addReader(uint64_t reader, Seen seen) {
  const std::lock_guard lock(mutex_);
  readers_[reader] = std::move(seen);
}

void PendingCode::dropReader(uint64_t reader) {
  const std::lock_guard lock(mutex_);
  readers_.erase(reader);
}

std::optional<PendingCode::Seen> PendingCode::find(uint64_t reader) {
  const std::lock_guard lock(mutex_);
  const auto at = readers_.find(reader);
  if (at == readers_.end()) return std::nullopt;
  return at->second;
}

void PendingCode::load(uint64_t executable, Loaded loaded) {
  const std::lock_guard lock(mutex_);
  executables_[executable].push_back(std::move(loaded));
}

std::vector<PendingCode::Loaded> PendingCode::take(uint64_t executable) {
  const std::lock_guard lock(mutex_);
  auto node = executables_.extract(executable);
  return node.empty() ? std::vector<Loaded>() : std::move(node.mapped());
}

std::string PendingCode::nextName() {
  const std::lock_guard lock(mutex_);
  return fmt::format("code object {}", ++named_);
}

PendingCode &pending() {
  static auto *code = new PendingCode; // outlives every exit handler
  return *code;
}

} // namespace fade
