// The part of YAML that compilers wrote into code objects of version 2: block maps and lists, lists
// of scalars in brackets, plain and quoted scalars. Nothing more, and nothing that could recurse
// without bound.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::codeobj {

struct YamlNode {
  std::string scalar;
  std::vector<YamlNode> list;
  std::vector<std::string> keys; ///< of a map, in order
  std::vector<YamlNode> values;  ///< of a map, one for each key

  const YamlNode *find(std::string_view key) const;
  std::optional<uint32_t> number() const;
};

/// An error says what is wrong and at which offset; the caller knows the file.
Result<YamlNode> parseYamlSubset(std::string_view text);

} // namespace fade::codeobj
