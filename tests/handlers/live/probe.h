// Runs fadeprobe on a program and gives back what it reports.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace fade::testing {

struct ProbeResult {
  int exit_code = -1;
  std::string report; ///< the log file
  std::string output; ///< stdout and stderr of everything

  /// The objects of one type. Fails the test if a line is not an object with type and version.
  std::vector<nlohmann::json> objects(const std::string &type) const;
};

/// fadeprobe `options` -l FILE -- `program`
ProbeResult probe(const std::string &options, const std::string &program);

/// The number of the line that ends with the comment "// name" in a source file.
uint32_t lineOf(const std::string &file, const std::string &name);

} // namespace fade::testing
