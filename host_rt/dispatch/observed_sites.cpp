#include "dispatch/observed_sites.h"

#include "base/fnv1a.h"
#include "codeobj/kernel_code.h"
#include "codeobj/source_map.h"
#include "fade/sites.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

namespace fade {
namespace {

using codeobj::InstructionInfo;
using codeobj::MemoryOperation;
using codeobj::MemorySpace;

/// Functions that a kernel may call are looked at up to this size, all together.
constexpr uint64_t kMostFunctionBytes = uint64_t{1} << 20;
constexpr uint8_t kFunction = 2; ///< STT_FUNC

/// Puts a site table together (fade/sites.h).
class TableBuilder {
public:
  uint32_t string(std::string_view text) {
    if (text.empty()) return 0;
    const auto [at, is_new] = known_.try_emplace(std::string(text), strings_.size());
    if (is_new) strings_.append(text).push_back('\0');
    return static_cast<uint32_t>(at->second);
  }
  /// Places from the inside out; the first is the site's own.
  void place(fade_site &site, const std::vector<codeobj::SourceFrame> &stack) {
    if (stack.empty()) return;
    uint32_t parent = FADE_NO_INDEX;
    for (std::size_t i = stack.size(); i-- > 1;) {
      const codeobj::SourceFrame &f = stack[i];
      frames_.push_back({string(f.function), string(f.file), f.line, f.column, parent});
      parent = static_cast<uint32_t>(frames_.size()) - 1;
    }
    site.function = string(stack[0].function), site.file = string(stack[0].file);
    site.line = stack[0].line, site.column = stack[0].column;
    site.inlined_at = parent;
  }
  uint32_t add(const fade_site &site) {
    sites_.push_back(site);
    return static_cast<uint32_t>(sites_.size()) - 1;
  }
  void add(const fade_site_instruction &instruction) { instructions_.push_back(instruction); }
  /// Of a block, which is to be the next site.
  void lines(fade_site &block, const std::set<std::pair<std::string, uint32_t>> &all) {
    block.first_line = static_cast<uint32_t>(lines_.size());
    block.line_count = static_cast<uint32_t>(all.size());
    for (const auto &[file, line] : all) lines_.push_back({string(file), line});
  }

  std::vector<std::byte> build(const std::string &symbol, const std::string &target,
                               ObservedParts parts) {
    fade_site_kernel kernel{};
    kernel.name = kernel.clone = string(symbol);
    kernel.modes = FADE_MODE_ACCESSES | FADE_MODE_KERNEL | (parts.blocks ? FADE_MODE_BLOCKS : 0) |
                   (parts.instructions ? FADE_MODE_INSTRUCTIONS : 0);
    kernel.flags = FADE_KERNEL_REPLACES;
    fade_sites header{};
    header.magic = FADE_SITES_MAGIC;
    header.version = FADE_SITES_VERSION;
    header.message_version = FADE_MESSAGE_VERSION;
    header.modes = kernel.modes | FADE_MODE_MACHINE;
    header.target = string(target);
    header.options = string("observed");
    std::vector<std::byte> bytes(sizeof header);
    const auto put = [&](const void *from, std::size_t size) {
      const auto at = static_cast<uint32_t>(bytes.size());
      const auto *begin = static_cast<const std::byte *>(from);
      bytes.insert(bytes.end(), begin, begin + size);
      return at;
    };
    header.kernels_offset = put(&kernel, sizeof kernel), header.kernel_count = 1;
    header.sites_offset = put(sites_.data(), sites_.size() * sizeof(fade_site));
    header.site_count = static_cast<uint32_t>(sites_.size());
    header.frames_offset = put(frames_.data(), frames_.size() * sizeof(fade_site_frame));
    header.frame_count = static_cast<uint32_t>(frames_.size());
    header.lines_offset = put(lines_.data(), lines_.size() * sizeof(fade_site_line));
    header.line_count = static_cast<uint32_t>(lines_.size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
    std::ranges::sort(instructions_, {}, &fade_site_instruction::address);
    header.instructions_offset =
        put(instructions_.data(), instructions_.size() * sizeof(fade_site_instruction));
    header.instruction_count = static_cast<uint32_t>(instructions_.size());
    header.strings_offset = put(strings_.data(), strings_.size());
    header.strings_size = static_cast<uint32_t>(strings_.size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
    header.size = bytes.size();
    header.module_id = fnv1a(bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

private:
  std::string strings_ = std::string(1, '\0');
  std::unordered_map<std::string, std::size_t> known_;
  std::vector<fade_site> sites_;
  std::vector<fade_site_frame> frames_;
  std::vector<fade_site_line> lines_;
  std::vector<fade_site_instruction> instructions_;
};

uint32_t kindOf(MemoryOperation operation) {
  switch (operation) {
  case MemoryOperation::Store: return FADE_SITE_STORE;
  case MemoryOperation::Atomic: return FADE_SITE_ATOMIC;
  default: return FADE_SITE_LOAD;
  }
}

uint32_t spaceOf(MemorySpace space) {
  switch (space) {
  case MemorySpace::Flat: return FADE_SPACE_FLAT;
  case MemorySpace::Lds: return FADE_SPACE_LDS;
  case MemorySpace::Constant: return FADE_SPACE_CONSTANT;
  default: return FADE_SPACE_GLOBAL;
  }
}

bool isObserved(const InstructionInfo &info) {
  return info.memory != MemoryOperation::None && info.space != MemorySpace::Scratch &&
         info.space != MemorySpace::Gds;
}

/// Of an instruction that is no access to what analyzers look at, which may still have a size.
fade_site plainSite(const InstructionInfo &info) {
  fade_site site{};
  site.kind = FADE_SITE_INSTRUCTION;
  site.space = FADE_SPACE_NONE;
  site.size = info.width;
  site.inlined_at = FADE_NO_INDEX;
  site.block = FADE_NO_INDEX;
  return site;
}

fade_site accessSite(const InstructionInfo &info) {
  fade_site site = plainSite(info);
  site.kind = kindOf(info.memory);
  site.flags = (info.memory != MemoryOperation::Store ? FADE_SITE_READS : 0u) |
               (info.memory != MemoryOperation::Load ? FADE_SITE_WRITES : 0u) |
               (info.memory == MemoryOperation::Atomic ? FADE_SITE_IS_ATOMIC : 0u) |
               (info.space == MemorySpace::Buffer ? FADE_SITE_IS_BUFFER : 0u) |
               (info.space == MemorySpace::Constant ? FADE_SITE_IS_SCALAR : 0u);
  site.space = spaceOf(info.space);
  // Of one access: instructions with two addresses make two.
  site.size = info.has_two_addresses ? info.width / 2 : info.width;
  return site;
}

static_assert(static_cast<uint32_t>(codeobj::Unit::Matrix) == FADE_UNIT_MATRIX &&
              static_cast<uint32_t>(codeobj::Unit::Invalid) == FADE_UNIT_INVALID);
static_assert(static_cast<uint32_t>(codeobj::NumberType::Integer) == FADE_TYPE_INTEGER);

/// Makes the sites of one function after the other.
class SiteMaker {
public:
  SiteMaker(const codeobj::CodeObject &object, const codeobj::Disassembler &disassembler,
            const codeobj::SourceMap *map, ObservedParts parts, bool has_scratch)
      : object_(object), disassembler_(disassembler), map_(map), parts_(parts),
        has_scratch_(has_scratch) {}

  void function(uint64_t address, uint64_t size, bool is_kernel, const std::string &name) {
    const auto bytes = object_.code(address, size);
    if (!bytes) return;
    codeobj::KernelCode code = codeobj::analyze(disassembler_.disassemble(*bytes, address));
    if (has_scratch_) codeobj::findScratch(code);
    kernel_ = is_kernel ? 0 : FADE_NO_INDEX;
    start_ = address;
    // Tensile's names have 600 characters, and each site has it.
    constexpr std::size_t longest = 96;
    name_ = name.size() > longest ? name.substr(0, longest - 3) + "..." : name;
    std::size_t block = 0;
    uint32_t block_site = FADE_NO_INDEX;
    codeobj::ClauseLines clause;
    for (std::size_t i = 0; i < code.instructions.size(); ++i) {
      const bool begins = block < code.blocks.size() && code.blocks[block].first == i;
      if (begins) ++block;
      const bool is_back = i != 0 && code.info[i - 1].flow == codeobj::Flow::Call;
      if (parts_.blocks && (begins || is_back)) block_site = addBlock(code, i, block);
      const bool shares_line = clause.shares(code.instructions[i]);
      const uint32_t site =
          addInstruction(code.instructions[i], code.info[i], block_site, shares_line);
      if (parts_.instructions) describe(code.instructions[i], code.info[i], site);
    }
  }

  ObservedSites take(const std::string &symbol) {
    std::ranges::sort(out_.accesses, {}, &ObservedPlace::address);
    std::ranges::sort(out_.blocks, {}, &ObservedPlace::address);
    out_.table = table_.build(symbol, object_.target().processor, parts_);
    return std::move(out_);
  }

private:
  std::vector<codeobj::SourceFrame> placeOf(const codeobj::Instruction &instruction) const {
    std::vector<codeobj::SourceFrame> stack;
    if (map_) stack = map_->stack(instruction.address);
    if (stack.empty() || stack[0].line == 0)
      stack = {{fmt::format("{}+{:#x} {}", name_, instruction.address - start_, instruction.text),
                "", 0, 0}};
    return stack;
  }
  /// The one that begins with instruction `i`, up to block `next` or the return of a call.
  uint32_t addBlock(const codeobj::KernelCode &code, std::size_t i, std::size_t next) {
    fade_site site = plainSite({});
    site.kind = FADE_SITE_BLOCK;
    site.kernel = kernel_;
    table_.place(site, placeOf(code.instructions[i]));
    std::set<std::pair<std::string, uint32_t>> lines;
    const std::size_t end =
        next < code.blocks.size() ? code.blocks[next].first : code.instructions.size();
    for (std::size_t at = i; at < end; ++at) {
      const auto place = map_ ? map_->place(code.instructions[at].address) : codeobj::SourceFrame{};
      if (place.line != 0) lines.emplace(place.file, place.line);
      if (code.info[at].flow == codeobj::Flow::Call) break;
    }
    table_.lines(site, lines);
    out_.blocks.push_back({code.instructions[i].address, table_.add(site)});
    return out_.blocks.back().site;
  }
  uint32_t addInstruction(const codeobj::Instruction &instruction, const InstructionInfo &info,
                          uint32_t block, bool shares_line) {
    const bool is_access = isObserved(info);
    if (!is_access && !parts_.instructions) return FADE_NO_INDEX;
    fade_site site = is_access ? accessSite(info) : plainSite(info);
    site.kernel = kernel_;
    site.block = block;
    if (shares_line && map_) site.flags |= FADE_SITE_SHARES_LINE;
    if (!is_access || parts_.access_places) table_.place(site, placeOf(instruction));
    const uint32_t index = table_.add(site);
    if (!is_access) return index;
    out_.accesses.push_back({instruction.address, index});
    if (info.also_lds) { // a load that stores into LDS, or a store of it; no instruction begins in
                         // its middle
      const bool loads = info.memory == MemoryOperation::Load;
      site.kind = loads ? FADE_SITE_STORE : FADE_SITE_LOAD;
      site.flags = loads ? FADE_SITE_WRITES : FADE_SITE_READS;
      site.space = FADE_SPACE_LDS;
      out_.accesses.push_back({instruction.address + kLdsSide, table_.add(site)});
    }
    return index;
  }
  void describe(const codeobj::Instruction &instruction, const InstructionInfo &info,
                uint32_t site) {
    fade_site_instruction one{};
    one.address = instruction.address;
    one.text = table_.string(instruction.text);
    one.site = site;
    const auto extra = [&](uint32_t kind) {
      fade_site counted = plainSite({});
      counted.kind = kind;
      counted.kernel = kernel_;
      return table_.add(counted);
    };
    one.taken = info.flow == codeobj::Flow::Conditional ? extra(FADE_SITE_TAKEN) : FADE_NO_INDEX;
    one.split = codeobj::mayChangeExec(instruction) ? extra(FADE_SITE_SPLIT) : FADE_NO_INDEX;
    one.operations = info.wave_flops != 0 ? info.wave_flops : info.lane_flops;
    one.unit = static_cast<uint8_t>(info.unit);
    one.type = static_cast<uint8_t>(info.flop_type);
    one.flags = static_cast<uint8_t>((info.is_packed ? FADE_INSTRUCTION_PACKED : 0) |
                                     (info.wave_flops != 0 ? FADE_INSTRUCTION_PER_WAVE : 0));
    table_.add(one);
  }

  const codeobj::CodeObject &object_;
  const codeobj::Disassembler &disassembler_;
  const codeobj::SourceMap *map_;
  const ObservedParts parts_;
  const bool has_scratch_;
  uint32_t kernel_ = 0;
  uint64_t start_ = 0;
  std::string name_;
  TableBuilder table_;
  ObservedSites out_;
};

} // namespace

Result<ObservedSites> makeSites(const std::shared_ptr<const codeobj::CodeObject> &object,
                                const std::string &symbol, ObservedParts parts) {
  const auto map = codeobj::SourceMap::open(object);
  return makeSites(*object, map ? map->get() : nullptr, symbol, parts);
}

Result<ObservedSites> makeSites(const codeobj::CodeObject &object, const codeobj::SourceMap *map,
                                const std::string &symbol, ObservedParts parts) {
  const auto index = object.findKernel(symbol);
  if (!index) return Error::of(object.file() + " has no kernel " + symbol);
  const auto kernel = object.kernel(*index);
  if (!kernel) return kernel.error();
  const auto disassembler =
      codeobj::Disassembler::create(object.target(), kernel->descriptor.wavefront_size);
  if (!disassembler) return disassembler.error();
  SiteMaker maker(object, **disassembler, map, parts, codeobj::hasScratch(*kernel));
  maker.function(kernel->code_address, kernel->code_size, true, symbol);
  uint64_t left = kMostFunctionBytes;
  for (const codeobj::Symbol &function : object.symbols()) {
    if (function.type != kFunction || function.size == 0 || function.size > left) continue;
    if (function.value == kernel->code_address || object.findKernel(function.name)) continue;
    left -= function.size;
    maker.function(function.value, function.size, false, std::string(function.name));
  }
  return maker.take(symbol);
}

} // namespace fade
