#include "check/variable_bounds.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace fade::cli {
namespace {

struct Text {
  std::string_view name;
  std::vector<std::string_view> operands;
};

Text partsOf(std::string_view text) {
  Text parts;
  const auto space = text.find(' ');
  parts.name = text.substr(0, space);
  while (space != text.npos && !text.empty()) {
    text.remove_prefix(text.find(' ') == text.npos ? text.size() : text.find(' ') + 1);
    const auto comma = text.find(',');
    parts.operands.push_back(text.substr(0, comma));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
    if (!text.starts_with(' ')) break;
  }
  return parts;
}

struct Registers {
  char kind = 0;
  unsigned first = 0, last = 0;
};

/// "s3", "v[2:3]", "-v4", "v3 offset:4".
Registers registersOf(std::string_view operand) {
  Registers r;
  while (!operand.empty() && (operand[0] == '-' || operand[0] == '|')) operand.remove_prefix(1);
  if (operand.size() < 2 || (operand[0] != 's' && operand[0] != 'v')) return r;
  const std::string text(operand);
  const bool is_range = std::sscanf(text.c_str() + 1, "[%u:%u]", &r.first, &r.last) == 2;
  if (!is_range && std::sscanf(text.c_str() + 1, "%u", &r.first) != 1) return r;
  if (!is_range) r.last = r.first;
  r.kind = operand[0];
  return r;
}

bool meet(const Registers &a, const Registers &b) {
  return a.kind == b.kind && a.kind != 0 && a.first <= b.last && b.first <= a.last;
}

bool writesFirst(std::string_view name) {
  return !name.starts_with("s_cmp") && !name.starts_with("s_bitcmp") &&
         name.find("_store") == name.npos && !name.starts_with("ds_write");
}

std::optional<uint64_t> number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

} // namespace

bool isAcrossEnd(const VariableAccess &access, const Variable &variable,
                 const std::vector<std::string> &following) {
  const uint64_t end = variable.address + variable.size;
  if (!variable.holds(access.address) || access.address + access.size <= end) return false;
  if (following.empty()) return false;
  const Text own = partsOf(following[0]);
  if (!writesFirst(own.name)) return true; // stores are as wide as they are meant to be
  if (own.operands.empty()) return false;
  Registers beyond = registersOf(own.operands[0]);
  beyond.first += static_cast<unsigned>((end - access.address + 3) / 4);
  if (beyond.first > beyond.last) return false; // some bytes of the last dword
  for (std::size_t i = 1; i < following.size(); ++i) {
    const Text one = partsOf(following[i]);
    for (std::size_t k = writesFirst(one.name) ? 1 : 0; k < one.operands.size(); ++k)
      if (meet(registersOf(one.operands[k]), beyond)) return true;
    if (!one.operands.empty() && meet(registersOf(one.operands[0]), beyond)) return false;
  }
  return false;
}

std::optional<uint64_t> scalarBase(const std::vector<std::string> &before,
                                   const std::vector<uint64_t> &addresses) {
  if (before.size() < 4 || before.size() != addresses.size()) return std::nullopt;
  const Text load = partsOf(before.back());
  if (!load.name.starts_with("s_load") || load.operands.size() != 3 || !number(load.operands[2]))
    return std::nullopt;
  const Registers base = registersOf(load.operands[1]);
  if (base.kind != 's' || base.last != base.first + 1) return std::nullopt;
  // s_getpc_b64 s[0:1]; s_add_u32 s0, s0, 0x2ae0; s_addc_u32 s1, s1, 0
  for (std::size_t i = before.size() - 1; i-- > 2;) {
    const Text high = partsOf(before[i]);
    if (high.operands.empty() || !writesFirst(high.name) ||
        !meet(registersOf(high.operands[0]), base)) {
      if (high.name.starts_with("s_cbranch") || high.name.starts_with("s_swappc") ||
          high.name.starts_with("s_branch"))
        return std::nullopt;
      continue;
    }
    const Text low = partsOf(before[i - 1]), place = partsOf(before[i - 2]);
    if (high.name != "s_addc_u32" || low.name != "s_add_u32" || place.name != "s_getpc_b64" ||
        high.operands.size() != 3 || low.operands.size() != 3 || place.operands.size() != 1)
      return std::nullopt;
    const auto distance = number(low.operands[2]), carry = number(high.operands[2]);
    const Registers at = registersOf(place.operands[0]);
    if (!distance || !carry || *carry != 0 || at.first != base.first || at.last != base.last)
      return std::nullopt;
    return addresses[i - 1] + *distance;
  }
  return std::nullopt;
}

} // namespace fade::cli
