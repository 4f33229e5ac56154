// Addresses of recorded stacks as functions, files and lines. Each is looked up once, in the file
// of the library that was there when it was recorded, whether it is loaded still or not.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "codeobj/host_lines.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fade::host_trace {

struct StackFrame {
  std::string function; ///< demangled; empty: not known
  std::string file;     ///< of the source
  unsigned line = 0;
  std::string library; ///< path; empty for a frame of an interpreter
  uint64_t address = 0;

  /// "function file:line", or as much as is known.
  std::string text() const;
};

class StackNames {
public:
  explicit StackNames(const HostEvents &events);

  /// The innermost first; empty if there is no such stack. `time_ns`: when it was recorded.
  std::vector<const StackFrame *> framesOf(uint32_t pid, uint64_t stack, uint64_t time_ns);

private:
  /// Of an address to which a call returns: several if functions were inlined there.
  const std::vector<StackFrame> &framesAt(uint32_t pid, uint64_t address, uint64_t time_ns);
  const Library *libraryAt(uint32_t pid, uint64_t address, uint64_t time_ns) const;
  const StackFrame &interpreted(uint32_t pid, uint64_t text);

  const HostEvents &events_;
  codeobj::HostLines lines_;
  /// By path and address.
  std::map<std::pair<std::string_view, uint64_t>, std::vector<StackFrame>> frames_;
  std::map<std::pair<uint32_t, uint64_t>, StackFrame> texts_;
};

} // namespace fade::host_trace
