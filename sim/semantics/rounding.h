// The host's rounding mode, set as MODE asks for while a lane loop runs.
#pragma once

#include "isa/opcode.h"

#include <cfenv>
#include <cstdint>

namespace fade::sim {

class RoundingScope {
public:
  // f32 results round by MODE[1:0], f16 and f64 by MODE[3:2].
  RoundingScope(uint32_t mode, Type result, Type source) {
    Type t = is_float(result) ? result : source;
    unsigned field = t == Type::f32 ? mode & 3 : mode >> 2 & 3;
    if (!is_float(t) || field == 0) return;
    static constexpr int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::fesetround(host[field]);
    changed_ = true;
  }
  ~RoundingScope() {
    if (changed_) std::fesetround(FE_TONEAREST);
  }
  RoundingScope(const RoundingScope &) = delete;
  RoundingScope &operator=(const RoundingScope &) = delete;

private:
  bool changed_ = false;
};

} // namespace fade::sim
