#include "isa/opcode.h"

#include <string>
#include <unordered_map>

namespace fade::sim {
namespace {

struct Alias {
  const char *name, *canonical;
};
#define ALIAS(NAME, CANONICAL) Alias{NAME, CANONICAL},
// clang-format off
constexpr Alias aliases[] = {
    ALIAS("s_and_not1_b32", "s_andn2_b32") ALIAS("s_and_not1_b64", "s_andn2_b64")
    ALIAS("s_or_not1_b32", "s_orn2_b32") ALIAS("s_or_not1_b64", "s_orn2_b64")
    ALIAS("s_and_not1_saveexec_b32", "s_andn2_saveexec_b32") ALIAS("s_and_not1_saveexec_b64", "s_andn2_saveexec_b64")
    ALIAS("s_or_not1_saveexec_b32", "s_orn2_saveexec_b32") ALIAS("s_or_not1_saveexec_b64", "s_orn2_saveexec_b64")
    ALIAS("s_and_not0_saveexec_b32", "s_andn1_saveexec_b32") ALIAS("s_and_not0_saveexec_b64", "s_andn1_saveexec_b64")
    ALIAS("s_or_not0_saveexec_b32", "s_orn1_saveexec_b32") ALIAS("s_or_not0_saveexec_b64", "s_orn1_saveexec_b64")
    ALIAS("s_and_not0_wrexec_b32", "s_andn1_wrexec_b32") ALIAS("s_and_not0_wrexec_b64", "s_andn1_wrexec_b64")
    ALIAS("s_and_not1_wrexec_b32", "s_andn2_wrexec_b32") ALIAS("s_and_not1_wrexec_b64", "s_andn2_wrexec_b64")
    ALIAS("s_ctz_i32_b32", "s_ff1_i32_b32") ALIAS("s_ctz_i32_b64", "s_ff1_i32_b64")
    ALIAS("s_clz_i32_u32", "s_flbit_i32_b32") ALIAS("s_clz_i32_u64", "s_flbit_i32_b64")
    ALIAS("s_cls_i32", "s_flbit_i32") ALIAS("s_cls_i32_i64", "s_flbit_i32_i64")
#if __has_include("isa/aliases.inc")
#include "isa/aliases.inc"
#endif
#if __has_include("isa/aliases_memory.inc")
#include "isa/aliases_memory.inc"
#endif
};
// clang-format on

std::unordered_map<std::string_view, const Opcode *> build() {
  std::unordered_map<std::string_view, const Opcode *> map;
  for (auto table :
       {salu_opcodes(), valu_integer_opcodes(), valu_float_opcodes(), valu_compare_opcodes(),
        valu_special_opcodes(), valu_packed_opcodes(), valu_dual_opcodes(), matrix_opcodes(),
        scalar_memory_opcodes(), vector_memory_opcodes(), lds_opcodes()})
    for (const Opcode &o : table) map.emplace(o.name, &o);
  for (const Alias &a : aliases)
    if (auto it = map.find(a.canonical); it != map.end()) map.emplace(a.name, it->second);
  return map;
}

} // namespace

const Opcode *find_opcode(std::string_view mnemonic) {
  static const auto map = build();
  for (bool stripped = true; stripped;) {
    if (auto it = map.find(mnemonic); it != map.end()) return it->second;
    stripped = false;
    for (std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp", "_dpp8", "_e64_dpp"})
      if (mnemonic.ends_with(suffix)) {
        mnemonic.remove_suffix(suffix.size());
        stripped = true;
        break;
      }
  }
  return nullptr;
}

} // namespace fade::sim
