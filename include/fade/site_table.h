// Reader of the site tables of a code object (sites.h). Header-only. Every offset, count and index
// of the input is checked once, in parse(); afterwards all of them can be used without a check.
#pragma once

#include "sites.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

class SiteTable {
public:
  // Reads the table at the start of `bytes`. Without a result, `error` says what is wrong with it.
  static std::optional<SiteTable> parse(std::span<const std::byte> bytes, std::string &error);

  uint64_t moduleId() const { return header_.module_id; }
  uint32_t modes() const { return header_.modes; }
  uint64_t byteSize() const { return header_.size; }
  // The whole table, as it was read.
  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view source() const { return string(header_.source); }
  std::string_view target() const { return string(header_.target); }
  std::string_view options() const { return string(header_.options); }

  std::span<const fade_site_kernel> kernels() const {
    return array<fade_site_kernel>(header_.kernels_offset, header_.kernel_count);
  }
  std::span<const fade_site> sites() const {
    return array<fade_site>(header_.sites_offset, header_.site_count);
  }
  std::span<const fade_site_frame> frames() const {
    return array<fade_site_frame>(header_.frames_offset, header_.frame_count);
  }
  // By address; none in tables that the pass has made.
  std::span<const fade_site_instruction> instructions() const {
    return array<fade_site_instruction>(header_.instructions_offset, header_.instruction_count);
  }
  // The source lines that a block holds.
  std::span<const fade_site_line> lines(const fade_site &site) const {
    return allLines().subspan(site.first_line, site.line_count);
  }
  std::string_view string(uint32_t offset) const { return strings().data() + offset; }

private:
  // Memory for bytes is aligned for every type.
  template <typename T> std::span<const T> array(uint32_t offset, uint32_t count) const {
    return {reinterpret_cast<const T *>(bytes_.data() + offset), count};
  }
  std::span<const fade_site_line> allLines() const {
    return array<fade_site_line>(header_.lines_offset, header_.line_count);
  }
  std::span<const char> strings() const {
    return array<char>(header_.strings_offset, header_.strings_size);
  }
  template <typename T> bool isInside(uint32_t offset, uint32_t count) const {
    return offset % alignof(T) == 0 && offset <= header_.size &&
           uint64_t{count} * sizeof(T) <= header_.size - offset;
  }
  const char *readHeader(std::span<const std::byte> bytes);
  const char *checkArrays() const;
  const char *checkReferences() const;
  const char *checkInstructions() const;
  bool isString(uint32_t offset) const { return offset < header_.strings_size; }
  bool isFrame(uint32_t index) const {
    return index == FADE_NO_INDEX || index < header_.frame_count;
  }

  fade_sites header_{};
  std::vector<std::byte> bytes_;
};

// All tables of a FADE_SITES_SECTION. A table that cannot be read ends the list; `error` then says
// at which offset and why, and is empty otherwise.
std::vector<SiteTable> parseSiteTables(std::span<const std::byte> section, std::string &error);

inline const char *SiteTable::readHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof header_) return "it is shorter than the header of a site table";
  std::memcpy(&header_, bytes.data(), sizeof header_);
  if (header_.magic != FADE_SITES_MAGIC) return "it does not start like a site table";
  if (header_.version != FADE_SITES_VERSION) return "the site table is of another version";
  if (header_.message_version != FADE_MESSAGE_VERSION)
    return "the kernels write records of another version";
  if (header_.size < sizeof header_ || header_.size > bytes.size() || header_.size % 8 != 0)
    return "the size of the site table is wrong";
  return nullptr;
}

inline const char *SiteTable::checkArrays() const {
  if (!isInside<fade_site_kernel>(header_.kernels_offset, header_.kernel_count))
    return "the kernels reach beyond the site table";
  if (!isInside<fade_site>(header_.sites_offset, header_.site_count))
    return "the sites reach beyond the site table";
  if (!isInside<fade_site_frame>(header_.frames_offset, header_.frame_count))
    return "the frames reach beyond the site table";
  if (!isInside<fade_site_line>(header_.lines_offset, header_.line_count))
    return "the lines reach beyond the site table";
  if (!isInside<fade_site_instruction>(header_.instructions_offset, header_.instruction_count))
    return "the instructions reach beyond the site table";
  if (!isInside<char>(header_.strings_offset, header_.strings_size))
    return "the strings reach beyond the site table";
  if (strings().empty() || strings().front() != 0 || strings().back() != 0)
    return "the strings are not terminated";
  return nullptr;
}

inline const char *SiteTable::checkReferences() const {
  if (!isString(header_.source) || !isString(header_.target) || !isString(header_.options))
    return "the header refers to a string that is not there";
  for (const auto &k : kernels())
    if (!isString(k.name) || !isString(k.clone) || !isString(k.file))
      return "a kernel refers to a string that is not there";
  for (std::size_t i = 0; i < frames().size(); ++i) {
    const auto &f = frames()[i];
    if (!isString(f.function) || !isString(f.file))
      return "a frame refers to a string that is not there";
    // Parents come first, so that a chain always ends.
    if (f.parent != FADE_NO_INDEX && f.parent >= i) return "a frame has an impossible parent";
  }
  for (const auto &l : allLines())
    if (!isString(l.file)) return "a line refers to a string that is not there";
  for (const auto &s : sites()) {
    if (!isString(s.file) || !isString(s.function))
      return "a site refers to a string that is not there";
    if (!isFrame(s.inlined_at)) return "a site refers to a frame that is not there";
    if (s.kernel != FADE_NO_INDEX && s.kernel >= kernels().size())
      return "a site refers to a kernel that is not there";
    if (s.block != FADE_NO_INDEX && s.block >= sites().size())
      return "a site refers to a block that is not there";
    // Each block has one for its entries at most, and one for its clocks.
    if (s.kind == FADE_SITE_BLOCK &&
        (s.counter > 2 * sites().size() || s.size > 2 * sites().size()))
      return "a site refers to a counter that is not there";
    if (s.kind != FADE_SITE_BLOCK && s.done_by > sites().size())
      return "a site refers to an access that is not there";
    if (s.kind != FADE_SITE_BLOCK && (s.flags & FADE_SITE_IS_OTHERWISE) != 0) {
      if (!isString(s.instead)) return "a site refers to a string that is not there";
    } else if (s.first_line > allLines().size() || s.line_count > allLines().size() - s.first_line)
      return "a site refers to lines that are not there";
  }
  return checkInstructions();
}

inline const char *SiteTable::checkInstructions() const {
  const auto isSite = [&](uint32_t index) {
    return index == FADE_NO_INDEX || index < sites().size();
  };
  uint64_t last = 0;
  for (const auto &i : instructions()) {
    if (!isString(i.text)) return "an instruction refers to a string that is not there";
    if (i.site >= sites().size() || !isSite(i.taken) || !isSite(i.split))
      return "an instruction refers to a site that is not there";
    if (i.unit >= FADE_UNIT_COUNT || i.type >= FADE_TYPE_COUNT)
      return "an instruction is of an unknown kind";
    if (i.address < last) return "the instructions are not in order";
    last = i.address;
  }
  return nullptr;
}

inline std::optional<SiteTable> SiteTable::parse(std::span<const std::byte> bytes,
                                                 std::string &error) {
  SiteTable table;
  const char *why = table.readHeader(bytes);
  if (!why) {
    table.bytes_.assign(bytes.begin(),
                        bytes.begin() + static_cast<std::ptrdiff_t>(table.byteSize()));
    why = table.checkArrays();
  }
  if (!why) why = table.checkReferences();
  if (!why) return table;
  error = why;
  return std::nullopt;
}

inline std::vector<SiteTable> parseSiteTables(std::span<const std::byte> section,
                                              std::string &error) {
  std::vector<SiteTable> tables;
  error.clear();
  std::size_t offset = 0;
  while (offset + sizeof(uint64_t) <= section.size()) {
    uint64_t word;
    std::memcpy(&word, section.data() + offset, sizeof word);
    if (word == 0) { // padding between tables
      offset += sizeof word;
      continue;
    }
    std::string why;
    auto table = SiteTable::parse(section.subspan(offset), why);
    if (!table) {
      error = FADE_SITES_SECTION " at offset " + std::to_string(offset) + ": " + why;
      break;
    }
    offset += table->byteSize();
    tables.push_back(std::move(*table));
  }
  return tables;
}

} // namespace fade
