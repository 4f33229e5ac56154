#include "jit/scalar_file.h"

namespace fade::sim::jit {

using llvm::Value;

Value *ScalarFile::field(size_t offset) const {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), wave_, offset);
}
Value *ScalarFile::address(unsigned index) const {
  return field(offsetof(Wave, sgpr) + sizeof(uint32_t) * index);
}

Value *ScalarFile::word(unsigned index) {
  if (index == sreg::null) return b.getInt32(0);
  Kept &kept = words_[index];
  if (!kept.value) kept.value = b.CreateLoad(b.getInt32Ty(), address(index));
  return kept.value;
}
Value *ScalarFile::pair(unsigned index) {
  if (index == sreg::null) return b.getInt64(0);
  Value *low = b.CreateZExt(word(index), b.getInt64Ty());
  Value *high = b.CreateZExt(word(index + 1), b.getInt64Ty());
  return b.CreateOr(low, b.CreateShl(high, 32));
}
Value *ScalarFile::mask(unsigned index) {
  return lanes_ == 64 ? pair(index) : b.CreateZExt(word(index), b.getInt64Ty());
}
Value *ScalarFile::exec() { return mask(sreg::exec_lo); }
Value *ScalarFile::lane_mask(Value *value) const {
  return lanes_ == 64 ? value : b.CreateAnd(value, 0xffffffff);
}
Value *ScalarFile::scc() {
  if (!scc_.value)
    scc_.value =
        b.CreateICmpNE(b.CreateLoad(b.getInt8Ty(), field(offsetof(Wave, scc))), b.getInt8(0));
  return scc_.value;
}

void ScalarFile::set_word(unsigned index, Value *value) {
  if (index != sreg::null) words_[index] = {value, true};
}
void ScalarFile::set_pair(unsigned index, Value *value) {
  if (index == sreg::null) return;
  set_word(index, b.CreateTrunc(value, b.getInt32Ty()));
  // Beside the null register, as the interpreter does.
  words_[index + 1] = {b.CreateTrunc(b.CreateLShr(value, 32), b.getInt32Ty()), true};
}
void ScalarFile::set_mask(unsigned index, Value *value) {
  if (lanes_ == 64)
    set_pair(index, value);
  else
    set_word(index, b.CreateTrunc(value, b.getInt32Ty()));
}
void ScalarFile::set_exec(Value *value) { set_pair(sreg::exec_lo, lane_mask(value)); }
void ScalarFile::set_scc(Value *value) { scc_ = {value, true}; }

void ScalarFile::write_exec() {
  for (const unsigned index : {sreg::exec_lo, sreg::exec_hi})
    if (const auto kept = words_.find(index); kept != words_.end() && kept->second.is_new)
      b.CreateStore(kept->second.value, address(index));
}

void ScalarFile::write_back() {
  for (auto &[index, kept] : words_) {
    if (kept.is_new) b.CreateStore(kept.value, address(index));
    kept.is_new = false;
  }
  if (scc_.is_new)
    b.CreateStore(b.CreateZExt(scc_.value, b.getInt8Ty()), field(offsetof(Wave, scc)));
  scc_.is_new = false;
}

} // namespace fade::sim::jit
