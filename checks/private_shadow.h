// Which bytes of its private memory (scratch: the stack, arrays, spilled registers) each work-item
// of a wave has written.
//
// Compilers read more than programs do: a spilled register is loaded again by lanes that never
// stored it, and those of which only some lanes are used are loaded before anybody stored them;
// what they get is never used. So a load is taken for a mistake only if no byte of it was written
// by the lane, its value is used (UnwrittenValues), and it cannot be a spilled register: because it
// is through a pointer (a flat load), or because lanes read at different places, as they do in
// arrays.
#pragma once

#include <fade/observer.h>

#include <cstdint>
#include <vector>

namespace fade::checks {

class PrivateShadow {
public:
  /// The next wave. Nothing of the one before is left.
  void begin(uint32_t bytes);

  void write(const ObservedAccess &access);
  /// Lanes that read what they have never written.
  uint64_t unwritten(const ObservedAccess &access) const;

private:
  bool isInside(uint64_t address, uint32_t size) const {
    return address + size <= bytes_ && address + size >= address;
  }
  uint32_t bytes_ = 0;
  std::vector<uint64_t> written_; ///< lanes, by byte; as far as anybody wrote
};

} // namespace fade::checks
