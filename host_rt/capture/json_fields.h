// Members of JSON objects in files that anybody may have written, each checked when it is asked
// for.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace fade::capture {

using Json = nlohmann::json;

struct Mistake {
  std::string what;
};

/// A JSON object whose members are asked for. Throws Mistake, which must not leave the file that
/// asks.
class JsonFields {
public:
  explicit JsonFields(const Json &json) : json_(json) {}

  bool has(const char *key) const { return json_.contains(key); }
  uint64_t number(const char *key, uint64_t most = UINT64_MAX) const {
    const Json &value = member(key);
    if (!value.is_number_unsigned()) fail(key, "is not a whole number of 0 or more");
    if (value.get<uint64_t>() > most) fail(key, fmt::format("is more than {}", most));
    return value.get<uint64_t>();
  }
  template <typename T> T small(const char *key) const {
    return static_cast<T>(number(key, std::numeric_limits<T>::max()));
  }
  std::string text(const char *key) const {
    const Json &value = member(key);
    if (!value.is_string()) fail(key, "is not a string");
    auto text = value.get<std::string>();
    // It will be shown, and is not to command the terminal.
    if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      fail(key, "has control characters");
    return text;
  }
  bool flag(const char *key) const {
    const Json &value = member(key);
    if (!value.is_boolean()) fail(key, "is not true or false");
    return value.get<bool>();
  }
  std::array<uint32_t, 3> three(const char *key) const {
    const Json &value = member(key);
    if (!value.is_array() || value.size() != 3) fail(key, "is not a list of three");
    std::array<uint32_t, 3> all{};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!value[i].is_number_unsigned() || value[i].get<uint64_t>() > UINT32_MAX ||
          value[i].get<uint64_t>() == 0)
        fail(key, "has values other than positive numbers");
      all[i] = value[i].get<uint32_t>();
    }
    return all;
  }
  [[noreturn]] static void fail(const char *key, const std::string &what) {
    throw Mistake{fmt::format("'{}' {}", key, what)};
  }

private:
  const Json &member(const char *key) const {
    const auto at = json_.find(key);
    if (at == json_.end()) fail(key, "is missing");
    return *at;
  }
  const Json &json_;
};

} // namespace fade::capture
