#include "base/api_choice.h"

#include "base/kernel_expression.h"
#include "fade/hip_api.h"
#include "fade/options.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fade {

std::vector<std::string_view> apiGroups() {
  std::vector<std::string_view> groups;
  for (const hip::FunctionInfo &function : hip::kFunctions)
    if (std::ranges::find(groups, function.group) == groups.end())
      groups.emplace_back(function.group);
  std::ranges::sort(groups);
  return groups;
}

Result<ApiChoice> ApiChoice::parse(std::string_view text) {
  ApiChoice choice;
  const auto groups = apiGroups();
  for (std::string_view rest = text; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string word(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (word.empty()) continue;
    if (word == "all") {
      choice.is_all_ = true;
    } else if (std::ranges::find(groups, word) != groups.end()) {
      choice.groups_.insert(word);
    } else {
      auto read = readExpression(word);
      if (!read) return std::move(read).error();
      const Expression &expression = choice.expressions_.emplace_back(*std::move(read));
      if (std::ranges::none_of(hip::kFunctions, [&](const hip::FunctionInfo &function) {
            return expression.isIn(function.name);
          }))
        return Error::of(
            fmt::format("no HIP function matches '{}', and it is not one of the groups "
                        "all, {}{}",
                        word, fmt::join(groups, ", "), suggestion(word, groups)));
    }
  }
  if (!choice.is_all_ && choice.groups_.empty() && choice.expressions_.empty())
    return Error::of("it matches no function");
  return choice;
}

bool ApiChoice::wants(const std::string &function, const std::string &group) const {
  return is_all_ || groups_.contains(group) ||
         std::ranges::any_of(
             expressions_, [&](const Expression &expression) { return expression.isIn(function); });
}

} // namespace fade
