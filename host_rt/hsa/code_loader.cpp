#include "hsa/code_loader.h"

#include <fmt/format.h>

namespace fade {
namespace {

std::string statusText(hsa_status_t status) {
  const char *text = nullptr;
  hsaApi().core.hsa_status_string_fn(status, &text);
  return text ? text : fmt::format("status {:#x}", static_cast<unsigned>(status));
}

} // namespace

KernelOnDevice readKernelSymbol(hsa_executable_symbol_t symbol) {
  KernelOnDevice kernel;
  const auto get = hsaApi().core.hsa_executable_symbol_get_info_fn;
  get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel.kernarg_size);
  get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_size);
  get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_size);
  return kernel;
}

/// Empty, or what went wrong.
std::string HsaCodeLoader::loadInto(hsa_executable_t &executable, hsa_agent_t agent,
                                    const LoadedCode &code) {
  const CoreApiTable &core = hsaApi().core;
  hsa_code_object_reader_t reader{};
  hsa_status_t status = core.hsa_code_object_reader_create_from_memory_fn(
      code.bytes().data(), code.bytes().size(), &reader);
  if (!ok(status)) return statusText(status);
  status = core.hsa_executable_create_alt_fn(
      HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable);
  if (ok(status))
    status =
        core.hsa_executable_load_agent_code_object_fn(executable, agent, reader, nullptr, nullptr);
  if (ok(status)) status = core.hsa_executable_freeze_fn(executable, nullptr);
  (void)core.hsa_code_object_reader_destroy_fn(reader);
  return ok(status) ? "" : statusText(status);
}

const HsaCodeLoader::Executable &
HsaCodeLoader::executable(hsa_agent_t agent, const std::shared_ptr<const LoadedCode> &code) {
  const auto [at, is_new] = executables_.try_emplace({agent.handle, code.get()});
  Executable &result = at->second;
  if (!is_new) return result;
  result.code = code;
  const codeobj::CodeObject *object = code->object();
  const Agent *known = agents_().find(agent);
  const auto own = known ? codeobj::parseTarget(known->isa) : std::nullopt;
  if (!object)
    result.error = code->error();
  else if (own && !codeobj::runsOn(object->target(), *own))
    result.error = fmt::format("it is for {}, the agent is {}", object->target().id(), own->id());
  else
    result.error = loadInto(result.handle, agent, *code);
  if (result.error.empty() && known) loaded_(result.handle, *known);
  return result;
}

Result<KernelOnDevice> HsaCodeLoader::load(AgentHandle agent,
                                           const std::shared_ptr<const LoadedCode> &code,
                                           const std::string &symbol) {
  const std::lock_guard lock(mutex_);
  const hsa_agent_t handle{agent};
  const Executable &from = executable(handle, code);
  if (!from.error.empty()) return Error::of(from.error);
  hsa_executable_symbol_t found{};
  const CoreApiTable &core = hsaApi().core;
  hsa_status_t status = core.hsa_executable_get_symbol_by_name_fn(
      from.handle, (symbol + ".kd").c_str(), &handle, &found);
  // Code objects of version 2 have no ".kd".
  if (!ok(status))
    status =
        core.hsa_executable_get_symbol_by_name_fn(from.handle, symbol.c_str(), &handle, &found);
  if (!ok(status)) return Error::of(statusText(status));
  return readKernelSymbol(found);
}

} // namespace fade
