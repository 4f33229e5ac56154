#include "SiteTable.h"

#include "Compat.h"
#include "Target.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace llvm;

namespace fade {

namespace {

// Names of functions in inlined code: the linkage name where there is one (C++), else the name.
StringRef functionName(const DISubprogram *subprogram) {
  if (!subprogram) return "";
  return subprogram->getLinkageName().empty() ? subprogram->getName()
                                              : subprogram->getLinkageName();
}

template <typename T>
void place(std::string &out, const std::vector<T> &array, uint32_t &offset, uint32_t &count) {
  offset = static_cast<uint32_t>(out.size());
  count = static_cast<uint32_t>(array.size());
  out.append(reinterpret_cast<const char *>(array.data()), array.size() * sizeof(T));
}

} // namespace

std::string sourcePath(const DIScope &scope) {
  const StringRef file = scope.getFilename(), directory = scope.getDirectory();
  if (file.empty() || sys::path::is_absolute(file) || directory.empty()) return file.str();
  SmallString<128> path(directory);
  sys::path::append(path, file);
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

SiteTableBuilder::SiteTableBuilder(const Module &module)
    : source_(module.getSourceFileName()), target_(targetProcessor(module)), strings_(1, '\0') {
  string_offsets_[""] = 0;
}

uint32_t SiteTableBuilder::string(StringRef text) {
  auto [entry, added] = string_offsets_.try_emplace(text, static_cast<uint32_t>(strings_.size()));
  if (added) {
    strings_.append(text.data(), text.size());
    strings_.push_back('\0');
  }
  return entry->second;
}

uint32_t SiteTableBuilder::frame(const DILocation *inlined_at) {
  if (!inlined_at) return FADE_NO_INDEX;
  if (auto found = frame_indices_.find(inlined_at); found != frame_indices_.end())
    return found->second;
  fade_site_frame f{};
  f.parent = frame(inlined_at->getInlinedAt()); // parents come first
  f.function = string(functionName(inlined_at->getScope()->getSubprogram()));
  f.file = string(sourcePath(*inlined_at->getScope()));
  f.line = inlined_at->getLine();
  f.column = inlined_at->getColumn();
  const auto index = static_cast<uint32_t>(frames_.size());
  frames_.push_back(f);
  frame_indices_[inlined_at] = index;
  return index;
}

uint32_t SiteTableBuilder::addKernel(const Function &original, StringRef clone, uint32_t modes,
                                     uint32_t flags) {
  fade_site_kernel k{};
  k.name = string(original.getName());
  k.clone = string(clone);
  if (const DISubprogram *subprogram = original.getSubprogram()) {
    k.file = string(sourcePath(*subprogram));
    k.line = subprogram->getLine();
  }
  k.modes = modes;
  k.flags = flags;
  kernels_.push_back(k);
  return static_cast<uint32_t>(kernels_.size() - 1);
}

uint32_t SiteTableBuilder::addSite(fade_site site, const DILocation *location,
                                   const Function &function) {
  site.function = string(function.getName());
  site.inlined_at = FADE_NO_INDEX;
  if (location) {
    const DISubprogram *subprogram = location->getScope()->getSubprogram();
    site.file = string(sourcePath(*location->getScope()));
    site.line = location->getLine();
    site.column = location->getColumn();
    site.inlined_at = frame(location->getInlinedAt());
    if (subprogram) site.function = string(functionName(subprogram));
  }
  sites_.push_back(site);
  return static_cast<uint32_t>(sites_.size() - 1);
}

uint32_t SiteTableBuilder::addBlock(const BasicBlock &block, uint32_t kernel,
                                    const BlockCounting &counting) {
  fade_site site{};
  site.kind = FADE_SITE_BLOCK;
  site.space = FADE_SPACE_NONE;
  site.kernel = kernel;
  site.block = FADE_NO_INDEX;
  site.flags = counting.flags;
  site.counter = counting.counter;
  site.size = counting.clocks;
  site.first_line = static_cast<uint32_t>(lines_.size());
  const DILocation *first = nullptr;
  std::set<std::pair<std::string, unsigned>> seen;
  for (const Instruction &instruction : block) {
    const DILocation *location = instruction.getDebugLoc().get();
    if (!location || location->getLine() == 0) continue;
    if (!first) first = location;
    // All the lines that an inlined place stands for belong to the block.
    for (const DILocation *l = location; l; l = l->getInlinedAt())
      if (l->getLine() != 0) seen.emplace(sourcePath(*l->getScope()), l->getLine());
  }
  for (const auto &[file, line] : seen) lines_.push_back({string(file), line});
  site.line_count = static_cast<uint32_t>(lines_.size()) - site.first_line;
  return addSite(site, first, *block.getParent());
}

std::string SiteTableBuilder::finish(uint32_t modes, StringRef options) {
  fade_sites header{};
  header.magic = FADE_SITES_MAGIC;
  header.version = FADE_SITES_VERSION;
  header.message_version = FADE_MESSAGE_VERSION;
  header.modes = modes;
  header.source = string(source_);
  header.target = string(target_);
  header.options = string(options);

  std::string out(sizeof header, '\0');
  place(out, kernels_, header.kernels_offset, header.kernel_count);
  place(out, sites_, header.sites_offset, header.site_count);
  place(out, frames_, header.frames_offset, header.frame_count);
  place(out, lines_, header.lines_offset, header.line_count);
  header.strings_offset = static_cast<uint32_t>(out.size());
  header.strings_size = static_cast<uint32_t>(strings_.size());
  out += strings_;
  out.resize((out.size() + 7) / 8 * 8);
  header.size = out.size();
  header.module_id = hash64(out);
  module_id_ = header.module_id;
  out.replace(0, sizeof header, reinterpret_cast<const char *>(&header), sizeof header);
  return out;
}

} // namespace fade
