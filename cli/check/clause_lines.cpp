#include "check/clause_lines.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

namespace fade::cli {
namespace {

constexpr std::size_t kLongestClause = 63, kFurthestDefinition = 64;

std::string_view nameOf(std::string_view text) { return text.substr(0, text.find(' ')); }

std::vector<std::string_view> operandsOf(std::string_view text) {
  std::vector<std::string_view> operands;
  text.remove_prefix(std::min(nameOf(text).size() + 1, text.size()));
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    operands.push_back(one.substr(0, one.find(' ')));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  return operands;
}

/// "v3" and "v[3:4]": the vector registers.
std::set<unsigned> vectorRegisters(std::string_view operand) {
  std::set<unsigned> all;
  if (!operand.starts_with('v')) return all;
  const std::string text(operand.substr(1));
  unsigned first = 0, last = 0;
  if (std::sscanf(text.c_str(), "[%u:%u]", &first, &last) == 2 && last - first < 32)
    for (unsigned i = first; i <= last; ++i) all.insert(i);
  else if (std::sscanf(text.c_str(), "%u", &first) == 1)
    all.insert(first);
  return all;
}

bool isStore(std::string_view name) {
  return name.find("_store") != name.npos || name.starts_with("ds_write");
}

/// The operands of an access: its address, and what is added to it.
struct Address {
  std::string_view vector, base;
};
Address addressOf(std::string_view text) {
  const auto operands = operandsOf(text);
  const std::string_view name = nameOf(text);
  if (operands.size() < 2) return {};
  if (name.starts_with("buffer_")) return {operands[1], operands.size() > 2 ? operands[2] : ""};
  const std::string_view base = operands.size() > 2 ? operands[2] : "";
  return {isStore(name) ? operands[0] : operands[1], name.starts_with("ds_") ? "" : base};
}

} // namespace

std::optional<ClausePlace> clausePlace(const std::vector<std::string> &instructions) {
  if (instructions.size() < 3) return std::nullopt;
  const std::size_t last = instructions.size() - 1;
  ClausePlace place;
  bool is_in = false;
  for (std::size_t back = 1; back <= std::min(kLongestClause, last) && !is_in; ++back) {
    const std::string &text = instructions[last - back];
    unsigned more = 0;
    if (std::sscanf(text.c_str(), "s_clause %x", &more) != 1) continue;
    if (back > more + 1) return std::nullopt;
    is_in = true;
    place.first = last - back + 1;
  }
  if (!is_in || place.first == last) return std::nullopt;
  const Address own = addressOf(instructions[last]);
  place.has_other_base = addressOf(instructions[place.first]).base != own.base;
  const std::set<unsigned> wanted = vectorRegisters(own.vector);
  for (std::size_t i = place.first; i < last; ++i)
    if (addressOf(instructions[i]).vector == own.vector) return place;
  for (std::size_t i = place.first - 1, seen = 0; i-- > 0 && seen < kFurthestDefinition; ++seen) {
    const std::string &text = instructions[i];
    if (text.starts_with("s_branch") || text.starts_with("s_cbranch")) break;
    const auto operands = operandsOf(text);
    if (operands.empty() || isStore(nameOf(text))) continue;
    const std::set<unsigned> written = vectorRegisters(operands[0]);
    if (std::ranges::any_of(wanted, [&](unsigned r) { return written.contains(r); })) {
      place.definition = i;
      break;
    }
  }
  return place;
}

} // namespace fade::cli
