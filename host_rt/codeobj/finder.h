// Finds AMD GPU code wherever it is: a code object, a bundle, an executable or library with fat
// binaries inside, a static library of such, a directory tree (a Triton cache, a kernel cache), a
// process, a buffer.
#pragma once

#include "codeobj/bundle.h"
#include "codeobj/code_object.h"

#include <functional>
#include <sys/types.h>

namespace fade::codeobj {

/// A code object that was found and not yet opened.
struct FoundCode {
  std::string file;         ///< of a member of a static library: libfoo.a(member.o)
  std::string bundle_entry; ///< id in its bundle; empty for a code object that stands alone
  uint64_t offset = 0;      ///< in the file or member; of the bundle, if that is compressed
  bool compressed = false;
  Target target; ///< from the ELF header
  Blob blob;

  Result<std::shared_ptr<const CodeObject>> open() const { return CodeObject::open(blob); }
};

struct CodeHandler {
  /// Called for each code object; the search ends when it returns false. A compressed bundle's
  /// memory is freed when the last FoundCode or CodeObject from it is gone, so do not keep what is
  /// not needed.
  std::function<bool(FoundCode)> on_code;
  /// Called for each thing that looked like GPU code but could not be read; the search goes on.
  std::function<void(const Error &)> on_error;
};

/// A file, or all files below a directory. An error only if the path itself cannot be read; a file
/// in which there is no GPU code is no error, on_code is just never called.
Status findCode(const std::string &path, const CodeHandler &handler);
Status findCode(const Blob &blob, const CodeHandler &handler);
/// The executable and the libraries a running process has mapped.
Status findCodeInProcess(pid_t process, const CodeHandler &handler);

} // namespace fade::codeobj
