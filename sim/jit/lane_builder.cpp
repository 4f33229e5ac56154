#include "jit/lane_builder.h"

#include <vector>

namespace fade::sim::jit {

using llvm::Value;

namespace {
bool is_double(const Value *v) { return v->getType()->getScalarSizeInBits() == 64; }
} // namespace

llvm::Type *LaneBuilder::vector(llvm::Type *element) const {
  return llvm::FixedVectorType::get(element, width_);
}

llvm::Type *LaneBuilder::type(Type t) const {
  switch (t) {
  case Type::f32: return vector(b.getFloatTy());
  case Type::f64: return vector(b.getDoubleTy());
  case Type::b64:
  case Type::i64:
  case Type::u64: return vector(b.getInt64Ty());
  case Type::mask: return vector(b.getInt1Ty());
  default: return vector(b.getInt32Ty());
  }
}

Value *LaneBuilder::constant(uint32_t v) const {
  return llvm::ConstantInt::get(type(Type::u32), v);
}
Value *LaneBuilder::constant64(uint64_t v) const {
  return llvm::ConstantInt::get(type(Type::u64), v);
}
Value *LaneBuilder::real(double v, bool is_double) const {
  return llvm::ConstantFP::get(type(is_double ? Type::f64 : Type::f32), v);
}
Value *LaneBuilder::splat(Value *scalar) const { return b.CreateVectorSplat(width_, scalar); }

Value *LaneBuilder::lane_numbers() const {
  std::vector<uint32_t> numbers(width_);
  for (unsigned i = 0; i < width_; i++) numbers[i] = i;
  return b.CreateAdd(splat(b.CreateTrunc(first_lane_, b.getInt32Ty())),
                     llvm::ConstantDataVector::get(b.getContext(), numbers));
}

Value *LaneBuilder::to_bits(Value *v) const {
  return b.CreateBitCast(v,
                         type(v->getType()->getScalarSizeInBits() == 64 ? Type::u64 : Type::u32));
}
Value *LaneBuilder::to_float(Value *v) const {
  return b.CreateBitCast(v,
                         type(v->getType()->getScalarSizeInBits() == 64 ? Type::f64 : Type::f32));
}

Value *LaneBuilder::quiet(Value *v) const {
  Value *bit = is_double(v) ? constant64(0x8000000000000) : constant(0x400000);
  return to_float(b.CreateOr(to_bits(v), bit));
}
Value *LaneBuilder::is_negative(Value *v) const {
  Value *bits = to_bits(v);
  return b.CreateICmpSLT(bits, llvm::Constant::getNullValue(bits->getType()));
}
Value *LaneBuilder::is_signalling(Value *v) const {
  Value *bit = is_double(v) ? constant64(0x8000000000000) : constant(0x400000);
  Value *quiet_bit = b.CreateAnd(to_bits(v), bit);
  return b.CreateAnd(is_nan(v),
                     b.CreateICmpEQ(quiet_bit, llvm::Constant::getNullValue(bit->getType())));
}

Value *LaneBuilder::nan_of(std::initializer_list<Value *> operands) const {
  Value *result = to_float(is_double(*operands.begin()) ? constant64(0x7ff8000000000000)
                                                        : constant(0x7fc00000));
  for (auto v = std::rbegin(operands); v != std::rend(operands); ++v)
    result = b.CreateSelect(is_nan(*v), quiet(*v), result);
  return result;
}

Value *LaneBuilder::arithmetic(Value *result, std::initializer_list<Value *> operands) {
  if (is_exact_) return b.CreateSelect(is_nan(result), nan_of(operands), result);
  note_nan(result);
  return result;
}

void LaneBuilder::note_nan(Value *v) {
  const bool is_long = !has_bit_registers() && is_double(v);
  Value *lanes = is_nan(v);
  if (!has_bit_registers()) lanes = b.CreateSExt(lanes, type(is_long ? Type::u64 : Type::u32));
  Value *&odd = odd_[is_long];
  odd = odd ? b.CreateOr(odd, lanes) : lanes;
}

Value *LaneBuilder::is_odd(Value *active) const {
  Value *any = nullptr;
  for (Value *odd : odd_) {
    if (!odd) continue;
    Value *mask =
        odd->getType() == active->getType() ? active : b.CreateSExt(active, odd->getType());
    Value *lanes = b.CreateAnd(odd, mask);
    const auto size = lanes->getType()->getPrimitiveSizeInBits().getFixedValue();
    Value *all = b.CreateBitCast(lanes, b.getIntNTy(static_cast<unsigned>(size)));
    Value *some = b.CreateICmpNE(all, llvm::ConstantInt::get(all->getType(), 0));
    any = any ? b.CreateOr(any, some) : some;
  }
  return any;
}

// -0 is smaller than 0.
Value *LaneBuilder::min_of(Value *x, Value *y) const {
  Value *same = b.CreateAnd(b.CreateFCmpOEQ(x, y), is_negative(y));
  return b.CreateSelect(b.CreateOr(b.CreateFCmpOLT(y, x), same), y, x);
}
Value *LaneBuilder::max_of(Value *x, Value *y) const {
  Value *same = b.CreateAnd(b.CreateFCmpOEQ(x, y), is_negative(x));
  return b.CreateSelect(b.CreateOr(b.CreateFCmpOGT(y, x), same), y, x);
}
Value *LaneBuilder::num(Value *x, Value *y, Value *of_numbers) const {
  Value *r = b.CreateSelect(is_nan(x), y, of_numbers), *ieee = splat(mode_.ieee);
  r = b.CreateSelect(b.CreateAnd(ieee, is_signalling(y)), quiet(y), r);
  return b.CreateSelect(b.CreateAnd(ieee, is_signalling(x)), quiet(x), r);
}
Value *LaneBuilder::min_num(Value *x, Value *y) const { return num(x, y, min_of(x, y)); }
Value *LaneBuilder::max_num(Value *x, Value *y) const { return num(x, y, max_of(x, y)); }

Value *LaneBuilder::number(Value *x, Value *y, Value *of_numbers) const {
  Value *r = b.CreateSelect(is_nan(x), y, of_numbers);
  return b.CreateSelect(b.CreateAnd(is_nan(x), is_nan(y)), quiet(x), r);
}
Value *LaneBuilder::minimum_number(Value *x, Value *y) const { return number(x, y, min_of(x, y)); }
Value *LaneBuilder::maximum_number(Value *x, Value *y) const { return number(x, y, max_of(x, y)); }

Value *LaneBuilder::call(llvm::Intrinsic::ID id, std::initializer_list<Value *> operands) const {
  return b.CreateIntrinsic(id, {(*operands.begin())->getType()},
                           llvm::ArrayRef<Value *>(operands.begin(), operands.size()));
}

} // namespace fade::sim::jit
