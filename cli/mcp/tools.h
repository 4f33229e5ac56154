// What an agent can ask fadeprobe for. Each tool is one of fadeprobe's own commands: its arguments
// are checked and become words of a command line, never text for a shell.
#pragma once

#include "base/result.h"
#include "mcp/message.h"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fade::mcp {

/// A command of fadeprobe that is to be run for a tool.
struct ToolRun {
  std::vector<std::string> words; ///< without fadeprobe itself
  std::string directory;          ///< in which it runs; empty: here
  std::vector<std::pair<std::string, std::string>> variables;
  std::chrono::seconds timeout{600};
  int first_error = 1; ///< exit codes below this one are answers and no errors
  /// A file whose contents are the answer as well, and what was written where.
  std::string answer_file;
  std::vector<std::string> written;
  /// Files that have to be there before it runs.
  std::vector<std::pair<std::string, std::string>> input_files;
};

/// Where what tools write goes, and how long they may take.
struct ToolContext {
  std::function<Result<std::string>(const std::string &what)> fresh; ///< a new path: ".../what-3"
  std::chrono::seconds timeout{600};
};

struct Parameter {
  enum class Kind { text, texts, number, truth, texts_by_name };
  const char *name;
  Kind kind;
  bool is_required;
  std::string description;
  std::vector<std::string> choices{}; ///< of a text; empty: any
  int64_t least = 0, most = 0;        ///< of a number
};

struct Tool {
  const char *name;
  const char *title;
  const char *description;
  bool runs_programs; ///< that the agent names; else it only looks at files and at this machine
  std::vector<Parameter> parameters;
  Result<ToolRun> (*plan)(const Json &arguments, const ToolContext &context);
};

std::span<const Tool> allTools();
const Tool *findTool(std::string_view name);

/// As tools/list has it.
Json describe(const Tool &tool);

/// What is to be run for these arguments, or what is wrong with them.
Result<ToolRun> planOf(const Tool &tool, const Json &arguments, const ToolContext &context);

} // namespace fade::mcp
