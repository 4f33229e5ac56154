// fadeprobe mcp: a Model Context Protocol server on stdin and stdout, for agents.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace fade::cli {

struct McpOptions {
  std::string output; ///< folder for what tools write; empty: a new one in the system's place
  uint32_t seconds = 600;
  bool only_reads = false;
};

CLI::App *addMcpCommand(CLI::App &app, McpOptions &options);
/// Until stdin ends and everything is answered.
int runMcp(const McpOptions &options);

} // namespace fade::cli
