// Instructions whose results need not be those of a card, bit for bit (docs/software-gpu.md,
// Exactness).
#pragma once

#include <fade/observer.h>

#include <string_view>

namespace fade::sim {

inline uint32_t inexact_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("memtime") || has("memrealtime")) return kInexactClock;
  if (name.starts_with("v_mfma") || name.starts_with("v_smfmac") || name.starts_with("v_wmma")) {
    const bool is_narrow = has("f16") || has("fp8") || has("bf8") || has("xf32");
    return is_narrow ? kInexactMatrix : 0u;
  }
  if (has("atomic_add_f") || has("atomic_pk_add") || has("ds_add_f") || has("ds_add_rtn_f") ||
      has("ds_pk_add"))
    return kInexactAtomics;
  struct Function {
    std::string_view name;
    Inexact bit;
  };
  static constexpr Function functions[] = {{"v_rcp_f", kInexactRcp},   {"v_rsq_f", kInexactRsq},
                                           {"v_sqrt_f", kInexactSqrt}, {"v_exp_", kInexactExp},
                                           {"v_log_", kInexactLog},    {"v_sin_f", kInexactSin},
                                           {"v_cos_f", kInexactCos}};
  for (const Function &f : functions)
    if (name.starts_with(f.name)) return f.bit;
  return 0;
}

} // namespace fade::sim
