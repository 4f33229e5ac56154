// Decides which instructions are accesses to memory that a user wants to see, and describes them.
// Nothing here changes the code.
#pragma once

#include "Options.h"

#include "fade/sites.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>
#include <vector>

namespace llvm {
class CallBase;
class DILocation;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace fade {

class Target;

// How the address of each lane follows from the operands of an instruction.
enum class AddressForm {
  pointer,   // `pointer`, a scalar
  element,   // element `index` of `pointer`, a scalar or a vector of pointers
  buffer,    // through the buffer descriptor `descriptor`
  lds_lanes, // `pointer` is the same for all lanes; each lane has `size` bytes of its own behind it
};

struct Access {
  llvm::Instruction *instruction = nullptr; // the record is written before it
  AddressForm form = AddressForm::pointer;
  llvm::Value *pointer = nullptr;
  uint64_t displacement = 0; // constant number of bytes to be added to the address

  // element: lanes take part if the element of `mask` is set
  llvm::Value *mask = nullptr;
  unsigned index = 0;

  // buffer
  llvm::Value *descriptor = nullptr; // <4 x i32> or a pointer to address space 8
  llvm::Value *record = nullptr;     // index of the structure; null for raw buffers
  llvm::Value *offset = nullptr;
  llvm::Value *scalar_offset = nullptr;

  llvm::Value *length = nullptr; // bytes, for FADE_SITE_HAS_LENGTH

  fade_site site{}; // kind, flags, space and size
};

// What the pass had to leave alone, with the reason; said once at the end of a compilation.
class Omissions {
public:
  void add(const llvm::Instruction &where, const std::string &reason);
  // One line per reason: how often and where first.
  std::vector<std::string> lines() const;

private:
  struct Seen {
    unsigned count = 0;
    std::string first;
  };
  std::map<std::string, Seen> reasons_;
};

// An access by a pointer.
Access describeAccess(const Target &target, llvm::Instruction &instruction, llvm::Value *pointer,
                      uint32_t kind, uint32_t flags, uint64_t size);

// The accesses of a function, in the order of the instructions.
std::vector<Access> findAccesses(llvm::Function &function, const Target &target,
                                 const Options &options, Omissions &omissions);

// Whether a place, or a place that it was inlined to, lies in the scope that the user gave.
bool isInScope(const llvm::Instruction &instruction, const Options &options);

} // namespace fade
