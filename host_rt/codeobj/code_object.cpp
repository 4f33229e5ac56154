#include "codeobj/code_object.h"

#include "fade/clone.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::codeobj {
namespace {

constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint8_t kOsAbiHsa = 64;
constexpr uint8_t kSymbolOldKernel = 10; ///< type of a kernel's symbol in version 2

// Note types. Version 2 used the owner "AMD" and YAML, later ones "AMDGPU" and MessagePack.
constexpr uint32_t kNoteOldIsaName = 11;
constexpr uint32_t kNoteOldMetadata = 10;
constexpr uint32_t kNoteMetadata = 32;

constexpr std::string_view kDescriptorSuffix = ".kd";

/// From here on memory is worth more than the microseconds it takes to give it back.
constexpr std::size_t kLargeFile = 1 << 20;

bool isCode(const Symbol &symbol) {
  return (symbol.type == STT_FUNC || symbol.type == kSymbolOldKernel) &&
         symbol.section != SHN_UNDEF;
}

// What assemblers put behind the last instruction: zeros, s_nop, s_code_end.
std::size_t withoutPadding(ByteView code) {
  std::size_t size = code.size() / 4 * 4;
  while (size != 0) {
    const auto word = *read<uint32_t>(code, size - 4);
    if (word != 0 && word != 0xbf800000 && word != 0xbf9f0000) break;
    size -= 4;
  }
  return size;
}

} // namespace

bool CodeObject::looksLike(ByteView bytes) {
  auto machine = read<uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine));
  return Elf::looksLike(bytes) && machine == kMachineAmdgpu;
}

Result<std::shared_ptr<const CodeObject>> CodeObject::open(Blob blob) {
  auto elf = Elf::open(std::move(blob));
  if (!elf) return std::move(elf).error();
  std::shared_ptr<CodeObject> object(new CodeObject(*std::move(elf)));
  if (auto status = object->readHeader(); !status) return std::move(status).error();
  if (auto status = object->indexSymbols(); !status) return std::move(status).error();
  if (auto status = object->readMetadata(); !status) return std::move(status).error();
  // The names are known, and the rest of a large file can wait until a kernel is asked for.
  if (object->elf_.blob().bytes().size() > kLargeFile) object->elf_.blob().releasePages();
  return std::shared_ptr<const CodeObject>(std::move(object));
}

Status CodeObject::readHeader() {
  const Elf64_Ehdr &header = elf_.header();
  auto fail = [&](uint64_t offset, std::string what) -> Status {
    return elf_.blob().error("ELF header", offset, std::move(what));
  };
  if (header.e_machine != kMachineAmdgpu)
    return fail(offsetof(Elf64_Ehdr, e_machine),
                fmt::format("machine {} is not an AMD GPU", header.e_machine));
  if (header.e_ident[EI_OSABI] != kOsAbiHsa)
    return fail(EI_OSABI, "AMD GPU code, but not for the HSA runtime");
  // ABI versions 0 to 4 are code-object versions 2 to 6; a later one is read as the last we know.
  version_ = std::min(header.e_ident[EI_ABIVERSION] + 2, 6);
  auto target = targetFromElfFlags(header.e_flags, version_);
  if (target) target_ = *target;
  return Done{};
}

std::string CodeObject::compiler() const {
  const Section *comment = elf_.findSection(".comment");
  if (!comment) return "";
  const auto bytes = elf_.contents(*comment);
  if (!bytes) return "";
  std::string_view rest = asText(*bytes);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    constexpr std::size_t longest = 200;
    if (!one.empty() && !one.starts_with("Linker:")) return std::string(one.substr(0, longest));
  }
  return "";
}

Status CodeObject::indexSymbols() {
  auto symbols = elf_.symbols();
  if (!symbols) return std::move(symbols).error();
  symbols_ = *std::move(symbols);
  symbol_by_name_.reserve(symbols_.size());
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (!symbols_[i].name.empty()) symbol_by_name_.emplace(symbols_[i].name, i);
    if (isCode(symbols_[i])) functions_.push_back(i);
  }
  std::ranges::sort(functions_, {}, [&](std::size_t i) { return std::pair(symbols_[i].value, i); });
  giveSizes();
  return Done{};
}

// Hand-written assembly (Tensile's, for one) often leaves out .size: such a function ends where the
// next one begins, or with its section.
void CodeObject::giveSizes() {
  uint64_t covered = 0; // by functions so far
  for (auto at = functions_.begin(); at != functions_.end(); ++at) {
    Symbol &symbol = symbols_[*at];
    if (symbol.size == 0 && symbol.value >= covered && elf_.header().e_type != ET_REL) {
      const auto next = std::find_if(
          at, functions_.end(), [&](std::size_t i) { return symbols_[i].value != symbol.value; });
      uint64_t end = next == functions_.end() ? UINT64_MAX : symbols_[*next].value;
      if (symbol.section < elf_.sections().size()) {
        const Section &section = elf_.sections()[symbol.section];
        end = std::min(end, section.address + section.size);
      }
      const auto rest = elf_.atAddress(symbol.value, symbol.section);
      if (rest && end > symbol.value)
        symbol.size =
            withoutPadding(rest->first(std::min<uint64_t>(rest->size(), end - symbol.value)));
      symbol.has_guessed_size = true;
      covered = symbol.value + 1; // once for each address
    }
    covered = std::max(covered, symbol.value + symbol.size);
  }
  std::erase_if(functions_, [this](std::size_t i) { return symbols_[i].size == 0; });
}

Status CodeObject::readMetadata() {
  auto notes = elf_.notes();
  if (!notes) return std::move(notes).error();
  std::string target_name;
  std::vector<Entry> kernels;
  auto fail = [&](const Error &error) -> Status {
    return elf_.blob().error(".note", error.offset, error.what);
  };
  // Where there are both kinds, those of version 2 say nothing: a loader takes the newer one.
  const bool is_old = std::ranges::none_of(*notes, [](const Note &note) {
    return note.owner == "AMDGPU" && note.type == kNoteMetadata;
  });
  for (const Note &note : *notes) {
    if (note.owner == "AMDGPU" && note.type == kNoteMetadata) {
      auto read = indexMetadata(note.content);
      if (!read) return fail(read.error());
      // Linkers put the notes of their inputs side by side: with device LTO, code is generated in
      // several parts.
      for (const MetadataIndex::Entry &entry : read->kernels)
        kernels.push_back({entry.name, entry.symbol, Metadata::note, entry.position, note.content});
      for (std::string &format : read->printf_formats)
        if (std::ranges::find(printf_formats_, format) == printf_formats_.end())
          printf_formats_.push_back(std::move(format));
      if (!read->target.empty()) target_name = std::move(read->target);
    } else if (is_old && note.owner == "AMD" && note.type == kNoteOldMetadata) {
      auto read = readOldMetadata(asText(note.content));
      if (!read) return fail(read.error());
      old_kernels_ = std::move(read->kernels);
      printf_formats_ = std::move(read->printf_formats);
    } else if (is_old && note.owner == "AMD" && note.type == kNoteOldIsaName &&
               target_.processor.empty()) {
      target_name = asText(note.content);
    }
  }
  if (auto target = parseTarget(target_name)) {
    unsigned generic_version = target_.generic_version;
    target_ = *std::move(target);
    target_.generic_version = generic_version;
  }
  if (target_.processor.empty())
    return elf_.blob().error("ELF header", offsetof(Elf64_Ehdr, e_flags),
                             fmt::format("unknown processor {:#x}", elf_.header().e_flags & 0xff));
  indexKernels(kernels);
  return Done{};
}

void CodeObject::indexKernels(const std::vector<Entry> &in_notes) {
  auto add = [&](Entry entry) {
    // Two kernels of one name would be two answers to one question; the first is the one the loader
    // takes.
    if (by_symbol_.emplace(entry.symbol, kernels_.size()).second) kernels_.push_back(entry);
  };
  for (const Entry &entry : in_notes) add(entry);
  for (std::size_t i = 0; i < old_kernels_.size(); ++i)
    add({old_kernels_[i].name, old_kernels_[i].symbol, Metadata::old_kernels, i});
  // Kernels that the metadata does not mention, for instance because the note is missing.
  for (const Symbol &symbol : symbols_) {
    bool descriptor = symbol.type == STT_OBJECT && symbol.name.ends_with(kDescriptorSuffix) &&
                      symbol.size == kDescriptorSize;
    if (symbol.section == SHN_UNDEF || (!descriptor && symbol.type != kSymbolOldKernel)) continue;
    std::string_view name = symbol.name;
    if (descriptor) name.remove_suffix(kDescriptorSuffix.size());
    add({name, symbol.name, Metadata::none, 0});
  }
}

KernelName CodeObject::kernelName(std::size_t index) const {
  return {kernels_[index].name, kernels_[index].symbol};
}

std::optional<std::size_t> CodeObject::findKernel(std::string_view symbol) const {
  if (auto it = by_symbol_.find(symbol); it != by_symbol_.end()) return it->second;
  std::string with_suffix = std::string(symbol).append(kDescriptorSuffix);
  if (auto it = by_symbol_.find(with_suffix); it != by_symbol_.end()) return it->second;
  return std::nullopt;
}

std::optional<std::size_t> CodeObject::findClone(std::size_t index) const {
  auto it = by_symbol_.find(std::string(FADE_CLONE_PREFIX).append(kernels_[index].symbol));
  if (it == by_symbol_.end()) return std::nullopt;
  return it->second;
}

Result<Kernel> CodeObject::kernel(std::size_t index) const {
  const Entry &entry = kernels_[index];
  Kernel kernel;
  kernel.name = entry.name;
  kernel.symbol = entry.symbol;
  kernel.has_metadata = entry.metadata != Metadata::none;
  if (entry.metadata == Metadata::old_kernels) {
    kernel.metadata = old_kernels_[entry.position];
  } else if (entry.metadata == Metadata::note) {
    auto read = readKernelMetadata(entry.note, entry.position);
    if (!read) return elf_.blob().error(".note", read.error().offset, read.error().what);
    kernel.metadata = *std::move(read);
  }
  if (auto status = readDescriptor(kernel); !status) return std::move(status).error();
  return kernel;
}

Status CodeObject::readDescriptor(Kernel &kernel) const {
  const Symbol *symbol = findSymbol(kernel.symbol);
  if (symbol == nullptr || symbol->section == SHN_UNDEF)
    return elf_.blob().error("symbol table", 0,
                             fmt::format("kernel descriptor '{}' is not defined", kernel.symbol));
  auto bytes = elf_.atAddress(symbol->value, symbol->section);
  if (!bytes) return std::move(bytes).error();
  bool old = symbol->type == kSymbolOldKernel;
  auto descriptor = old ? decodeOldDescriptor(*bytes, target_) : decodeDescriptor(*bytes, target_);
  if (!descriptor)
    return elf_.blob().error(
        "", 0,
        fmt::format("descriptor of '{}' at {:#x} is cut short", kernel.symbol, symbol->value));
  kernel.descriptor = *descriptor;
  kernel.descriptor_address = symbol->value;
  kernel.code_address = symbol->value + static_cast<uint64_t>(kernel.descriptor.entry_offset);
  // Before linking the offset is a relocation; the function has the kernel's name.
  if (elf_.header().e_type == ET_REL)
    if (const Symbol *function = findSymbol(kernel.name)) kernel.code_address = function->value;
  kernel.code_size = sizeOfCode(kernel.code_address);
  return Done{};
}

uint64_t CodeObject::sizeOfCode(uint64_t address) const {
  const Symbol *function = functionAt(address);
  if (function == nullptr) return 0;
  return function->value + function->size - address;
}

const Symbol *CodeObject::findSymbol(std::string_view name) const {
  auto it = symbol_by_name_.find(name);
  return it == symbol_by_name_.end() ? nullptr : &symbols_[it->second];
}

const Symbol *CodeObject::functionAt(uint64_t address) const {
  auto after = std::ranges::upper_bound(functions_, address, {},
                                        [&](std::size_t i) { return symbols_[i].value; });
  if (after == functions_.begin()) return nullptr;
  const Symbol &symbol = symbols_[*--after];
  return address - symbol.value < symbol.size ? &symbol : nullptr;
}

Result<ByteView> CodeObject::code(uint64_t address, uint64_t size) const {
  const Symbol *function = functionAt(address);
  auto rest = elf_.atAddress(address, function != nullptr ? function->section : 0);
  if (!rest) return rest;
  auto exact = part(*rest, 0, size);
  if (!exact)
    return elf_.blob().error(
        "", 0, fmt::format("code [{:#x}, +{:#x}) runs past the end of its segment", address, size));
  return *exact;
}

} // namespace fade::codeobj
