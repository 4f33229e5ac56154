// Conditions of waits for signals, and of handlers of them.
#pragma once

#include <hsa/hsa.h>

namespace fade {

/// `left` is the signal's value.
inline bool holds(hsa_signal_condition_t condition, hsa_signal_value_t left,
                  hsa_signal_value_t right) {
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ: return left == right;
  case HSA_SIGNAL_CONDITION_NE: return left != right;
  case HSA_SIGNAL_CONDITION_LT: return left < right;
  case HSA_SIGNAL_CONDITION_GTE: return left >= right;
  }
  return false;
}

} // namespace fade
