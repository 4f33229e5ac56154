// -c: another version of the captured kernel, from a code object. Both ways to replay load it; what
// it is, and what has to change in the dispatch for it, is found out here.
#pragma once

#include "capture/capture.h"
#include "codeobj/code_object.h"
#include "codeobj/kernarg.h"
#include "codeobj/variant_kernargs.h"
#include "replay/memory.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fade::replay {

/// The kernel as it was captured, as far as its code object can be read.
struct CapturedKernel {
  std::shared_ptr<const codeobj::CodeObject> object; ///< null: it cannot
  std::optional<codeobj::Kernel> kernel;
  std::optional<codeobj::KernargLayout> layout;

  static CapturedKernel of(const capture::Description &description,
                           std::span<const capture::Code> code, const std::string &name);
  /// Where the code object's address 0 was loaded.
  uint64_t base(const capture::Description &description) const {
    return description.kernel_object - kernel->descriptor_address;
  }
  /// Where the device's malloc() has its lists; `with_slabs`: and the memory that they lead to.
  std::vector<Extent> heap(const capture::Description &description, const Memory &memory,
                           bool with_slabs) const;
};

/// What hidden arguments say about the dispatch. The bases are those of the queue that it runs on.
codeobj::DispatchFields dispatchFields(const capture::Description &description, uint64_t queue,
                                       uint32_t private_base, uint32_t shared_base);

struct OtherKernel {
  std::shared_ptr<const codeobj::CodeObject> object;
  std::string path;
  codeobj::Kernel kernel;
  uint32_t group_segment = 0, private_segment = 0;
  /// How the arguments become its own; none: they fit as they are.
  std::optional<codeobj::VariantKernargs> arguments;
  /// Where it expects what printf needs, and the captured kernel did not.
  std::optional<uint32_t> hostcall_at;
  /// Variables that both have, but of different sizes: their contents are not carried over.
  std::vector<std::string> changed_variables;
  /// That the captured code does not have.
  std::vector<std::string> new_variables;
  /// What to know about it, before and if it comes to other results; empty: nothing.
  std::string note() const;
  std::string noteOnDifferences() const;

  /// A variable that both have, by name and size: addresses in either code object.
  struct Variable {
    std::string name;
    uint64_t captured = 0, here = 0, size = 0;
  };
  std::vector<Variable> variables;

  /// Refuses what is for another GPU, or has no such kernel or other arguments.
  static Result<OtherKernel> open(const std::string &path, const capture::Description &description,
                                  const CapturedKernel &captured);
};

} // namespace fade::replay
