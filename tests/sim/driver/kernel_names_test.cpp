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

TEST_F(KernelNamesTest, AddressThatIsNotMappedIsShownInHex) {
  load();
  EXPECT_EQ(names.find(0x123), "0x123");
  EXPECT_EQ(names.find(base + 4096 - 8), "0x400ff8"); // no room for a descriptor
}

TEST_F(KernelNamesTest, CodeAndItsDescriptorAreToldApart) {
  load();
  EXPECT_EQ(names.find(base + 0x880).rfind("unnamed_", 0), 0u); // the code of the first
}

// As the runtime's own copy kernels, which are no code objects.
TEST_F(KernelNamesTest, KernelWithoutSymbolIsCalledAfterItsCodeWhereverItLies) {
  constexpr uint32_t end_of_program = 0xbf810000;
  auto kernel = [](uint32_t first_instruction, uint32_t behind) {
    std::vector<char> bytes(4096);
    auto put = [&](size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof value); };
    put(16, int64_t{256}); // where the code starts
    put(256, first_instruction);
    put(260, end_of_program);
    put(264, behind);
    return bytes;
  };
  auto name = [&](std::vector<char> bytes, uint64_t at) {
    space.map(at, bytes.size(), bytes.data());
    std::string found = names.find(at);
    space.unmap(at, bytes.size());
    return found;
  };
  const std::string found = name(kernel(0x7e000280, 0), base);
  EXPECT_EQ(found.rfind("unnamed_", 0), 0u) << found;
  EXPECT_EQ(name(kernel(0x7e000280, 0), base + 0x10000), found);
  EXPECT_EQ(name(kernel(0x7e000280, 77), base), found); // not what lies behind its end
  EXPECT_NE(name(kernel(0x7e020280, 0), base), found);
}

TEST_F(KernelNamesTest, NamesFollowWhatIsLoaded) {
  load();
  EXPECT_EQ(names.find(base + 0x800), "first");
  space.unmap(base, image.bytes.size());
  EXPECT_EQ(names.find(base + 0x800), "0x400800");
}

TEST_F(KernelNamesTest, DamagedImagesAreSurvived) {
  for (size_t at = 0; at < 0x900; at += 4) {
    Image damaged;
    damaged.put(at, 0xffffffffu);
    space.map(base, damaged.bytes.size(), damaged.bytes.data());
    names.find(base + 0x840); // must not read outside; the sanitizers watch
    names.find(base + 0x880);
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
