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

namespace {

/// The address that a pair of scalar registers holds at `end`, if it was computed from the place of
/// the code: s_getpc_b64 s[0:1]; s_add_u32 s0, s0, 0x2ae0; s_addc_u32 s1, s1, 0. The upper one may
/// have another value by then.
std::optional<uint64_t> placeIn(const Registers &low, const std::vector<std::string> &code,
                                const std::vector<uint64_t> &addresses, std::size_t end,
                                bool through_branches) {
  for (std::size_t i = end; i-- > 1;) {
    const Text add = partsOf(code[i]);
    if (add.operands.empty() || !writesFirst(add.name) ||
        !meet(registersOf(add.operands[0]), low)) {
      if (add.name.starts_with("s_swappc") || add.name.starts_with("s_setpc")) return std::nullopt;
      if (!through_branches && (add.name.starts_with("s_cbranch") || add.name == "s_branch"))
        return std::nullopt;
      continue;
    }
    if (i + 1 >= end) return std::nullopt;
    const Text place = partsOf(code[i - 1]), high = partsOf(code[i + 1]);
    if (add.name != "s_add_u32" || high.name != "s_addc_u32" || place.name != "s_getpc_b64" ||
        add.operands.size() != 3 || high.operands.size() != 3 || place.operands.size() != 1)
      return std::nullopt;
    const auto distance = number(add.operands[2]), carry = number(high.operands[2]);
    const Registers at = registersOf(place.operands[0]), upper = registersOf(high.operands[0]);
    if (!distance || !carry || *carry != 0 || at.first != low.first || at.last != upper.first)
      return std::nullopt;
    return addresses[i] + *distance;
  }
  return std::nullopt;
}

/// The last instruction before `end` that writes to some of these.
std::optional<std::size_t> writerOf(const Registers &some, const std::vector<std::string> &code,
                                    std::size_t end) {
  for (std::size_t i = end; i-- > 0;) {
    const Text one = partsOf(code[i]);
    if (one.name.starts_with("s_swappc") || one.name.starts_with("s_setpc")) return std::nullopt;
    if (!one.operands.empty() && writesFirst(one.name) && meet(registersOf(one.operands[0]), some))
      return i;
  }
  return std::nullopt;
}

} // namespace

std::optional<uint64_t> scalarBase(const std::vector<std::string> &before,
                                   const std::vector<uint64_t> &addresses) {
  if (before.size() < 4 || before.size() != addresses.size()) return std::nullopt;
  const Text load = partsOf(before.back());
  if (!load.name.starts_with("s_load") || load.operands.size() != 3 || !number(load.operands[2]))
    return std::nullopt;
  const Registers base = registersOf(load.operands[1]);
  if (base.kind != 's' || base.last != base.first + 1) return std::nullopt;
  const Registers upper{'s', base.last, base.last};
  const auto high = writerOf(upper, before, before.size() - 1);
  if (!high || !before[*high].starts_with("s_addc_u32")) return std::nullopt;
  return placeIn({'s', base.first, base.first}, before, addresses, before.size() - 1, false);
}

std::optional<uint64_t> vectorBase(const std::vector<std::string> &before,
                                   const std::vector<uint64_t> &addresses) {
  if (before.size() < 4 || before.size() != addresses.size()) return std::nullopt;
  const std::size_t last = before.size() - 1;
  const Text access = partsOf(before[last]);
  if (!access.name.starts_with("global_") || access.operands.size() < 3) return std::nullopt;
  const auto lowOf = [](const Registers &pair) {
    return Registers{pair.kind, pair.first, pair.first};
  };
  if (const Registers base = registersOf(access.operands.back()); base.kind == 's') {
    const auto high = writerOf({'s', base.last, base.last}, before, last);
    if (!high || !before[*high].starts_with("s_addc_u32")) return std::nullopt;
    return placeIn(lowOf(base), before, addresses, last, true);
  }
  const bool returns = access.name.find("_load") != access.name.npos || access.operands.size() > 3;
  const Registers address = registersOf(access.operands[returns ? 1 : 0]);
  if (address.kind != 'v' || address.last != address.first + 1) return std::nullopt;
  const auto add = writerOf(lowOf(address), before, last);
  if (!add) return std::nullopt;
  const Text sum = partsOf(before[*add]);
  // v_add_co_u32 v2, vcc, s2, v2; v_lshl_add_u64 v[2:3], v[2:3], 2, s[2:3]
  if (!sum.name.starts_with("v_add_co_u32") && !sum.name.starts_with("v_lshl_add_u64"))
    return std::nullopt;
  for (std::size_t k = sum.operands.size(); k-- > 2;) {
    Registers base = registersOf(sum.operands[k]);
    std::size_t end = *add;
    if (base.kind == 'v') {
      const auto move = writerOf(lowOf(base), before, end);
      const Text copy = move ? partsOf(before[*move]) : Text{};
      if (!copy.name.starts_with("v_mov_b32") || copy.operands.size() != 2) continue;
      base = registersOf(copy.operands[1]), end = *move;
    }
    if (base.kind == 's') return placeIn(lowOf(base), before, addresses, end, true);
  }
  return std::nullopt;
}

} // namespace fade::cli
