// Descriptors decoded by the library against the .amdhsa_ directives llvm-objdump prints for the
// same bytes.
#include "support.h"

#include <cctype>
#include <gtest/gtest.h>

namespace fade::codeobj {
namespace {

using Directives = std::map<std::string, unsigned>;

/// Kernel name -> its directives. objdump 19 may crash on the data behind the descriptors of
/// librocrand, when it has printed them. It gives up on some descriptors and prints bytes instead;
/// those are left out.
std::map<std::string, Directives> descriptors_by_objdump(const std::string &path) {
  std::map<std::string, Directives> kernels;
  Directives *current = nullptr;
  std::string name;
  for (const std::string &line :
       testing::lines_of(testing::objdump("-D -j .rodata " + path + " 2>/dev/null || true"))) {
    if (line.starts_with(".amdhsa_kernel ")) {
      name = line.substr(15);
      current = &kernels[name];
    } else if (line.starts_with(".end_amdhsa_kernel")) {
      current = nullptr;
    } else if (current != nullptr && line.starts_with("\t.amdhsa_")) {
      std::size_t space = line.find(' ');
      (*current)[line.substr(9, space - 9)] =
          static_cast<unsigned>(std::stoul(line.substr(space + 1), nullptr, 0));
    } else if (current != nullptr && line.starts_with("\t.byte")) {
      kernels.erase(name);
      current = nullptr;
    }
  }
  return kernels;
}

Directives decoded(const KernelDescriptor &d) {
  return {
      {"group_segment_fixed_size", d.group_segment_fixed_size},
      {"private_segment_fixed_size", d.private_segment_fixed_size},
      {"kernarg_size", d.kernarg_size},
      {"accum_offset", d.accum_offset},
      {"tg_split", d.tg_split},
      {"next_free_vgpr", d.vgprs},
      {"float_round_mode_32", d.float_mode.round_32},
      {"float_round_mode_16_64", d.float_mode.round_16_64},
      {"float_denorm_mode_32", d.float_mode.denorm_32},
      {"float_denorm_mode_16_64", d.float_mode.denorm_16_64},
      {"dx10_clamp", d.float_mode.dx10_clamp},
      {"ieee_mode", d.float_mode.ieee},
      {"fp16_overflow", d.float_mode.fp16_overflow},
      {"workgroup_processor_mode", d.wgp_mode},
      {"memory_ordered", d.mem_ordered},
      {"forward_progress", d.forward_progress},
      {"shared_vgpr_count", d.shared_vgprs / 8},
      {"enable_private_segment", d.system.private_segment},
      {"system_sgpr_private_segment_wavefront_offset", d.system.private_segment},
      {"system_sgpr_workgroup_id_x", d.system.workgroup_id_x},
      {"system_sgpr_workgroup_id_y", d.system.workgroup_id_y},
      {"system_sgpr_workgroup_id_z", d.system.workgroup_id_z},
      {"system_sgpr_workgroup_info", d.system.workgroup_info},
      {"system_vgpr_workitem_id", d.system.workitem_id},
      {"exception_fp_ieee_invalid_op", d.exceptions.fp_invalid},
      {"exception_fp_denorm_src", d.exceptions.fp_denormal},
      {"exception_fp_ieee_div_zero", d.exceptions.fp_divide_by_zero},
      {"exception_fp_ieee_overflow", d.exceptions.fp_overflow},
      {"exception_fp_ieee_underflow", d.exceptions.fp_underflow},
      {"exception_fp_ieee_inexact", d.exceptions.fp_inexact},
      {"exception_int_div_zero", d.exceptions.int_divide_by_zero},
      {"user_sgpr_private_segment_buffer", d.user_sgprs.private_segment_buffer},
      {"user_sgpr_dispatch_ptr", d.user_sgprs.dispatch_ptr},
      {"user_sgpr_queue_ptr", d.user_sgprs.queue_ptr},
      {"user_sgpr_kernarg_segment_ptr", d.user_sgprs.kernarg_segment_ptr},
      {"user_sgpr_dispatch_id", d.user_sgprs.dispatch_id},
      {"user_sgpr_flat_scratch_init", d.user_sgprs.flat_scratch_init},
      {"user_sgpr_private_segment_size", d.user_sgprs.private_segment_size},
      {"user_sgpr_kernarg_preload_length", d.user_sgprs.kernarg_preload_length},
      {"user_sgpr_kernarg_preload_offset", d.user_sgprs.kernarg_preload_offset},
      {"wavefront_size32", d.wavefront_size == 32},
      {"uses_dynamic_stack", d.dynamic_stack},
  };
}

class DescriptorOfObject : public ::testing::TestWithParam<std::string> {};
// objdump does not know the amd_kernel_code_t of version 2.
class ModernDescriptor : public DescriptorOfObject {};

TEST_P(ModernDescriptor, EqualsObjdumpFieldByField) {
  auto object = testing::open_object(GetParam());
  auto expected = descriptors_by_objdump(GetParam());
  std::size_t compared = 0;
  for (const auto &[name, directives] : expected) {
    auto index = object->findKernel(name);
    ASSERT_TRUE(index) << name;
    auto kernel = object->kernel(*index);
    ASSERT_TRUE(kernel) << kernel.error().message();
    Directives found = decoded(kernel->descriptor);
    for (const auto &[directive, value] : directives) {
      if (directive == "next_free_sgpr") {
        // objdump prints the encoded number; on gfx9 waves get multiples of 16.
        unsigned granule = std::max(kernel->descriptor.sgpr_granule, 1u);
        if (kernel->descriptor.sgpr_granule != 0) {
          EXPECT_EQ(kernel->descriptor.sgprs, (value + granule - 1) / granule * granule) << name;
        }
      } else if (!directive.starts_with("reserve_") && directive != "round_robin_scheduling") {
        ASSERT_TRUE(found.contains(directive)) << directive;
        EXPECT_EQ(found[directive], value) << name << " " << directive;
      }
    }
    ++compared;
  }
  // What an older compiler left in reserved bits for gfx10 makes objdump give up on all of them.
  if (compared == 0 && GetParam().find("/rocrand-") != std::string::npos)
    GTEST_SKIP() << "objdump decodes none of these descriptors";
  EXPECT_GT(compared, 0u) << "objdump decoded no descriptor";
}

TEST_P(DescriptorOfObject, AgreesWithTheMetadataOnSizes) {
  auto object = testing::open_object(GetParam());
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    auto kernel = object->kernel(i);
    ASSERT_TRUE(kernel) << kernel.error().message();
    const KernelMetadata &m = kernel->metadata;
    const KernelDescriptor &d = kernel->descriptor;
    EXPECT_EQ(d.group_segment_fixed_size, m.group_segment_fixed_size);
    EXPECT_EQ(d.private_segment_fixed_size, m.private_segment_fixed_size);
    EXPECT_EQ(d.wavefront_size, m.wavefront_size);
    // Versions 3 and 4 say it in the descriptor only.
    if (object->version() == 2 || object->version() >= 5) {
      EXPECT_EQ(d.dynamic_stack, m.uses_dynamic_stack) << kernel->name;
    }
    EXPECT_GE(d.vgprs, m.vgpr_count) << kernel->name;
    EXPECT_LT(d.vgprs, m.vgpr_count + d.vgpr_granule + 1) << kernel->name;
    if (d.kernarg_size != 0) {
      EXPECT_EQ(d.kernarg_size, m.kernarg_segment_size);
    }
  }
}

// "     15: 0000000000001800  5280 FUNC    GLOBAL PROTECTED   7 matmul"
TEST_P(DescriptorOfObject, CodeIsWhereReadelfPutsTheFunction) {
  auto object = testing::open_object(GetParam());
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> functions;
  for (const std::string &line : testing::lines_of(testing::readelf("--symbols", GetParam()))) {
    std::istringstream in(line);
    std::string number, value, size, type, binding, visibility, section, name;
    in >> number >> value >> size >> type >> binding >> visibility >> section >> name;
    bool old = type == "AMDGPU_HSA_KERNEL";
    if (type != "FUNC" && !old) continue;
    // In version 2 the code follows the descriptor under one symbol.
    std::uint64_t header = old ? kOldDescriptorSize : 0;
    functions[name] = {std::stoull(value, nullptr, 16) + header,
                       std::stoull(size, nullptr, 0) - header};
  }
  for (std::size_t i = 0; i < object->kernelCount(); ++i) {
    auto kernel = object->kernel(i);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->code_address, functions.at(kernel->name).first);
    EXPECT_EQ(kernel->code_size, functions.at(kernel->name).second);
    auto code = object->code(kernel->code_address, kernel->code_size);
    ASSERT_TRUE(code) << code.error().message();
    EXPECT_EQ(code->size(), kernel->code_size);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DescriptorOfObject, ::testing::ValuesIn(testing::all_code_objects()),
                         [](const auto &p) { return testing::test_name(p.param); });
INSTANTIATE_TEST_SUITE_P(All, ModernDescriptor, ::testing::ValuesIn(testing::modern_code_objects()),
                         [](const auto &p) { return testing::test_name(p.param); });

} // namespace
} // namespace fade::codeobj
