#include "base/json_text.h"

namespace fade {
namespace {

// By pointers: one parser for all kinds of text.
template <typename Json> Json parsed(std::string_view text) {
  return Json::parse(text.data(), text.data() + text.size(), nullptr, false);
}

template <typename Json> std::string textOf(const Json &value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace

nlohmann::json parsedJson(std::string_view text) { return parsed<nlohmann::json>(text); }
nlohmann::ordered_json parsedOrderedJson(std::string_view text) {
  return parsed<nlohmann::ordered_json>(text);
}

std::string jsonText(const nlohmann::json &value, int indent) { return textOf(value, indent); }
std::string jsonText(const nlohmann::ordered_json &value, int indent) {
  return textOf(value, indent);
}

} // namespace fade
