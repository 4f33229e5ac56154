// Fields of JSON objects that anybody may have written: absent ones have a default, those of an
// unexpected type are an std::invalid_argument that names them.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace fade::report {

using Json = nlohmann::json;

/// A whole number that is not negative.
inline uint64_t asNumber(const Json &value, const char *name) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  throw std::invalid_argument(std::string("'") + name + "' is not a whole number of 0 or more");
}
inline std::optional<uint64_t> maybeNumber(const Json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null()) return std::nullopt;
  return asNumber(*at, key);
}
inline uint64_t number(const Json &object, const char *key, uint64_t otherwise = 0) {
  return maybeNumber(object, key).value_or(otherwise);
}
/// One that makes sense only within bounds.
inline uint64_t numberWithin(const Json &object, const char *key, uint64_t least, uint64_t most) {
  const uint64_t value = number(object, key, least);
  if (value < least || value > most)
    throw std::invalid_argument(std::string("'") + key + "' is not between " +
                                std::to_string(least) + " and " + std::to_string(most));
  return value;
}
inline uint32_t smallNumber(const Json &object, const char *key) {
  return static_cast<uint32_t>(numberWithin(object, key, 0, UINT32_MAX));
}
inline std::string text(const Json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || at->is_null()) return "";
  if (!at->is_string()) throw std::invalid_argument(std::string("'") + key + "' is not a string");
  return at->get<std::string>();
}
inline bool flag(const Json &object, const char *key, bool otherwise) {
  const auto at = object.find(key);
  if (at == object.end()) return otherwise;
  if (!at->is_boolean())
    throw std::invalid_argument(std::string("'") + key + "' is not true or false");
  return at->get<bool>();
}
inline const Json &list(const Json &object, const char *key) {
  static const Json none = Json::array();
  const auto at = object.find(key);
  if (at == object.end() || at->is_null()) return none;
  if (!at->is_array()) throw std::invalid_argument(std::string("'") + key + "' is not a list");
  return *at;
}
/// A list of objects.
inline const Json &objects(const Json &object, const char *key) {
  const Json &all = list(object, key);
  for (const Json &one : all)
    if (!one.is_object())
      throw std::invalid_argument(std::string("'") + key +
                                  "' contains something that is not an object");
  return all;
}
inline std::array<uint64_t, 3> three(const Json &object, const char *key) {
  std::array<uint64_t, 3> result{};
  const Json &from = list(object, key);
  for (std::size_t i = 0; i < 3 && i < from.size(); ++i) result[i] = asNumber(from[i], key);
  return result;
}

} // namespace fade::report
