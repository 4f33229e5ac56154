// FADE's documentation as resources: fade://docs/NAME.
#pragma once

#include "mcp/message.h"

#include <optional>
#include <string>
#include <vector>

namespace fade::mcp {

struct DocPage {
  std::string name;  ///< "profile", "recipes/race"
  std::string title; ///< its first heading
  std::string path;
  std::size_t bytes = 0;

  std::string uri() const { return "fade://docs/" + name; }
};

/// The pages beside this program (../share/fade/docs), by name; none if they are not installed.
std::vector<DocPage> docPages();
std::vector<DocPage> docPagesIn(const std::string &folder);
std::optional<std::string> textOf(const DocPage &page);

} // namespace fade::mcp
