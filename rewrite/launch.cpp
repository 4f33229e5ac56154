#include "rewrite/launch.h"

#include "codeobj/occupancy.h"

#include <algorithm>
#include <cstring>

namespace fade::rewrite {
namespace {

constexpr unsigned kUserRegisters = 16; ///< at most
constexpr unsigned kAccumulatorsBy = 4; ///< ACCUM_OFFSET counts in these

} // namespace

uint32_t controlOffset(const codeobj::Kernel &kernel) {
  const uint32_t size =
      std::max(kernel.descriptor.kernarg_size, kernel.metadata.kernarg_segment_size);
  return (size + 7) / 8 * 8;
}

Status LaunchRegisters::check() const {
  if (userRegisters() > kUserRegisters)
    return Error::of(addsScratch() ? "no register is left for the address of scratch"
                                   : "no register is left for a pointer to its arguments");
  if (uses_scratch_ && (kernel_.descriptor.dynamic_stack || kernel_.metadata.uses_dynamic_stack))
    return Error::of("it leaves no vector registers free, and its stack has no known end");
  return Done{};
}

bool LaunchRegisters::setsFlatScratch() const {
  const sim::Arch *arch = archOf(object_.target());
  return uses_scratch_ && arch && !arch->architected_flat_scratch;
}

bool LaunchRegisters::addsScratch() const {
  return setsFlatScratch() && !kernel_.descriptor.user_sgprs.flat_scratch_init;
}

unsigned LaunchRegisters::scratchBytes() const {
  constexpr unsigned word = 4;
  return (kernel_.descriptor.private_segment_fixed_size + word - 1) / word * word;
}

unsigned LaunchRegisters::packetRegister() const {
  return kernel_.descriptor.user_sgprs.private_segment_buffer ? 4u : 0u;
}

unsigned LaunchRegisters::kernargRegister() const {
  const auto &user = kernel_.descriptor.user_sgprs;
  return packetRegister() + (user.dispatch_ptr ? 2u : 0u) + (user.queue_ptr ? 2u : 0u);
}

bool LaunchRegisters::addsPointer() const {
  return !kernel_.descriptor.user_sgprs.kernarg_segment_ptr;
}

/// gfx11 wants some number of user registers, whether they are used or not.
bool LaunchRegisters::hasSpareUserRegisters() const {
  return kernel_.descriptor.user_sgprs.count >= usedUserRegisters() + 2;
}

/// Of the original: where the address of scratch is, or would be.
unsigned LaunchRegisters::firstOfScratch() const {
  const auto &user = kernel_.descriptor.user_sgprs;
  return kernargRegister() + (user.kernarg_segment_ptr ? 2u : 0u) + (user.dispatch_id ? 2u : 0u);
}

unsigned LaunchRegisters::usedUserRegisters() const {
  const auto &user = kernel_.descriptor.user_sgprs;
  return firstOfScratch() + (user.flat_scratch_init ? 2u : 0u) +
         (user.private_segment_size ? 1u : 0u) + user.kernarg_preload_length;
}

/// Of the twin.
unsigned LaunchRegisters::userRegisters() const {
  const unsigned before = kernel_.descriptor.user_sgprs.count;
  const unsigned added = (addsPointer() ? 2u : 0u) + (addsScratch() ? 2u : 0u);
  if (added == 0 || before >= usedUserRegisters() + added) return before;
  return before + added;
}

unsigned LaunchRegisters::registersAtStart() const {
  if (hasSpareUserRegisters()) return usedUserRegisters();
  const codeobj::KernelDescriptor::SystemRegisters &s = kernel_.descriptor.system;
  return kernel_.descriptor.user_sgprs.count + s.workgroup_id_x + s.workgroup_id_y +
         s.workgroup_id_z + s.workgroup_info + s.private_segment;
}

unsigned LaunchRegisters::scalarLimit() const {
  if (object_.target().version.major != 9) return kScalarRegisters;
  constexpr unsigned of_eight_waves = 96 - kExtraRegisters, all = 102, vgprs_of_eight_waves = 64;
  const codeobj::KernelDescriptor &d = kernel_.descriptor;
  if (d.vgprs > vgprs_of_eight_waves) return all;
  return std::min(all, std::max(of_eight_waves, d.sgprs - std::min(d.sgprs, kExtraRegisters)));
}

unsigned LaunchRegisters::firstVector(const Program &program) const {
  constexpr unsigned of_work_items = 3; // are set when a wave begins
  const codeobj::KernelDescriptor &d = kernel_.descriptor;
  if (const auto used = program.vectors()) return std::max(*used, of_work_items);
  return d.accum_offset != 0 ? d.accum_offset : d.vgprs; // where AGPRs begin
}

LaunchRegisters::WithWorkgroup LaunchRegisters::withWorkgroup() const {
  const codeobj::KernelDescriptor &d = kernel_.descriptor;
  WithWorkgroup result;
  const unsigned scratch = firstOfScratch(), pointer = addsPointer() ? 2 : 0;
  result.scratch = scratch + pointer;
  for (unsigned to = kernargRegister(); to < usedUserRegisters(); ++to)
    if (const unsigned by = pointer + (addsScratch() && to >= scratch ? 2 : 0); by != 0)
      result.moves.push_back({to, to + by});
  unsigned before = d.user_sgprs.count;
  unsigned now = userRegisters();
  const auto next = [&](bool was_there) {
    if (was_there && before != now) result.moves.push_back({before, now});
    before += was_there;
    return now++;
  };
  // On gfx12 these are registers of the trap handler, and the others are not there any more.
  const sim::Arch *arch = archOf(object_.target());
  if (object_.target().version.major < 12) {
    result.workgroup = {next(d.system.workgroup_id_x), next(d.system.workgroup_id_y),
                        next(d.system.workgroup_id_z)};
    if (d.system.workgroup_info) next(true);
    if ((d.system.private_segment || uses_scratch_) && !(arch && arch->architected_flat_scratch))
      result.scratch_offset = next(d.system.private_segment);
  }
  result.end = now;
  return result;
}

unsigned LaunchRegisters::vectorsWithAccumulators(unsigned vectors) const {
  const codeobj::KernelDescriptor &d = kernel_.descriptor;
  if (d.accum_offset == 0) return vectors;
  vectors = std::max(vectors, d.accum_offset);
  const unsigned accumulators = d.vgprs > d.accum_offset ? d.vgprs - d.accum_offset : 0;
  return (vectors + kAccumulatorsBy - 1) / kAccumulatorsBy * kAccumulatorsBy + accumulators;
}

bool LaunchRegisters::fits(unsigned vectors) const {
  codeobj::OccupancyInput input = codeobj::occupancyInput(kernel_);
  input.vgprs = std::max(input.vgprs, vectorsWithAccumulators(vectors));
  const auto found = codeobj::occupancy(object_.target(), input);
  return !found || found->fits;
}

std::array<uint8_t, codeobj::kDescriptorSize>
LaunchRegisters::descriptor(const Needs &needs) const {
  std::array<uint8_t, codeobj::kDescriptorSize> bytes{};
  const auto original = object_.elf().atAddress(kernel_.descriptor_address, 0);
  std::copy_n(original->begin(), bytes.size(), bytes.begin());
  const auto set = [&](std::size_t at, uint32_t value) {
    std::memcpy(&bytes[at], &value, sizeof value);
  };
  constexpr std::size_t private_size = 4, kernarg_size = 8, rsrc3 = 44, rsrc1 = 48, rsrc2 = 52,
                        properties = 56;
  const codeobj::KernelDescriptor &d = kernel_.descriptor;
  set(kernarg_size, controlOffset(kernel_) + 8);
  uint32_t second = d.rsrc2 + ((userRegisters() - d.user_sgprs.count) << 1);
  constexpr uint32_t kernarg_pointer = 1 << 3, flat_scratch_init = 1 << 5, has_scratch = 1;
  if (addsPointer()) bytes[properties] |= kernarg_pointer;
  if (addsScratch()) bytes[properties] |= flat_scratch_init;
  if (needs.scratch != 0) {
    set(private_size, scratchBytes() + needs.scratch);
    second |= has_scratch;
  }
  if (needs.has_workgroup) {
    constexpr uint32_t workgroup_ids = 7 << 7, work_item_ids = 3 << 11, all_three = 2 << 11;
    second = (second & ~work_item_ids) | workgroup_ids | all_three;
  }
  set(rsrc2, second);
  uint32_t first = d.rsrc1;
  if (object_.target().version.major == 9 && needs.scalars != 0) {
    constexpr uint32_t shift = 6, mask = 15;
    const uint32_t needed = (needs.scalars + kExtraRegisters + 15) / 16 * 2 - 2;
    first = (first & ~(mask << shift)) | std::max(first >> shift & mask, needed) << shift;
  }
  if (needs.vectors != 0) {
    constexpr uint32_t mask = 63;
    const unsigned vectors = vectorsWithAccumulators(needs.vectors);
    const unsigned offset = std::max(needs.vectors, d.accum_offset);
    if (d.accum_offset != 0)
      set(rsrc3, (d.rsrc3 & ~mask) | ((offset + kAccumulatorsBy - 1) / kAccumulatorsBy - 1));
    const uint32_t needed = (vectors + d.vgpr_granule - 1) / d.vgpr_granule - 1;
    first = (first & ~mask) | std::max(first & mask, needed);
  }
  set(rsrc1, first);
  return bytes;
}

} // namespace fade::rewrite
