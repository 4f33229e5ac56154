// Loads code of the kernel cache onto agents, each code object once.
#pragma once

#include "dispatch/replacement.h"
#include "hsa/agents.h"

#include <functional>
#include <map>
#include <mutex>

namespace fade {

class HsaCodeLoader final : public CodeLoader {
public:
  using Loaded = std::function<void(hsa_executable_t, const Agent &)>;

  /// `agents` is asked when something is loaded: the runtime is not up before. `loaded` is told of
  /// each executable.
  HsaCodeLoader(std::function<const Agents &()> agents, Loaded loaded)
      : agents_(std::move(agents)), loaded_(std::move(loaded)) {}

  Result<KernelOnDevice> load(AgentHandle agent, const std::shared_ptr<const LoadedCode> &code,
                              const std::string &symbol) override;

private:
  struct Executable {
    hsa_executable_t handle{};
    std::shared_ptr<const LoadedCode> code; ///< the runtime reads from its bytes
    std::string error;
  };
  const Executable &executable(hsa_agent_t agent, const std::shared_ptr<const LoadedCode> &code);
  static std::string loadInto(hsa_executable_t &executable, hsa_agent_t agent,
                              const LoadedCode &code);

  std::function<const Agents &()> agents_;
  Loaded loaded_;
  std::mutex mutex_;
  std::map<std::pair<AgentHandle, const LoadedCode *>, Executable> executables_;
};

/// What the runtime knows of a kernel's symbol.
KernelOnDevice readKernelSymbol(hsa_executable_symbol_t symbol);

} // namespace fade
