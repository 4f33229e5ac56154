#include "base/card_mode.h"

#include "base/trace.h"

#include <cstdlib>

namespace fade::sim {

ModeWish mode_wish(const char *own, const char *all) {
  const std::string_view mine = own ? own : "", everything = all ? all : "";
  if (mine == "card") return ModeWish::on;
  if (mine == "off") return ModeWish::off;
  if (!mine.empty()) return ModeWish::unknown;
  return everything.empty() || everything == "0" ? ModeWish::off : ModeWish::on;
}

bool is_like_card(const char *variable) {
  const char *own = std::getenv(variable), *all = std::getenv("FADE_GPU_CARD");
  const ModeWish wish = mode_wish(own, all);
  if (wish != ModeWish::unknown) return wish == ModeWish::on;
  say("%s: '%s' is not known (card, off); the mode is off", variable, own);
  return false;
}

} // namespace fade::sim
