#include "check/data_flow.h"

#include "codeobj/instruction.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

namespace fade::cli {
namespace {

struct Instruction {
  std::string name;
  std::vector<std::string> operands;
};

Instruction parsed(const std::string &text) {
  Instruction in;
  const auto space = text.find(' ');
  in.name = text.substr(0, space);
  if (space == text.npos) return in;
  std::string word;
  for (const char c : text.substr(space + 1) + ",") {
    if (c == ',') {
      if (!word.empty()) in.operands.push_back(word);
      word.clear();
    } else if (c != ' ' || !word.empty()) {
      word += c;
    }
  }
  return in;
}

/// "v3", "v[2:3]" and "s4" as registers one by one; modifiers behind a space are left out, and so
/// are halves ("v3.l").
std::set<std::string> registersOf(std::string operand) {
  operand = operand.substr(0, operand.find_first_of(" ."));
  std::erase_if(operand, [](char c) { return c == '-' || c == '|'; });
  std::set<std::string> all;
  if (operand.size() < 2 || std::string_view("vsa").find(operand[0]) == std::string_view::npos)
    return all;
  const std::string kind = operand.substr(0, 1);
  if (operand[1] == '[') {
    unsigned first = 0, last = 0;
    if (std::sscanf(operand.c_str() + 1, "[%u:%u]", &first, &last) == 2 && last - first < 32)
      for (unsigned i = first; i <= last; ++i) all.insert(kind + std::to_string(i));
  } else if (std::isdigit(static_cast<unsigned char>(operand[1])) != 0) {
    all.insert(operand);
  }
  return all;
}

bool isStore(const std::string &name) {
  return name.find("_store_") != name.npos || name.starts_with("ds_write") ||
         name.starts_with("ds_store");
}

/// Doing it twice is not the same as doing it once.
bool isSum(const std::string &name) {
  constexpr std::array<std::string_view, 9> parts = {"_add", "_sub", "_fma",  "_mac", "_mad",
                                                     "_mul", "_xor", "_lshl", "_dot"};
  return std::ranges::any_of(parts, [&](std::string_view p) { return name.find(p) != name.npos; });
}

/// Adds to what its result's registers hold.
bool readsResult(const std::string &name) {
  return name.find("mac_") != name.npos || name.starts_with("v_dot2c") ||
         name.starts_with("v_dot4c") || name.starts_with("v_dot8c");
}

bool reads(const std::set<std::string> &some, const std::string &operand) {
  return std::ranges::any_of(registersOf(operand),
                             [&](const std::string &r) { return some.contains(r); });
}

} // namespace

bool accumulates(const std::vector<std::string> &instructions) {
  if (instructions.size() < 2) return false;
  const Instruction load = parsed(instructions.front()), store = parsed(instructions.back());
  if (load.operands.empty() || !isStore(store.name)) return false;
  std::set<std::string> loaded = registersOf(load.operands[0]), summed; // values made of it
  for (std::size_t i = 1; i + 1 < instructions.size(); ++i) {
    const Instruction in = parsed(instructions[i]);
    if (in.operands.size() < 2 || isStore(in.name) || in.name.starts_with("s_cbranch")) continue;
    bool of_loaded = false, of_sum = false;
    for (std::size_t k = readsResult(in.name) ? 0 : 1; k < in.operands.size(); ++k) {
      of_loaded |= reads(loaded, in.operands[k]);
      of_sum |= reads(summed, in.operands[k]);
    }
    for (const std::string &r : registersOf(in.operands[0])) {
      loaded.erase(r), summed.erase(r);
      if (of_sum || (of_loaded && isSum(in.name)))
        summed.insert(r);
      else if (of_loaded)
        loaded.insert(r);
    }
  }
  // Buffers name the value first, all others behind the address.
  const std::size_t data = store.name.starts_with("buffer") ? 0 : 1;
  return store.operands.size() > data && reads(summed, store.operands[data]);
}

bool computesAddress(const std::vector<std::string> &instructions, std::size_t load) {
  if (load >= instructions.size()) return false;
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (i != load && !instructions[i].starts_with("s_") &&
        codeobj::classify(instructions[i]).memory != codeobj::MemoryOperation::None)
      return false;
  const Instruction in = parsed(instructions[load]);
  if (!in.name.starts_with("ds_read_") && !in.name.starts_with("ds_load_")) return false;
  if (in.operands.size() < 2) return false;
  const std::set<std::string> address = registersOf(in.operands[1]);
  return std::ranges::any_of(instructions.begin(),
                             instructions.begin() + static_cast<std::ptrdiff_t>(load),
                             [&](const std::string &text) {
                               const Instruction one = parsed(text);
                               return one.name.starts_with("v_") && !one.operands.empty() &&
                                      reads(address, one.operands[0]);
                             });
}

} // namespace fade::cli
