// Memory behind an allocation that is nobody's, so that what runs over its end is seen.
#pragma once

#include <cstdint>

namespace fade::checks {

/// Up to the end of a page: ROCr shares only whole pages with other processes (hipIpcGetMemHandle).
/// One of whole large pages keeps its alignment, which libhsakmt gives to the end of what it is
/// asked for: the device's malloc() finds its slabs of 2 MiB by it. None behind a size that only
/// somebody asks for who wants to be refused: with it, it would be a small one.
constexpr uint64_t gapBehind(uint64_t size) {
  constexpr uint64_t page = 4096, large = uint64_t{2} << 20;
  const uint64_t gap = size % large == 0 ? large : page + (page - size % page) % page;
  return size <= UINT64_MAX - gap ? gap : 0;
}

} // namespace fade::checks
