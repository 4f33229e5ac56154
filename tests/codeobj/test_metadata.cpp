// Metadata read by the library against what llvm-readelf says about the same bytes.
#include "codeobj/yaml_subset.h"
#include "note_object.h"
#include "support.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <set>

namespace fade::codeobj {
namespace {

using testing::lines_of;

using Flat = std::map<std::string, std::string>;

std::string joined(const std::vector<std::uint32_t> &numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

template <class T> void put(Flat &flat, const std::string &key, const T &value) {
  flat[key] = fmt::format("{}", value);
}
void put_text(Flat &flat, const std::string &key, const std::string &value) {
  if (!value.empty()) flat[key] = value;
}
void put_flag(Flat &flat, const std::string &key, bool value) {
  if (value) flat[key] = "true";
}
void putTriple(Flat &flat, const std::string &key,
               const std::optional<std::array<std::uint32_t, 3>> &value) {
  if (value) flat[key] = fmt::format("{}", fmt::join(*value, ","));
}

/// Everything the library knows of a kernel, under the metadata's own names.
Flat flatten(const KernelMetadata &k) {
  Flat flat;
  put_text(flat, ".name", k.name);
  put_text(flat, ".symbol", k.symbol);
  put_text(flat, ".language", k.language);
  put_text(flat, ".kind", k.kind);
  if (!k.language_version.empty()) flat[".language_version"] = joined(k.language_version);
  put(flat, ".kernarg_segment_size", k.kernarg_segment_size);
  put(flat, ".kernarg_segment_align", k.kernarg_segment_align);
  put(flat, ".group_segment_fixed_size", k.group_segment_fixed_size);
  put(flat, ".private_segment_fixed_size", k.private_segment_fixed_size);
  put(flat, ".wavefront_size", k.wavefront_size);
  put(flat, ".max_flat_workgroup_size", k.max_flat_workgroup_size);
  put(flat, ".sgpr_count", k.sgpr_count);
  put(flat, ".vgpr_count", k.vgpr_count);
  put(flat, ".agpr_count", k.agpr_count);
  put(flat, ".sgpr_spill_count", k.sgpr_spill_count);
  put(flat, ".vgpr_spill_count", k.vgpr_spill_count);
  put(flat, ".uses_dynamic_stack", k.uses_dynamic_stack);
  putTriple(flat, ".reqd_workgroup_size", k.reqd_workgroup_size);
  putTriple(flat, ".workgroup_size_hint", k.workgroup_size_hint);
  for (const auto &[key, value] : k.other) flat[key] = value;
  for (std::size_t i = 0; i < k.args.size(); ++i) {
    const KernelArg &a = k.args[i];
    std::string at = fmt::format(".args[{}]", i);
    put(flat, at + ".offset", a.offset);
    put(flat, at + ".size", a.size);
    EXPECT_EQ(to_string(a.kind), a.kind_text);
    put_text(flat, at + ".value_kind", a.kind_text);
    put_text(flat, at + ".name", a.name);
    put_text(flat, at + ".type_name", a.type_name);
    put_text(flat, at + ".address_space", a.address_space);
    put_text(flat, at + ".access", a.access);
    put_text(flat, at + ".actual_access", a.actual_access);
    if (a.pointee_align != 0) put(flat, at + ".pointee_align", a.pointee_align);
    put_flag(flat, at + ".is_const", a.is_const);
    put_flag(flat, at + ".is_restrict", a.is_restrict);
    put_flag(flat, at + ".is_volatile", a.is_volatile);
    put_flag(flat, at + ".is_pipe", a.is_pipe);
  }
  return flat;
}

/// The same from the text of llvm-readelf.
Flat flatten(const YamlNode &kernel) {
  Flat flat;
  for (std::size_t i = 0; i < kernel.keys.size(); ++i) {
    const YamlNode &value = kernel.values[i];
    if (kernel.keys[i] == ".args") {
      for (std::size_t a = 0; a < value.list.size(); ++a)
        for (std::size_t f = 0; f < value.list[a].keys.size(); ++f)
          flat[fmt::format(".args[{}]{}", a, value.list[a].keys[f])] =
              value.list[a].values[f].scalar;
    } else if (!value.list.empty()) {
      std::vector<std::string> numbers;
      for (const YamlNode &n : value.list) numbers.push_back(n.scalar);
      flat[kernel.keys[i]] = fmt::format("{}", fmt::join(numbers, ","));
    } else {
      flat[kernel.keys[i]] = value.scalar;
    }
  }
  // Fields that older compilers leave out have a default in the library.
  for (const char *key : {".agpr_count", ".sgpr_spill_count", ".vgpr_spill_count"})
    flat.try_emplace(key, "0");
  flat.try_emplace(".uses_dynamic_stack", "false");
  return flat;
}

YamlNode metadata_by_readelf(const std::string &path) {
  std::string text;
  bool inside = false;
  for (const std::string &line : lines_of(testing::readelf("--notes", path))) {
    if (line.ends_with("---"))
      inside = true;
    else if (line == "...")
      inside = false;
    else if (inside)
      text += line + "\n";
  }
  auto parsed = parseYamlSubset(text);
  EXPECT_TRUE(parsed) << path;
  return parsed ? *parsed : YamlNode();
}

class MetadataOfObject : public ::testing::TestWithParam<std::string> {};
class ModernMetadata : public MetadataOfObject {}; // version 2 has its own test

TEST_P(ModernMetadata, EqualsReadelfFieldByField) {
  auto object = testing::open_object(GetParam());
  YamlNode expected = metadata_by_readelf(GetParam());
  const YamlNode *kernels = expected.find("amdhsa.kernels");
  ASSERT_NE(kernels, nullptr);
  ASSERT_GT(kernels->list.size(), 0u);
  ASSERT_EQ(object->kernelCount(), kernels->list.size());
  for (std::size_t i = 0; i < kernels->list.size(); ++i) {
    auto kernel = object->kernel(i);
    ASSERT_TRUE(kernel) << kernel.error().message();
    EXPECT_EQ(flatten(kernel->metadata), flatten(kernels->list[i]));
  }
  if (const YamlNode *target = expected.find("amdhsa.target")) {
    EXPECT_EQ(object->target().isaName(), target->scalar);
  }
}

TEST_P(MetadataOfObject, KernelsAreFoundBySymbolAndByName) {
  auto object = testing::open_object(GetParam());
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    KernelName name = object->kernelName(i);
    EXPECT_EQ(object->findKernel(name.symbol), i);
    EXPECT_EQ(object->findKernel(name.name), i);
  }
  EXPECT_EQ(object->findKernel("there is no such kernel"), std::nullopt);
}

TEST_P(MetadataOfObject, KernelsEqualTheDescriptorSymbolsOfReadelf) {
  auto object = testing::open_object(GetParam());
  std::set<std::string> expected, found;
  for (const std::string &line : lines_of(testing::readelf("--symbols", GetParam()))) {
    std::string name = line.substr(line.find_last_of(' ') + 1);
    bool old = line.find("AMDGPU_HSA_KERNEL") != std::string::npos;
    if (old || (line.find(" OBJECT ") != std::string::npos && name.ends_with(".kd")))
      expected.insert(name);
  }
  for (std::size_t i = 0; i < object->kernelCount(); ++i)
    found.insert(std::string(object->kernelName(i).symbol));
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(All, MetadataOfObject, ::testing::ValuesIn(testing::all_code_objects()),
                         [](const auto &p) { return testing::test_name(p.param); });
INSTANTIATE_TEST_SUITE_P(All, ModernMetadata, ::testing::ValuesIn(testing::modern_code_objects()),
                         [](const auto &p) { return testing::test_name(p.param); });

TEST(OldMetadata, OfVersionTwoHasTheKernelsArgumentsAndFormats) {
  auto object = testing::open_object(testing::data_file("codeobj/opencl-v2.hsaco"));
  EXPECT_EQ(object->version(), 2u);
  EXPECT_EQ(object->target().processor, "gfx900");
  ASSERT_EQ(object->kernelCount(), 2u);
  auto mix = object->kernel(*object->findKernel("mix"));
  ASSERT_TRUE(mix) << mix.error().message();
  EXPECT_EQ(mix->metadata.language, "OpenCL C");
  EXPECT_EQ(mix->metadata.reqd_workgroup_size, (std::array<std::uint32_t, 3>{64, 2, 1}));
  EXPECT_EQ(mix->metadata.kernarg_segment_size, 128u);
  EXPECT_EQ(object->printfFormats(), std::vector<std::string>{"1:1:4:hello %d\\n"});
  ASSERT_EQ(mix->metadata.args.size(), 13u);
}

// The same source compiled as version 3 says the offsets that version 2 leaves to the reader.
TEST(OldMetadata, OfVersionTwoHasTheOffsetsThatVersionThreeSpellsOut) {
  auto v2 = testing::open_object(testing::data_file("codeobj/opencl-v2.hsaco"));
  auto v3 = testing::open_object(testing::data_file("codeobj/opencl-v3.hsaco"));
  auto a = v2->kernel(*v2->findKernel("mix"));
  auto b = v3->kernel(*v3->findKernel("mix"));
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->metadata.args.size(), b->metadata.args.size());
  for (std::size_t i = 0; i < a->metadata.args.size(); ++i) {
    const KernelArg &x = a->metadata.args[i], &y = b->metadata.args[i];
    EXPECT_EQ(x.offset, y.offset) << i;
    EXPECT_EQ(x.size, y.size) << i;
    EXPECT_EQ(x.kind, y.kind) << i;
    EXPECT_EQ(x.type_name, y.type_name) << i;
    EXPECT_EQ(x.address_space, y.address_space) << i;
    EXPECT_EQ(x.access, y.access) << i;
  }
}

// Device LTO generates code in parts, and the linker puts their notes side by side.
TEST(Metadata, OfEveryNoteIsRead) {
  const std::string path = testing::built_file("parts.so");
  const std::string notes = testing::readelf("--notes " + path);
  ASSERT_NE(notes.find("NT_AMDGPU_METADATA"), notes.rfind("NT_AMDGPU_METADATA")) << notes;
  auto object = testing::open_object(path);
  EXPECT_EQ(object->kernelCount(), 3u);
  const std::map<std::string, std::size_t> arguments = {{"first", 2}, {"second", 1}, {"third", 3}};
  for (const auto &[name, count] : arguments) {
    const auto index = object->findKernel(name);
    ASSERT_TRUE(index) << name;
    auto kernel = object->kernel(*index);
    ASSERT_TRUE(kernel) << kernel.error().message();
    EXPECT_TRUE(kernel->has_metadata) << name;
    EXPECT_EQ(kernel->metadata.args.size(), count) << name;
  }
}

/// The note with the metadata of version 2, as a section has it.
std::vector<std::uint8_t> oldNote(const std::string &path) {
  auto object = testing::open_object(path);
  const auto notes = object->elf().notes();
  constexpr std::uint32_t metadata = 10;
  for (const Note &note : *notes) {
    if (note.type != metadata) continue;
    const std::string_view text = asText(note.content);
    const std::uint32_t header[] = {4, static_cast<std::uint32_t>(text.size()), metadata};
    std::string section(reinterpret_cast<const char *>(header), sizeof header);
    section.append("AMD", 4).append(text).resize((section.size() + 3) / 4 * 4);
    return {section.begin(), section.end()};
  }
  ADD_FAILURE() << path << " has none";
  return {};
}

// Offsets in one note must not be taken for indices of the other's kernels.
TEST(TwoKindsOfNotes, TheNewerKindIsReadAndTheOlderOneIsNot) {
  const std::string v2 = testing::data_file("codeobj/opencl-v2.hsaco");
  const std::string v3 = testing::data_file("codeobj/opencl-v3.hsaco");
  const std::string old_note = testing::temporary_file("old-note");
  testing::write_file(old_note, oldNote(v2));
  const std::string both = testing::temporary_file("both.hsaco");
  (void)testing::objcopy(fmt::format("--add-section=.note.old={} {} {}", old_note, v3, both));
  auto expected = testing::open_object(v3), object = testing::open_object(both);
  std::set<std::string_view> owners;
  const auto notes = object->elf().notes();
  for (const Note &note : *notes) owners.insert(note.owner);
  ASSERT_EQ(owners, (std::set<std::string_view>{"AMD", "AMDGPU"}));
  EXPECT_EQ(object->printfFormats(), expected->printfFormats());
  ASSERT_EQ(object->kernelCount(), expected->kernelCount());
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    auto a = object->kernel(i), b = expected->kernel(i);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(flatten(a->metadata), flatten(b->metadata));
  }
}

TEST(TwoKindsOfNotes, TheirOrderDoesNotMatter) {
  auto v2 = testing::open_object(testing::data_file("codeobj/opencl-v2.hsaco"));
  auto v3 = testing::open_object(testing::data_file("codeobj/opencl-v3.hsaco"));
  std::vector<testing::NoteParts> parts;
  const auto old_notes = v2->elf().notes(), new_notes = v3->elf().notes();
  for (const Note &note : *new_notes)
    parts.push_back({note.owner, note.type, asText(note.content)});
  for (const Note &note : *old_notes)
    parts.push_back({note.owner, note.type, asText(note.content)});
  for (int order = 0; order < 2; ++order, std::ranges::reverse(parts)) {
    auto object = CodeObject::open(Blob::own(testing::objectWithNotes(parts), "both"));
    ASSERT_TRUE(object) << object.error().message();
    EXPECT_EQ((*object)->kernelCount(), v3->kernelCount());
    EXPECT_EQ((*object)->printfFormats(), v3->printfFormats());
    for (std::size_t i = 0; i < (*object)->kernelCount(); ++i)
      EXPECT_FALSE((*object)->kernel(i)); // it has no descriptors
  }
}

} // namespace
} // namespace fade::codeobj
