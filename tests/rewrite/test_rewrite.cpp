#include "codeobj/disassembler.h"
#include "codeobj/machine_check.h"
#include "codeobj/sites.h"
#include "codeobj/support.h"
#include "fade/block_counts.h"
#include "rewrite/counting.h"
#include "rewrite/rewrite.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace fade::rewrite {
namespace {

using codeobj::CodeObject;
using codeobj::testing::contents_of;
using codeobj::testing::open_object;
using codeobj::testing::sample;

bool all(const std::string &) { return true; }

std::map<std::string, std::string> refusalsIn(const Rewritten &result) {
  std::map<std::string, std::string> refusals;
  for (const KernelOutcome &kernel : result.kernels) refusals[kernel.name] = kernel.refusal;
  return refusals;
}

std::shared_ptr<const CodeObject> reopen(const Rewritten &result) {
  auto object = CodeObject::open(codeobj::Blob::copy(result.file, "rewritten"));
  EXPECT_TRUE(object) << object.error().message();
  return object ? *object : nullptr;
}

class Rewriting : public ::testing::TestWithParam<const char *> {};

TEST_P(Rewriting, LeavesTheOriginalAsItIs) {
  const auto original = open_object(sample(GetParam()));
  const auto result = rewriteObject(original, FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result) << result.error().message();
  const auto rewritten = reopen(*result);
  ASSERT_TRUE(rewritten);
  for (std::size_t i = 0; i < original->kernelCount(); ++i) {
    const auto before = original->kernel(i);
    const auto index = rewritten->findKernel(before->name);
    ASSERT_TRUE(before && index);
    const auto after = rewritten->kernel(*index);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->code_address, before->code_address);
    EXPECT_TRUE(std::ranges::equal(*rewritten->code(after->code_address, after->code_size),
                                   *original->code(before->code_address, before->code_size)));
  }
}

/// Kernels of a code object whose twins count.
void checkTwinsThatCount(const std::string &file, uint32_t modes) {
  const auto result = rewriteObject(open_object(file), modes, all);
  ASSERT_TRUE(result) << result.error().message();
  const auto object = reopen(*result);
  ASSERT_TRUE(object);
  const auto sites = codeobj::Sites::read(*object);
  ASSERT_TRUE(sites) << sites.error().message();
  for (const KernelOutcome &outcome : result->kernels) {
    EXPECT_EQ(outcome.refusal, "") << outcome.name;
    const auto index = object->findKernel(outcome.name);
    const auto twin = index ? object->findClone(*index) : std::nullopt;
    ASSERT_TRUE(twin) << outcome.name;
    const auto kernel = object->kernel(*twin);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->code_address % 256, 0u);
    EXPECT_EQ(kernel->code_size, outcome.code_after);
    const auto disassembler =
        codeobj::Disassembler::create(object->target(), kernel->descriptor.wavefront_size);
    ASSERT_TRUE(disassembler);
    for (const auto &instruction :
         (*disassembler)
             ->disassemble(*object->code(kernel->code_address, kernel->code_size),
                           kernel->code_address))
      EXPECT_TRUE(instruction.valid()) << outcome.name << ": " << instruction.text;
    const auto *listed = sites->findKernel(*twin);
    ASSERT_TRUE(listed) << outcome.name;
    EXPECT_EQ(counterCount(*listed->module), outcome.counters);
    const bool has_clocks = std::ranges::any_of(listed->module->sites(), [](const fade_site &site) {
      return site.kind == FADE_SITE_BLOCK && site.size != 0;
    });
    EXPECT_EQ(has_clocks, (modes & FADE_MODE_TIMES) != 0) << outcome.name;
  }
}

TEST_P(Rewriting, GivesEachKernelATwinOfWholeInstructions) {
  checkTwinsThatCount(sample(GetParam()), FADE_MODE_COUNTS);
}

TEST_P(Rewriting, MeasuresBlocksInWholeInstructions) {
  checkTwinsThatCount(sample(GetParam()), FADE_MODE_COUNTS | FADE_MODE_TIMES);
}

TEST_P(Rewriting, KeepsTheArgumentsAndAddsOneBehindThem) {
  const auto result = rewriteObject(open_object(sample(GetParam())), FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result);
  const auto object = reopen(*result);
  ASSERT_TRUE(object);
  for (const KernelOutcome &outcome : result->kernels) {
    const auto original = object->kernel(*object->findKernel(outcome.name));
    const auto twin = object->kernel(*object->findKernel("__fade_" + outcome.name));
    ASSERT_TRUE(original && twin);
    EXPECT_EQ(twin->descriptor.kernarg_size, controlOffset(*original) + 8);
    EXPECT_GE(controlOffset(*original), original->metadata.kernarg_segment_size);
    if (outcome.vector_registers == 0) {
      EXPECT_EQ(twin->descriptor.vgprs, original->descriptor.vgprs);
    }
    EXPECT_EQ(twin->descriptor.private_segment_fixed_size,
              original->descriptor.private_segment_fixed_size);
    EXPECT_EQ(twin->descriptor.group_segment_fixed_size,
              original->descriptor.group_segment_fixed_size);
  }
}

/// Kernels of a code object whose twins record or add up accesses.
void checkTwinsOfAccesses(const std::string &file, uint32_t modes, bool adds_up) {
  const auto result = rewriteObject(open_object(file), modes, all);
  ASSERT_TRUE(result) << result.error().message();
  const auto object = reopen(*result);
  ASSERT_TRUE(object);
  const auto sites = codeobj::Sites::read(*object);
  ASSERT_TRUE(sites) << sites.error().message();
  unsigned recorded = 0;
  for (const KernelOutcome &outcome : result->kernels) {
    EXPECT_EQ(outcome.refusal, "") << outcome.name;
    recorded += outcome.sites;
    const auto original = object->kernel(*object->findKernel(outcome.name));
    const auto index = object->findKernel("__fade_" + outcome.name);
    ASSERT_TRUE(original && index) << outcome.name;
    const auto twin = object->kernel(*index);
    ASSERT_TRUE(twin);
    EXPECT_EQ(twin->descriptor.kernarg_size, controlOffset(*original) + 8);
    EXPECT_GT(twin->descriptor.vgprs, original->metadata.vgpr_count);
    const auto &system = twin->descriptor.system;
    EXPECT_TRUE(system.workgroup_id_x && system.workgroup_id_y && system.workgroup_id_z);
    const auto disassembler =
        codeobj::Disassembler::create(object->target(), twin->descriptor.wavefront_size);
    ASSERT_TRUE(disassembler);
    for (const auto &instruction :
         (*disassembler)
             ->disassemble(*object->code(twin->code_address, twin->code_size), twin->code_address))
      EXPECT_TRUE(instruction.valid()) << outcome.name << ": " << instruction.text;
    const auto *of_twin = sites->findKernel(*index);
    ASSERT_TRUE(of_twin) << outcome.name;
    const auto &kernels = of_twin->module->kernels();
    const bool is_so = std::ranges::all_of(
        kernels, [](const auto &kernel) { return (kernel.flags & FADE_KERNEL_SUMS) != 0; });
    EXPECT_EQ(is_so, adds_up) << outcome.name;
  }
  EXPECT_GT(recorded, 0u);
}

// There is a table for each kernel: line tables of the code object are not read for each of them.
TEST_P(Rewriting, TablesAreNotComparedWithTheCodeThatTheyWereMadeFrom) {
  const auto result = rewriteObject(open_object(sample(GetParam())), FADE_MODE_ACCESSES, all);
  ASSERT_TRUE(result) << result.error().message();
  const auto object = reopen(*result);
  ASSERT_TRUE(object);
  const auto read = codeobj::readSiteTables(*object);
  EXPECT_FALSE(read.tables.empty());
  for (const SiteTable &table : read.tables)
    EXPECT_FALSE(codeobj::checkedByMachine(table, nullptr));
}

TEST_P(Rewriting, RecordsAccessesInWholeInstructions) {
  checkTwinsOfAccesses(sample(GetParam()), FADE_MODE_ACCESSES, false);
}

TEST_P(Rewriting, AddsAccessesUpInWholeInstructions) {
  checkTwinsOfAccesses(sample(GetParam()), FADE_MODE_ACCESSES | FADE_MODE_SUMMARY, true);
}

INSTANTIATE_TEST_SUITE_P(All, Rewriting,
                         ::testing::Values("inlined-gfx90a-g", "inlined-gfx942-g",
                                           "inlined-gfx1030-g", "inlined-gfx1100-g",
                                           "inlined-gfx1201-g", "arguments-gfx1201-v6",
                                           "arguments-gfx90a-v5", "arguments-gfx1030-v4",
                                           "arguments-gfx1100-v6", "arguments-wave64-v5",
                                           "arguments-preload-v5"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Rewrite, RefusesWhatItDoesNotFollow) {
  const auto result = rewriteObject(open_object(FADE_JUMPS), FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result) << result.error().message();
  const auto refusals = refusalsIn(*result);
  const auto begins = [&](const char *kernel, const char *reason) {
    EXPECT_TRUE(refusals.at(kernel).starts_with(reason)) << kernel << ": " << refusals.at(kernel);
  };
  begins("calls_and_forgets", "a call through a pointer at 0x");
  begins("calls_assembly", "a call through a pointer at 0x");
  for (const char *kernel : {"chooses_or_loads", "chooses_and_loses", "chooses_and_looks",
                             "chooses_and_may_look", "chooses_and_shows"})
    begins(kernel, "a call through a pointer at 0x");
  begins("jumps_anywhere", "a jump to an address in registers at 0x");
  begins("looks_at_itself", "an address that is computed from the program counter at 0x");
  begins("leaves_its_code", "control leaves the code at 0x");
  begins("is_no_code", "an instruction that is not known at 0x");
  begins("is_wholly_full", "it leaves no pair of scalar registers free");
  EXPECT_EQ(refusals.at("is_full"), ""); // counts in a routine, which borrows registers
  EXPECT_EQ(refusals.at("long_jumps"), "");
  EXPECT_EQ(refusals.at("calls_pointer"), "");
  EXPECT_EQ(refusals.at("chooses"), "");
  EXPECT_EQ(refusals.at("flag_over_blocks"), "");
}

TEST(Rewrite, AddsNothingWhereRegistersAreIndexed) {
  const auto result =
      rewriteObject(open_object(FADE_JUMPS), FADE_MODE_ACCESSES | FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result) << result.error().message();
  const auto refusals = refusalsIn(*result);
  EXPECT_EQ(refusals.at("indexes"), ""); // a count comes before the registers are indexed
  const std::string &refusal = refusals.at("stops_indexing");
  EXPECT_TRUE(refusal.starts_with("s_set_gpr_idx_off while registers are indexed at 0x"))
      << refusal;
}

/// The text of a twin's instructions.
std::vector<std::string> textOf(const CodeObject &object, const std::string &name) {
  const auto kernel = object.kernel(*object.findKernel(name));
  const auto disassembler = codeobj::Disassembler::create(object.target(), 64);
  std::vector<std::string> lines;
  for (const auto &i : (*disassembler)
                           ->disassemble(*object.code(kernel->code_address, kernel->code_size),
                                         kernel->code_address))
    lines.push_back(i.text);
  return lines;
}

TEST(Rewrite, FollowsLongJumps) {
  const auto result = rewriteObject(open_object(FADE_JUMPS), FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result);
  const auto object = reopen(*result);
  const auto kernel = object->kernel(*object->findKernel("__fade_long_jumps"));
  const auto program = readProgram(*object, *kernel);
  ASSERT_TRUE(program) << program.error().message();
  // Both go to places in the copy.
  ASSERT_EQ(program->pc_addresses.size(), 2u);
  for (const PcAddress &address : program->pc_addresses) {
    EXPECT_TRUE(address.is_called);
    EXPECT_GT(address.target, kernel->code_address);
    EXPECT_LT(address.target, kernel->code_address + kernel->code_size);
  }
}

TEST(Rewrite, FollowsCallsOfOneOfSeveralFunctions) {
  const auto result = rewriteObject(open_object(FADE_JUMPS), FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result);
  const auto object = reopen(*result);
  const auto kernel = object->kernel(*object->findKernel("__fade_chooses"));
  const auto program = readProgram(*object, *kernel);
  ASSERT_TRUE(program) << program.error().message();
  EXPECT_TRUE(program->pointer_calls.empty());
  unsigned calls = 0;
  for (const auto &[address, i] : program->instructions) {
    if (i.mnemonic != "s_swappc_b64") continue;
    ++calls;
    ASSERT_EQ(i.targets.size(), 2u); // in the copy
    for (const uint64_t target : i.targets) {
      EXPECT_GT(target, kernel->code_address);
      EXPECT_LT(target, kernel->code_address + kernel->code_size);
    }
  }
  EXPECT_EQ(calls, 2u);
}

TEST(Rewrite, CountsWhereFunctionsKeepTheirRegisters) {
  const auto result = rewriteObject(open_object(FADE_JUMPS), FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result);
  const auto lines = textOf(*reopen(*result), "__fade_calls_pointer");
  const auto call = std::ranges::find_if(
      lines, [](const auto &line) { return line.starts_with("s_swappc_b64"); });
  ASSERT_NE(call, lines.end());
  // Before code that is not known is called, that is counted.
  const std::string &counts = *std::prev(call);
  ASSERT_TRUE(counts.starts_with("s_add_u32 s")) << counts;
  EXPECT_TRUE(isKeptByFunctions(static_cast<unsigned>(std::stoul(counts.substr(11))))) << counts;
}

TEST(Rewrite, KeepsTheRegistersOfInstructionsThatTheDecoderDoesNotKnow) {
  const auto original = open_object(FADE_ADDED);
  EXPECT_EQ(original->target().processor, "gfx950");
  const auto program = readProgram(*original, *original->kernel(0));
  ASSERT_TRUE(program) << program.error().message();
  for (unsigned r = 10; r <= 20; ++r) EXPECT_TRUE(program->used().test(r)) << "s" << r;
  EXPECT_FALSE(program->used().test(9));
  EXPECT_FALSE(program->used().test(21));
}

TEST(Rewrite, LeavesSccAloneWhereItIsReadLater) {
  const auto result = rewriteObject(open_object(FADE_JUMPS), FADE_MODE_COUNTS, all);
  ASSERT_TRUE(result);
  const auto lines = textOf(*reopen(*result), "__fade_flag_over_blocks");
  // EXEC never changes and no block is in a loop: the counter can be set without SCC.
  const auto branch = std::ranges::find_if(
      lines, [](const auto &line) { return line.starts_with("s_cbranch_scc1"); });
  ASSERT_NE(branch, lines.end());
  EXPECT_TRUE(std::prev(branch)->starts_with("s_mov_b32")) << *std::prev(branch);
}

TEST(Rewrite, RegistersComeBackLongEnoughBeforeTheyAreRead) {
  const auto result = rewriteObject(open_object(FADE_JUMPS), FADE_MODE_ACCESSES, all);
  ASSERT_TRUE(result);
  const auto lines = textOf(*reopen(*result), "__fade_borrows");
  const auto back =
      std::ranges::find_if(lines, [](const auto &line) { return line.starts_with("s_setpc_b64"); });
  ASSERT_NE(back, lines.end());
  // Memory instructions of gfx9 need five wait states behind what writes their scalar registers.
  EXPECT_EQ(*std::prev(back), "s_nop 4");
  EXPECT_TRUE(std::prev(back, 2)->starts_with("v_readlane_b32 s")) << *std::prev(back, 2);
}

TEST(Rewrite, RefusesOtherProcessorsAndInstrumentedCode) {
  const auto unknown =
      rewriteObject(open_object(sample("arguments-gfx900-v5")), FADE_MODE_COUNTS, all);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("code for gfx900 is not rewritten"), std::string::npos);
  EXPECT_FALSE(rewriteObject(open_object(sample("arguments-generic-v6")), FADE_MODE_COUNTS,
                             all)); // gfx9-generic
  const auto once = rewriteObject(open_object(sample("inlined-gfx90a-g")), FADE_MODE_COUNTS, all);
  ASSERT_TRUE(once);
  const auto twice = rewriteObject(reopen(*once), FADE_MODE_COUNTS, all);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message().find("it is instrumented already"), std::string::npos);
}

TEST(Rewrite, DamagedCodeObjectsAreRefusedOrRewritten) {
  std::mt19937 random(7);
  const int rounds = FADE_LONG_TESTS ? 2000 : FADE_TESTS_ARE_SANITIZED ? 30 : 150;
  for (const std::string &file : {sample("inlined-gfx90a-g"), std::string(FADE_JUMPS)}) {
    const auto intact = contents_of(file);
    for (int round = 0; round < rounds; ++round) {
      auto bytes = intact;
      // Headers and tables are where damage hurts most: half of it goes there.
      for (int n = 0; n < 4; ++n) {
        const std::size_t end =
            random() % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 0x400);
        bytes[random() % end] = static_cast<uint8_t>(random());
      }
      if (random() % 8 == 0) bytes.resize(random() % bytes.size());
      const auto object = CodeObject::open(codeobj::Blob::own(std::move(bytes), "damaged"));
      if (!object) continue;
      for (const uint32_t what : {FADE_MODE_COUNTS, FADE_MODE_ACCESSES}) {
        const auto result = rewriteObject(*object, what, all);
        if (result && !result->file.empty())
          (void)CodeObject::open(codeobj::Blob::copy(result->file, "rewritten"));
      }
    }
  }
}

} // namespace
} // namespace fade::rewrite
