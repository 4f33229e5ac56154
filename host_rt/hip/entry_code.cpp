#include "hip/entry_code.h"

#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace fade::hip {
namespace {

template <typename T> T readAt(std::span<const uint8_t> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T> void append(std::vector<uint8_t> &bytes, T value) {
  const auto *from = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

// ---- x86-64

constexpr std::size_t kJumpBytes = 5;

/// One instruction of those that functions begin with.
struct X86Instruction {
  std::size_t size = 0;
  std::size_t relative = 0; ///< where its 32-bit distance from the next instruction is; 0: none
  bool is_jump = false;     ///< nothing comes after it
};

/// Bytes of a ModRM byte, with SIB and displacement.
std::optional<X86Instruction> withOperand(std::span<const uint8_t> code, std::size_t at,
                                          std::size_t immediate) {
  if (at >= code.size()) return std::nullopt;
  const unsigned mode = code[at] >> 6, base = code[at] & 7;
  X86Instruction found;
  std::size_t size = 1;
  if (mode != 3 && base == 4) {
    if (at + 1 >= code.size()) return std::nullopt;
    if (mode == 0 && (code[at + 1] & 7) == 5) size += 4;
    ++size;
  } else if (mode == 0 && base == 5) {
    found.relative = at + 1;
    size += 4;
  }
  if (mode == 1) size += 1;
  if (mode == 2) size += 4;
  found.size = at + size + immediate;
  return found;
}

std::optional<X86Instruction> decodeX86(std::span<const uint8_t> code) {
  std::size_t at = 0;
  const auto byte = [&](std::size_t i) { return i < code.size() ? code[i] : uint8_t{0x06}; };
  if (byte(0) == 0xf3 && byte(1) == 0x0f && byte(2) == 0x1e && byte(3) == 0xfa)
    return X86Instruction{4}; // endbr64
  if (byte(at) == 0x66) ++at;
  bool is_wide = false;
  if ((byte(at) & 0xf0) == 0x40) is_wide = (byte(at++) & 8) != 0;
  const uint8_t op = byte(at++);
  if (op >= 0x50 && op <= 0x57) return X86Instruction{at}; // push
  if (op >= 0xb8 && op <= 0xbf) return X86Instruction{at + (is_wide ? 8 : 4)};
  switch (op) {
  case 0x01:
  case 0x03:
  case 0x09:
  case 0x0b:
  case 0x21:
  case 0x23:
  case 0x29:
  case 0x2b:
  case 0x31:
  case 0x33:
  case 0x39:
  case 0x3b:
  case 0x85:
  case 0x89:
  case 0x8b:
  case 0x8d: return withOperand(code, at, 0);
  case 0x83: return withOperand(code, at, 1);
  case 0x81:
  case 0xc7: return withOperand(code, at, 4);
  case 0xe9: return X86Instruction{at + 4, at, true};
  case 0x0f:
    // Moves between registers, and nothing in several bytes.
    if (const uint8_t second = byte(at++); second == 0x6e || second == 0x1f || second == 0x28 ||
                                           second == 0x29 || second == 0x10 || second == 0x11)
      return withOperand(code, at, 0);
    return std::nullopt;
  default: return std::nullopt;
  }
}

bool isNear(int64_t distance) { return distance == static_cast<int32_t>(distance); }

} // namespace

Result<EntryCode> entryCodeX86(std::span<const uint8_t> code, uint64_t function, uint64_t stub,
                               uint64_t wrapper) {
  // The jump has to appear at once for threads that run into it.
  if (function % 8 + kJumpBytes > 8) return Error::of("it does not begin at a multiple of 8");
  EntryCode result;
  result.stub = {0xff, 0x25, 0, 0, 0, 0}; // jmp *0(%rip)
  append(result.stub, wrapper);
  result.stub.resize(kStubOriginal, 0xcc);
  std::size_t displaced = 0;
  bool goes_on = true;
  while (displaced < kJumpBytes && goes_on) {
    const auto rest = code.subspan(std::min(displaced, code.size()));
    const auto instruction = decodeX86(rest);
    if (!instruction || instruction->size > rest.size())
      return Error::of(fmt::format("its instruction at +{} is none that can be moved", displaced));
    std::vector<uint8_t> bytes(rest.begin(),
                               rest.begin() + static_cast<std::ptrdiff_t>(instruction->size));
    if (instruction->relative != 0) {
      const int64_t distance = static_cast<int64_t>(readAt<int32_t>(rest, instruction->relative)) +
                               static_cast<int64_t>(function + displaced) -
                               static_cast<int64_t>(stub + result.stub.size());
      if (!isNear(distance)) return Error::of("what it refers to is too far away");
      const auto moved = static_cast<int32_t>(distance);
      std::memcpy(bytes.data() + instruction->relative, &moved, sizeof moved);
    }
    result.stub.insert(result.stub.end(), bytes.begin(), bytes.end());
    displaced += instruction->size;
    goes_on = !instruction->is_jump;
  }
  if (displaced < kJumpBytes) return Error::of("it is too short");
  const auto jump = [](std::vector<uint8_t> &bytes, int64_t distance) {
    bytes.push_back(0xe9);
    append(bytes, static_cast<int32_t>(distance));
  };
  const auto there = static_cast<int64_t>(stub) - static_cast<int64_t>(function + kJumpBytes);
  const auto back = static_cast<int64_t>(function + displaced) -
                    static_cast<int64_t>(stub + result.stub.size() + kJumpBytes);
  if (!isNear(there) || !isNear(back)) return Error::of("there is no room near it");
  if (goes_on) jump(result.stub, back);
  jump(result.entry, there);
  if (result.stub.size() > kStubBytes) return Error::of("its first instructions are too long");
  return result;
}

// ---- arm64

namespace {

/// Whether an instruction means something else in another place.
bool isRelativeArm64(uint32_t word) {
  return (word & 0x1f000000) == 0x10000000 || // adr, adrp
         (word >> 26) == 37 ||                // bl
         (word & 0xff000010) == 0x54000000 || // b.cond
         (word & 0x7e000000) == 0x34000000 || // cbz, cbnz
         (word & 0x7e000000) == 0x36000000 || // tbz, tbnz
         (word & 0x3b000000) == 0x18000000;   // ldr literal
}

std::optional<uint32_t> branchArm64(uint64_t from, uint64_t to) {
  constexpr int64_t reach = int64_t{128} << 20;
  const auto distance = static_cast<int64_t>(to - from);
  if (distance >= reach || distance < -reach || distance % 4 != 0) return std::nullopt;
  return 0x14000000u | (static_cast<uint32_t>(distance >> 2) & 0x3ffffffu);
}

} // namespace

Result<EntryCode> entryCodeArm64(std::span<const uint8_t> code, uint64_t function, uint64_t stub,
                                 uint64_t wrapper) {
  if (code.size() < 4) return Error::of("it is too short");
  const auto first = readAt<uint32_t>(code, 0);
  if (isRelativeArm64(first)) return Error::of("its first instruction is none that can be moved");
  EntryCode result;
  append(result.stub, uint32_t{0x58000050}); // ldr x16, the wrapper
  append(result.stub, uint32_t{0xd61f0200}); // br x16
  append(result.stub, wrapper);
  std::optional<uint32_t> back;
  if (first >> 26 == 5) { // a branch: only that goes there
    const auto distance = static_cast<int64_t>(static_cast<int32_t>(first << 6)) >> 4;
    back = branchArm64(stub + kStubOriginal, function + static_cast<uint64_t>(distance));
  } else {
    append(result.stub, first);
    back = branchArm64(stub + kStubOriginal + 4, function + 4);
  }
  const auto there = branchArm64(function, stub);
  if (!there || !back) return Error::of("there is no room near it");
  append(result.stub, *back);
  append(result.entry, *there);
  return result;
}

} // namespace fade::hip
