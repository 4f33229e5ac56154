// A copy of a code object with more in it: kernels, in a segment of their own behind all others,
// and site tables. Everything of the original stays where it is, so that what is not known here
// stays right: code, data, relocations, debug info.
#pragma once

#include "codeobj/code_object.h"

#include <array>

namespace fade::rewrite {

struct AddedKernel {
  std::string name;
  std::string like; ///< the kernel whose descriptor's symbol is the model
  std::vector<uint8_t> code;
  std::array<uint8_t, codeobj::kDescriptorSize> descriptor{}; ///< without the entry's offset
};

class ObjectWriter {
public:
  /// An error if there is no room for one more segment, or the file is damaged.
  static Result<ObjectWriter> open(const codeobj::CodeObject &object);

  /// Whether the original has something at the address that kernels or the loader may change.
  bool isWritable(uint64_t address) const;
  /// Where the code of the next kernel will be.
  uint64_t nextAddress() const;
  void add(AddedKernel kernel);
  void addSites(std::span<const std::byte> table);

  Result<std::vector<uint8_t>> write();

private:
  struct Table; ///< of symbols

  explicit ObjectWriter(const codeobj::CodeObject &object) : object_(object) {}
  std::vector<Elf64_Sym> newSymbols(const Table &table, std::vector<uint8_t> &names) const;
  Status growSymbols(uint32_t type, std::vector<uint8_t> &file);

  const codeobj::CodeObject &object_;
  uint64_t address_ = 0;  ///< of the segment
  std::size_t spare_ = 0; ///< program header that is used for it
  std::vector<uint8_t> segment_;
  struct Placed {
    std::string name, like;
    uint64_t code = 0, code_size = 0, descriptor = 0;
  };
  std::vector<Placed> kernels_;
  std::vector<std::byte> sites_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<uint8_t> section_names_;
};

} // namespace fade::rewrite
