#include "UserRecord.h"

#include "AccessFinder.h"
#include "Compat.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace fade {
namespace {

constexpr const char *integer_marker = "; fade_record_i64 ";
constexpr const char *double_marker = "; fade_record_f64 ";

} // namespace

std::vector<UserRecord> findUserRecords(Function &function, const Options &options) {
  std::vector<UserRecord> found;
  for (Instruction &instruction : instructions(function)) {
    auto *call = dyn_cast<CallBase>(&instruction);
    if (!call || !call->isInlineAsm() || call->arg_size() != 2) continue;
    const auto *assembly = cast<InlineAsm>(call->getCalledOperand());
    const std::string text = std::string(assembly->getAsmString());
    const bool is_double = startsWith(text, double_marker);
    if (!is_double && !startsWith(text, integer_marker)) continue;
    const auto *number = dyn_cast<ConstantInt>(call->getArgOperand(0));
    Value *value = call->getArgOperand(1);
    const bool fits =
        is_double ? value->getType()->isDoubleTy() : value->getType()->isIntegerTy(64);
    if (!number || !fits || !isInScope(instruction, options)) continue;
    UserRecord record;
    record.marker = call;
    record.value = value;
    record.site.kind = FADE_SITE_USER;
    record.site.space = FADE_SPACE_NONE;
    record.site.size = static_cast<uint32_t>(number->getZExtValue());
    record.site.flags = is_double ? FADE_SITE_IS_DOUBLE : 0;
    found.push_back(record);
  }
  return found;
}

} // namespace fade
