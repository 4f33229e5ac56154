#include "doctor/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace fade::doctor {
namespace {

constexpr std::size_t kDeepestJson = 64;

[[noreturn]] void refuse(const char *what) { throw std::invalid_argument(what); }

} // namespace

/// Puts values together as the parser comes to them.
struct JsonBuilder {
  Json root;
  std::vector<Json *> open;
  std::string name, problem;

  Json *place() {
    if (open.empty()) return &root;
    Json &parent = *open.back();
    if (parent.isList()) return &parent.list_.emplace_back();
    // The last one of a name counts.
    const auto same = std::ranges::find(parent.members_, name, &Json::Member::first);
    if (same != parent.members_.end()) return &(same->second = Json());
    return &parent.members_.emplace_back(std::move(name), Json()).second;
  }
  bool add(Json::Type type) {
    place()->type_ = type;
    return true;
  }
  bool begin(Json::Type type) {
    if (open.size() >= kDeepestJson) {
      problem = "nested too deeply";
      return false;
    }
    Json *value = place();
    value->type_ = type;
    open.push_back(value);
    return true;
  }
  bool end() {
    open.pop_back();
    return true;
  }
  bool addNumber(bool is_whole, uint64_t value) {
    Json *number = place();
    number->type_ = Json::Type::number;
    number->is_whole_ = is_whole;
    number->number_ = value;
    return true;
  }

  // As the library wants it.
  using number_integer_t = int64_t;
  using number_unsigned_t = uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;
  bool null() { return add(Json::Type::null); }
  bool boolean(bool value) {
    Json *one = place();
    one->type_ = Json::Type::boolean;
    one->boolean_ = value;
    return true;
  }
  bool number_integer(int64_t) { return addNumber(false, 0); }
  bool number_unsigned(uint64_t value) { return addNumber(true, value); }
  bool number_float(double, const std::string &) { return addNumber(false, 0); }
  bool string(std::string &value) {
    Json *one = place();
    one->type_ = Json::Type::text;
    one->text_ = std::move(value);
    return true;
  }
  bool binary(binary_t &) { return false; }
  bool start_object(std::size_t) { return begin(Json::Type::object); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) { return begin(Json::Type::list); }
  bool end_array() { return end(); }
  bool key(std::string &value) {
    name = std::move(value);
    return true;
  }
  bool parse_error(std::size_t at, const std::string &, const std::exception &) {
    problem = fmt::format("invalid JSON at byte {}", at);
    return false;
  }
};

Json Json::parse(std::string_view text) {
  JsonBuilder events;
  if (!nlohmann::json::sax_parse(text, &events)) throw std::invalid_argument(events.problem);
  return std::move(events.root);
}

bool Json::boolean() const {
  if (!is(Type::boolean)) refuse("expected true or false");
  return boolean_;
}

uint64_t Json::number() const {
  if (!is(Type::number) || !is_whole_) refuse("expected a whole number");
  return number_;
}

const std::string &Json::text() const {
  if (!isText()) refuse("expected a string");
  return text_;
}

const std::vector<Json> &Json::list() const {
  if (!isList()) refuse("expected a list");
  return list_;
}

const std::vector<Json::Member> &Json::members() const {
  if (!isObject()) refuse("expected an object");
  return members_;
}

const Json *Json::find(std::string_view key) const {
  const auto at = std::ranges::find(members_, key, &Member::first);
  return at == members_.end() ? nullptr : &at->second;
}

const Json &Json::at(std::string_view key) const {
  const Json *found = find(key);
  if (!found) throw std::invalid_argument(fmt::format("'{}' is missing", key));
  return *found;
}

const Json &Json::at(std::size_t index) const {
  if (index >= list().size()) refuse("the list is too short");
  return list_[index];
}

std::string Json::textOr(std::string_view key, std::string_view otherwise) const {
  const Json *found = find(key);
  return found && found->isText() ? found->text_ : std::string(otherwise);
}

} // namespace fade::doctor
