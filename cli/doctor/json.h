// JSON as the doctor reads it: rules, what was written, reports, deaths. The library that parses it
// takes seconds to compile, so only json.cpp includes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fade::doctor {

/// A value. What is asked of one of another type is an error: std::invalid_argument.
class Json {
public:
  enum class Type { null, boolean, number, text, list, object };
  using Member = std::pair<std::string, Json>;

  /// Throws std::invalid_argument that says where it is wrong. Not more than 64 levels deep.
  static Json parse(std::string_view text);

  bool is(Type type) const { return type_ == type; }
  bool isObject() const { return is(Type::object); }
  bool isList() const { return is(Type::list); }
  bool isText() const { return is(Type::text); }

  bool boolean() const;
  /// Not negative, and whole.
  uint64_t number() const;
  const std::string &text() const;
  const std::vector<Json> &list() const;
  const std::vector<Member> &members() const;

  std::size_t size() const { return is(Type::object) ? members_.size() : list_.size(); }
  /// Null if there is none, or if this is no object.
  const Json *find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json &at(std::string_view key) const;
  const Json &at(std::size_t index) const;
  /// Empty if there is none, or no text.
  std::string textOr(std::string_view key, std::string_view otherwise = "") const;

private:
  friend struct JsonBuilder;
  Type type_ = Type::null;
  bool boolean_ = false, is_whole_ = false;
  uint64_t number_ = 0;
  std::string text_;
  std::vector<Json> list_;
  std::vector<Member> members_;
};

} // namespace fade::doctor
