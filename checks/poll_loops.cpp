#include "checks/poll_loops.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <string_view>
#include <vector>

namespace fade::checks {
namespace {

constexpr int kFurthest = 24; ///< dwords from the load to the loop's beginning, and to its end
constexpr int kFurthestPlain = 384; ///< the same, without optimization
constexpr int kNextUse =
    16; ///< dwords from a load to where its value is used, without optimization

/// s_cbranch_*, back by so many dwords; 0: another instruction. The numbers of the opcodes are not
/// those of anything else that is followed by so small a negative number.
int branchesBack(uint32_t word, bool is_11_up, int furthest = kFurthest) {
  const uint32_t first = is_11_up ? 0xbfa1 : 0xbf84, opcode = word >> 16;
  if (opcode < first || opcode > first + 5) return 0;
  const int offset = static_cast<int16_t>(word & 0xffff);
  return offset < 0 && offset >= -2 * furthest ? -offset : 0;
}

/// s_cbranch_*, over so many dwords.
int branchesOn(uint32_t word, bool is_11_up) {
  const uint32_t first = is_11_up ? 0xbfa1 : 0xbf84, opcode = word >> 16;
  if (opcode < first || opcode > first + 5) return 0;
  return std::max<int>(static_cast<int16_t>(word & 0xffff), 0);
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

/// A flat, global or scratch instruction of gfx9.
struct FlatAccess {
  bool is_flat = false, loads = false, stores = false;
  uint32_t address = 0, data = 0, dwords = 1; ///< the first registers, and how many have data
};

std::optional<FlatAccess> flatAccess(const uint32_t *words) {
  if (words[0] >> 26 != 0x37) return std::nullopt;
  const uint32_t opcode = words[0] >> 18 & 0x7f;
  FlatAccess flat;
  flat.is_flat = (words[0] >> 14 & 3) == 0;
  flat.loads = (opcode >= 16 && opcode < 24) || (opcode >= 32 && opcode < 38);
  flat.stores = opcode >= 24 && opcode < 32;
  flat.address = words[1] & 0xff;
  flat.data = flat.stores ? words[1] >> 8 & 0xff : words[1] >> 24;
  if (opcode == 21 || opcode == 29) flat.dwords = 2;
  if (opcode == 22 || opcode == 30) flat.dwords = 3;
  if (opcode == 23 || opcode == 31) flat.dwords = 4;
  return flat;
}

/// Calls and returns of gfx9, which go where nobody looks, and its end of a program.
bool leaves(uint32_t word) {
  const uint32_t opcode = word >> 8 & 0xff;
  const bool is_jump = word >> 23 == 0x17d && opcode >= 29 && opcode <= 31;
  return is_jump || word >> 23 == 0x17a /* s_call */ || word >> 16 == 0xbf81;
}

/// Registers that hold what was loaded, as it was loaded.
class LoadedRegisters {
public:
  void load(const FlatAccess &flat) {
    for (uint32_t k = 0; k < flat.dwords; ++k) loaded_.set((flat.data + k) & 0xff);
  }
  void step(const uint32_t *words) {
    const uint32_t word = words[0], to = word >> 17 & 0xff;
    if (word >> 25 == 0x3f) { // VOP1; v_mov_b32 of a vector register passes on what that one holds
      const bool is_move = (word >> 9 & 0xff) == 1 && (word & 0x100);
      loaded_.set(to, is_move && loaded_.test(word & 0xff));
    } else if (word >> 31 == 0) {
      if (word >> 25 != 0x3e) loaded_.reset(to);
    } else if (word >> 26 == 0x34) { // VOP3, VOP3P: of two registers, such as v_pk_mov_b32
      loaded_.reset(word & 0xff);
      loaded_.reset((word + 1) & 0xff);
    }
  }
  bool has(const FlatAccess &flat) const {
    for (uint32_t k = 0; k < flat.dwords; ++k)
      if (!loaded_.test((flat.data + k) & 0xff)) return false;
    return true;
  }

private:
  std::bitset<256> loaded_;
};

/// Without optimization the value of an atomic load goes through a place on the stack: the load is
/// followed by a store of what it has loaded, and that by another load.
bool isPutAside(const std::vector<uint32_t> &words, std::size_t at) {
  const auto load = flatAccess(&words[at]);
  if (!load || !load->is_flat || !load->loads) return false;
  bool is_stored = false;
  const std::size_t end = std::min(at + kNextUse, words.size() - 3);
  for (std::size_t i = at + 2; i < end; i += static_cast<std::size_t>(lengthOf(&words[i]))) {
    const auto next = flatAccess(&words[i]);
    if (!next) continue;
    if (is_stored) return next->is_flat && next->loads && next->dwords == load->dwords;
    if (!next->stores || next->data != load->data || next->dwords != load->dwords) return false;
    is_stored = true;
  }
  return false;
}

std::vector<uint32_t> wordsAt(uint64_t begin, std::size_t count, const ObservedMemory &memory) {
  std::vector<uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) // code may begin or end near by
    if (!memory.read(begin + 4 * i, &words[i], 4)) words[i] = 0;
  return words;
}

/// A loop of code without optimization (gfx9), where every variable is on the stack: if it stores
/// nothing but what it has loaded, as it was, its next turn is as this one unless somebody else
/// changes what it loads. That is to wait.
bool waitsWithoutOptimization(uint64_t pc, const ObservedMemory &memory) {
  constexpr auto at = std::size_t{kFurthestPlain};
  if (!isPutAside(wordsAt(pc, kNextUse + 3, memory), 0)) return false;
  const std::vector<uint32_t> words = wordsAt(pc - 4 * at, 2 * at + 3, memory);
  std::size_t first = 0, last = 0;
  for (std::size_t i = at + 2; i < 2 * at && !last;
       i += static_cast<std::size_t>(lengthOf(&words[i])))
    if (const int back = branchesBack(words[i], false, kFurthestPlain);
        back && i + 1 >= static_cast<std::size_t>(back) &&
        i + 1 - static_cast<std::size_t>(back) <= at)
      first = i + 1 - static_cast<std::size_t>(back), last = i;
  if (!last) return false;
  LoadedRegisters loaded;
  for (std::size_t i = first; i < last; i += static_cast<std::size_t>(lengthOf(&words[i]))) {
    if (isLds(words[i]) || isBarrier(words[i]) || leaves(words[i])) return false;
    const auto flat = flatAccess(&words[i]);
    if (!flat)
      loaded.step(&words[i]);
    else if (flat->loads)
      loaded.load(*flat);
    else if (!flat->stores || !loaded.has(*flat)) // atomics, and what was computed
      return false;
  }
  return true;
}

} // namespace

void PollLoops::begin(const ObservedDispatch &dispatch) {
  if (dispatch_ == dispatch.number) return;
  dispatch_ = dispatch.number;
  const std::string_view gpu = dispatch.gpu;
  is_9_ = gpu.starts_with("gfx9");
  is_11_up_ = gpu.starts_with("gfx11") || gpu.starts_with("gfx12");
  known_.fill({});
}

uint64_t PollLoops::endOfLoop(uint64_t pc, const ObservedMemory &memory) const {
  const std::vector<uint32_t> words = wordsAt(pc - 4 * kFurthest, 2 * kFurthest + 2, memory);
  const uint32_t address = words[kFurthest + 1] & 0xff;
  int first = 0, last = 0;
  for (int i = kFurthest + 2; i < 2 * kFurthest && !last; ++i)
    if (const int back = branchesBack(words[static_cast<std::size_t>(i)], is_11_up_))
      first = i + 1 - back, last = i;
  if (!last || first < 0 || first > kFurthest) return 0;
  for (int i = first; i < last; i += lengthOf(&words[static_cast<std::size_t>(i)])) {
    const uint32_t word = words[static_cast<std::size_t>(i)];
    if (i != kFurthest && (isLds(word) || isBarrier(word) || writes(word, address))) return 0;
  }
  return pc + 4 * static_cast<uint64_t>(last - kFurthest);
}

bool PollLoops::isBeforeLoop(uint64_t pc, const ObservedMemory &memory) const {
  const std::vector<uint32_t> words = wordsAt(pc, kFurthest + 2, memory);
  uint64_t exit = 0;
  for (std::size_t i = 2; i < kFurthest; i += static_cast<std::size_t>(lengthOf(&words[i]))) {
    if (isBarrier(words[i])) return false;
    if (const int onward = branchesOn(words[i], is_11_up_); onward && !exit)
      exit = pc + 4 * (i + 1 + static_cast<uint64_t>(onward));
    if (!isLds(words[i])) continue;
    const uint64_t end = words[i] == words[0] ? endOfLoop(pc + 4 * i, memory) : 0;
    return end && exit > end;
  }
  return false;
}

bool PollLoops::look(uint64_t pc, const ObservedMemory &memory) const {
  uint32_t word = 0;
  if (!memory.read(pc, &word, 4)) return false;
  if (!isLds(word)) return is_9_ && waitsWithoutOptimization(pc, memory);
  return endOfLoop(pc, memory) || isBeforeLoop(pc, memory);
}

bool PollLoops::isPoll(uint64_t pc, const ObservedMemory &memory) {
  Known &known = known_[pc / 8 % known_.size()];
  if (known.pc != pc) known = {pc, look(pc, memory)};
  return known.is_poll;
}

} // namespace fade::checks
