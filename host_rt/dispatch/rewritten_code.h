// Code objects with twins that were made from machine code: asked for from fade-rewrite, a process
// of its own (LLVM does not come into the application), and kept in a folder by their content.
#pragma once

#include "base/result.h"
#include "codeobj/bytes.h"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace fade {

class RewrittenCode {
public:
  /// `program`: fade-rewrite. It is killed if it says nothing for as long as `patience`.
  /// `kernels`: a regular expression; others get no twins. Empty: all get one.
  RewrittenCode(std::string program, std::chrono::milliseconds patience, std::string kernels)
      : program_(std::move(program)), patience_(patience), kernels_(std::move(kernels)) {}

  /// The same code object with twins; empty if none of its kernels can have one; an error if that
  /// could not be found out. May take long. `modes`: what twins do (base/instrument_modes.h).
  Result<codeobj::Blob> of(codeobj::ByteView code, const std::string &name, uint32_t modes);
  /// Why a kernel has no twin, if a code object of of() had it.
  std::optional<std::string> refusal(const std::string &kernel) const;

private:
  struct Answer {
    bool is_complete = false;
    std::string text; ///< a line for each kernel without a twin: name, tab, reason
  };
  Result<Answer> ask(const std::string &what, const std::string &input,
                     const std::string &output) const;
  /// What was made before, if both files are there and as they were written.
  std::optional<codeobj::Blob> known(const std::string &object, const std::string &reasons);
  void note(std::string_view reasons);

  const std::string program_;
  const std::chrono::milliseconds patience_;
  const std::string kernels_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> refusals_; ///< by kernel
};

/// Where rewritten code objects are kept, made if need be: fade/rewritten in the user's folder for
/// caches.
Result<std::string> rewrittenFolder();

} // namespace fade
