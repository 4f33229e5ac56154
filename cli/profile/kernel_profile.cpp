#include "profile/kernel_profile.h"

namespace fade::profile {

uint64_t KernelProfile::executions() const {
  uint64_t sum = 0;
  for (const ProfiledInstruction &one : instructions) sum += one.executions;
  return sum;
}

double KernelProfile::laneShare() const {
  double executed = 0, lanes = 0;
  for (const ProfiledInstruction &one : instructions)
    if (one.info.unit == codeobj::Unit::Valu) {
      executed += static_cast<double>(one.executions);
      lanes += static_cast<double>(one.lanes);
    }
  return executed == 0 ? 1 : lanes / (executed * wave_size);
}

} // namespace fade::profile
