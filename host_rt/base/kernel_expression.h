// A regular expression that a user gave, or one line about what is wrong with it.
#pragma once

#include "base/result.h"
#include "fade/expression.h"

#include <string>
#include <string_view>

namespace fade {

inline Result<Expression> readExpression(std::string_view text) {
  std::string mistake;
  if (auto expression = Expression::parse(text, mistake)) return *std::move(expression);
  return Error::of("'" + std::string(text) + "' is not a regular expression: it " + mistake);
}

} // namespace fade
