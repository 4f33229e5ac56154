// What is in HIP's structures, for readers of a trace: made from HIP's headers by
// scripts/hip-functions, as the list of functions (fade/hip_api.h).
//
//   FADE_HIP_MEMBER(structure, "member.of.it", offset, kind, count, "its type", when, value)
//
// Members of structures within it have the names of both. An array has a count; of characters, it
// is a text or just bytes. `when`: the member is one choice of a union, which holds if the
// enumerator at that offset has that value; -1: nobody knows. A structure that was different in HIP
// 5 is there once more, as FADE_HIP5_MEMBER.
//
//   FADE_HIP_BITS(structure, "member.of.it", offset, first bit of that byte, bits, "its type")
//
// is a member that is a bit-field.
#pragma once

#include "fade/hip_api.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace fade::hip {

struct Member {
  std::string_view structure, path;
  unsigned offset;
  Kind kind;
  unsigned count;
  std::string_view type;
  int when;
  int64_t value;
  unsigned first_bit = 0, bits = 0; // of a bit-field
};

namespace members {
// Those of a structure stand together.
#define FADE_MEMBER_ROW(structure, path, offset, kind, count, type, when, value)                   \
  {#structure, path, offset, Kind::kind, count, type, when, value},
#define FADE_BITS_ROW(structure, path, offset, first, count, type)                                 \
  {#structure, path, offset, Kind::bits, 1, type, -1, 0, first, count},
#define FADE_NO_ROW(...)
inline constexpr Member kNow[] = {
#define FADE_HIP_MEMBER FADE_MEMBER_ROW
#define FADE_HIP_BITS FADE_BITS_ROW
#define FADE_HIP5_MEMBER FADE_NO_ROW
#define FADE_HIP5_BITS FADE_NO_ROW
#include "fade/hip_members.inc"
#undef FADE_HIP_MEMBER
#undef FADE_HIP_BITS
#undef FADE_HIP5_MEMBER
#undef FADE_HIP5_BITS
};
inline constexpr Member kFive[] = {
#define FADE_HIP_MEMBER FADE_NO_ROW
#define FADE_HIP_BITS FADE_NO_ROW
#define FADE_HIP5_MEMBER FADE_MEMBER_ROW
#define FADE_HIP5_BITS FADE_BITS_ROW
#include "fade/hip_members.inc"
#undef FADE_HIP_MEMBER
#undef FADE_HIP_BITS
#undef FADE_HIP5_MEMBER
#undef FADE_HIP5_BITS
};
#undef FADE_MEMBER_ROW
#undef FADE_BITS_ROW
#undef FADE_NO_ROW
} // namespace members

constexpr std::span<const Member> membersIn(std::span<const Member> all, std::string_view name) {
  const auto is_of = [&](const Member &member) { return member.structure == name; };
  const auto begin = std::find_if(all.begin(), all.end(), is_of);
  return {begin, std::find_if_not(begin, all.end(), is_of)};
}

/// In order of their offsets, but for unions; empty if the structure is not known.
constexpr std::span<const Member> membersOf(std::string_view structure, unsigned hip_major) {
  if (hip_major == 5)
    if (const auto old = membersIn(members::kFive, structure); !old.empty()) return old;
  return membersIn(members::kNow, structure);
}

/// Of an element of it.
constexpr unsigned bytesOf(Kind kind) {
  switch (kind) {
  case Kind::bits: // at least
  case Kind::boolean:
  case Kind::i8:
  case Kind::u8:
  case Kind::text: return 1;
  case Kind::i16:
  case Kind::u16: return 2;
  case Kind::i32:
  case Kind::u32:
  case Kind::f32: return 4;
  default: return 8;
  }
}

} // namespace fade::hip
