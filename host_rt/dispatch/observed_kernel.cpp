#include "dispatch/observed_kernel.h"

#include "codeobj/kernel_code.h"
#include "codeobj/source_map.h"
#include "fade/sites.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
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

  std::vector<std::byte> build(const std::string &symbol, const std::string &target) {
    fade_site_kernel kernel{};
    kernel.name = kernel.clone = string(symbol);
    kernel.modes = FADE_MODE_ACCESSES | FADE_MODE_KERNEL;
    kernel.flags = FADE_KERNEL_REPLACES;
    fade_sites header{};
    header.magic = FADE_SITES_MAGIC;
    header.version = FADE_SITES_VERSION;
    header.message_version = FADE_MESSAGE_VERSION;
    header.modes = kernel.modes;
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
    header.lines_offset = static_cast<uint32_t>(bytes.size());
    header.strings_offset = put(strings_.data(), strings_.size());
    header.strings_size = static_cast<uint32_t>(strings_.size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
    header.size = bytes.size();
    uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (const std::byte b : bytes)
      hash = (hash ^ static_cast<uint64_t>(b)) * uint64_t{0x100000001b3};
    header.module_id = hash;
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

private:
  std::string strings_ = std::string(1, '\0');
  std::unordered_map<std::string, std::size_t> known_;
  std::vector<fade_site> sites_;
  std::vector<fade_site_frame> frames_;
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

/// Of one access. Instructions with two addresses make two.
uint32_t sizeOf(const codeobj::Instruction &instruction, const InstructionInfo &info) {
  const std::string_view name = instruction.mnemonic();
  const bool has_two = name.starts_with("ds_") &&
                       (name.find("2_b") != name.npos || name.find("2st64_b") != name.npos ||
                        name.find("_2addr") != name.npos);
  return has_two ? info.width / 2 : info.width;
}

bool isObserved(const InstructionInfo &info) {
  return info.memory != MemoryOperation::None && info.space != MemorySpace::Scratch &&
         info.space != MemorySpace::Gds;
}

fade_site siteOf(const codeobj::Instruction &instruction, const InstructionInfo &info) {
  fade_site site{};
  site.kind = kindOf(info.memory);
  site.flags = (info.memory != MemoryOperation::Store ? FADE_SITE_READS : 0u) |
               (info.memory != MemoryOperation::Load ? FADE_SITE_WRITES : 0u) |
               (info.memory == MemoryOperation::Atomic ? FADE_SITE_IS_ATOMIC : 0u) |
               (info.space == MemorySpace::Buffer ? FADE_SITE_IS_BUFFER : 0u);
  site.space = spaceOf(info.space);
  site.size = sizeOf(instruction, info);
  site.inlined_at = FADE_NO_INDEX;
  site.block = FADE_NO_INDEX;
  return site;
}

} // namespace

Result<std::vector<std::byte>> makeSites(const std::shared_ptr<const codeobj::CodeObject> &object,
                                         const std::string &symbol,
                                         std::vector<ObservedKernel::Instruction> &instructions) {
  const auto index = object->findKernel(symbol);
  if (!index) return Error::of(object->file() + " has no kernel " + symbol);
  const auto kernel = object->kernel(*index);
  if (!kernel) return kernel.error();
  const auto disassembler =
      codeobj::Disassembler::create(object->target(), kernel->descriptor.wavefront_size);
  if (!disassembler) return disassembler.error();
  const auto map = codeobj::SourceMap::open(object);
  TableBuilder table;
  const auto look = [&](uint64_t address, uint64_t size, bool is_kernel, const std::string &name) {
    const auto bytes = object->code(address, size);
    if (!bytes) return;
    for (const codeobj::Instruction &instruction : (*disassembler)->disassemble(*bytes, address)) {
      const InstructionInfo info = codeobj::classify(instruction.text);
      if (!isObserved(info)) continue;
      fade_site site = siteOf(instruction, info);
      site.kernel = is_kernel ? 0 : FADE_NO_INDEX;
      std::vector<codeobj::SourceFrame> stack;
      if (map) stack = (*map)->stack(instruction.address);
      if (stack.empty() || stack[0].line == 0)
        stack = {{fmt::format("{}+{:#x} {}", name, instruction.address - address, instruction.text),
                  "", 0, 0}};
      table.place(site, stack);
      instructions.push_back({instruction.address, table.add(site)});
    }
  };
  look(kernel->code_address, kernel->code_size, true, symbol);
  uint64_t left = kMostFunctionBytes;
  for (const codeobj::Symbol &function : object->symbols()) {
    if (function.type != kFunction || function.size == 0 || function.size > left) continue;
    if (function.value == kernel->code_address || object->findKernel(function.name)) continue;
    left -= function.size;
    look(function.value, function.size, false, std::string(function.name));
  }
  std::ranges::sort(instructions, {}, &ObservedKernel::Instruction::address);
  return table.build(symbol, object->target().processor);
}

uint32_t ObservedKernel::siteOf(uint64_t pc) const {
  const uint64_t address = pc - delta;
  const auto at = std::ranges::lower_bound(instructions, address, {}, &Instruction::address);
  return at != instructions.end() && at->address == address ? at->site : FADE_NO_INDEX;
}

Result<std::shared_ptr<const ObservedKernel>>
ObservedKernels::find(const std::shared_ptr<KernelEntry> &kernel, KernelRegistry &registry) {
  const std::lock_guard lock(mutex_);
  auto &known = kernels_[kernel];
  if (known) return known;
  const std::string &symbol = kernel->info->symbol();
  if (!kernel->code || !kernel->code->object())
    return Error::of("its code object could not be read");
  const auto object = kernel->code->sharedObject();
  const auto index = object->findKernel(symbol);
  if (!index) return Error::of("it is not in its code object");
  const auto described = object->kernel(*index);
  if (!described) return described.error();
  auto made = std::make_shared<ObservedKernel>();
  made->delta = kernel->device.object - described->descriptor_address;
  auto bytes = makeSites(object, symbol, made->instructions);
  if (!bytes) return std::move(bytes).error();
  std::string error;
  auto table = SiteTable::parse(*bytes, error);
  if (!table) return Error::of(error);
  auto sites = std::make_shared<ModuleSites>(ModuleSites{*std::move(table), object->file()});
  made->info = registry.info(kernel->info->name(), symbol, kernel->info->target(), sites);
  known = made;
  return known;
}

} // namespace fade
