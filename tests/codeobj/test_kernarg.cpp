// The kernel-argument block: real layouts by the compiler, with and without the extra pointer, for
// versions 4 to 6.
#include "codeobj/kernarg.h"
#include "support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

constexpr std::uint64_t kControl = 0x1122334455667788;

DispatchFields dispatch() {
  DispatchFields d;
  d.dimensions = 2;
  d.workgroup_size[0] = 64;
  d.workgroup_size[1] = 4;
  d.grid_size[0] = 64 * 7 + 5;
  d.grid_size[1] = 4 * 3;
  d.group_segment_size = 3000;
  d.queue = 0xabcdef0123456789;
  d.private_base = 0x20000;
  d.shared_base = 0x10000;
  return d;
}

KernargLayout layout_of(const CodeObject &object, const std::string &name) {
  auto index = object.findKernel(name);
  EXPECT_TRUE(index) << name;
  auto kernel = object.kernel(*index);
  EXPECT_TRUE(kernel) << kernel.error().message();
  auto layout = KernargLayout::from(kernel->metadata);
  EXPECT_TRUE(layout) << layout.error().message();
  return *layout;
}

/// Bytes that are all different from their neighbours, so that a shift shows.
std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + 11);
  return bytes;
}

std::uint64_t number_at(ByteView bytes, std::uint32_t offset, std::uint32_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

// gtest prints these as the name of a test.
struct Pair {
  std::string original, clone;
};
void PrintTo(const Pair &p, std::ostream *out) { *out << p.original << " to " << p.clone; }

class KernargPairs : public ::testing::TestWithParam<Pair> {};

TEST_P(KernargPairs, EveryArgumentArrivesWhereTheCloneReadsIt) {
  auto original = testing::open_object(testing::sample(GetParam().original));
  auto clone = testing::open_object(testing::sample(GetParam().clone));
  for (std::size_t i = 0; i < original->kernelCount(); ++i) {
    std::string name(original->kernelName(i).name);
    // A template's mangled name holds its parameters.
    std::string clone_name = name.starts_with("_Z") ? name + "Pv" : name;
    SCOPED_TRACE(name);
    KernargLayout from = layout_of(*original, name), to = layout_of(*clone, clone_name);
    EXPECT_EQ(differenceFromClone(from, to), std::nullopt);
    EXPECT_NE(difference(from, to), std::nullopt);
    EXPECT_EQ(difference(from, from), std::nullopt);

    std::vector<std::uint8_t> bytes = pattern(from.size);
    auto block = buildCloneKernargs(from, to, bytes, dispatch(), kControl);
    ASSERT_TRUE(block) << block.error().message();
    EXPECT_EQ(block->size(), to.size);
    for (std::size_t a = 0; a < from.explicit_args.size(); ++a) {
      const auto &arg = from.explicit_args[a], &moved = to.explicit_args[a];
      EXPECT_EQ(0, std::memcmp(bytes.data() + arg.offset, block->data() + moved.offset, arg.size))
          << a;
    }
    EXPECT_EQ(number_at(*block, to.explicit_args.back().offset, 8), kControl);
    for (const auto &hidden : to.hidden_args) {
      const auto *source = from.findHidden(hidden.kind);
      if (source == nullptr || hidden.kind == ArgKind::HiddenNone) continue;
      EXPECT_EQ(
          0, std::memcmp(bytes.data() + source->offset, block->data() + hidden.offset, hidden.size))
          << hidden.kind_text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, KernargPairs,
                         ::testing::Values(Pair{"arguments-gfx90a-v4", "control-gfx90a-v4"},
                                           Pair{"arguments-gfx90a-v5", "control-gfx90a-v5"},
                                           Pair{"arguments-gfx90a-v6", "control-gfx90a-v6"},
                                           Pair{"arguments-O0-v4", "control-O0-v4"},
                                           Pair{"arguments-O0-v5", "control-O0-v5"},
                                           Pair{"arguments-O0-v6", "control-O0-v6"},
                                           Pair{"arguments-gfx90a-v5", "control-O0-v5"}));

TEST(Kernarg, KnowsWhereTheExtraPointerGoesInThePaddedBlock) {
  auto object = testing::open_object(testing::sample("arguments-gfx90a-v5"));
  KernargLayout mixed = layout_of(*object, "mixed");
  EXPECT_EQ(mixed.explicit_end, 66u);
  EXPECT_EQ(mixed.control_offset, 72u);
  EXPECT_EQ(mixed.size, 328u);
  ASSERT_NE(mixed.findHidden(ArgKind::HiddenBlockCountX), nullptr);
  EXPECT_EQ(mixed.findHidden(ArgKind::HiddenBlockCountX)->offset, 72u);
  KernargLayout none = layout_of(*object, "no_arguments");
  EXPECT_EQ(none.control_offset, 0u);
}

TEST(Kernarg, MakesTheHiddenArgumentsTheOriginalLacksFromTheDispatch) {
  auto original = testing::open_object(testing::sample("arguments-gfx90a-v5"));
  auto clone = testing::open_object(testing::sample("control-gfx90a-v5"));
  KernargLayout from = layout_of(*original, "no_arguments"), to = layout_of(*clone, "no_arguments");
  ASSERT_TRUE(from.hidden_args.empty());
  ASSERT_FALSE(to.hidden_args.empty());
  auto block = buildCloneKernargs(from, to, {}, dispatch(), kControl);
  ASSERT_TRUE(block);
  auto value = [&](ArgKind kind) {
    const auto *arg = to.findHidden(kind);
    return arg == nullptr ? ~0ull : number_at(*block, arg->offset, arg->size);
  };
  EXPECT_EQ(value(ArgKind::HiddenBlockCountX), 7u);
  EXPECT_EQ(value(ArgKind::HiddenBlockCountY), 3u);
  EXPECT_EQ(value(ArgKind::HiddenBlockCountZ), 1u);
  EXPECT_EQ(value(ArgKind::HiddenGroupSizeX), 64u);
  EXPECT_EQ(value(ArgKind::HiddenGroupSizeY), 4u);
  EXPECT_EQ(value(ArgKind::HiddenGroupSizeZ), 1u);
  EXPECT_EQ(value(ArgKind::HiddenRemainderX), 5u);
  EXPECT_EQ(value(ArgKind::HiddenRemainderY), 0u);
  EXPECT_EQ(value(ArgKind::HiddenGridDims), 2u);
  EXPECT_EQ(value(ArgKind::HiddenGlobalOffsetX), 0u);
}

KernelMetadata
made(std::uint32_t size,
     std::initializer_list<std::tuple<std::uint32_t, std::uint32_t, const char *>> args) {
  KernelMetadata metadata;
  metadata.name = "made";
  metadata.kernarg_segment_size = size;
  for (const auto &[offset, bytes, kind] : args) {
    KernelArg arg;
    arg.offset = offset;
    arg.size = bytes;
    arg.kind_text = kind;
    arg.kind = argKindFromString(kind);
    metadata.args.push_back(arg);
  }
  return metadata;
}
KernargLayout
made_layout(std::uint32_t size,
            std::initializer_list<std::tuple<std::uint32_t, std::uint32_t, const char *>> args) {
  auto layout = KernargLayout::from(made(size, args));
  EXPECT_TRUE(layout) << layout.error().message();
  return *layout;
}

TEST(Kernarg, GoldenBlockOfAMixedListInVersionFive) {
  KernargLayout from = made_layout(328, {{0, 1, "by_value"},
                                         {8, 32, "by_value"},
                                         {48, 16, "by_value"},
                                         {64, 2, "by_value"},
                                         {72, 4, "hidden_block_count_x"},
                                         {84, 2, "hidden_group_size_x"},
                                         {136, 2, "hidden_grid_dims"}});
  KernargLayout to = made_layout(336, {{0, 1, "by_value"},
                                       {8, 32, "by_value"},
                                       {48, 16, "by_value"},
                                       {64, 2, "by_value"},
                                       {72, 8, "global_buffer"},
                                       {80, 4, "hidden_block_count_x"},
                                       {92, 2, "hidden_group_size_x"},
                                       {144, 2, "hidden_grid_dims"}});
  std::vector<std::uint8_t> bytes = pattern(328);
  auto block = buildCloneKernargs(from, to, bytes, dispatch(), kControl);
  ASSERT_TRUE(block) << block.error().message();
  std::vector<std::uint8_t> expected(bytes.begin(), bytes.begin() + 72);
  for (int i = 0; i < 8; ++i) expected.push_back(static_cast<std::uint8_t>(kControl >> (8 * i)));
  expected.insert(expected.end(), bytes.begin() + 72, bytes.end());
  EXPECT_EQ(*block, expected);
}

TEST(Kernarg, PadsWithZerosWhereTheOriginalBlockIsShorterThanThePointersPlace) {
  KernargLayout from = made_layout(9, {{0, 8, "global_buffer"}, {8, 1, "by_value"}});
  KernargLayout to =
      made_layout(24, {{0, 8, "global_buffer"}, {8, 1, "by_value"}, {16, 8, "global_buffer"}});
  std::vector<std::uint8_t> bytes = pattern(9);
  auto block = buildCloneKernargs(from, to, bytes, dispatch(), kControl);
  ASSERT_TRUE(block);
  EXPECT_EQ(number_at(*block, 8, 8), bytes[8]);
  EXPECT_EQ(number_at(*block, 16, 8), kControl);
}

TEST(Kernarg, ReadsNoMoreOfTheApplicationsBlockThanThereIs) {
  KernargLayout from = made_layout(16, {{0, 8, "global_buffer"}, {8, 8, "global_buffer"}});
  KernargLayout to =
      made_layout(24, {{0, 8, "global_buffer"}, {8, 8, "global_buffer"}, {16, 8, "global_buffer"}});
  auto block = buildCloneKernargs(from, to, pattern(8), dispatch(), kControl);
  ASSERT_TRUE(block);
  EXPECT_EQ(number_at(*block, 8, 8), 0u);
  EXPECT_EQ(number_at(*block, 16, 8), kControl);
}

TEST(Kernarg, NamesHiddenArgumentsItCannotMake) {
  KernargLayout from = made_layout(8, {{0, 8, "global_buffer"}});
  KernargLayout to = made_layout(272, {{0, 8, "global_buffer"},
                                       {8, 8, "global_buffer"},
                                       {96, 8, "hidden_hostcall_buffer"},
                                       {136, 4, "hidden_dynamic_lds_size"}});
  auto rewrite = KernargRewrite::plan(from, to);
  ASSERT_TRUE(rewrite) << rewrite.error().message();
  EXPECT_EQ(rewrite->zeroed(), std::vector{ArgKind::HiddenHostcallBuffer});
  std::vector<std::uint8_t> out(rewrite->size());
  ASSERT_TRUE(rewrite->build(pattern(8), dispatch(), kControl, out));
  EXPECT_EQ(number_at(out, 96, 8), 0u);
  EXPECT_EQ(number_at(out, 136, 4), 3000u);
}

TEST(Kernarg, DynamicLdsIsWhatTheKernelDoesNotHaveStatically) {
  KernelMetadata plain = made(8, {{0, 8, "global_buffer"}});
  plain.group_segment_fixed_size = 1000;
  auto from = KernargLayout::from(plain);
  KernargLayout to = made_layout(
      272, {{0, 8, "global_buffer"}, {8, 8, "global_buffer"}, {136, 4, "hidden_dynamic_lds_size"}});
  auto block = buildCloneKernargs(*from, to, pattern(8), dispatch(), kControl);
  ASSERT_TRUE(block);
  EXPECT_EQ(number_at(*block, 136, 4), 2000u);
}

TEST(Kernarg, RefusesToWriteIntoTooLittleMemory) {
  KernargLayout from = made_layout(8, {{0, 8, "global_buffer"}});
  KernargLayout to = made_layout(16, {{0, 8, "global_buffer"}, {8, 8, "global_buffer"}});
  auto rewrite = KernargRewrite::plan(from, to);
  ASSERT_TRUE(rewrite);
  std::vector<std::uint8_t> out(15, 0xee);
  EXPECT_FALSE(rewrite->build(pattern(8), dispatch(), kControl, out));
  EXPECT_EQ(out, std::vector<std::uint8_t>(15, 0xee));
}

TEST(Kernarg, RefusesAKernelThatIsNotTheClone) {
  KernargLayout from = made_layout(16, {{0, 8, "global_buffer"}, {8, 4, "by_value"}});
  auto refused = [&](const KernargLayout &to) {
    auto rewrite = KernargRewrite::plan(from, to);
    EXPECT_FALSE(rewrite);
    return rewrite ? std::string() : rewrite.error().what;
  };
  EXPECT_EQ(refused(from), "2 explicit arguments, and 2 in the clone instead of 3");
  EXPECT_EQ(
      refused(
          made_layout(24, {{0, 8, "global_buffer"}, {8, 8, "by_value"}, {16, 8, "global_buffer"}})),
      "argument 1 is by_value of 4 bytes at 8 in one and by_value of 8 bytes at 8 in the other");
  EXPECT_EQ(
      refused(made_layout(24, {{0, 8, "global_buffer"}, {8, 4, "by_value"}, {16, 8, "by_value"}})),
      "the clone's last argument is by_value of 8 bytes at 16, not a pointer at 16");
}

TEST(Kernarg, RefusesMetadataThatContradictsItself) {
  auto problem = [](const KernelMetadata &metadata) {
    auto layout = KernargLayout::from(metadata);
    return layout ? std::string("accepted") : layout.error().what;
  };
  EXPECT_EQ(problem(made(8, {{4, 8, "by_value"}})),
            "by_value of 8 bytes at 4 is outside the block of 8 bytes");
  EXPECT_EQ(problem(made(16, {{0, 8, "by_value"}, {4, 8, "by_value"}})),
            "two arguments share the byte at 4");
  EXPECT_EQ(problem(made(16, {{0, 8, "hidden_queue_ptr"}, {8, 8, "by_value"}})),
            "hidden_queue_ptr at 0 is before an explicit argument");
  EXPECT_EQ(problem(made(0x7fffffff, {})), "a block of 2147483647 bytes is too large");
  EXPECT_EQ(problem(made(16, {{0xfffffff8, 16, "by_value"}})),
            "by_value of 16 bytes at 4294967288 is outside the block of 16 bytes");
}

} // namespace
} // namespace fade::codeobj
