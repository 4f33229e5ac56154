#include "mcp/message.h"

#include "base/json_text.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::mcp {
namespace {

constexpr std::size_t kMostInBatch = 256;

/// Whether brackets nest deeper than anything meant seriously: values are written recursively.
bool isTooDeep(std::string_view text) {
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepestNesting) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Message invalid(Json id, int code, std::string error) {
  Message message;
  message.id = std::move(id);
  message.code = code;
  message.error = std::move(error);
  return message;
}

Message messageOf(Json &json) {
  if (!json.is_object()) return invalid(nullptr, kInvalidRequest, "a message must be an object");
  const auto id_at = json.find("id");
  const bool has_id = id_at != json.end();
  const bool is_id = has_id && (id_at->is_string() || id_at->is_number());
  Message message;
  if (is_id) message.id = *id_at;
  const auto version = json.find("jsonrpc");
  if (version == json.end() || *version != "2.0")
    return invalid(message.id, kInvalidRequest, "'jsonrpc' must be \"2.0\"");
  const auto method = json.find("method");
  if (method == json.end() && (json.contains("result") || json.contains("error"))) {
    message.kind = Message::Kind::response;
    return message;
  }
  if (has_id && !is_id)
    return invalid(nullptr, kInvalidRequest, "'id' must be a string or a number");
  if (method == json.end() || !method->is_string())
    return invalid(message.id, kInvalidRequest, "'method' must be a string");
  message.method = method->get<std::string>();
  if (const auto params = json.find("params"); params != json.end()) {
    if (!params->is_object())
      return invalid(message.id, kInvalidParams, "'params' must be an object");
    message.params = std::move(*params);
  }
  message.kind = has_id ? Message::Kind::request : Message::Kind::notification;
  return message;
}

} // namespace

std::vector<LineSplitter::Line> LineSplitter::add(std::string_view bytes) {
  std::vector<Line> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!is_skipping_ && begun_.size() + piece.size() > kLongestLine) {
      is_skipping_ = true;
      begun_.clear();
      begun_.shrink_to_fit();
      lines.push_back({"", true});
    }
    if (!is_skipping_) begun_.append(piece);
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    if (!is_skipping_ && begun_.find_first_not_of(" \t\r") != std::string::npos)
      lines.push_back({std::move(begun_), false});
    begun_.clear();
    is_skipping_ = false;
  }
  return lines;
}

std::vector<LineSplitter::Line> LineSplitter::end() { return add("\n"); }

ParsedLine parseLine(std::string_view line) {
  ParsedLine parsed;
  if (isTooDeep(line)) {
    parsed.messages.push_back(
        invalid(nullptr, kParseError, fmt::format("nested deeper than {}", kDeepestNesting)));
    return parsed;
  }
  Json json = parsedOrderedJson(line);
  if (json.is_discarded()) {
    parsed.messages.push_back(invalid(nullptr, kParseError, "this line is not JSON"));
  } else if (!json.is_array()) {
    parsed.messages.push_back(messageOf(json));
  } else if (json.empty() || json.size() > kMostInBatch) {
    parsed.messages.push_back(invalid(
        nullptr, kInvalidRequest,
        fmt::format("a batch has 1 to {} messages, this one {}", kMostInBatch, json.size())));
  } else {
    parsed.is_batch = true;
    for (Json &each : json) parsed.messages.push_back(messageOf(each));
  }
  return parsed;
}

std::string lineOf(const Json &json) { return jsonText(json) + "\n"; }

} // namespace fade::mcp
