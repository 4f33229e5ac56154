// Files that are not what they seem: every one is an error that says where, and none reads outside
// the bytes.
#include "extent.h"
#include "support.h"

#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

std::vector<std::uint8_t> good_object() {
  return testing::contents_of(testing::sample("arguments-gfx90a-v5"));
}

std::string failure(const std::vector<std::uint8_t> &bytes) {
  auto object = CodeObject::open(Blob::borrow(bytes, "file"));
  if (object) return "opened";
  return object.error().message();
}

template <class T> void poke(std::vector<std::uint8_t> &bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// Reads all there is, for the sake of the sanitizers.
void read_everything(const std::vector<std::uint8_t> &bytes) {
  auto object = CodeObject::open(Blob::borrow(bytes, "file"));
  if (!object) {
    EXPECT_FALSE(object.error().what.empty());
    return;
  }
  for (std::size_t i = 0; i < (*object)->kernelCount(); ++i) {
    auto kernel = (*object)->kernel(i);
    if (!kernel) continue;
    (void)(*object)->code(kernel->code_address, kernel->code_size).ok();
  }
}

TEST(Elf, NamesWhatIsWrongWithAFileThatIsNoCodeObject) {
  EXPECT_EQ(failure({}), "file: ELF header+0x0: not an ELF file");
  EXPECT_EQ(failure({'h', 'e', 'l', 'l', 'o'}), "file: ELF header+0x0: not an ELF file");
  EXPECT_EQ(failure({0x7f, 'E', 'L', 'F', 2, 1}),
            "file: ELF header+0x6: file ends inside the ELF header");
  auto bytes = good_object();
  poke<std::uint8_t>(bytes, EI_CLASS, ELFCLASS32);
  EXPECT_EQ(failure(bytes), "file: ELF header+0x4: not a 64-bit ELF file");
  bytes = good_object();
  poke<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine), EM_X86_64);
  EXPECT_EQ(failure(bytes), "file: ELF header+0x12: machine 62 is not an AMD GPU");
  bytes = good_object();
  poke<std::uint64_t>(bytes, offsetof(Elf64_Ehdr, e_shoff), ~0ull);
  EXPECT_EQ(failure(bytes),
            "file: section headers+0xffffffffffffffff: table starts past the end of the file");
  bytes = good_object();
  poke<std::uint16_t>(bytes, offsetof(Elf64_Ehdr, e_shnum), 0xfeff);
  EXPECT_NE(failure(bytes).find("65279 headers do not fit in the file"), std::string::npos);
}

TEST(Elf, MissingFileIsAnErrorWithItsName) {
  auto blob = Blob::mapFile("/no/such/file.hsaco");
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().message(), "/no/such/file.hsaco: cannot open: No such file or directory");
  auto directory = Blob::mapFile("/");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().message(), "/: not a regular file");
}

TEST(Elf, EveryTruncationIsAnErrorOrAWholeAnswer) {
  auto bytes = good_object();
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    // A copy of exactly this size, so that a sanitizer sees a read past it.
    std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(failure(cut), "opened") << size; // the section headers stand at the end
    read_everything(cut);
  }
}

TEST(Elf, EveryFlippedByteIsSurvived) {
  auto bytes = good_object();
  const std::size_t stride = extent::is_slowed ? 59 : 1; // no divisor of any structure's size
  for (std::size_t at = 0; at < bytes.size(); at += stride) {
    auto changed = bytes;
    changed[at] ^= 0xff;
    read_everything(changed);
  }
}

TEST(Elf, NoteThatRunsPastItsSectionIsAnErrorWithItsPlace) {
  auto bytes = good_object();
  auto object = testing::open_object(testing::sample("arguments-gfx90a-v5"));
  const Section *note = object->elf().findSection(".note");
  ASSERT_NE(note, nullptr);
  poke<std::uint32_t>(bytes, note->offset + 4, 0x7fffffff);
  EXPECT_EQ(failure(bytes), "file: .note+0x0: note runs past the end of its section");
}

TEST(Elf, MetadataOfTheWrongTypeIsAnErrorThatNamesTheField) {
  auto bytes = good_object();
  std::string_view text = asText(bytes);
  std::size_t at = text.find(".wavefront_size");
  ASSERT_NE(at, std::string_view::npos);
  poke<std::uint8_t>(bytes, at + 15, 0xc0); // nil where a number was
  auto object = CodeObject::open(Blob::borrow(bytes, "file"));
  ASSERT_TRUE(object) << object.error().message();
  auto kernel = (*object)->kernel(0);
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().message().find("metadata '.wavefront_size' is not a 32-bit number"),
            std::string::npos)
      << kernel.error().message();
  // The others are not affected.
  EXPECT_TRUE((*object)->kernel(1));
}

TEST(Elf, CodeObjectWithoutSectionHeadersIsReadThroughItsSegments) {
  std::string stripped = testing::temporary_file("stripped.hsaco");
  testing::objcopy("--strip-sections " + testing::sample("arguments-gfx90a-v5") + " " + stripped);
  auto object = testing::open_object(stripped);
  auto whole = testing::open_object(testing::sample("arguments-gfx90a-v5"));
  ASSERT_TRUE(object->elf().sections().empty());
  ASSERT_EQ(object->kernelCount(), whole->kernelCount());
  for (std::size_t i = 0; i < whole->kernelCount(); ++i) {
    auto a = object->kernel(i), b = whole->kernel(i);
    ASSERT_TRUE(a) << a.error().message();
    ASSERT_TRUE(b) << b.error().message();
    EXPECT_EQ(a->name, b->name);
    EXPECT_EQ(a->code_address, b->code_address);
    EXPECT_EQ(a->code_size, b->code_size);
    EXPECT_EQ(a->descriptor.rsrc1, b->descriptor.rsrc1);
  }
}

TEST(Elf, FunctionsWithoutASizeEndWhereTheNextBeginsButForThePadding) {
  std::string stripped = testing::temporary_file("no-sizes-stripped.hsaco");
  testing::objcopy("--strip-sections " + testing::built_file("no-sizes.so") + " " + stripped);
  for (const auto &object :
       {testing::open_object(testing::built_file("no-sizes.so")), testing::open_object(stripped)}) {
    for (const auto &[name, size] : {std::pair("first", 12u), std::pair("second", 16u)}) {
      auto kernel = object->kernel(object->findKernel(name).value());
      ASSERT_TRUE(kernel) << kernel.error().message();
      EXPECT_EQ(kernel->code_size, size) << name;
      const Symbol *function = object->functionAt(kernel->code_address + size - 4);
      ASSERT_NE(function, nullptr);
      EXPECT_EQ(function->name, name);
      EXPECT_EQ(object->functionAt(kernel->code_address + size), nullptr);
    }
  }
}

TEST(Elf, KernelsWithoutMetadataAreStillListed) {
  std::string bare = testing::temporary_file("bare.hsaco");
  testing::objcopy("--strip-sections " + testing::sample("arguments-gfx90a-v5") + " " + bare);
  auto bytes = testing::contents_of(bare);
  // Rename the owner of the note, so that nobody reads it.
  std::size_t at = asText(bytes).find("AMDGPU");
  ASSERT_NE(at, std::string_view::npos);
  bytes[at] = 'X';
  auto object = CodeObject::open(Blob::borrow(bytes, "file"));
  ASSERT_TRUE(object) << object.error().message();
  auto whole = testing::open_object(testing::sample("arguments-gfx90a-v5"));
  EXPECT_EQ((*object)->kernelCount(), whole->kernelCount());
  auto index = (*object)->findKernel("mixed");
  ASSERT_TRUE(index);
  auto kernel = (*object)->kernel(*index);
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->has_metadata);
  EXPECT_GT(kernel->code_size, 0u);
}

} // namespace
} // namespace fade::codeobj
