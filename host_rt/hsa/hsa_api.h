// The HSA runtime as FADE calls it: the functions that were in its tables before FADE put its own
// there. Entries that the runtime is too old to have are null.
#pragma once

// Debian's copy of the header wants to be told that it stands beside the others.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <cstddef>
#include <cstdint>

namespace fade {

struct HsaApi {
  CoreApiTable core{};
  AmdExtTable amd{};

  /// Copies the tables. False if they are not what this FADE was built for.
  bool copyFrom(const HsaApiTable &table);
};

/// Valid once OnLoad has run.
HsaApi &hsaApi();

/// Whether the runtime's table is long enough to have an entry.
template <typename Table, typename Entry> bool hasEntry(const Table &table, Entry Table::*entry) {
  const auto offset =
      reinterpret_cast<const char *>(&(table.*entry)) - reinterpret_cast<const char *>(&table);
  return static_cast<std::size_t>(offset) + sizeof(Entry) <= table.version.minor_id;
}

inline bool ok(hsa_status_t status) {
  return status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK;
}

} // namespace fade
