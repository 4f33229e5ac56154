// HIP copies and fills with kernels of its own, several of them for one call where sizes are odd,
// and also for the nodes of a graph. What one of them does is in its arguments; their names, which
// the compiler keeps, tell the versions of HIP apart.
#pragma once

#include "codeobj/metadata.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fade {

struct Blit {
  uint64_t to = 0, from = 0; ///< a fill comes from nowhere
  uint64_t bytes = 0;
};

class BlitKernel {
public:
  /// Nothing for kernels of the application, and for those of a HIP that nobody has seen yet.
  static std::optional<BlitKernel> of(const codeobj::KernelMetadata &kernel);

  /// `block`: the arguments of a dispatch; nothing if it is too short, or says what cannot be.
  std::optional<Blit> read(std::span<const std::byte> block) const;

  uint32_t argumentBytes() const { return end_; }

private:
  enum class Form : uint8_t { fill_to_end, fill, fill_rows, copy, copy_words, copy_box };
  static constexpr std::size_t kMostArguments = 8;

  BlitKernel(Form form) : form_(form) {}
  static std::optional<BlitKernel> find(const codeobj::KernelMetadata &kernel, Form form,
                                        std::initializer_list<std::string_view> names);

  Form form_;
  uint32_t end_ = 0;
  uint32_t offsets_[kMostArguments] = {}; ///< in the order of the names
  uint32_t sizes_[kMostArguments] = {};
};

} // namespace fade
