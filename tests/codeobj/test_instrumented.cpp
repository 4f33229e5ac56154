// Code objects that the instrumentation made: every original and its clone fit together.
#include "codeobj/kernarg.h"
#include "codeobj/sites.h"
#include "fade/clone.h"
#include "support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

class InstrumentedObject : public ::testing::TestWithParam<std::string> {};

KernargLayout layout_of(const CodeObject &object, std::size_t index) {
  auto kernel = object.kernel(index);
  EXPECT_TRUE(kernel) << kernel.error().message();
  auto layout = KernargLayout::from(kernel->metadata);
  EXPECT_TRUE(layout) << layout.error().message();
  return *layout;
}

TEST_P(InstrumentedObject, EveryKernelHasACloneWhoseArgumentsCanBeBuilt) {
  auto object = testing::open_object(testing::sample(GetParam()));
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    KernelName name = object->kernelName(i);
    if (name.name.starts_with(FADE_CLONE_PREFIX)) continue;
    SCOPED_TRACE(name.name);
    auto clone = object->findClone(i);
    ASSERT_TRUE(clone);
    KernargLayout from = layout_of(*object, i), to = layout_of(*object, *clone);
    EXPECT_EQ(to.explicit_args.back().name, FADE_CONTROL_ARGUMENT);
    auto rewrite = KernargRewrite::plan(from, to);
    ASSERT_TRUE(rewrite) << rewrite.error().message();
    EXPECT_EQ(rewrite->size(), to.size);
    // The rule of fade/clone.h, byte by byte.
    std::vector<std::uint8_t> original(from.size), built(rewrite->size()), expected(to.size);
    for (std::size_t b = 0; b < original.size(); ++b)
      original[b] = static_cast<std::uint8_t>(b * 31 + 7);
    std::uint64_t control = 0x0123456789abcdef;
    ASSERT_TRUE(rewrite->build(original, DispatchFields(), control, built));
    std::size_t h = from.control_offset;
    for (std::size_t b = 0; b < h && b < original.size(); ++b) expected[b] = original[b];
    std::memcpy(expected.data() + h, &control, 8);
    if (!from.hidden_args.empty())
      for (std::size_t b = h; b < original.size() && b + 8 < expected.size(); ++b)
        expected[b + 8] = original[b];
    if (from.hidden_args.size() == to.hidden_args.size()) {
      EXPECT_EQ(built, expected);
    }
    ++pairs;
  }
  EXPECT_EQ(pairs, 12u);
}

TEST_P(InstrumentedObject, SitesBelongToTheKernelsAndHavePlaces) {
  auto object = testing::open_object(testing::sample(GetParam()));
  auto sites = Sites::read(*object);
  ASSERT_TRUE(sites) << sites.error().message();
  EXPECT_EQ(sites->kernels().size(), 12u);
  auto index = object->findKernel("one_pointer");
  ASSERT_TRUE(index);
  const auto *kernel = sites->findKernel(*index);
  ASSERT_NE(kernel, nullptr);
  std::size_t stores = 0;
  for (std::uint32_t id : kernel->sites) {
    const fade_site &site = kernel->module->sites()[id];
    if (siteKindName(site.kind) != "store") continue;
    ++stores;
    EXPECT_EQ(site.size, 4u);
    auto stack = Sites::stack(*kernel->module, id);
    ASSERT_FALSE(stack.empty());
    EXPECT_TRUE(stack[0].file.ends_with("arguments.hip")) << stack[0].file;
    EXPECT_EQ(stack.back().function, "one_pointer");
  }
  EXPECT_EQ(stores, 1u);
}

INSTANTIATE_TEST_SUITE_P(Versions, InstrumentedObject,
                         ::testing::Values("instrumented-v4", "instrumented-v5", "instrumented-v6",
                                           "instrumented-O0-v4", "instrumented-O0-v5",
                                           "instrumented-O0-v6"));

} // namespace
} // namespace fade::codeobj
