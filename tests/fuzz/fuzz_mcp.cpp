// Whatever a client of the MCP server may send: every line has at most one answer, each answer is
// JSON-RPC, and nothing that a client says becomes an option of fadeprobe.
#include "mcp/server.h"

#include <cstdlib>

namespace {

using namespace fade;
using mcp::Json;

class CheckingHost : public mcp::Host {
public:
  void send(const Json &message) override {
    const std::string line = mcp::lineOf(message);
    if (line.find('\n') != line.size() - 1) abort();
    const Json again = Json::parse(line); // throws if it is none
    for (const Json &each : again.is_array() ? again : Json::array({again})) {
      if (each.at("jsonrpc") != "2.0") abort();
      const bool is_progress = each.contains("method");
      if (!is_progress && each.contains("result") == each.contains("error")) abort();
    }
  }
  void start(uint64_t run, mcp::ToolRun what) override {
    for (const std::string &word : what.words)
      if (word.find('\0') != std::string::npos || word.empty()) check(what);
    runs.push_back(run);
  }
  void cancel(uint64_t run) override { std::erase(runs, run); }

  std::vector<uint64_t> runs;

private:
  /// Only words of a program may be empty.
  static void check(const mcp::ToolRun &what) {
    bool is_program = false;
    for (const std::string &word : what.words) {
      if (word.find('\0') != std::string::npos || (word.empty() && !is_program)) abort();
      if (word == "--") is_program = true;
    }
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  CheckingHost host;
  unsigned made = 0;
  mcp::Server server({"0",
                      false,
                      {},
                      {[&](const std::string &what) -> Result<std::string> {
                         if (++made % 5 == 0) return Error::of("no room");
                         return "/nowhere/" + what;
                       },
                       std::chrono::seconds(1)}},
                     host);
  mcp::LineSplitter splitter;
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const std::size_t half = size / 2;
  auto lines = splitter.add(input.substr(0, half));
  for (auto &line : splitter.add(input.substr(half))) lines.push_back(line);
  for (auto &line : splitter.end()) lines.push_back(line);
  for (const auto &line : lines) {
    if (line.text.find('\n') != std::string::npos) abort();
    server.receive(line.text);
    for (const uint64_t run : host.runs) server.tellProgress(run, 1, line.text);
  }
  mcp::RunEnd end;
  end.out = input;
  end.err = std::string(input.substr(half));
  for (const uint64_t run : std::vector(host.runs)) server.ended(run, end);
  if (server.isBusy()) abort();
  return 0;
}
