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
      try {
        choice.expressions_.push_back(kernelExpression(word));
      } catch (const std::regex_error &e) {
        return Error::of(fmt::format("'{}' is not a regular expression: {}", word, e.what()));
      }
      const auto &expression = choice.expressions_.back();
      if (std::ranges::none_of(hip::kFunctions, [&](const hip::FunctionInfo &function) {
            return std::regex_search(function.name, expression);
          }))
        return Error::of(
            fmt::format("no function of HIP matches '{}', and it is none of the groups "
                        "all, {}{}",
                        word, fmt::join(groups, ", "), suggestion(word, groups)));
    }
  }
  if (!choice.is_all_ && choice.groups_.empty() && choice.expressions_.empty())
    return Error::of("it names no functions");
  return choice;
}

bool ApiChoice::wants(const std::string &function, const std::string &group) const {
  return is_all_ || groups_.contains(group) ||
         std::ranges::any_of(expressions_, [&](const std::regex &expression) {
           return std::regex_search(function, expression);
         });
}

} // namespace fade
