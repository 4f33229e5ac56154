#include "codeobj/machine_check.h"

#include "codeobj/disassembler.h"
#include "codeobj/instruction.h"
#include "codeobj/source_map.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace fade::codeobj {
namespace {

/// Kernels of a table are looked at up to this size, which takes some tenths of a second.
constexpr uint64_t kMostBytes = uint64_t{1} << 19;
/// An instruction moves no more of a lane.
constexpr uint32_t kWidest = 16;

std::string_view nameOfFile(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

/// Where and what: only accesses with the same key can be the same.
using Key = std::tuple<std::string_view, uint32_t, uint32_t, uint32_t, bool>;

Key keyOf(const MachineAccess &access) {
  return {nameOfFile(access.file), access.line, access.column, access.kind, access.is_lds};
}

Key keyOf(const SiteTable &table, const fade_site &site) {
  return {nameOfFile(table.string(site.file)), site.line, site.column, site.kind,
          site.space == FADE_SPACE_LDS};
}

/// Whether the pass and the machine can be compared: an access of whole dwords, at a place.
bool isCompared(const fade_site &site, uint32_t kernel) {
  constexpr uint32_t kOther = FADE_SITE_IS_GONE | FADE_SITE_HAS_LENGTH | FADE_SITE_IS_PREDICATED |
                              FADE_SITE_IS_BUFFER | FADE_SITE_IS_ATOMIC;
  return (site.kind == FADE_SITE_LOAD || site.kind == FADE_SITE_STORE) && site.kernel == kernel &&
         site.line != 0 && (site.flags & kOther) == 0 && site.space != FADE_SPACE_FLAT &&
         site.size % 4 == 0 && site.size != 0;
}

/// The widths of the accesses that instructions make for a site, if it is as the pass expects.
void addWidths(const fade_site &site, std::set<uint32_t> &widths) {
  const uint32_t piece = FADE_SITE_PIECE(site.flags);
  const uint32_t widest = piece != 0 ? piece : kWidest;
  for (uint32_t left = site.size; left != 0;) {
    const uint32_t width = std::min(left, widest);
    widths.insert(width);
    left -= width;
  }
}

/// The sites of one place, and the instructions that may make them.
struct Place {
  std::vector<uint32_t> sites;
  std::vector<const MachineAccess *> machine;
};

/// What becomes of a table.
class Corrections {
public:
  explicit Corrections(const SiteTable &table)
      : table_(table), sites_(table.sites().begin(), table.sites().end()) {}

  void compare(const Place &place) {
    std::set<uint32_t> expected, found;
    std::set<std::string_view> names;
    uint64_t accesses = 0, scalar = 0;
    for (const MachineAccess *access : place.machine) {
      found.insert(access->bytes);
      names.insert(access->name);
      accesses += access->addresses;
      scalar += access->is_scalar ? 1 : 0;
    }
    const bool all_scalar = scalar == place.machine.size();
    uint32_t size = 0, sites_scalar = 0;
    bool is_same_size = true;
    for (const uint32_t index : place.sites) {
      const fade_site &site = sites_[index];
      addWidths(site, expected);
      is_same_size = is_same_size && (size == 0 || size == site.size);
      size = site.size;
      sites_scalar += (site.flags & FADE_SITE_IS_SCALAR) != 0 ? 1 : 0;
    }
    // Which of them is which, if only some are the scalar unit's, cannot be told.
    if (scalar != 0 && !all_scalar) return;
    if (all_scalar || sites_scalar != 0) {
      if (all_scalar == (sites_scalar == place.sites.size())) return;
      for (const uint32_t index : place.sites) setScalar(index, all_scalar);
      return;
    }
    if (expected == found) return;
    const uint32_t width = *found.begin();
    const bool is_split = found.size() == 1 && is_same_size && width <= size && size % width == 0 &&
                          accesses == uint64_t{size / width} * place.sites.size();
    for (const uint32_t index : place.sites)
      is_split ? setPiece(index, width) : setInstead(index, names);
  }

  std::optional<SiteTable> take() {
    if (!has_changed_) return std::nullopt;
    // The strings are the last of the table.
    fade_sites header;
    std::vector<std::byte> bytes(table_.bytes().begin(), table_.bytes().end());
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(bytes.data() + header.sites_offset, sites_.data(),
                sites_.size() * sizeof(fade_site));
    if (!strings_.empty()) {
      if (header.strings_offset + uint64_t{header.strings_size} > bytes.size()) return std::nullopt;
      bytes.resize(header.strings_offset + header.strings_size);
      const auto *added = reinterpret_cast<const std::byte *>(strings_.data());
      bytes.insert(bytes.end(), added, added + strings_.size());
      header.strings_size += static_cast<uint32_t>(strings_.size());
      bytes.resize((bytes.size() + 7) / 8 * 8);
      header.size = bytes.size();
      std::memcpy(bytes.data(), &header, sizeof header);
    }
    std::string error;
    return SiteTable::parse(bytes, error);
  }

private:
  void setScalar(uint32_t index, bool is_scalar) {
    uint32_t &flags = sites_[index].flags;
    flags = is_scalar ? flags | FADE_SITE_IS_SCALAR : flags & ~FADE_SITE_IS_SCALAR;
    has_changed_ = true;
  }
  void setPiece(uint32_t index, uint32_t bytes) {
    uint32_t &flags = sites_[index].flags;
    flags = (flags & ~FADE_SITE_OF_PIECES(255)) | FADE_SITE_OF_PIECES(bytes);
    has_changed_ = true;
  }
  void setInstead(uint32_t index, const std::set<std::string_view> &names) {
    std::string text;
    for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
    fade_sites header;
    std::memcpy(&header, table_.bytes().data(), sizeof header);
    sites_[index].flags |= FADE_SITE_IS_OTHERWISE;
    sites_[index].instead = header.strings_size + static_cast<uint32_t>(strings_.size());
    sites_[index].line_count = 0;
    strings_.append(text).push_back('\0');
    has_changed_ = true;
  }

  const SiteTable &table_;
  std::vector<fade_site> sites_;
  std::string strings_; ///< behind those of the table
  bool has_changed_ = false;
};

uint32_t kindOf(MemoryOperation operation) {
  return operation == MemoryOperation::Store    ? FADE_SITE_STORE
         : operation == MemoryOperation::Atomic ? FADE_SITE_ATOMIC
                                                : FADE_SITE_LOAD;
}

MachineAccess accessOf(const Instruction &instruction, const InstructionInfo &info,
                       const SourceFrame &at) {
  MachineAccess access;
  access.file = at.file;
  access.line = at.line;
  access.column = at.column;
  access.kind = kindOf(info.memory);
  access.is_lds = info.space == MemorySpace::Lds;
  access.is_scalar = info.space == MemorySpace::Constant;
  access.addresses = info.has_two_addresses ? 2 : 1;
  access.bytes = info.width / access.addresses;
  access.name = instruction.mnemonic();
  return access;
}

/// The accesses of a kernel whose place is certain.
std::vector<MachineAccess> machineAccesses(const CodeObject &object, const SourceMap &map,
                                           const Kernel &kernel) {
  std::vector<MachineAccess> out;
  const auto code = object.code(kernel.code_address, kernel.code_size);
  const auto disassembler = Disassembler::create(object.target(), kernel.descriptor.wavefront_size);
  if (!code || !disassembler) return out;
  ClauseLines clause;
  for (const Instruction &instruction : (*disassembler)->disassemble(*code, kernel.code_address)) {
    const bool is_placed = !clause.shares(instruction);
    const InstructionInfo info = classify(instruction.text);
    const bool is_access = info.memory != MemoryOperation::None &&
                           info.space != MemorySpace::Scratch && info.space != MemorySpace::Gds;
    if (!is_access || !is_placed) continue;
    const SourceFrame at = map.place(instruction.address);
    if (at.line != 0) out.push_back(accessOf(instruction, info, at));
  }
  return out;
}

/// The sites of a kernel by place, with the instructions there.
std::map<Key, Place> placesOf(const SiteTable &table, uint32_t kernel,
                              const std::vector<MachineAccess> &machine) {
  std::map<Key, std::vector<const MachineAccess *>> found;
  for (const MachineAccess &access : machine) found[keyOf(access)].push_back(&access);
  std::map<Key, Place> places;
  std::map<uint32_t, Key> key_of_site;
  const auto sites = table.sites();
  for (uint32_t i = 0; i < sites.size(); ++i) {
    if (!isCompared(sites[i], kernel)) continue;
    const Key key = keyOf(table, sites[i]);
    places[key].sites.push_back(i);
    key_of_site.emplace(i, key);
  }
  const auto add = [&](Place &place, const Key &key) {
    if (const auto at = found.find(key); at != found.end())
      place.machine.insert(place.machine.end(), at->second.begin(), at->second.end());
  };
  for (auto &[key, place] : places) add(place, key);
  // What one access makes for others, as the pass expects, may still be made at their places.
  std::set<std::pair<Key, Key>> added;
  for (const fade_site &part : sites) {
    if ((part.flags & FADE_SITE_IS_GONE) == 0 || part.done_by == 0 || part.kernel != kernel)
      continue;
    const auto whole = key_of_site.find(part.done_by - 1);
    const Key key = keyOf(table, part);
    if (whole == key_of_site.end() || places.contains(key)) continue;
    if (added.emplace(whole->second, key).second) add(places[whole->second], key);
  }
  return places;
}

} // namespace

std::optional<SiteTable>
checkedByMachine(const SiteTable &table,
                 const std::map<uint32_t, std::vector<MachineAccess>> &machine) {
  if ((table.modes() & FADE_MODE_MACHINE) == 0) return std::nullopt;
  Corrections corrections(table);
  for (const auto &[kernel, accesses] : machine)
    for (const auto &[key, place] : placesOf(table, kernel, accesses))
      if (!place.machine.empty()) corrections.compare(place);
  return corrections.take();
}

std::optional<SiteTable> checkedByMachine(const SiteTable &table,
                                          const std::shared_ptr<const CodeObject> &object) {
  if ((table.modes() & FADE_MODE_MACHINE) == 0) return std::nullopt;
  // Tables of rewritten kernels are those of the machine code, one for each of thousands.
  const auto is_compiled = [](const fade_site_kernel &kernel) {
    return (kernel.flags & (FADE_KERNEL_REPLACES | FADE_KERNEL_KEEPS_ARGUMENTS)) == 0;
  };
  if (std::ranges::none_of(table.kernels(), is_compiled)) return std::nullopt;
  const auto map = SourceMap::open(object);
  if (!map || (*map)->empty()) return std::nullopt;
  std::map<uint32_t, std::vector<MachineAccess>> machine;
  uint64_t left = kMostBytes;
  for (uint32_t i = 0; i < table.kernels().size(); ++i) {
    const fade_site_kernel &twin = table.kernels()[i];
    const auto index = object->findKernel(std::string(table.string(twin.name)));
    if (!index || !is_compiled(twin)) continue;
    const auto kernel = object->kernel(*index);
    if (!kernel || kernel->code_size > left) continue;
    left -= kernel->code_size;
    machine[i] = machineAccesses(*object, **map, *kernel);
  }
  return checkedByMachine(table, machine);
}

} // namespace fade::codeobj
