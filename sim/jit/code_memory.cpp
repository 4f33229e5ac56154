#include "jit/code_memory.h"

#include <llvm/Support/Memory.h>

#include <sys/mman.h>
#include <unistd.h>

namespace fade::sim::jit {

CodeMemory::~CodeMemory() {
  if (memory_) munmap(memory_, size_);
}

void *CodeMemory::release() {
  if (!is_executable_) return nullptr;
  void *memory = memory_;
  memory_ = nullptr;
  return memory;
}

void CodeMemory::reserveAllocationSpace(uintptr_t code_size, llvm::Align code_align,
                                        uintptr_t read_only_size, llvm::Align read_only_align,
                                        uintptr_t writable_size, llvm::Align writable_align) {
  // Sizes include the alignment of each section, not that between the three kinds.
  const size_t needed = code_size + read_only_size + writable_size + code_align.value() +
                        read_only_align.value() + writable_align.value();
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_ = (needed + page - 1) / page * page;
  void *memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory_ = memory == MAP_FAILED ? nullptr : static_cast<uint8_t *>(memory);
}

uint8_t *CodeMemory::take(uintptr_t size, uintptr_t align) {
  if (!memory_) return nullptr;
  if (align == 0) align = 16;
  used_ = (used_ + align - 1) / align * align;
  if (size > size_ || used_ > size_ - size) return nullptr;
  uint8_t *at = memory_ + used_;
  used_ += size;
  return at;
}
uint8_t *CodeMemory::allocateCodeSection(uintptr_t size, unsigned align, unsigned,
                                         llvm::StringRef) {
  return take(size, align);
}
uint8_t *CodeMemory::allocateDataSection(uintptr_t size, unsigned align, unsigned, llvm::StringRef,
                                         bool) {
  return take(size, align);
}

bool CodeMemory::finalizeMemory(std::string *) {
  if (!memory_) return true;
  is_executable_ = mprotect(memory_, size_, PROT_READ | PROT_EXEC) == 0;
  llvm::sys::Memory::InvalidateInstructionCache(memory_, size_);
  return !is_executable_;
}

} // namespace fade::sim::jit
