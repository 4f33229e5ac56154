// One AMD GPU code object: an ELF file for one processor, with kernels.
//
//   auto object = CodeObject::open(Blob::borrow(bytes, "from the application"));
//   if (!object) warn(object.error().message());
//   if (auto i = (*object)->findKernel("saxpy.kd")) { auto kernel = (*object)->kernel(*i); … }
//
// Opening reads the headers and indexes the names; a kernel's metadata and descriptor are read when
// asked for. All const members may be called from any thread at the same time.
#pragma once

#include "codeobj/descriptor.h"
#include "codeobj/elf.h"
#include "codeobj/metadata.h"
#include "codeobj/target.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace fade::codeobj {

struct KernelName {
  std::string_view name;   ///< mangled
  std::string_view symbol; ///< of the descriptor, as HSA names it: "name.kd"
};

struct Kernel {
  std::string name;
  std::string symbol;
  bool has_metadata = false;
  KernelMetadata metadata;
  KernelDescriptor descriptor;
  uint64_t descriptor_address = 0;
  uint64_t code_address = 0;
  uint64_t code_size = 0;
};

class CodeObject {
public:
  static bool looksLike(ByteView bytes);
  static Result<std::shared_ptr<const CodeObject>> open(Blob blob);

  const Elf &elf() const { return elf_; }
  const std::string &file() const { return elf_.blob().name(); }
  unsigned version() const { return version_; }
  const Target &target() const { return target_; }
  const std::vector<std::string> &printfFormats() const { return printf_formats_; }

  /// Who compiled it, as compilers leave it in the file: "clang version 19.1.7"; empty if unknown.
  std::string compiler() const;

  std::size_t kernelCount() const { return kernels_.size(); }
  KernelName kernelName(std::size_t index) const;
  /// By the symbol of the descriptor ("name.kd") or by the name alone.
  std::optional<std::size_t> findKernel(std::string_view symbol) const;
  /// The instrumented twin of a kernel, if the code object has one (fade/clone.h).
  std::optional<std::size_t> findClone(std::size_t index) const;
  Result<Kernel> kernel(std::size_t index) const;

  const std::vector<Symbol> &symbols() const { return symbols_; }
  const Symbol *findSymbol(std::string_view name) const;
  /// The function whose code holds `address`.
  const Symbol *functionAt(uint64_t address) const;
  /// The bytes [address, address+size) of the loaded image.
  Result<ByteView> code(uint64_t address, uint64_t size) const;

private:
  explicit CodeObject(Elf elf) : elf_(std::move(elf)) {}

  /// Where a kernel's metadata is.
  enum class Metadata : uint8_t { none, note, old_kernels };
  struct Entry {
    std::string_view name;
    std::string_view symbol;
    Metadata metadata = Metadata::none;
    std::size_t position = 0; ///< a byte of `note`, or an index of old_kernels_
    ByteView note{};          ///< a code object that was generated in parts has several
  };

  Status readHeader();
  Status readMetadata();
  Status indexSymbols();
  void giveSizes();
  void indexKernels(const std::vector<Entry> &in_notes);
  Status readDescriptor(Kernel &kernel) const;
  uint64_t sizeOfCode(uint64_t address) const;

  Elf elf_;
  unsigned version_ = 0;
  Target target_;
  std::vector<std::string> printf_formats_;
  std::vector<KernelMetadata> old_kernels_;
  std::vector<Entry> kernels_;
  std::unordered_map<std::string_view, std::size_t> by_symbol_;
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string_view, std::size_t> symbol_by_name_;
  std::vector<std::size_t> functions_; ///< indices into symbols_, by address
};

} // namespace fade::codeobj
