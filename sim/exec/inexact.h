// Instructions whose results need not be those of a card, bit for bit (docs/software-gpu.md,
// Exactness).
#pragma once

#include <fade/observer.h>

#include <string_view>

namespace fade::sim {

inline uint32_t inexact_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("memtime") || has("memrealtime")) return kInexactClock;
  if (name.starts_with("v_mfma") || name.starts_with("v_smfmac") || name.starts_with("v_wmma") ||
      name.starts_with("v_swmmac")) {
    const bool is_narrow = has("f16") || has("fp8") || has("bf8") || has("xf32") || has("f8f6f4");
    return is_narrow ? kInexactMatrix : 0u;
  }
  if (has("atomic_add_f") || has("atomic_pk_add") || has("ds_add_f") || has("ds_add_rtn_f") ||
      has("ds_pk_add"))
    return kInexactAtomics;
  struct Function {
    std::string_view name;
    Inexact bit;
  };
  static constexpr Function functions[] = {{"rcp_f", kInexactRcp},   {"rsq_f", kInexactRsq},
                                           {"sqrt_f", kInexactSqrt}, {"exp_", kInexactExp},
                                           {"log_", kInexactLog},    {"sin_f", kInexactSin},
                                           {"cos_f", kInexactCos}};
  for (const std::string_view prefix : {"v_", "v_s_"}) // gfx12: v_s_exp_f32, of one scalar
    if (name.starts_with(prefix))
      for (const Function &f : functions)
        if (name.substr(prefix.size()).starts_with(f.name)) return f.bit;
  return 0;
}

} // namespace fade::sim
