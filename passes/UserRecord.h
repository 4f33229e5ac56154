// What a kernel's author records (fade/user.h): a comment of the assembler, with a number and a
// value. Nothing here changes the code.
#pragma once

#include "Options.h"

#include "fade/sites.h"

#include <vector>

namespace llvm {
class CallBase;
class Function;
class Value;
} // namespace llvm

namespace fade {

struct UserRecord {
  llvm::CallBase *marker = nullptr;
  llvm::Value *value = nullptr; // i64 or double
  fade_site site{};
};

// In the order of the instructions.
std::vector<UserRecord> findUserRecords(llvm::Function &function, const Options &options);

} // namespace fade
