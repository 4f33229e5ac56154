// Arguments of tools: what they may be, whether they are, and the words that they become.
#pragma once

#include "mcp/tools.h"

#include <string>
#include <vector>

namespace fade::mcp {

/// As JSON Schema.
Json schemaOf(const std::vector<Parameter> &parameters);
/// In one line what is wrong, if anything is.
Status checkArguments(const std::vector<Parameter> &parameters, const Json &arguments);

// What was checked before: empty if it is not there.
std::string textIn(const Json &arguments, const char *name);
std::vector<std::string> textsIn(const Json &arguments, const char *name);

/// A command line of fadeprobe. Nothing that comes from arguments can be taken for an option.
class Words {
public:
  Words() = default;
  explicit Words(const char *command) : words_{command} {}

  template <typename... More> void add(More &&...more) {
    (words_.emplace_back(std::forward<More>(more)), ...);
  }
  /// "--option=value", if the argument is there.
  void option(const Json &arguments, const char *name, const char *option);
  void flag(const Json &arguments, const char *name, const char *option);
  void path(const Json &arguments, const char *name);
  void paths(const Json &arguments, const char *name);
  /// "--" and the words of a command, if the argument is there.
  void program(const Json &arguments, const char *name);

  ToolRun run() const;

private:
  void addPath(const std::string &path);
  std::vector<std::string> words_;
};

} // namespace fade::mcp
