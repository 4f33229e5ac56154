// Memory for the code of one region: a mapping of its own, which outlives all of LLVM's objects and
// is given back with munmap().
#pragma once

#include <llvm/ExecutionEngine/RTDyldMemoryManager.h>

#include <cstddef>
#include <cstdint>

namespace fade::sim::jit {

class CodeMemory : public llvm::RTDyldMemoryManager {
public:
  ~CodeMemory() override;

  // Of the mapping, which is the caller's from now on; null if there is none that can be executed.
  void *release();
  size_t size() const { return size_; }

  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code_size, llvm::Align code_align, uintptr_t read_only_size,
                              llvm::Align read_only_align, uintptr_t writable_size,
                              llvm::Align writable_align) override;
  uint8_t *allocateCodeSection(uintptr_t size, unsigned align, unsigned id,
                               llvm::StringRef name) override;
  uint8_t *allocateDataSection(uintptr_t size, unsigned align, unsigned id, llvm::StringRef name,
                               bool is_read_only) override;
  bool finalizeMemory(std::string *error) override;
  // Nothing is thrown through this code.
  void registerEHFrames(uint8_t *, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}

private:
  uint8_t *take(uintptr_t size, uintptr_t align);

  uint8_t *memory_ = nullptr;
  size_t size_ = 0, used_ = 0;
  bool is_executable_ = false;
};

} // namespace fade::sim::jit
