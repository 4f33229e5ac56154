// Zydis tells the instructions apart: their lengths, and what in them depends on their place.
#include "hip/entry_code.h"

#include "hip/code_bytes.h"

#include <optional>

#ifdef FADE_HAS_ZYDIS
#include <Zydis/Zydis.h>

#include <fmt/format.h>
#endif

namespace fade::hip {

#ifdef FADE_HAS_ZYDIS

namespace {

constexpr std::size_t kJumpBytes = 5;

struct Instruction {
  std::size_t size = 0;
  std::size_t distance_at = 0; ///< where its 32-bit distance from the next instruction is; 0: none
  bool can_move = false;
  bool goes_on = true;             ///< another instruction comes after it
  std::optional<int64_t> target{}; ///< of a jump or call, from its own beginning
};

class Decoder {
public:
  Decoder() { ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }

  /// Nothing: these bytes are no whole instruction.
  std::optional<Instruction> decode(std::span<const uint8_t> code) const {
    ZydisDecodedInstruction found;
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&decoder_, nullptr, code.data(), code.size(), &found)))
      return std::nullopt;
    Instruction result;
    result.size = found.length;
    const auto &immediate = found.raw.imm[0];
    const bool is_branch = found.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;
    if (is_branch && immediate.is_relative)
      result.target = static_cast<int64_t>(found.length) + immediate.value.s;
    if (is_branch || found.meta.category == ZYDIS_CATEGORY_RET) {
      // Only a plain jump to elsewhere can be made anew. A call would leave an address of the stub
      // on the stack.
      const bool is_jump =
          found.mnemonic == ZYDIS_MNEMONIC_JMP && immediate.is_relative && immediate.size == 32;
      result.can_move = is_jump;
      result.distance_at = is_jump ? immediate.offset : 0;
      result.goes_on = found.meta.category != ZYDIS_CATEGORY_UNCOND_BR &&
                       found.meta.category != ZYDIS_CATEGORY_RET;
      return result;
    }
    result.can_move = true;
    if ((found.attributes & ZYDIS_ATTRIB_IS_RELATIVE) != 0) {
      result.can_move = found.raw.disp.size == 32 && found.address_width == 64;
      result.distance_at = found.raw.disp.offset;
    }
    return result;
  }

private:
  ZydisDecoder decoder_;
};

bool isNear(int64_t distance) { return distance == static_cast<int32_t>(distance); }

/// Whether the function jumps into its first bytes, as far as its code can be read from beginning
/// to end: there may be data between instructions. (To its very beginning is as good as a call.)
bool comesBack(const Decoder &decoder, std::span<const uint8_t> code, std::size_t first) {
  for (std::size_t at = 0; at < code.size();) {
    const auto instruction = decoder.decode(code.subspan(at));
    if (!instruction) return false;
    if (instruction->target) {
      const int64_t target = static_cast<int64_t>(at) + *instruction->target;
      if (target > 0 && target < static_cast<int64_t>(first)) return true;
    }
    at += instruction->size;
  }
  return false;
}

void appendJump(std::vector<uint8_t> &bytes, int64_t distance) {
  bytes.push_back(0xe9);
  append(bytes, static_cast<int32_t>(distance));
}

/// The instruction as it has to be in another place, `by` bytes further.
Result<std::vector<uint8_t>> moved(std::span<const uint8_t> code, const Instruction &instruction,
                                   int64_t by) {
  std::vector<uint8_t> bytes(code.begin(),
                             code.begin() + static_cast<std::ptrdiff_t>(instruction.size));
  if (instruction.distance_at == 0) return bytes;
  const int64_t distance = readAt<int32_t>(code, instruction.distance_at) - by;
  if (!isNear(distance)) return Error::of("what it refers to is too far away");
  const auto near = static_cast<int32_t>(distance);
  std::memcpy(bytes.data() + instruction.distance_at, &near, sizeof near);
  return bytes;
}

} // namespace

Result<EntryCode> entryCodeX86(std::span<const uint8_t> code, uint64_t function, uint64_t stub,
                               uint64_t wrapper) {
  // The jump has to appear at once for threads that run into it.
  if (function % 8 + kJumpBytes > 8) return Error::of("it does not begin at a multiple of 8");
  const Decoder decoder;
  EntryCode result;
  result.stub = {0xff, 0x25, 0, 0, 0, 0}; // jmp *0(%rip)
  append(result.stub, wrapper);
  result.stub.resize(kStubOriginal, 0xcc);
  std::size_t displaced = 0;
  bool goes_on = true;
  while (displaced < kJumpBytes && goes_on) {
    const auto rest = code.subspan(std::min(displaced, code.size()));
    const auto instruction = decoder.decode(rest);
    if (!instruction || !instruction->can_move)
      return Error::of(fmt::format("its instruction at +{} cannot be moved", displaced));
    const auto by = static_cast<int64_t>(stub + result.stub.size() - (function + displaced));
    const auto bytes = moved(rest, *instruction, by);
    if (!bytes) return bytes.error();
    result.stub.insert(result.stub.end(), bytes->begin(), bytes->end());
    displaced += instruction->size;
    goes_on = instruction->goes_on;
  }
  if (displaced < kJumpBytes) return Error::of("it is too short");
  if (comesBack(decoder, code, displaced)) return Error::of("it jumps into its first instructions");
  const auto there = static_cast<int64_t>(stub) - static_cast<int64_t>(function + kJumpBytes);
  const auto back = static_cast<int64_t>(function + displaced) -
                    static_cast<int64_t>(stub + result.stub.size() + kJumpBytes);
  if (!isNear(there) || !isNear(back)) return Error::of("there is no room near it");
  if (goes_on) appendJump(result.stub, back);
  appendJump(result.entry, there);
  if (result.stub.size() > kStubBytes) return Error::of("its first instructions are too long");
  return result;
}

#else

Result<EntryCode> entryCodeX86(std::span<const uint8_t>, uint64_t, uint64_t, uint64_t) {
  return Error::of("this FADE was built without Zydis 4, which decodes instructions");
}

#endif

} // namespace fade::hip
