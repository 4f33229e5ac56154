#include "device/kernel_names.h"

#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>
#include <vector>

namespace fade::sim {
namespace {

constexpr uint64_t base = 0x400000;

// What a loader leaves in memory of a code object with two kernels.
struct Image {
  std::vector<char> bytes = std::vector<char>(4096);
  template <class T> void put(uint64_t offset, const T &value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }

  Image() {
    constexpr uint64_t dynamic = 0x200, symbols = 0x300, strings = 0x500, hash = 0x600;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_phoff = sizeof header;
    header.e_phnum = 1;
    put(0, header);
    Elf64_Phdr segment{};
    segment.p_type = PT_DYNAMIC;
    segment.p_vaddr = dynamic;
    segment.p_memsz = 4 * sizeof(Elf64_Dyn);
    put(sizeof header, segment);
    Elf64_Dyn entries[4] = {
        {DT_SYMTAB, {symbols}}, {DT_STRTAB, {strings}}, {DT_HASH, {hash}}, {DT_NULL, {0}}};
    put(dynamic, entries);
    const char names[] = "\0first\0first.kd\0second.kd\0";
    put(strings, names);
    auto symbol = [](uint32_t name, uint64_t value) {
      Elf64_Sym s{};
      s.st_name = name;
      s.st_shndx = 1;
      s.st_value = value;
      return s;
    };
    Elf64_Sym table[4] = {{}, symbol(1, 0x880), symbol(7, 0x800), symbol(16, 0x840)};
    put(symbols, table);
    uint32_t counts[2] = {1, 4};
    put(hash, counts);
  }
};

class KernelNamesTest : public testing::Test {
protected:
  Image image;
  AddressSpace space;
  KernelNames names{space};
  void load() { space.map(base, image.bytes.size(), image.bytes.data()); }
};

TEST_F(KernelNamesTest, DescriptorSymbolNamesTheKernel) {
  load();
  EXPECT_EQ(names.find(base + 0x800), "first");
  EXPECT_EQ(names.find(base + 0x840), "second");
}

TEST_F(KernelNamesTest, AddressWithoutDescriptorIsShownInHex) {
  load();
  EXPECT_EQ(names.find(base + 0x880), "0x400880"); // the code, not the descriptor
  EXPECT_EQ(names.find(0x123), "0x123");
}

TEST_F(KernelNamesTest, NamesFollowWhatIsLoaded) {
  load();
  EXPECT_EQ(names.find(base + 0x800), "first");
  space.unmap(base, image.bytes.size());
  EXPECT_EQ(names.find(base + 0x800), "0x400800");
}

TEST_F(KernelNamesTest, DamagedImagesAreSurvived) {
  for (size_t at = 0; at < 0x700; at += 4) {
    Image damaged;
    damaged.put(at, 0xffffffffu);
    space.map(base, damaged.bytes.size(), damaged.bytes.data());
    names.find(base + 0x840); // must not read outside; the sanitizers watch
    space.unmap(base, damaged.bytes.size());
  }
}

TEST_F(KernelNamesTest, TruncatedImagesAreSurvived) {
  for (size_t size = 1; size < image.bytes.size(); size += 97) {
    std::vector<char> part(image.bytes.begin(),
                           image.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    space.map(base, size, part.data());
    names.find(base);
    space.unmap(base, size);
  }
}

} // namespace
} // namespace fade::sim
