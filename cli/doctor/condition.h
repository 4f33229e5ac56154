// When a rule applies: conditions on facts, read from JSON.
//
//   {"fact": "gpu.gfx", "matches": "gfx10[13].*"}     a value of a record that the rule is about
//   {"any": [...]}, {"all": [...]}, {"not": {...}}
//   {"none": "device", "when": [...]}                 no record of that kind for which all hold
#pragma once

#include "doctor/facts.h"
#include "doctor/json.h"
#include "fade/expression.h"

#include <optional>
#include <span>

namespace fade::doctor {

/// The records that a rule is about, at most one of each kind.
using Binding = std::map<std::string, const Record *, std::less<>>;

/// "{gpu.name}" replaced by its value, or by "?" where it is not known.
std::string filled(std::string_view text, const Binding &binding);

class Condition {
public:
  /// Throws std::invalid_argument that says what is wrong.
  static Condition read(const Json &json, std::span<const std::string> kinds, unsigned depth = 0);
  bool holds(const Facts &facts, const Binding &binding) const;

private:
  enum class Kind { all, any, negated, none, fact };
  enum class Test {
    is,
    is_not,
    in,
    matches,
    contains,
    lacks,
    at_least,
    below,
    known,
    unknown,
    runs_on,
    runs_not_on
  };
  bool holdsForFact(const Binding &binding) const;
  bool compares(const std::string &value, const Binding &binding) const;

  Kind kind_ = Kind::all;
  std::vector<Condition> children_;
  std::string record_, name_; ///< "gpu" and "gfx"; the kind of record for none
  Test test_ = Test::is;
  std::vector<std::string> values_;
  std::optional<Expression> expression_;
};

bool isKind(std::string_view kind);

} // namespace fade::doctor
