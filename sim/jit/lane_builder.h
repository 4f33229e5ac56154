// Code for some lanes at a time: values are vectors of as many lanes as a chunk has.
//
// There are two forms of everything. The usual one takes shortcuts that are wrong for a few
// operands, mostly NaN, and notes in which lanes that was so; the exact one is run in its place for
// a chunk with such a lane. What an operation gives there must be what the interpreter gives, bit
// for bit (sim/semantics/values.h).
#pragma once

#include "isa/instruction.h"

#include <llvm/IR/IRBuilder.h>

#include <initializer_list>
#include <string_view>

namespace fade::sim::jit {

class LaneBuilder {
public:
  // What depends on the wave's MODE.
  struct Mode {
    llvm::Value *ieee, *nan_clamps_to_zero;
  };
  LaneBuilder(llvm::IRBuilder<> &builder, unsigned width, bool is_exact, llvm::Value *first_lane,
              Mode mode)
      : b(builder), width_(width), is_exact_(is_exact), first_lane_(first_lane), mode_(mode) {}

  llvm::IRBuilder<> &b;

  bool is_exact() const { return is_exact_; }
  // Whether there is something to note, and whether an active lane was noted.
  bool can_be_odd() const { return odd_[0] || odd_[1]; }
  llvm::Value *is_odd(llvm::Value *active) const;
  llvm::Value *nan_clamps_to_zero() const { return mode_.nan_clamps_to_zero; }
  // Where the host has no registers for bits of lanes, a mask that goes from block to block is a
  // word of 0 or ~0 per lane, as the wave has EXEC; LLVM would make something slow of bits.
  bool has_bit_registers() const { return width_ >= 16; }
  llvm::Value *bits(llvm::Value *mask) const {
    return has_bit_registers() ? mask : b.CreateICmpSLT(mask, constant(0));
  }

  llvm::Type *type(Type t) const;
  llvm::Type *vector(llvm::Type *element) const;
  llvm::Value *constant(uint32_t v) const;
  llvm::Value *constant64(uint64_t v) const;
  llvm::Value *real(double v, bool is_double = false) const;
  llvm::Value *lane_numbers() const; // as 32 bits
  llvm::Value *splat(llvm::Value *scalar) const;

  llvm::Value *to_bits(llvm::Value *v) const; // of a floating-point number
  llvm::Value *to_float(llvm::Value *v) const;
  llvm::Value *wide(llvm::Value *v) const { return b.CreateZExt(v, type(Type::u64)); }
  llvm::Value *wide_signed(llvm::Value *v) const { return b.CreateSExt(v, type(Type::u64)); }
  llvm::Value *narrow(llvm::Value *v) const { return b.CreateTrunc(v, type(Type::u32)); }

  llvm::Value *is_nan(llvm::Value *v) const { return b.CreateFCmpUNO(v, v); }
  llvm::Value *quiet(llvm::Value *v) const;
  llvm::Value *is_negative(llvm::Value *v) const; // by its sign bit
  // The NaN that an operation on these gives.
  llvm::Value *nan_of(std::initializer_list<llvm::Value *> operands) const;
  // A result of IEEE arithmetic.
  llvm::Value *arithmetic(llvm::Value *result, std::initializer_list<llvm::Value *> operands);
  // What is right unless an operand is NaN; `exact` makes what is always right.
  template <class Exact>
  llvm::Value *unless_nan(std::initializer_list<llvm::Value *> operands, llvm::Value *usual,
                          Exact &&exact) {
    if (is_exact_) return exact();
    for (llvm::Value *v : operands) note_nan(v);
    return usual;
  }
  llvm::Value *min_of(llvm::Value *x, llvm::Value *y) const;
  llvm::Value *max_of(llvm::Value *x, llvm::Value *y) const;
  llvm::Value *min_num(llvm::Value *x, llvm::Value *y) const;
  llvm::Value *max_num(llvm::Value *x, llvm::Value *y) const;
  llvm::Value *call(llvm::Intrinsic::ID id, std::initializer_list<llvm::Value *> operands) const;
  // gfx12: the other one of a number and NaN, and a NaN only of two.
  llvm::Value *minimum_number(llvm::Value *x, llvm::Value *y) const;
  llvm::Value *maximum_number(llvm::Value *x, llvm::Value *y) const;
  void note_nan(llvm::Value *v);

  // The second result of the operation that is being made: a bit per lane.
  llvm::Value *flag = nullptr;

private:
  llvm::Value *number(llvm::Value *x, llvm::Value *y, llvm::Value *of_numbers) const;
  llvm::Value *num(llvm::Value *x, llvm::Value *y, llvm::Value *of_numbers) const;
  llvm::Value *is_signalling(llvm::Value *v) const;

  unsigned width_;
  bool is_exact_;
  llvm::Value *first_lane_;
  Mode mode_;
  llvm::Value *odd_[2] = {}; // of 32 bits and of 64
};

// A vector instruction: its operands as its opcode's types say, and its result as that says.
using VectorOperation = llvm::Value *(*)(LaneBuilder &, llvm::Value *const *operands);
VectorOperation find_vector_operation(std::string_view name); // null if there is none

} // namespace fade::sim::jit
