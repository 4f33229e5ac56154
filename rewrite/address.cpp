#include "rewrite/address.h"

#include "codeobj/instruction.h"
#include "isa/encoding_fields.h"

#include <algorithm>
#include <array>

namespace fade::rewrite {
namespace {

bool has(const std::string &name, const char *part) { return name.find(part) != name.npos; }

/// A scalar register as the software GPU numbers it (sim::sreg).
std::optional<std::string> nameOf(unsigned number, unsigned major) {
  const unsigned own = major == 9 ? 102 : 106;
  if (number < own) return fmt::format("s{}", number);
  switch (number) {
  case sim::sreg::flat_scratch_lo: return "flat_scratch_lo";
  case sim::sreg::flat_scratch_lo + 1: return "flat_scratch_hi";
  case sim::sreg::vcc_lo: return "vcc_lo";
  case sim::sreg::vcc_hi: return "vcc_hi";
  case sim::sreg::m0: return "m0";
  default: break;
  }
  if (number >= sim::sreg::ttmp0 && number < sim::sreg::ttmp0 + 16)
    return fmt::format("ttmp{}", number - sim::sreg::ttmp0);
  return std::nullopt;
}

class Addresses {
public:
  Addresses(const codeobj::CodeObject &object, const Instruction &i, const Dialect &dialect,
            const AddressRegisters &registers, uint32_t bytes)
      : object_(object), i_(i), dialect_(dialect), use_(registers), bytes_(bytes) {}

  Result<std::vector<AccessAddress>> find() {
    const auto bytes = object_.elf().atAddress(i_.address, 0);
    std::array<uint8_t, 20> code{};
    std::copy_n(bytes->begin(), std::min<std::size_t>(i_.size, code.size()), code.begin());
    opcode_ = {i_.mnemonic.c_str(), nullptr, sim::ExecClass::other};
    if (codeobj::classify(i_.mnemonic).has_two_addresses) opcode_.form = sim::Form::two_addresses;
    in_.opcode = &opcode_;
    sim::FieldReader reader(*archOf(object_.target()), dialect_.isWave32() ? 32 : 64,
                            {code.data(), i_.size});
    if (!reader.read(in_)) return unknown();
    switch (in_.encoding) {
    case sim::Encoding::flat:
    case sim::Encoding::global: return flat();
    case sim::Encoding::ds: return lds();
    case sim::Encoding::smem: return scalar();
    case sim::Encoding::mubuf: return buffer();
    default: return unknown();
    }
  }

private:
  Error unknown() const {
    return Error::of(
        fmt::format("the addresses of {} at {:#x} are not known", i_.mnemonic, i_.address));
  }
  std::string low() const { return fmt::format("v{}", use_.address); }
  std::string high() const { return fmt::format("v{}", use_.address + 1); }
  static std::string move(const std::string &to, const std::string &from) {
    return fmt::format("v_mov_b32_e32 {}, {}", to, from);
  }
  bool isLoad() const { return has(i_.mnemonic, "_load_"); }

  /// Adds two registers or constants of 32 bits.
  void add(Lines &lines, const std::string &lower, const std::string &upper) const {
    const std::string carry = dialect_.lanes(use_.carry);
    const unsigned t = use_.temporary;
    lines.insert(lines.end(),
                 {move(fmt::format("v{}", t), lower), move(fmt::format("v{}", t + 1), upper),
                  fmt::format("v_add_co_u32_e64 {0}, {1}, {0}, v{2}", low(), carry, t)});
    if (dialect_.hasXcc()) lines.push_back("s_nop 1"); // before the carry is read
    if (dialect_.major() >= 12) dialect_.settle(lines);
    lines.push_back(
        fmt::format("{0} {1}, {2}, {1}, v{3}, {2}", dialect_.addWithCarry(), high(), carry, t + 1));
  }
  void addOffset(Lines &lines, int32_t offset) const {
    if (offset != 0)
      add(lines, fmt::format("{:#x}", static_cast<uint32_t>(offset)), offset < 0 ? "-1" : "0");
  }

  Result<std::vector<AccessAddress>> flat() const {
    if (in_.lds || has(i_.mnemonic, "_lds_") || has(i_.mnemonic, "addtid") ||
        has(i_.mnemonic, "_tr_") || has(i_.mnemonic, "block"))
      return unknown();
    AccessAddress access;
    Lines &lines = access.lines;
    const unsigned v = in_.src[0].index;
    access.vector = v;
    access.vectors = in_.saddr ? 1 : 2;
    if (in_.saddr) {
      const auto lower = nameOf(in_.src[2].index, dialect_.major()),
                 upper = nameOf(in_.src[2].index + 1u, dialect_.major());
      if (!lower || !upper || !in_.src[0].is_vgpr()) return unknown();
      lines = {move(low(), fmt::format("v{}", v)), move(high(), "0")};
      add(lines, *lower, *upper);
    } else {
      lines = {move(low(), fmt::format("v{}", v)), move(high(), fmt::format("v{}", v + 1))};
    }
    addOffset(lines, in_.offset);
    access.may_be_private = in_.encoding == sim::Encoding::flat;
    access.may_be_argument = isLoad();
    return std::vector{std::move(access)};
  }

  Result<std::vector<AccessAddress>> lds() const {
    const std::string &name = i_.mnemonic;
    for (const char *other :
         {"addtid", "append", "consume", "gws", "ordered", "_tr", "bvh", "param"})
      if (has(name, other)) return unknown();
    if (in_.gds) return unknown();
    const auto at = [&](uint32_t offset) {
      AccessAddress access;
      access.vector = in_.src[0].index;
      access.vectors = 1;
      const std::string from = fmt::format("v{}", access.vector);
      access.lines = {offset == 0
                          ? move(low(), from)
                          : fmt::format("{} {}, {:#x}, {}", dialect_.add(), low(), offset, from),
                      move(high(), "0")};
      return access;
    };
    if (opcode_.form != sim::Form::two_addresses)
      return std::vector{at(static_cast<uint32_t>(in_.offset))};
    const uint32_t unit =
        (has(name, "b64") ? 8u : 4u) * (has(name, "st64") || has(name, "stride64") ? 64u : 1u);
    return std::vector{at(static_cast<uint32_t>(in_.offset) * unit), at(in_.offset1 * unit)};
  }

  Result<std::vector<AccessAddress>> scalar() const {
    if (has(i_.mnemonic, "buffer") || has(i_.mnemonic, "scratch")) return unknown();
    const auto lower = nameOf(in_.src[0].index, dialect_.major()),
               upper = nameOf(in_.src[0].index + 1u, dialect_.major());
    if (!lower || !upper) return unknown();
    AccessAddress access;
    access.lines = {move(low(), *lower), move(high(), *upper)};
    addOffset(access.lines, in_.offset);
    if (in_.src[1].kind != sim::Operand::Kind::none) {
      const auto more = nameOf(in_.src[1].index, dialect_.major());
      if (in_.src[1].kind != sim::Operand::Kind::sgpr || !more) return unknown();
      add(access.lines, *more, "0");
    } else if (in_.offset >= 0) {
      access.scalar_base = in_.src[0].index;
      access.scalar_offset = static_cast<uint32_t>(in_.offset);
    }
    access.lines.push_back(fmt::format("v_and_b32_e32 {0}, -4, {0}", low()));
    access.may_be_argument = isLoad();
    return std::vector{std::move(access)};
  }

  /// Where lanes are outside of the buffer, or the access is not understood, the upper half says
  /// so. Those of which the first dword is inside access the buffer.
  Result<std::vector<AccessAddress>> buffer() const {
    const std::string &name = i_.mnemonic;
    for (const char *other : {"format", "lds", "addtid"})
      if (has(name, other)) return unknown();
    if (in_.lds || in_.idxen || in_.src[2].kind != sim::Operand::Kind::sgpr || bytes_ == 0)
      return unknown();
    std::array<std::string, 4> resource;
    for (unsigned n = 0; n < 4; ++n) {
      const auto word = nameOf(in_.src[2].index + n, dialect_.major());
      if (!word) return unknown();
      resource[n] = *word;
    }
    AccessAddress access;
    access.vector = in_.src[0].index;
    access.vectors = in_.offen ? 1 : 0;
    Lines &lines = access.lines;
    const std::string carry = dialect_.lanes(use_.carry);
    const auto v = [](unsigned n) { return fmt::format("v{}", n); };
    const std::string t0 = v(use_.temporary), t1 = v(use_.temporary + 1), odd = v(use_.more),
                      flag = v(use_.more + 1);
    const auto settle = [&] {
      if (dialect_.hasXcc()) lines.push_back("s_nop 1");
      if (dialect_.major() >= 11) dialect_.settle(lines);
    };
    // Linear: neither swizzled nor with the lane's number, and from gfx10 on checked as bytes.
    const bool is_gfx10 = dialect_.major() >= 10;
    const uint32_t swizzled = dialect_.major() >= 11 ? 0xc0000000 : 0x80000000;
    lines = {move(odd, resource[1]), fmt::format("v_and_b32_e32 {0}, {1:#x}, {0}", odd, swizzled),
             move(flag, resource[3])};
    if (is_gfx10) lines.push_back(fmt::format("v_xor_b32_e32 {0}, 0x30000000, {0}", flag));
    lines.push_back(fmt::format("v_and_b32_e32 {0}, {1:#x}, {0}", flag,
                                0x00800000u | (is_gfx10 ? 0x30000000u : 0u)));
    lines.push_back(fmt::format("v_or_b32_e32 {0}, {0}, {1}", odd, flag));
    // The offset from the base.
    lines.push_back(move(low(), in_.offen ? v(in_.src[0].index) : "0"));
    lines.push_back(move(high(), "0"));
    if (in_.offset != 0) add(lines, fmt::format("{:#x}", static_cast<uint32_t>(in_.offset)), "0");
    const sim::Operand &more = in_.src[3];
    if (more.kind == sim::Operand::Kind::constant) {
      if (more.value != 0) add(lines, fmt::format("{:#x}", static_cast<uint32_t>(more.value)), "0");
    } else if (more.kind == sim::Operand::Kind::sgpr && more.index != sim::sreg::null) {
      const auto register_name = nameOf(more.index, dialect_.major());
      if (!register_name) return unknown();
      add(lines, *register_name, "0");
    } else if (more.kind != sim::Operand::Kind::sgpr) {
      return unknown();
    }
    // Bytes that are left behind it.
    lines.insert(lines.end(),
                 {move(t0, resource[2]), move(t1, "0"),
                  fmt::format("v_sub_co_u32_e64 {0}, {1}, {0}, {2}", t0, carry, low())});
    settle();
    lines.push_back(fmt::format("{} {}, {}, {}, {}, {}",
                                is_gfx10 ? "v_sub_co_ci_u32_e64" : "v_subb_co_u32_e64", t1, carry,
                                t1, high(), carry));
    const auto choose = [&](const std::string &to, int otherwise, const std::string &value) {
      settle();
      lines.push_back(fmt::format("v_cndmask_b32_e64 {}, {}, {}, {}", to, otherwise, value, carry));
    };
    const std::string left = vectorPair(use_.temporary);
    // Dwords are inside or outside one by one, those of atomic accesses together.
    const uint32_t least = has(name, "atomic") ? bytes_ : std::min(bytes_, 4u);
    lines.push_back(fmt::format("v_cmp_le_i64_e64 {}, {}, {}", carry, least, left));
    choose(flag, kOutside, "0");
    lines.push_back(fmt::format("v_cmp_eq_u32_e64 {}, 0, {}", carry, odd));
    choose(flag, kNotUnderstood, flag);
    // The base.
    lines.insert(lines.end(),
                 {move(t0, resource[0]), move(t1, resource[1]),
                  fmt::format("v_and_b32_e32 {0}, 0xffff, {0}", t1),
                  fmt::format("v_add_co_u32_e64 {0}, {1}, {0}, {2}", low(), carry, t0)});
    settle();
    lines.push_back(
        fmt::format("{0} {1}, {2}, {1}, {3}, {2}", dialect_.addWithCarry(), high(), carry, t1));
    lines.push_back(fmt::format("v_cmp_eq_u32_e64 {}, 0, {}", carry, flag));
    settle();
    lines.push_back(fmt::format("v_cndmask_b32_e64 {0}, {1}, {0}, {2}", high(), flag, carry));
    access.may_be_outside = true;
    access.may_be_argument = isLoad();
    return std::vector{std::move(access)};
  }

  const codeobj::CodeObject &object_;
  const Instruction &i_;
  const Dialect &dialect_;
  const AddressRegisters &use_;
  const uint32_t bytes_;
  sim::Opcode opcode_{};
  sim::Instruction in_;
};

} // namespace

Result<std::vector<AccessAddress>> addressesOf(const codeobj::CodeObject &object,
                                               const Instruction &i, const Dialect &dialect,
                                               const AddressRegisters &registers, uint32_t bytes) {
  return Addresses(object, i, dialect, registers, bytes).find();
}

} // namespace fade::rewrite
