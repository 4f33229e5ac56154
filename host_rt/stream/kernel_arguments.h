// What a kernel's arguments are called and where they lie, and what a dispatch was given.
#pragma once

#include "fade/handler_abi.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fade {

struct Allocations;

/// Of a kernel, as its compiler describes them; without those that the runtime fills in.
struct KernelArguments {
  struct One {
    uint32_t offset = 0, size = 0, flags = 0;
    std::string name, type;
  };
  std::vector<One> list; ///< by offset
};

/// What a dispatch was given.
struct DispatchArguments {
  std::shared_ptr<const KernelArguments> of; ///< owns the names
  std::vector<fade_argument> list;

  /// `block`: the application's block of arguments, which may be shorter than the kernel says.
  static DispatchArguments read(std::shared_ptr<const KernelArguments> of,
                                std::span<const std::byte> block, const Allocations *allocations);
};

} // namespace fade
