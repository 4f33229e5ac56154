// Site tables joined with kernels. The tables are written here, into a code object that has a
// kernel and its clone.
#include "codeobj/demangle.h"
#include "codeobj/sites.h"
#include "fade/clone.h"
#include "support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

class TableWriter {
public:
  TableWriter() { strings_.push_back('\0'); }

  std::uint32_t string(std::string_view text) {
    auto offset = static_cast<std::uint32_t>(strings_.size());
    strings_.insert(strings_.end(), text.begin(), text.end());
    strings_.push_back('\0');
    return offset;
  }
  std::vector<fade_site_kernel> kernels;
  std::vector<fade_site> sites;
  std::vector<fade_site_frame> frames;

  std::vector<std::uint8_t> bytes(std::uint64_t module_id) {
    fade_sites header{};
    header.magic = FADE_SITES_MAGIC;
    header.version = FADE_SITES_VERSION;
    header.message_version = FADE_MESSAGE_VERSION;
    header.module_id = module_id;
    std::vector<std::uint8_t> out(sizeof header);
    header.kernels_offset = put(out, kernels);
    header.kernel_count = static_cast<std::uint32_t>(kernels.size());
    header.sites_offset = put(out, sites);
    header.site_count = static_cast<std::uint32_t>(sites.size());
    header.frames_offset = put(out, frames);
    header.frame_count = static_cast<std::uint32_t>(frames.size());
    header.lines_offset = put(out, std::vector<fade_site_line>());
    header.strings_offset = put(out, strings_);
    header.strings_size = static_cast<std::uint32_t>(strings_.size());
    out.resize((out.size() + 7) / 8 * 8);
    header.size = out.size();
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }

private:
  template <class T>
  static std::uint32_t put(std::vector<std::uint8_t> &out, const std::vector<T> &items) {
    out.resize((out.size() + 3) / 4 * 4);
    auto offset = static_cast<std::uint32_t>(out.size());
    const auto *begin = reinterpret_cast<const std::uint8_t *>(items.data());
    out.insert(out.end(), begin, begin + items.size() * sizeof(T));
    return offset;
  }
  std::vector<char> strings_;
};

fade_site site(std::uint32_t kind, std::uint32_t kernel) {
  fade_site s{};
  s.kind = kind;
  s.kernel = kernel;
  s.space = FADE_SPACE_GLOBAL;
  s.inlined_at = FADE_NO_INDEX;
  s.block = FADE_NO_INDEX;
  return s;
}

/// The sample in which "one_pointer" has a twin, with `tables` in its site section.
std::shared_ptr<const CodeObject> object_with(const std::vector<std::uint8_t> &tables) {
  std::string section = testing::temporary_file("tables"),
              out = testing::temporary_file("with-sites.hsaco");
  testing::write_file(section, tables);
  // A clone by another name: the prefix in front of both symbols.
  testing::objcopy(fmt::format("--add-section {}={} {} {}", FADE_SITES_SECTION, section,
                               testing::sample("clones-gfx90a"), out));
  return testing::open_object(out);
}

TEST(Sites, AreJoinedWithTheKernelAndItsClone) {
  TableWriter table;
  table.kernels.push_back(
      {table.string("scale"), table.string("__fade_scale"), table.string("scale.hip"), 7, 1, 0});
  table.kernels.push_back(
      {table.string("gone"), table.string("__fade_gone"), table.string("x.hip"), 1, 1, 0});
  table.sites = {site(FADE_SITE_LOAD, 0), site(FADE_SITE_STORE, 0), site(FADE_SITE_LOAD, 1),
                 site(FADE_SITE_ATOMIC, FADE_NO_INDEX)};
  auto object = object_with(table.bytes(42));
  auto sites = Sites::read(*object);
  ASSERT_TRUE(sites) << sites.error().message();
  ASSERT_EQ(sites->modules().size(), 1u);
  ASSERT_EQ(sites->kernels().size(), 1u); // "gone" is not in the code object
  const auto &kernel = sites->kernels()[0];
  EXPECT_EQ(object->kernelName(kernel.original).name, "scale");
  EXPECT_EQ(object->kernelName(kernel.instrumented).name, "__fade_scale");
  EXPECT_EQ(object->findClone(kernel.original), kernel.instrumented);
  EXPECT_EQ(kernel.sites, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(sites->findKernel(kernel.original), &kernel);
  EXPECT_EQ(sites->findKernel(kernel.instrumented), &kernel);
  EXPECT_NE(sites->findModule(42), nullptr);
  EXPECT_EQ(sites->findModule(43), nullptr);
}

TEST(Sites, ShowTheInlinedCallsAroundASite) {
  TableWriter table;
  table.kernels.push_back({table.string("scale"), table.string("__fade_scale"), 0, 0, 1, 0});
  std::uint32_t outer = table.string("scale"), middle = table.string("helper"),
                inner = table.string("load_it");
  std::uint32_t file = table.string("scale.hip");
  table.frames.push_back({outer, file, 30, 3, FADE_NO_INDEX});
  table.frames.push_back({middle, file, 20, 2, 0});
  fade_site s = site(FADE_SITE_LOAD, 0);
  s.function = inner;
  s.file = file;
  s.line = 10;
  s.column = 1;
  s.inlined_at = 1;
  table.sites.push_back(s);
  auto object = object_with(table.bytes(1));
  auto sites = Sites::read(*object);
  ASSERT_TRUE(sites) << sites.error().message();
  EXPECT_EQ(Sites::stack(sites->modules()[0], 0),
            (std::vector<SourceFrame>{{"load_it", "scale.hip", 10, 1},
                                      {"helper", "scale.hip", 20, 2},
                                      {"scale", "scale.hip", 30, 3}}));
  EXPECT_TRUE(Sites::stack(sites->modules()[0], 99).empty());
}

TEST(Sites, OfSeveralModulesAreAllRead) {
  TableWriter one, two;
  one.kernels.push_back({one.string("scale"), one.string("__fade_scale"), 0, 0, 1, 0});
  two.kernels.push_back({two.string("plain"), two.string("plain"), 0, 0, 1, FADE_KERNEL_REPLACES});
  auto tables = one.bytes(1), second = two.bytes(2);
  tables.resize(tables.size() + 8); // padding between them
  tables.insert(tables.end(), second.begin(), second.end());
  auto object = object_with(tables);
  auto sites = Sites::read(*object);
  ASSERT_TRUE(sites) << sites.error().message();
  EXPECT_EQ(sites->modules().size(), 2u);
  ASSERT_EQ(sites->kernels().size(), 2u);
  EXPECT_EQ(sites->kernels()[1].original, sites->kernels()[1].instrumented);
}

TEST(Sites, OfACodeObjectThatWasNotInstrumentedAreNone) {
  auto object = testing::open_object(testing::sample("clones-gfx90a"));
  auto sites = Sites::read(*object);
  ASSERT_TRUE(sites);
  EXPECT_TRUE(sites->empty());
}

TEST(Sites, BrokenTableIsAnErrorThatNamesFileAndOffset) {
  TableWriter good, bad;
  good.kernels.push_back({0, 0, 0, 0, 1, 0});
  bad.kernels.push_back({99999, 0, 0, 0, 1, 0});
  auto tables = good.bytes(1);
  std::size_t offset = tables.size();
  auto second = bad.bytes(2);
  tables.insert(tables.end(), second.begin(), second.end());
  auto object = object_with(tables);
  auto sites = Sites::read(*object);
  ASSERT_FALSE(sites);
  EXPECT_EQ(
      sites.error().message(),
      fmt::format("{}: .fade.sites at offset {}: a kernel refers to a string that is not there",
                  object->file(), offset));
}

TEST(Demangle, GivesTheFullAndTheShortName) {
  EXPECT_EQ(demangle("_Z9templatedIfEvPKT_PS0_S0_"),
            "void templated<float>(float const*, float*, float)");
  EXPECT_EQ(demangleShort("_Z9templatedIfEvPKT_PS0_S0_"), "templated<float>");
  EXPECT_EQ(demangleShort("_ZN12_GLOBAL__N_16kernelEPi"), "(anonymous namespace)::kernel");
  EXPECT_EQ(demangleShort("_ZN2ns3fooISt8functionIFivEEEEvT_"), "ns::foo<std::function<int ()> >");
  EXPECT_EQ(demangleShort("matmul"), "matmul");
  EXPECT_EQ(demangle("_Zgarbage"), "_Zgarbage");
  // Types that the C++ library may not know.
  EXPECT_EQ(demangle("_Z4haltPDF16_PaS_PS0_"),
            "halt(_Float16*, signed char*, _Float16*, signed char**)");
  EXPECT_TRUE(demangle("_Z5half8PDF16_PKDF16b").starts_with("half8(_Float16*, "));
  EXPECT_EQ(demangle("_Z1fIDF16_EvPT_Dv4_DF16_S0_"),
            "void f<_Float16>(_Float16*, _Float16 __vector(4), _Float16)");
}

TEST(Demangle, WhatIsNotMangledIsNotTakenForAType) {
  for (const char *name : {"f", "i", "x", "Pf", "St6vectorIiE", "", "_", "_Z"}) {
    EXPECT_EQ(demangle(name), name);
    EXPECT_EQ(demangleShort(name), name);
  }
}

} // namespace
} // namespace fade::codeobj
