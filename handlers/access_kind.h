// What an access does, and where: the questions every analyzer of memory asks of a site.
#pragma once

#include <fade/decode.h>
#include <fade/handler_abi.h>
#include <fade/sites.h>

#include <cstdint>

namespace fade::handlers {

enum class AccessKind : uint8_t { read, write, atomic };

inline AccessKind kindOf(const fade_site &site) {
  if (site.kind == FADE_SITE_ATOMIC) return AccessKind::atomic;
  return (site.flags & FADE_SITE_WRITES) != 0 ? AccessKind::write : AccessKind::read;
}

/// The widest access that instructions make for it.
inline uint64_t widestOf(const fade_site &site) {
  const uint64_t piece = FADE_SITE_PIECE(site.flags);
  return piece != 0 ? piece : 16;
}

/// Accesses that instructions make for it, where they are narrower than it: two for ds_read2_b32.
inline uint32_t piecesOf(const fade_site &site) {
  const uint32_t piece = FADE_SITE_PIECE(site.flags);
  return piece == 0 || piece >= site.size ? 1 : (site.size + piece - 1) / piece;
}

/// Bytes of a lane that one of them moves; 0 where it varies.
inline uint32_t bytesOf(const fade_site &site) {
  return piecesOf(site) == 1 ? site.size : FADE_SITE_PIECE(site.flags);
}

/// "load", "store" or "atomic".
inline const char *nameOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::read: return "load";
  case AccessKind::write: return "store";
  default: return "atomic";
  }
}

enum class Space : uint8_t { global, lds, scratch };

inline Space spaceOf(uint32_t site_space, uint64_t address, const fade_batch &batch) {
  if (site_space == FADE_SPACE_LDS) return Space::lds;
  if (site_space != FADE_SPACE_FLAT) return Space::global;
  const auto upper = static_cast<uint32_t>(address >> 32);
  if (upper == batch.shared_base) return Space::lds;
  return upper == batch.private_base ? Space::scratch : Space::global;
}

} // namespace fade::handlers
