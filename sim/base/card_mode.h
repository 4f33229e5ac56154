// Modes in which the software GPU is as unforgiving as a card (docs/software-gpu.md, "Behaving like
// a card"). Each has a variable of its own, and FADE_GPU_CARD=1 turns all of them on.
#pragma once

#include <string_view>

namespace fade::sim {

enum class ModeWish : unsigned char { off, on, unknown };

// What two variables say of a mode: its own ("card", "off" or nothing), and FADE_GPU_CARD.
ModeWish mode_wish(const char *own, const char *all);

// Whether a mode is on, by the name of its variable, such as "FADE_GPU_RESIDENT". A value that is
// not known is said on stderr. Reads the environment: ask once and keep the answer.
bool is_like_card(const char *variable);

} // namespace fade::sim
