// Names that people know from omniprobe (logduration): variables, options and analyzers. What means
// the same is honoured; for the rest a line says what FADE calls it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fade {

struct OmniprobeVariable {
  std::string_view name; ///< LOGDUR_KERNEL_CACHE
  std::string_view fade; ///< the variable of FADE that means the same; empty: none does
  std::string_view hint; ///< what to use instead, if none does
};
std::span<const OmniprobeVariable> omniprobeVariables();

/// The variable of omniprobe that FADE takes for one of its own; empty: there is none.
std::string_view omniprobeNameOf(std::string_view variable);
/// The value in FADE's spelling: omniprobe also takes True and FALSE.
std::string fromOmniprobe(std::string_view variable, std::string_view value);

/// What FADE has in the place of an option of omniprobe's; nothing if it is none.
std::optional<std::string_view> insteadOfOption(std::string_view option);
/// The same for an analyzer, by its name or the file of its library.
std::optional<std::string_view> insteadOfAnalyzer(std::string_view analyzer);

} // namespace fade
