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
