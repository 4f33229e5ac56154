#include "base/instrument_modes.h"

#include "fade/sites.h"

#include <algorithm>
#include <array>

namespace fade {
namespace {

struct Mode {
  std::string_view name;
  uint32_t bits;
};
constexpr std::array kModes = {
    Mode{"summary", FADE_MODE_SUMMARY | FADE_MODE_ACCESSES},
    Mode{"accesses", FADE_MODE_ACCESSES},
    Mode{"blocks", FADE_MODE_BLOCKS},
    Mode{"times", FADE_MODE_TIMES | FADE_MODE_COUNTS},
    Mode{"counts", FADE_MODE_COUNTS},
};

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

} // namespace

Result<uint32_t> readRewriteModes(std::string_view text) {
  uint32_t modes = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = trim(rest.substr(0, rest.find(';')));
    rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
    if (item.empty()) continue;
    const auto mode = std::ranges::find(kModes, item, &Mode::name);
    if (mode == kModes.end())
      return Error::of("'" + std::string(item) +
                       "' is none of summary, accesses, blocks, counts and times, which finished "
                       "code can be instrumented for");
    modes |= mode->bits;
  }
  if (modes == 0) return Error::of("no mode; known: summary, accesses, blocks, counts, times");
  if ((modes & FADE_MODE_SUMMARY) != 0 && (modes & FADE_MODE_BLOCKS) != 0)
    return Error::of("'summary' cannot be combined with blocks in finished code");
  if ((modes & FADE_MODE_TIMES) != 0 && (modes & (FADE_MODE_ACCESSES | FADE_MODE_BLOCKS)) != 0)
    return Error::of("'times' cannot be combined with summary, accesses or blocks: writing records "
                     "takes time itself");
  return modes;
}

std::string rewriteModesText(uint32_t modes) {
  std::string text;
  for (const Mode &mode : kModes)
    if ((modes & mode.bits) == mode.bits) {
      text += (text.empty() ? "" : ";") + std::string(mode.name);
      modes &= ~mode.bits;
    }
  return text;
}

} // namespace fade
