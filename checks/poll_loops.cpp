#include "checks/poll_loops.h"

#include <algorithm>
#include <string_view>

namespace fade::checks {
namespace {

constexpr int kFurthest = 24; ///< dwords from the load to the loop's beginning, and to its end

/// s_cbranch_*, back by so many dwords; 0: another instruction. The numbers of the opcodes are not
/// those of anything else that is followed by so small a negative number.
int branchesBack(uint32_t word, bool is_11_up) {
  const uint32_t first = is_11_up ? 0xbfa1 : 0xbf84, opcode = word >> 16;
  if (opcode < first || opcode > first + 5) return 0;
  const int offset = static_cast<int16_t>(word & 0xffff);
  return offset < 0 && offset >= -2 * kFurthest ? -offset : 0;
}

bool isLds(uint32_t word) { return word >> 26 == 0x36; }

bool isBarrier(uint32_t word) {
  const uint32_t opcode = word >> 16;
  return opcode == 0xbf8a || opcode == 0xbfbd || opcode == 0xbf94; // gfx9 and 10, 11, 12
}

/// In dwords; of encodings that are neither here nor there, 2.
int lengthOf(const uint32_t *words) {
  constexpr uint32_t literal = 255;
  const uint32_t word = words[0];
  if (word >> 31 == 0) { // VOP1, VOP2, VOPC
    const uint32_t source = word & 0x1ff;
    const bool has_more = source == literal || source == 249 || source == 250 || source == 233 ||
                          source == 234; // SDWA, DPP
    return has_more ? 2 : 1;
  }
  const bool first_is = (word & 0xff) == literal, second_is = (word >> 8 & 0xff) == literal;
  switch (word >> 28) {
  case 8:
  case 9:
  case 10: return first_is || second_is ? 2 : 1; // SOP2
  case 11:
    if (word >> 23 == 0x17d) return first_is ? 2 : 1;              // SOP1
    if (word >> 23 == 0x17e) return first_is || second_is ? 2 : 1; // SOPC
    return 1;                                                      // SOPK, SOPP
  default: break;
  }
  const uint32_t kind = word >> 26;
  if (kind != 0x34 && kind != 0x35) return 2;
  const uint32_t sources = words[1]; // VOP3
  const bool has_literal = (sources & 0x1ff) == literal || (sources >> 9 & 0x1ff) == literal ||
                           (sources >> 18 & 0x1ff) == literal;
  return has_literal ? 3 : 2;
}

/// Whether a VALU instruction writes the register.
bool writes(uint32_t word, uint32_t number) {
  if (word >> 31 == 0) return word >> 25 != 0x3e && (word >> 17 & 0xff) == number;
  const uint32_t kind = word >> 26;
  return (kind == 0x34 || kind == 0x35) && (word & 0xff) == number;
}

} // namespace

void PollLoops::begin(const ObservedDispatch &dispatch) {
  if (dispatch_ == dispatch.number) return;
  dispatch_ = dispatch.number;
  const std::string_view gpu = dispatch.gpu;
  is_11_up_ = gpu.starts_with("gfx11") || gpu.starts_with("gfx12");
  known_.fill({});
}

bool PollLoops::look(uint64_t pc, const ObservedMemory &memory) const {
  std::array<uint32_t, 2 * kFurthest + 2> words{};
  const uint64_t begin = pc - 4 * kFurthest;
  for (std::size_t i = 0; i < words.size(); ++i) // code may begin or end near by
    if (!memory.read(begin + 4 * i, &words[i], 4)) words[i] = 0;
  if (!isLds(words[kFurthest])) return false;
  const uint32_t address = words[kFurthest + 1] & 0xff;
  int first = 0, last = 0;
  for (int i = kFurthest + 2; i < 2 * kFurthest && !last; ++i)
    if (const int back = branchesBack(words[static_cast<std::size_t>(i)], is_11_up_))
      first = i + 1 - back, last = i;
  if (!last || first < 0 || first > kFurthest) return false;
  for (int i = first; i < last; i += lengthOf(&words[static_cast<std::size_t>(i)])) {
    const uint32_t word = words[static_cast<std::size_t>(i)];
    if (i != kFurthest && (isLds(word) || isBarrier(word) || writes(word, address))) return false;
  }
  return true;
}

bool PollLoops::isPoll(uint64_t pc, const ObservedMemory &memory) {
  Known &known = known_[pc / 8 % known_.size()];
  if (known.pc != pc) known = {pc, look(pc, memory)};
  return known.is_poll;
}

} // namespace fade::checks
