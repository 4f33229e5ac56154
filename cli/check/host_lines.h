// Places in programs and libraries of the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace fade::cli {

struct FoundFrame;

class HostLines {
public:
  HostLines();
  ~HostLines();
  HostLines(const HostLines &) = delete;
  HostLines &operator=(const HostLines &) = delete;

  /// The line that made the code at an address of a file. Empty without debug information.
  FoundFrame find(const std::string &file, uint64_t address);

private:
  struct Module;
  std::map<std::string, std::unique_ptr<Module>> modules_;
};

} // namespace fade::cli
