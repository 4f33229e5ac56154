// JSON from text and to text. The parser and the writer are templates that take long to compile,
// and run long where they are not optimized: they are compiled here alone, and always optimized.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace fade {

/// The value in a text; is_discarded() if that is not JSON.
nlohmann::json parsedJson(std::string_view text);
nlohmann::ordered_json parsedOrderedJson(std::string_view text);

/// In one line, or over several with so many blanks per level. Bytes that are not UTF-8 are
/// replaced.
std::string jsonText(const nlohmann::json &value, int indent = -1);
std::string jsonText(const nlohmann::ordered_json &value, int indent = -1);

} // namespace fade
