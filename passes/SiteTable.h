// Builds the site table of a module (include/fade/sites.h).
#pragma once

#include "fade/sites.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/DebugInfoMetadata.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class Module;
} // namespace llvm

namespace fade {

// The path of a file as the debug info has it, made absolute with its directory.
std::string sourcePath(const llvm::DIScope &scope);

class SiteTableBuilder {
public:
  explicit SiteTableBuilder(const llvm::Module &module);

  uint32_t addKernel(const llvm::Function &original, llvm::StringRef clone, uint32_t modes,
                     uint32_t flags);
  void addFlags(uint32_t kernel, uint32_t flags) { kernels_[kernel].flags |= flags; }

  // Adds a site and fills in its place from the debug location, if there is one.
  uint32_t addSite(fade_site site, const llvm::DILocation *location,
                   const llvm::Function &function);
  // How a block is counted: as flags, counter and size in fade_site.
  struct BlockCounting {
    uint32_t flags = 0, counter = 0, clocks = 0;
  };
  uint32_t addBlock(const llvm::BasicBlock &block, uint32_t kernel) {
    return addBlock(block, kernel, BlockCounting());
  }
  uint32_t addBlock(const llvm::BasicBlock &block, uint32_t kernel, const BlockCounting &counting);
  // So many counters in a row; returns the index of the first.
  uint32_t addCounters(uint32_t count) { return std::exchange(counters_, counters_ + count); }

  uint32_t siteCount() const { return static_cast<uint32_t>(sites_.size()); }
  bool empty() const { return kernels_.empty(); }

  // The whole table. The module id is a hash of its contents.
  std::string finish(uint32_t modes, llvm::StringRef options);
  // The id in the table that finish() made.
  uint64_t moduleId() const { return module_id_; }

private:
  uint32_t string(llvm::StringRef text);
  uint32_t frame(const llvm::DILocation *inlined_at);

  std::string source_;
  std::string target_;
  std::string strings_;
  llvm::StringMap<uint32_t> string_offsets_;
  std::vector<fade_site_kernel> kernels_;
  std::vector<fade_site> sites_;
  std::vector<fade_site_frame> frames_;
  llvm::DenseMap<const llvm::DILocation *, uint32_t> frame_indices_;
  std::vector<fade_site_line> lines_;
  uint32_t counters_ = 0;
  uint64_t module_id_ = 0;
};

} // namespace fade
