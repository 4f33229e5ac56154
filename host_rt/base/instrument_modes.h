// What instrumented kernels do (FADE_MODE_* in fade/sites.h), as users write it for finished code:
// counts;accesses.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fade {

/// The modes that finished code can be instrumented for.
Result<uint32_t> readRewriteModes(std::string_view text);
std::string rewriteModesText(uint32_t modes);

} // namespace fade
