// JSON-RPC 2.0 as the Model Context Protocol uses it on stdio: one message per line. What comes in
// is whatever another program writes: every line gives a message or says what is wrong with it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fade::mcp {

using Json = nlohmann::ordered_json;

// Codes of errors: those of JSON-RPC, and two of the protocol's own.
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
                     kInvalidParams = -32602, kUnsupportedVersion = -32022,
                     kResourceNotFound = -32002;

inline constexpr std::size_t kLongestLine = std::size_t{4} << 20;
inline constexpr int kDeepestNesting = 64;

/// Bytes as they come, cut into lines. A line that is too long is dropped and told once.
class LineSplitter {
public:
  struct Line {
    std::string text;
    bool is_too_long = false;
  };
  /// Lines that are complete now. Empty ones are left out.
  std::vector<Line> add(std::string_view bytes);
  /// What was begun and not ended, at the end of the input.
  std::vector<Line> end();

private:
  std::string begun_;
  bool is_skipping_ = false;
};

struct Message {
  enum class Kind { request, notification, response, invalid };
  Kind kind = Kind::invalid;
  Json id; ///< null if there is none, or none that could be read
  std::string method;
  Json params = Json::object();
  int code = 0;      ///< of an invalid message
  std::string error; ///< what is wrong with it
};

/// One message, or several if the line is a batch.
struct ParsedLine {
  bool is_batch = false;
  std::vector<Message> messages;
};

ParsedLine parseLine(std::string_view line);

/// One line, valid UTF-8 whatever is in it.
std::string lineOf(const Json &json);

} // namespace fade::mcp
