#include "BufferAccess.h"

#include "Compat.h"
#include "Target.h"

using namespace llvm;

namespace fade {

std::optional<BufferCall> readBufferCall(StringRef name, CallBase &call) {
  BufferCall b;
  if (startsWith(name, "s.buffer.load")) {
    b.scalar = true;
    b.descriptor = call.getArgOperand(0);
    b.offset = call.getArgOperand(1);
    return b;
  }
  const bool structured = name.consume_front("struct.");
  if (!structured && !name.consume_front("raw.")) return std::nullopt;
  name.consume_front("ptr.");
  if (startsWith(name, "tbuffer.") || name.contains(".format")) {
    b.omission = "typed buffer accesses";
    return b;
  }
  if (!name.consume_front("buffer.")) return std::nullopt;
  if (startsWith(name, "atomic."))
    b.kind = FADE_SITE_ATOMIC;
  else if (startsWith(name, "store"))
    b.kind = FADE_SITE_STORE;
  else if (!startsWith(name, "load"))
    return std::nullopt;

  // Data operands stand before the descriptor.
  unsigned at = 0;
  if (b.kind == FADE_SITE_STORE) at = 1;
  if (b.kind == FADE_SITE_ATOMIC) at = startsWith(name, "atomic.cmpswap") ? 2 : 1;
  b.descriptor = call.getArgOperand(at++);
  const bool to_lds = startsWith(name, "load.lds");
  if (to_lds) {
    b.lds = call.getArgOperand(at++);
    b.lds_size = cast<ConstantInt>(call.getArgOperand(at++))->getZExtValue();
  }
  if (structured) b.record = call.getArgOperand(at++);
  b.offset = call.getArgOperand(at++);
  b.scalar_offset = call.getArgOperand(at++);
  if (to_lds) b.lds_offset = cast<ConstantInt>(call.getArgOperand(at++))->getZExtValue();
  return b;
}

std::vector<Access> describeBufferCall(const BufferCall &buffer, CallBase &call,
                                       const DataLayout &layout) {
  Access access;
  access.instruction = &call;
  access.form = AddressForm::buffer;
  access.descriptor = buffer.descriptor;
  access.record = buffer.record;
  access.offset = buffer.offset;
  access.scalar_offset = buffer.scalar_offset;
  access.displacement = buffer.lds_offset;
  access.site.kind = buffer.kind;
  access.site.space = buffer.scalar ? FADE_SPACE_CONSTANT : FADE_SPACE_GLOBAL;
  access.site.flags = FADE_SITE_IS_BUFFER;
  if (buffer.kind != FADE_SITE_STORE) access.site.flags |= FADE_SITE_READS;
  if (buffer.kind != FADE_SITE_LOAD) access.site.flags |= FADE_SITE_WRITES;
  if (buffer.kind == FADE_SITE_ATOMIC) access.site.flags |= FADE_SITE_IS_ATOMIC;
  Type *type = buffer.kind == FADE_SITE_LOAD ? call.getType() : call.getArgOperand(0)->getType();
  if (!buffer.lds) {
    access.site.size = static_cast<uint32_t>(storeSize(layout, type));
    return {access};
  }
  access.site.kind = FADE_SITE_COPY_READ;
  access.site.size = static_cast<uint32_t>(buffer.lds_size);
  Access write;
  write.instruction = &call;
  write.form = AddressForm::lds_lanes;
  write.pointer = buffer.lds;
  write.displacement = buffer.lds_offset;
  write.site.kind = FADE_SITE_COPY_WRITE;
  write.site.flags = FADE_SITE_WRITES;
  write.site.space = FADE_SPACE_LDS;
  write.site.size = access.site.size;
  return {access, write};
}

BufferAddress buildBufferAddress(IRBuilder<> &builder, const Access &access) {
  Type *i64 = builder.getInt64Ty();
  Value *descriptor = access.descriptor;
  if (descriptor->getType()->isPointerTy()) {
    descriptor = builder.CreatePtrToInt(descriptor, builder.getIntNTy(128));
    descriptor = builder.CreateBitCast(descriptor, FixedVectorType::get(builder.getInt32Ty(), 4));
  }
  auto word = [&](uint64_t i) { return builder.CreateExtractElement(descriptor, i); };
  auto wide = [&](Value *v) { return builder.CreateZExt(v, i64); };
  Value *low = wide(word(0)), *second = wide(word(1));
  Value *base = builder.CreateOr(low, builder.CreateShl(builder.CreateAnd(second, 0xffff), 32));
  Value *count = wide(word(2));

  Value *offset = builder.CreateAdd(wide(access.offset), builder.getInt64(access.displacement));
  Value *end = builder.CreateAdd(offset, builder.getInt64(access.site.size));
  Value *address = builder.CreateAdd(base, offset);
  if (access.scalar_offset) {
    Value *scalar = wide(access.scalar_offset);
    address = builder.CreateAdd(address, scalar);
    end = builder.CreateAdd(end, scalar);
  }
  // Bits 48 to 61 hold the stride.
  Value *stride = builder.CreateAnd(builder.CreateLShr(second, 16), 0x3fff);
  Value *record = access.record ? wide(access.record) : builder.getInt64(0);
  if (access.record) address = builder.CreateAdd(address, builder.CreateMul(record, stride));
  Value *in_bytes = builder.CreateICmpULE(end, count);
  Value *in_records = builder.CreateICmpULT(record, count);
  const Module &module = *access.instruction->getModule();
  if (processorMajor(targetProcessor(module)) < 10) {
    // With a stride, num_records counts structures, without, bytes.
    if (!access.record) return {address, in_bytes};
    Value *is_raw = builder.CreateICmpEQ(stride, builder.getInt64(0));
    return {address, builder.CreateSelect(is_raw, in_bytes, in_records)};
  }
  // From gfx10 on, two bits of the descriptor choose the check.
  Value *check = builder.CreateAnd(builder.CreateLShr(word(3), 28), 3);
  auto is = [&](uint32_t n) { return builder.CreateICmpEQ(check, builder.getInt32(n)); };
  Value *in_structure =
      builder.CreateICmpULE(builder.CreateAdd(offset, builder.getInt64(access.site.size)), stride);
  Value *in_range = builder.CreateSelect(
      is(0), builder.CreateAnd(in_records, in_structure),
      builder.CreateSelect(
          is(1), in_records,
          builder.CreateSelect(is(2), builder.CreateICmpNE(count, builder.getInt64(0)), in_bytes)));
  return {address, in_range};
}

} // namespace fade
