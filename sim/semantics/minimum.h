// Minima and maxima as gfx12 has them: those of IEEE 754-2019. Where one operand is NaN,
// minimumNumber and maximumNumber give the other one, minimum and maximum the NaN, a signalling one
// first. Of two NaN the first one counts. -0 is smaller than 0.
#pragma once

#include "semantics/values.h"

namespace fade::sim {

template <class T> inline T minimum_number(T a, T b) {
  const T r = is_nan(a) ? b : min_of(a, b);
  return is_nan(a) && is_nan(b) ? quiet(a) : r;
}
template <class T> inline T maximum_number(T a, T b) {
  const T r = is_nan(a) ? b : max_of(a, b);
  return is_nan(a) && is_nan(b) ? quiet(a) : r;
}

template <class T> inline T propagated_nan(T a, T b) {
  if (is_snan(a)) return quiet(a);
  if (is_snan(b)) return quiet(b);
  return is_nan(a) ? a : b;
}
template <class T> inline T minimum(T a, T b) {
  return is_nan(a) || is_nan(b) ? propagated_nan(a, b) : min_of(a, b);
}
template <class T> inline T maximum(T a, T b) {
  return is_nan(a) || is_nan(b) ? propagated_nan(a, b) : max_of(a, b);
}

template <class T> inline T minimum_number3(T a, T b, T c) {
  return minimum_number(minimum_number(a, b), c);
}
template <class T> inline T maximum_number3(T a, T b, T c) {
  return maximum_number(maximum_number(a, b), c);
}
// A NaN among them makes it the smallest one; of numbers, the larger of the two that are not the
// largest.
template <class T> inline T median_number3(T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum_number3(a, b, c);
  const T top = maximum_number3(a, b, c);
  if (top == a) return maximum_number(b, c);
  return top == b ? maximum_number(a, c) : maximum_number(a, b);
}

} // namespace fade::sim
