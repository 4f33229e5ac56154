// The addresses that a memory instruction accesses, as instructions that compute them.
#pragma once

#include "rewrite/dialect.h"
#include "rewrite/program.h"

namespace fade::rewrite {

/// One access of an instruction; some make two.
struct AccessAddress {
  Lines lines;
  unsigned vector = 0, vectors = 0; ///< the vector registers that they read: first, and how many
  bool may_be_private = false;      ///< a flat address, which may be one of scratch
  bool may_be_argument = false;     ///< a load, which may be one of the kernel's arguments
  bool may_be_outside = false;      ///< of a buffer: see kOutside
  /// A scalar load: the first register of its address, and the distance from there.
  std::optional<unsigned> scalar_base{};
  uint32_t scalar_offset = 0;
};

/// The upper half of addresses through buffer descriptors, which have 48 bits, for lanes outside of
/// the buffer, which access nothing, and where the access is not understood: through descriptors
/// that are not linear.
inline constexpr int kOutside = -1, kNotUnderstood = -2;

/// Registers that the lines may use.
struct AddressRegisters {
  unsigned address = 0;   ///< vector pair with the result
  unsigned temporary = 0; ///< vector pair
  unsigned more = 0;      ///< another one
  unsigned carry = 0;     ///< scalar pair, which the instruction does not read
};

/// The accesses of an instruction at a site, of so many bytes each. An error says why they are not
/// known.
Result<std::vector<AccessAddress>> addressesOf(const codeobj::CodeObject &object,
                                               const Instruction &i, const Dialect &dialect,
                                               const AddressRegisters &registers, uint32_t bytes);

} // namespace fade::rewrite
