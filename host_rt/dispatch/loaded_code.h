// A code object that the application has loaded, or that lies in the kernel cache: its bytes, and
// on demand what is in it.
#pragma once

#include "codeobj/code_object.h"
#include "codeobj/kernarg.h"
#include "stream/kernel_info.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fade {

class LoadedCode {
public:
  explicit LoadedCode(codeobj::Blob blob) : blob_(std::move(blob)) {}
  LoadedCode(const LoadedCode &) = delete;
  LoadedCode &operator=(const LoadedCode &) = delete;

  const std::string &file() const { return blob_.name(); }
  codeobj::ByteView bytes() const { return blob_.bytes(); }

  /// Null if the bytes cannot be read; error() then says why. Parsed once, when first asked for.
  const codeobj::CodeObject *object() const;
  /// The same, to be kept.
  std::shared_ptr<const codeobj::CodeObject> sharedObject() const {
    return object() ? object_ : nullptr;
  }
  const std::string &error() const { return error_; }

  /// The arguments of a kernel, by its symbol without ".kd"; or why they are not known.
  Result<codeobj::KernargLayout> layout(const std::string &symbol) const;
  /// The site table that lists an instrumented kernel, by the kernel's own symbol; or why there is
  /// none. Tables are read once, when first asked for.
  Result<std::shared_ptr<const ModuleSites>> sitesOf(const std::string &instrumented) const;

  /// Whether it may run in place of kernels of `original`: if it says what it was made from, only
  /// there. Both must be readable.
  bool isFor(const LoadedCode &original) const;

  /// Whether instrumented kernels or site tables may be in there; looks at section names only.
  static bool mayBeInstrumented(codeobj::ByteView bytes);

private:
  void parse() const;
  void readSites() const;
  uint64_t identity() const;

  codeobj::Blob blob_;
  mutable std::once_flag once_, sites_once_, identity_once_;
  mutable uint64_t identity_ = 0;
  mutable std::shared_ptr<const codeobj::CodeObject> object_;
  mutable std::string error_;
  mutable std::unordered_map<std::string, std::shared_ptr<const ModuleSites>> sites_; ///< by kernel
  mutable std::map<std::string, std::string> refused_; ///< why kernels with sites must not run
  mutable std::string no_sites_;                       ///< why a kernel may be in none of them
};

} // namespace fade
