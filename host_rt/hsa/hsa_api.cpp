#include "hsa/hsa_api.h"

#include <algorithm>
#include <cstring>

namespace fade {
namespace {

template <typename Table> bool copyTable(Table &to, const Table *from, uint32_t major) {
  if (!from || from->version.major_id != major) return false;
  std::memcpy(static_cast<void *>(&to), from,
              std::min<std::size_t>(from->version.minor_id, sizeof to));
  return true;
}

} // namespace

bool HsaApi::copyFrom(const HsaApiTable &table) {
  return copyTable(core, table.core_, HSA_CORE_API_TABLE_MAJOR_VERSION) &&
         copyTable(amd, table.amd_ext_, HSA_AMD_EXT_API_TABLE_MAJOR_VERSION) &&
         hasEntry(core, &CoreApiTable::hsa_executable_iterate_agent_symbols_fn) &&
         hasEntry(amd, &AmdExtTable::hsa_amd_queue_intercept_register_fn);
}

HsaApi &hsaApi() {
  static HsaApi api;
  return api;
}

} // namespace fade
