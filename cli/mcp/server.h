// A Model Context Protocol server, without its input and output: lines go in, messages come out,
// and what tools want to run is handed to somebody who runs it. It keeps no state of a session but
// the requests that are under way, so that it serves clients of the revisions with a handshake
// (initialize) and of those without (server/discover) alike.
#pragma once

#include "mcp/docs.h"
#include "mcp/message.h"
#include "mcp/tools.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fade::mcp {

/// How a run of a tool ended.
struct RunEnd {
  std::string could_not; ///< be started, and why; empty: it was
  int code = 0, signal = 0;
  bool timed_out = false;
  double seconds = 0;
  std::string out, err, answer;     ///< bounded; answer: of ToolRun::answer_file
  std::vector<std::string> written; ///< those of ToolRun::written that are there
};

class Host {
public:
  virtual ~Host() = default;
  virtual void send(const Json &message) = 0;
  /// Runs a command of fadeprobe; Server::ended() is called once, later or at once.
  virtual void start(uint64_t run, ToolRun what) = 0;
  /// Ends a run; ended() may still be called for it, or not.
  virtual void cancel(uint64_t run) = 0;
};

class Server {
public:
  struct Settings {
    std::string version;
    bool only_reads = false; ///< no tool that runs programs
    std::vector<DocPage> docs;
    ToolContext context;
  };
  Server(Settings settings, Host &host) : settings_(std::move(settings)), host_(host) {}

  void receive(std::string_view line);
  void receiveTooLong();
  void ended(uint64_t run, const RunEnd &end);
  /// For those who asked for it.
  void tellProgress(uint64_t run, double seconds, std::string_view last_line);
  bool isBusy() const { return !under_way_.empty(); }

private:
  /// Answers that go out together, because the requests came together.
  struct Batch {
    std::size_t missing = 0;
    Json answers = Json::array();
  };
  struct Request {
    Json id;
    bool is_stateless = false; ///< of the revision without a handshake
    std::shared_ptr<Batch> batch;
  };
  struct UnderWay {
    Request request;
    ToolRun run; ///< what of it matters for the answer
    Json progress_token;
    double progress = -1;
  };

  void handle(const Message &message, const std::shared_ptr<Batch> &batch);
  void handleRequest(const Message &message, Request request);
  void handleNotification(const Message &message);
  void initialize(const Request &request, const Json &params);
  void discover(const Request &request);
  void listTools(const Request &request);
  void callTool(const Request &request, const Json &params);
  void listResources(const Request &request);
  void readResource(const Request &request, const Json &params);
  Json capabilities() const;
  Json serverInfo() const;

  void succeed(const Request &request, Json result);
  void fail(const Request &request, int code, const std::string &text, Json data = nullptr);
  void sayInstead(const Request &request, const std::string &text); ///< a tool's result: an error
  void answer(const Request &request, Json message);
  void drop(const Request &request); ///< there will be no answer
  void send(const std::shared_ptr<Batch> &batch);

  const Settings settings_;
  Host &host_;
  std::map<uint64_t, UnderWay> under_way_;
  uint64_t last_run_ = 0;
};

} // namespace fade::mcp
