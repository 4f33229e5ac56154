#include "doctor/condition.h"

#include "codeobj/target.h"
#include "doctor/tree.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <stdexcept>

namespace fade::doctor {
namespace {

constexpr std::array<std::string_view, 12> kKinds = {"machine", "user", "gpu",     "pci",
                                                     "device",  "rocm", "library", "variable",
                                                     "program", "load", "log",     "death"};
constexpr unsigned kDeepest = 10;

/// For the whole of a value.
Expression compiled(const std::string &pattern) {
  std::string mistake;
  if (auto expression = Expression::parse("^(" + pattern + ")$", mistake))
    return *std::move(expression);
  throw std::invalid_argument(
      fmt::format("'{}' is not a regular expression: it {}", pattern, mistake));
}

/// Whether one of the processors in a list of words is code for `gpu`.
bool hasCodeFor(const std::string &processors, const std::string &gpu) {
  const auto agent = codeobj::parseTarget(gpu);
  return std::ranges::any_of(wordsOf(processors), [&](const std::string &word) {
    const auto code = codeobj::parseTarget(word);
    return word == gpu || (agent && code && codeobj::runsOn(*code, *agent));
  });
}

} // namespace

bool isKind(std::string_view kind) { return std::ranges::find(kKinds, kind) != kKinds.end(); }

std::string filled(std::string_view text, const Binding &binding) {
  std::string result;
  while (!text.empty()) {
    const auto open = std::min(text.find('{'), text.size());
    result += text.substr(0, open);
    text.remove_prefix(open);
    const auto close = text.find('}');
    const auto dot = text.find('.');
    if (text.empty()) break;
    const auto record = dot < close ? binding.find(text.substr(1, dot - 1)) : binding.end();
    if (close == text.npos || record == binding.end()) {
      result += '{'; // only a brace
      text.remove_prefix(1);
      continue;
    }
    const std::string *value = record->second->find(text.substr(dot + 1, close - dot - 1));
    result += value ? *value : "?";
    text.remove_prefix(close + 1);
  }
  return result;
}

Condition Condition::read(const Json &json, std::span<const std::string> kinds, unsigned depth) {
  if (depth > kDeepest) throw std::invalid_argument("conditions are nested too deeply");
  Condition condition;
  const auto readAll = [&](const Json &list, std::span<const std::string> known) {
    if (!list.isList()) throw std::invalid_argument("expected a list of conditions");
    for (const Json &one : list.list()) condition.children_.push_back(read(one, known, depth + 1));
  };
  if (json.isList()) {
    readAll(json, kinds);
    return condition;
  }
  if (!json.isObject() || json.size() == 0)
    throw std::invalid_argument("a condition is not an object");
  if (json.contains("all") || json.contains("any") || json.contains("not")) {
    if (json.size() != 1) throw std::invalid_argument("all, any and not stand alone");
    const std::string word = json.members().front().first;
    condition.kind_ = word == "any" ? Kind::any : word == "not" ? Kind::negated : Kind::all;
    if (word == "not")
      condition.children_.push_back(read(json.members().front().second, kinds, depth + 1));
    else
      readAll(json.members().front().second, kinds);
    return condition;
  }
  if (json.contains("none")) {
    condition.kind_ = Kind::none;
    condition.record_ = json.at("none").text();
    if (!isKind(condition.record_) || json.size() != (json.contains("when") ? 2 : 1))
      throw std::invalid_argument("none: expected a kind of record and when");
    std::vector<std::string> more(kinds.begin(), kinds.end());
    more.push_back(condition.record_);
    if (json.contains("when")) readAll(json.at("when"), more);
    return condition;
  }
  if (!json.contains("fact") || json.size() != 2)
    throw std::invalid_argument("expected a fact and one test");
  condition.kind_ = Kind::fact;
  const std::string fact = json.at("fact").text();
  const auto dot = fact.find('.');
  condition.record_ = fact.substr(0, dot);
  if (dot == fact.npos || std::ranges::find(kinds, condition.record_) == kinds.end())
    throw std::invalid_argument(
        fmt::format("'{}' is not a fact of the rule's kind of record", fact));
  condition.name_ = fact.substr(dot + 1);
  constexpr std::array<std::pair<std::string_view, Test>, 12> tests = {
      {{"is", Test::is},
       {"is_not", Test::is_not},
       {"in", Test::in},
       {"matches", Test::matches},
       {"contains", Test::contains},
       {"lacks", Test::lacks},
       {"at_least", Test::at_least},
       {"below", Test::below},
       {"known", Test::known},
       {"unknown", Test::unknown},
       {"runs_on", Test::runs_on},
       {"runs_not_on", Test::runs_not_on}}};
  for (const auto &[key, value] : json.members()) {
    if (key == "fact") continue;
    const auto *test = std::ranges::find(tests, key, [](const auto &pair) { return pair.first; });
    if (test == tests.end()) throw std::invalid_argument(fmt::format("unknown test '{}'", key));
    condition.test_ = test->second;
    if (value.isList())
      for (const Json &one : value.list()) condition.values_.push_back(one.text());
    else if (value.isText())
      condition.values_.push_back(value.text());
    else if (!value.is(Json::Type::boolean) || !value.boolean())
      throw std::invalid_argument(fmt::format("'{}' is not a string", key));
    const bool needs_value = condition.test_ != Test::known && condition.test_ != Test::unknown;
    if (needs_value == condition.values_.empty() || (value.isList() && key != "in"))
      throw std::invalid_argument(fmt::format("'{}' has a wrong value", key));
    if (condition.test_ == Test::matches)
      condition.expression_ = compiled(condition.values_.front());
  }
  return condition;
}

bool Condition::compares(const std::string &value, const Binding &binding) const {
  const std::string with = values_.empty() ? "" : filled(values_.front(), binding);
  const auto words = [&] { return wordsOf(value); };
  switch (test_) {
  case Test::is: return value == with;
  case Test::is_not: return value != with;
  case Test::in: return std::ranges::find(values_, value) != values_.end();
  case Test::matches: return expression_->isIn(value);
  case Test::contains: return std::ranges::count(words(), with) > 0;
  case Test::lacks: return std::ranges::count(words(), with) == 0;
  case Test::at_least: return compareVersions(value, with) >= 0;
  case Test::below: return compareVersions(value, with) < 0;
  case Test::known: return true;
  case Test::unknown: return false;
  case Test::runs_on: return hasCodeFor(value, with);
  case Test::runs_not_on: return !hasCodeFor(value, with);
  }
  return false;
}

bool Condition::holdsForFact(const Binding &binding) const {
  const auto record = binding.find(record_);
  const std::string *value = record == binding.end() ? nullptr : record->second->find(name_);
  // What is not known proves nothing.
  return value ? compares(*value, binding) : test_ == Test::unknown;
}

bool Condition::holds(const Facts &facts, const Binding &binding) const {
  const auto child = [&](const Condition &one) { return one.holds(facts, binding); };
  switch (kind_) {
  case Kind::all: return std::ranges::all_of(children_, child);
  case Kind::any: return std::ranges::any_of(children_, child);
  case Kind::negated: return !child(children_.front());
  case Kind::fact: return holdsForFact(binding);
  case Kind::none:
    return std::ranges::none_of(facts.of(record_), [&](const Record *record) {
      Binding inner = binding;
      inner[record_] = record;
      return std::ranges::all_of(children_,
                                 [&](const Condition &one) { return one.holds(facts, inner); });
    });
  }
  return false;
}

} // namespace fade::doctor
