// Places in programs and libraries of the host: from an address in a file to functions and lines.
//
// Files are opened when the first address of them is looked up, and their units are read one by
// one: a program may have hundreds of megabytes of debug information. Debug information in a file
// of its own is found by the build id on this machine; nothing is downloaded.
#pragma once

#include "codeobj/source_map.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fade::codeobj {

class HostLines {
public:
  HostLines();
  ~HostLines();
  HostLines(const HostLines &) = delete;
  HostLines &operator=(const HostLines &) = delete;

  /// The place of the code at an address of a file and then, outwards, the calls that were inlined
  /// around it; functions are demangled. The last one is the function that exists in the code, by
  /// its symbol if there is one. Empty if nothing is known.
  std::vector<SourceFrame> stack(const std::string &file, uint64_t address);

private:
  struct Module;
  std::map<std::string, std::unique_ptr<Module>> modules_;
};

/// Headers of the system, of HIP and of compilers are not where a user looks for a mistake.
bool isSystemSource(std::string_view file);

} // namespace fade::codeobj
