#include "isa/opcode_table.h"

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
#include "isa/aliases.inc"
#include "isa/aliases_memory.inc"
#include "isa/aliases_gfx12.inc"
};
// clang-format on

} // namespace

OpcodeTable::OpcodeTable(std::span<const std::span<const Opcode>> families) {
  for (auto family : families)
    for (const Opcode &o : family) by_name_.emplace(o.name, &o);
  for (const Alias &a : aliases)
    if (auto it = by_name_.find(a.canonical); it != by_name_.end())
      by_name_.emplace(a.name, it->second);
}

const Opcode *OpcodeTable::find(std::string_view mnemonic) const {
  for (bool stripped = true; stripped;) {
    if (auto it = by_name_.find(mnemonic); it != by_name_.end()) return it->second;
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
