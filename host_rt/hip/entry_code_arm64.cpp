#include "hip/entry_code.h"

#include "hip/code_bytes.h"

#include <optional>

namespace fade::hip {
namespace {

/// Whether an instruction means something else in another place. All have four bytes, and these
/// are all the classes of Arm's manual that refer to the program counter.
bool isRelative(uint32_t word) {
  return (word & 0x1f000000) == 0x10000000 || // adr, adrp
         (word >> 26) == 37 ||                // bl
         (word & 0xff000000) == 0x54000000 || // b.cond, bc.cond
         (word & 0x7c000000) == 0x34000000 || // cbz, cbnz, tbz, tbnz
         (word & 0x7e000000) == 0x74000000 || // compare and branch
         (word & 0x3b000000) == 0x18000000 || // ldr literal
         (word & 0xff800000) == 0xf3800000 || // autiasppc, autibsppc
         (word & 0xff800000) == 0x55000000;   // retaasppc, retabsppc
}

std::optional<uint32_t> branch(uint64_t from, uint64_t to) {
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
  if (isRelative(first)) return Error::of("its first instruction cannot be moved");
  EntryCode result;
  append(result.stub, uint32_t{0x58000050}); // ldr x16, the wrapper
  append(result.stub, uint32_t{0xd61f0200}); // br x16
  append(result.stub, wrapper);
  std::optional<uint32_t> back;
  if (first >> 26 == 5) { // a branch: only that goes there
    const auto distance = static_cast<int64_t>(static_cast<int32_t>(first << 6)) >> 4;
    back = branch(stub + kStubOriginal, function + static_cast<uint64_t>(distance));
  } else {
    append(result.stub, first);
    back = branch(stub + kStubOriginal + 4, function + 4);
  }
  const auto there = branch(function, stub);
  if (!there || !back) return Error::of("there is no room near it");
  append(result.stub, *back);
  append(result.entry, *there);
  return result;
}

} // namespace fade::hip
