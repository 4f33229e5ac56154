// Scalar instructions: an expression on scalar values, next to its name.
#pragma once

#include "isa/opcode.h"
#include "semantics/valu.h"
#include "wave/wave.h"

namespace fade::sim {

// What a scalar expression can see besides its operands.
struct Scalar {
  Wave &w;
  const Instruction &in;
  bool scc; // in and out

  // Sets SCC if `v` is not zero, and hands `v` on: the rule of logical instructions.
  template <class T> T nonzero(T v) {
    scc = v != 0;
    return v;
  }
};

template <class T> T scalar_source(const Wave &w, const Operand &o) {
  if (o.kind == Operand::Kind::sgpr && o.index != sreg::null) [[likely]] {
    if constexpr (is_64(TypeOf<T>::type))
      return static_cast<T>(w.sgpr64(o.index));
    else
      return static_cast<T>(w.sgpr[o.index]);
  }
  return static_cast<T>(scalar_value(w, o, TypeOf<T>::type));
}

template <class T> void write_scalar(Wave &w, const Operand &o, T v) {
  if (o.index == sreg::null) return;
  if constexpr (sizeof(T) == 8)
    w.set_sgpr64(o.index, static_cast<uint64_t>(v));
  else
    w.sgpr[o.index] = static_cast<uint32_t>(v);
}

template <class F> struct ScalarSignature;
template <class R, class... A> struct ScalarSignature<R (*)(Scalar &, A...)> {
  template <auto F, size_t... I>
  static void run(Wave &w, const Instruction &in, std::index_sequence<I...>) {
    Scalar s{w, in, w.scc};
    if constexpr (std::is_void_v<R>) {
      F(s, scalar_source<A>(w, in.src[I])...);
      w.scc = s.scc;
    } else {
      R r = F(s, scalar_source<A>(w, in.src[I])...);
      w.scc = s.scc;
      write_scalar(w, in.dst, r);
    }
  }
  using Indices = std::make_index_sequence<sizeof...(A)>;
};

template <auto F> void run_salu(Wave &w, const Instruction &in) {
  using S = ScalarSignature<decltype(+F)>;
  S::template run<F>(w, in, typename S::Indices{});
}

template <auto F> constexpr Opcode salu(const char *name, ExecClass cls = ExecClass::salu) {
  Opcode o{name, run_salu<F>, cls};
  return o;
}

} // namespace fade::sim

// SALU(s_not_b32, (u32 a), s.nonzero(~a)): `s` is the Scalar. In parentheses, for GCC takes a '>'
// in the lambda for the end of the template's arguments.
#define SALU(NAME, PARAMS, ...)                                                                    \
  salu<[](Scalar &s FADE_PARAMS PARAMS) {                                                          \
    (void)s;                                                                                       \
    return (__VA_ARGS__);                                                                          \
  }>(#NAME)
#define SALU_DO(NAME, CLASS, PARAMS, ...)                                                          \
  salu<[](Scalar &s FADE_PARAMS PARAMS) -> void {                                                  \
    (void)s;                                                                                       \
    (__VA_ARGS__);                                                                                 \
  }>(#NAME, ExecClass::CLASS)
#define FADE_PARAMS(...) __VA_OPT__(, ) __VA_ARGS__
