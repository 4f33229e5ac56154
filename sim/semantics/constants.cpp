#include "semantics/constants.h"

namespace fade::sim {
uint64_t special_value(const Wave &w, unsigned encoding, bool wide) {
  switch (encoding) {
  case 235: return wide ? uint64_t{shared_aperture_hi} << 32 : shared_aperture_hi;
  case 236: return wide ? (uint64_t{shared_aperture_hi} << 32) | 0xffffffff : 0xffffffff;
  case 237: return wide ? uint64_t{private_aperture_hi} << 32 : private_aperture_hi;
  case 238: return wide ? (uint64_t{private_aperture_hi} << 32) | 0xffffffff : 0xffffffff;
  case 251: return w.vcc() == 0;
  case 252: return w.exec() == 0;
  case 253: return w.scc;
  default: return 0;
  }
}

} // namespace fade::sim
