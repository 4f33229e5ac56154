// Shapes that JSON lines of several commands have in common.
#pragma once

#include "fade/json_writer.h"

#include <string_view>

namespace fade::cli {

/// A line begins with what it is.
inline void putHead(JsonWriter &json, std::string_view type, int version = 1) {
  json.field("type", type);
  json.field("version", version);
}

/// A list of numbers: sizes, coordinates, lines.
template <class Numbers>
void putNumbers(JsonWriter &json, std::string_view key, const Numbers &numbers) {
  json.list(key, [&] {
    for (const auto number : numbers) json.value(number);
  });
}

/// Nothing where the value is 0, false or empty: the field is left out then.
template <class Value>
void putUnlessNone(JsonWriter &json, std::string_view key, const Value &value) {
  if (value != Value{}) json.field(key, value);
}

} // namespace fade::cli
