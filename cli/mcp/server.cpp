#include "mcp/server.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace fade::mcp {
namespace {

/// Revisions of the protocol, newest first. The first has no handshake: every request says what it
/// is of.
constexpr const char *kStateless = "2026-07-28";
constexpr std::array kWithHandshake = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

constexpr const char *kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char *kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char *kServerInfoKey = "io.modelcontextprotocol/serverInfo";

constexpr const char *kInstructions =
    "FADE shows what happens inside AMD GPU kernels, with or without a GPU. Typical workflow: "
    "list_kernels and read_kernel to see the code; findings for what to change, profile "
    "for what decides how long the program takes, check for errors; capture the kernel once, then "
    "try_version judges every change on the captures. Resources hold the manual.";

std::vector<std::string> allVersions() {
  std::vector<std::string> all = {kStateless};
  all.insert(all.end(), kWithHandshake.begin(), kWithHandshake.end());
  return all;
}

/// The member if it is an object, else an empty one.
const Json &objectIn(const Json &json, const char *name) {
  static const Json none = Json::object();
  const auto at = json.find(name);
  return at != json.end() && at->is_object() ? *at : none;
}

/// What a client sent, in a message to it.
std::string quoted(std::string name) {
  constexpr std::size_t most = 100;
  if (name.size() > most) name = name.substr(0, most) + "...";
  return "'" + name + "'";
}

Json textContent(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

/// How it ended and what it wrote where, for whoever reads the output.
std::string remarkOn(const RunEnd &end) {
  std::string text;
  if (end.timed_out)
    text = fmt::format("ended after {:.0f} s, because that is the time limit", end.seconds);
  else if (end.signal != 0)
    text = fmt::format("ended by signal {}", end.signal);
  else
    text = fmt::format("exit code {}", end.code);
  for (const std::string &path : end.written) text += fmt::format("\nwritten: {}", path);
  return text;
}

bool isOneLess(std::size_t &missing) { return --missing == 0; }

} // namespace

void Server::receiveTooLong() {
  fail({}, kParseError, fmt::format("this line is longer than {} MiB", kLongestLine >> 20));
}

void Server::receive(std::string_view line) {
  const ParsedLine parsed = parseLine(line);
  std::shared_ptr<Batch> batch;
  if (parsed.is_batch) {
    batch = std::make_shared<Batch>();
    // One for this function: nothing goes out before all were handled.
    batch->missing =
        1 +
        static_cast<std::size_t>(std::ranges::count_if(parsed.messages, [](const Message &message) {
          return message.kind == Message::Kind::request || message.kind == Message::Kind::invalid;
        }));
  }
  for (const Message &message : parsed.messages) handle(message, batch);
  if (batch && isOneLess(batch->missing)) send(batch);
}

void Server::handle(const Message &message, const std::shared_ptr<Batch> &batch) {
  switch (message.kind) {
  case Message::Kind::invalid: fail({message.id, false, batch}, message.code, message.error); break;
  case Message::Kind::request: handleRequest(message, {message.id, false, batch}); break;
  case Message::Kind::notification: handleNotification(message); break;
  case Message::Kind::response: break; // nobody was asked anything
  }
}

void Server::handleRequest(const Message &message, Request request) {
  const Json &params = message.params, &meta = objectIn(params, "_meta");
  if (const auto version = meta.find(kVersionKey); version != meta.end()) {
    request.is_stateless = true;
    if (!version->is_string())
      return fail(request, kInvalidParams, fmt::format("'{}' must be a string", kVersionKey));
    if (*version != kStateless)
      return fail(request, kUnsupportedVersion, "unsupported protocol version",
                  {{"supported", allVersions()}, {"requested", *version}});
    if (const auto client = meta.find(kCapabilitiesKey);
        client == meta.end() || !client->is_object())
      return fail(request, kInvalidParams, fmt::format("'{}' must be an object", kCapabilitiesKey));
  }
  const std::string &method = message.method;
  if (method == "initialize" && !request.is_stateless) return initialize(request, params);
  if (method == "server/discover") return discover(request);
  if (method == "ping" && !request.is_stateless) return succeed(request, Json::object());
  if (method == "tools/list") return listTools(request);
  if (method == "tools/call") return callTool(request, params);
  if (method == "resources/list") return listResources(request);
  if (method == "resources/read") return readResource(request, params);
  if (method == "resources/templates/list")
    return succeed(request, {{"resourceTemplates", Json::array()}});
  fail(request, kMethodNotFound, "unknown method " + quoted(method));
}

void Server::handleNotification(const Message &message) {
  if (message.method != "notifications/cancelled") return;
  const auto id = message.params.find("requestId");
  if (id == message.params.end()) return;
  const auto at = std::ranges::find_if(
      under_way_, [&](const auto &each) { return each.second.request.id == *id; });
  if (at == under_way_.end()) return; // it has ended meanwhile
  const uint64_t run = at->first;
  const Request request = at->second.request;
  under_way_.erase(at);
  host_.cancel(run);
  drop(request);
}

Json Server::serverInfo() const {
  return {{"name", "fade"}, {"title", "FADE"}, {"version", settings_.version}};
}

Json Server::capabilities() const {
  return {{"tools", Json::object()}, {"resources", Json::object()}};
}

void Server::initialize(const Request &request, const Json &params) {
  const auto wanted = params.find("protocolVersion");
  if (wanted == params.end() || !wanted->is_string())
    return fail(request, kInvalidParams, "'protocolVersion' must be a string");
  const auto known = std::ranges::find(kWithHandshake, wanted->get<std::string>());
  const char *version = known == kWithHandshake.end() ? kWithHandshake.front() : *known;
  succeed(request, {{"protocolVersion", version},
                    {"capabilities", capabilities()},
                    {"serverInfo", serverInfo()},
                    {"instructions", kInstructions}});
}

void Server::discover(const Request &request) {
  succeed(request, {{"supportedVersions", allVersions()},
                    {"capabilities", capabilities()},
                    {"instructions", kInstructions}});
}

void Server::listTools(const Request &request) {
  Json tools = Json::array();
  for (const Tool &tool : allTools())
    if (!settings_.only_reads || !tool.runs_programs) tools.push_back(describe(tool));
  succeed(request, {{"tools", std::move(tools)}});
}

void Server::callTool(const Request &request, const Json &params) {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string())
    return fail(request, kInvalidParams, "'name' must be a string");
  const Tool *tool = findTool(name->get<std::string>());
  if (!tool || (settings_.only_reads && tool->runs_programs))
    return fail(request, kInvalidParams, "unknown tool " + quoted(name->get<std::string>()));
  const auto given = params.find("arguments");
  if (given != params.end() && !given->is_object())
    return fail(request, kInvalidParams, "'arguments' must be an object");
  if (std::ranges::any_of(under_way_,
                          [&](const auto &each) { return each.second.request.id == request.id; }))
    return fail(request, kInvalidRequest, "a request with this id is still running");
  auto run = planOf(*tool, given == params.end() ? Json::object() : *given, settings_.context);
  if (!run) return sayInstead(request, run.error().message()); // something the model can mend
  UnderWay &added = under_way_[++last_run_];
  added.request = request;
  added.run = *run;
  const Json &meta = objectIn(params, "_meta");
  if (const auto token = meta.find("progressToken");
      token != meta.end() && (token->is_string() || token->is_number()))
    added.progress_token = *token;
  host_.start(last_run_, std::move(*run));
}

void Server::tellProgress(uint64_t run, double seconds, std::string_view last_line) {
  const auto at = under_way_.find(run);
  if (at == under_way_.end() || at->second.progress_token.is_null()) return;
  if (seconds <= at->second.progress) return; // it has to grow
  at->second.progress = seconds;
  Json params = {{"progressToken", at->second.progress_token}, {"progress", seconds}};
  params["message"] =
      fmt::format("{:.0f} s{}{}", seconds, last_line.empty() ? "" : ": ", last_line);
  host_.send({{"jsonrpc", "2.0"}, {"method", "notifications/progress"}, {"params", params}});
}

void Server::ended(uint64_t run, const RunEnd &end) {
  const auto at = under_way_.find(run);
  if (at == under_way_.end()) return; // it was cancelled
  const Request request = at->second.request;
  const ToolRun what = std::move(at->second.run);
  under_way_.erase(at);
  if (!end.could_not.empty()) return sayInstead(request, end.could_not);
  Json content = Json::array();
  for (const std::string *text : {&end.out, &end.answer, &end.err})
    if (!text->empty()) content.push_back(textContent(*text));
  content.push_back(textContent(remarkOn(end)));
  succeed(request, {{"content", std::move(content)},
                    {"isError", end.timed_out || end.signal != 0 || end.code >= what.first_error}});
}

void Server::listResources(const Request &request) {
  Json resources = Json::array();
  for (const DocPage &page : settings_.docs)
    resources.push_back({{"uri", page.uri()},
                         {"name", page.name},
                         {"title", page.title},
                         {"mimeType", "text/markdown"},
                         {"size", page.bytes}});
  succeed(request, {{"resources", std::move(resources)}});
}

void Server::readResource(const Request &request, const Json &params) {
  const auto uri = params.find("uri");
  if (uri == params.end() || !uri->is_string())
    return fail(request, kInvalidParams, "'uri' must be a string");
  const auto page = std::ranges::find(settings_.docs, uri->get<std::string>(), &DocPage::uri);
  const auto text = page == settings_.docs.end() ? std::nullopt : textOf(*page);
  if (!text) // the older code is what older clients look for
    return fail(request, request.is_stateless ? kInvalidParams : kResourceNotFound,
                "unknown resource " + quoted(uri->get<std::string>()), {{"uri", *uri}});
  succeed(
      request,
      {{"contents",
        Json::array({{{"uri", page->uri()}, {"mimeType", "text/markdown"}, {"text", *text}}})}});
}

void Server::succeed(const Request &request, Json result) {
  if (request.is_stateless) {
    result["resultType"] = "complete";
    result["_meta"][kServerInfoKey] = serverInfo();
    if (!result.contains("content")) { // what is not the result of a tool does not change
      result["ttlMs"] = 3'600'000;
      result["cacheScope"] = "private";
    }
  }
  answer(request, {{"jsonrpc", "2.0"}, {"id", request.id}, {"result", std::move(result)}});
}

void Server::sayInstead(const Request &request, const std::string &text) {
  succeed(request, {{"content", Json::array({textContent(text)})}, {"isError", true}});
}

void Server::fail(const Request &request, int code, const std::string &text, Json data) {
  Json error = {{"code", code}, {"message", text}};
  if (!data.is_null()) error["data"] = std::move(data);
  answer(request, {{"jsonrpc", "2.0"}, {"id", request.id}, {"error", std::move(error)}});
}

void Server::answer(const Request &request, Json message) {
  if (!request.batch) return host_.send(message);
  request.batch->answers.push_back(std::move(message));
  drop(request);
}

void Server::drop(const Request &request) {
  if (request.batch && isOneLess(request.batch->missing)) send(request.batch);
}

void Server::send(const std::shared_ptr<Batch> &batch) {
  if (!batch->answers.empty()) host_.send(batch->answers);
}

} // namespace fade::mcp
