// A library that looks like ROCr to a tool: tables of any length, and exports that call what is in
// them. Its functions do nothing.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::size_t place = 0; ///< of hsa_amd_queue_create
uint64_t calls = 0;
std::vector<uint64_t> core, amd;
HsaApiTable table{};

hsa_status_t nothing() { return HSA_STATUS_ERROR; }
hsa_status_t createQueues(uint64_t agent, void *, uint32_t count) {
  calls += agent + count;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

void fill(std::vector<uint64_t> &entries, std::size_t count) {
  constexpr std::size_t header = sizeof(ApiTableVersion) / 8;
  entries.assign(header + count, reinterpret_cast<uint64_t>(nothing));
  const ApiTableVersion version{2, static_cast<uint32_t>(entries.size() * 8), 0, 0};
  std::memcpy(entries.data(), &version, sizeof version);
}

} // namespace

EXPORT hsa_status_t hsa_init() { return HSA_STATUS_SUCCESS; }
EXPORT hsa_status_t hsa_amd_queue_create(uint64_t agent, void *descriptors, uint32_t count) {
  return reinterpret_cast<decltype(createQueues) *>(amd[2 + place])(agent, descriptors, count);
}

EXPORT HsaApiTable *fake_tables(std::size_t entries, std::size_t queue_create) {
  fill(core, 125);
  fill(amd, entries);
  place = queue_create;
  if (place < entries) amd[2 + place] = reinterpret_cast<uint64_t>(createQueues);
  table.version = {3, sizeof table, 0, 0};
  table.core_ = reinterpret_cast<CoreApiTable *>(core.data());
  table.amd_ext_ = reinterpret_cast<AmdExtTable *>(amd.data());
  return &table;
}
EXPORT const uint64_t *fake_amd_entries() { return amd.data() + 2; }
EXPORT uint64_t fake_calls() { return calls; }
EXPORT uint64_t fake_nothing() { return reinterpret_cast<uint64_t>(nothing); }
EXPORT uint64_t fake_create() { return reinterpret_cast<uint64_t>(createQueues); }
EXPORT hsa_status_t fake_call_export(uint32_t count) {
  return hsa_amd_queue_create(0, nullptr, count);
}
