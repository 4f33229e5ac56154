// Code objects between the creation of a reader and the freezing of an executable.
#pragma once

#include "codeobj/bytes.h"
#include "dispatch/kernel_registry.h"
#include "dispatch/loaded_code.h"
#include "hsa/hsa_api.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace fade {

using FactsBySymbol = std::unordered_map<std::string, KernelFacts>;

/// Of all kernels of a code object, while its bytes are there; what cannot be read is left out.
FactsBySymbol kernelFactsOf(const codeobj::Blob &blob);

class PendingCode {
public:
  /// What a reader reads: its bytes if somebody wants them, the file they are in, and which module
  /// they are.
  struct Seen {
    codeobj::Blob blob;
    std::string path;
    std::string module;
  };
  void addReader(uint64_t reader, Seen seen);
  void dropReader(uint64_t reader);
  std::optional<Seen> find(uint64_t reader);

  /// What an agent has of it.
  struct Loaded {
    hsa_agent_t agent{};
    std::shared_ptr<const LoadedCode> code;
    FactsBySymbol facts;
    std::string path; ///< the file it is in; empty: none, or nobody asks
    std::string module;
  };
  void load(uint64_t executable, Loaded loaded);
  std::vector<Loaded> take(uint64_t executable);

  /// For code that is in no file.
  std::string nextName();

private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, Seen> readers_;
  std::unordered_map<uint64_t, std::vector<Loaded>> executables_;
  uint64_t named_ = 0;
};

/// Of the process.
PendingCode &pending();

} // namespace fade
