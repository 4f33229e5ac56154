#include "hsa/variables.h"

#include "codeobj/demangle.h"

namespace fade {

std::string symbolName(hsa_executable_symbol_t symbol) {
  const auto get = hsaApi().core.hsa_executable_symbol_get_info_fn;
  uint32_t length = 0;
  if (!ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length))) return "";
  std::string name(length, '\0');
  if (!ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()))) return "";
  return name;
}

void noteVariable(AllocationTable &to, hsa_executable_t executable, const Agent &agent,
                  hsa_executable_symbol_t symbol) {
  const auto get = hsaApi().core.hsa_executable_symbol_get_info_fn;
  hsa_symbol_kind_t kind{};
  uint64_t address = 0;
  uint32_t size = 0;
  if (!ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind)) ||
      kind != HSA_SYMBOL_KIND_VARIABLE ||
      !ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address)) ||
      !ok(get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size)) || address == 0 ||
      size == 0)
    return;
  std::string name = symbolName(symbol);
  // The compiler's mark of a compilation unit is nothing that a program has written.
  if (name.empty() || name.starts_with("__hip_cuid_")) return;
  fade_allocation variable{};
  variable.address = address;
  variable.size = size;
  variable.agent = agent.number;
  to.addVariable(executable.handle, codeobj::demangle(name), variable);
}

void noteVariables(AllocationTable &to, hsa_executable_t executable, const Agent &agent) {
  struct Context {
    AllocationTable &to;
    const Agent &agent;
  } context{to, agent};
  (void)hsaApi().core.hsa_executable_iterate_agent_symbols_fn(
      executable, agent.handle,
      [](hsa_executable_t from, hsa_agent_t, hsa_executable_symbol_t symbol, void *data) {
        const auto &[table, owner] = *static_cast<const Context *>(data);
        try {
          noteVariable(table, from, owner, symbol);
        } catch (...) { // the report then has no name for this variable
        }
        return HSA_STATUS_SUCCESS;
      },
      &context);
}

} // namespace fade
