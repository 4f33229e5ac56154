#include "analysis/kernel_profile.h"

#include <algorithm>

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

double KernelProfile::presentShare() const {
  if (items == 0 || waves == 0) return 1;
  return std::min(static_cast<double>(items) / (static_cast<double>(waves) * wave_size), 1.0);
}

} // namespace fade::profile
