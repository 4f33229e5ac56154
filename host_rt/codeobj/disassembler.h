// Machine code as text. The disassembler is the one every ROCm brings along, libamd_comgr, loaded
// the first time one is needed; where it is missing, or older than the processor, a shared libLLVM
// does the same.
#pragma once

#include "codeobj/bytes.h"
#include "codeobj/target.h"

#include <memory>

namespace fade::codeobj {

struct Instruction {
  uint64_t address = 0;
  uint32_t size = 0;
  std::string text; ///< "v_add_f32_e32 v0, v1, v2"; ".long 0x…" where there is no instruction
  /// Where a branch or call with a constant distance goes.
  std::optional<uint64_t> target;

  std::string_view mnemonic() const { return std::string_view(text).substr(0, text.find(' ')); }
  bool valid() const { return !text.starts_with(".long"); }
};

/// "\tv_add_f32_e32 v0, v1, v2 // comment" -> "v_add_f32_e32 v0, v1, v2", without what
/// only some versions of LLVM print.
std::string instructionText(std::string_view printed);

class Disassembler {
public:
  /// An error that names what was tried if nothing on this machine can disassemble for the
  /// processor.
  static Result<std::shared_ptr<const Disassembler>> create(const Target &target,
                                                            unsigned wavefront_size);
  /// libamd_comgr is in this process anyway, as HIP brings it: to disassemble loads no LLVM.
  static bool isLoaded();
  virtual ~Disassembler() = default;

  /// "comgr 2.4" or "LLVM 19.1".
  virtual std::string backend() const = 0;

  /// `code` is loaded at `address`. Never fails: what is no instruction becomes a ".long".
  /// Only the first `most` are made. May be called from several threads; one of them works at a
  /// time.
  std::vector<Instruction> disassemble(ByteView code, uint64_t address,
                                       std::size_t most = SIZE_MAX) const;

protected:
  /// One instruction at the start of `code`: sets the text and returns its size, or 0.
  virtual uint32_t decode(ByteView code, uint64_t address, std::string &text) const = 0;
};

} // namespace fade::codeobj
