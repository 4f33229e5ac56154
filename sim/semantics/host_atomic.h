// Applies an atomic operation to host memory that other threads use too.
#pragma once

#include "semantics/atomic_ops.h"

namespace fade::sim {

// Old value of *p, after the operation was applied.
template <class Op, class T> T fetch_apply(T *p, const AtomicInput<T> &in) {
  using namespace atomic_op;
  if constexpr (std::is_same_v<Op, Add<T>>)
    return __atomic_fetch_add(p, in.data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, Sub<T>>)
    return __atomic_fetch_sub(p, in.data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, And<T>>)
    return __atomic_fetch_and(p, in.data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, Or<T>>)
    return __atomic_fetch_or(p, in.data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, Xor<T>>)
    return __atomic_fetch_xor(p, in.data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, Swap<T>>)
    return __atomic_exchange_n(p, in.data, __ATOMIC_SEQ_CST);
  else if constexpr (std::is_same_v<Op, CompareSwap<T>>) {
    T expected = in.data2;
    __atomic_compare_exchange_n(p, &expected, in.data, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
  } else {
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, Op::apply(old, in), true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
    return old;
  }
}

} // namespace fade::sim
