// Products of small dense matrices, with as many sums at once as the processor has registers for:
// fewer would wait for each other, more would go through memory.
#pragma once

#include "semantics/values.h"

#include <algorithm>
#include <cstring>

namespace fade::sim {

#if defined(__AVX512F__)
inline constexpr unsigned vector_bytes = 64, bytes_of_sums = 512;
#elif defined(__AVX__)
inline constexpr unsigned vector_bytes = 32, bytes_of_sums = 256;
#else
inline constexpr unsigned vector_bytes = 16, bytes_of_sums = 256;
#endif

// So many neighbours of a row as fit into one of the processor's registers.
template <class T, unsigned N> struct RowPart {
  static constexpr unsigned width = std::min<unsigned>(N, vector_bytes / sizeof(T));
  typedef T Vector __attribute__((vector_size(width * sizeof(T))));
};
template <class T, unsigned N> using RowVector = typename RowPart<T, N>::Vector;

template <class V> inline V load_vector(const void *from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V> inline void store_vector(void *to, V v) { std::memcpy(to, &v, sizeof v); }

template <class V, class T> inline V all_of(T value) {
  V v;
  for (unsigned i = 0; i < sizeof(V) / sizeof(T); i++) v[i] = value;
  return v;
}

template <class V> inline V fused(V a, V b, V c) {
#if defined(__clang__)
  return __builtin_elementwise_fma(a, b, c);
#else
  for (unsigned i = 0; i < sizeof(V) / sizeof(a[0]); i++)
    c[i] = sizeof(a[0]) == 8 ? __builtin_fma(a[i], b[i], c[i]) : __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#endif
}

// Which NaN comes out of a sum is not documented; it is always the same one here.
template <class T, class V> inline V with_one_nan(V v) {
  using Bits = RowVector<typename Format<T>::Bits, sizeof(V) / sizeof(T)>;
  const Bits is_number = std::bit_cast<Bits>(v == v);
  return std::bit_cast<V>((std::bit_cast<Bits>(v) & is_number) |
                          (all_of<Bits>(bits(default_nan<T>())) & ~is_number));
}
// Denormals become zero, their sign stays.
template <class T, class V> inline V without_denormals(V v) {
  using Bits = RowVector<typename Format<T>::Bits, sizeof(V) / sizeof(T)>;
  const Bits b = std::bit_cast<Bits>(v);
  const Bits exponent = b & all_of<Bits>(bits(infinity<T>()));
  return std::bit_cast<V>(b & (std::bit_cast<Bits>(exponent != 0) | all_of<Bits>(sign_mask<T>)));
}

// For each row i and each part of it that begins with column j: the sum that begin(i, j) gives,
// plus a[k][i] * b[k][j…] for one k after the other, each product and sum rounded once, goes to
// end(i, j, sum).
template <unsigned M, unsigned N, unsigned K, class T, class Begin, class End>
inline void multiply_rows(const T (*a)[M], const T (*b)[N], const Begin &begin, const End &end) {
  using V = RowVector<T, N>;
  constexpr unsigned width = RowPart<T, N>::width, parts = N / width;
  constexpr unsigned fitting = bytes_of_sums / static_cast<unsigned>(N * sizeof(T));
  constexpr unsigned rows = std::clamp(fitting, 1u, M);
  static_assert(M % rows == 0 && N % width == 0);
  for (unsigned i = 0; i < M; i += rows) {
    V sum[rows][parts];
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
#pragma GCC unroll 16
      for (unsigned p = 0; p < parts; p++) sum[r][p] = begin(i + r, p * width);
#pragma GCC unroll 1 // else the sums of several k compete for registers
    for (unsigned k = 0; k < K; k++) {
      V factors[parts];
#pragma GCC unroll 16
      for (unsigned p = 0; p < parts; p++) factors[p] = load_vector<V>(&b[k][p * width]);
#pragma GCC unroll 16
      for (unsigned r = 0; r < rows; r++) {
        const V factor = all_of<V>(a[k][i + r]);
#pragma GCC unroll 16
        for (unsigned p = 0; p < parts; p++) sum[r][p] = fused(factor, factors[p], sum[r][p]);
      }
    }
#pragma GCC unroll 16
    for (unsigned r = 0; r < rows; r++)
#pragma GCC unroll 16
      for (unsigned p = 0; p < parts; p++) end(i + r, p * width, sum[r][p]);
  }
}

} // namespace fade::sim
