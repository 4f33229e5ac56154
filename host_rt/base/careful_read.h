// Reads memory of this process that may have been unmapped meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fade {

/// Copies bytes that may have been unmapped by now. False if one of them is not there.
bool readCarefully(void *to, uint64_t from, std::size_t size) noexcept;

} // namespace fade
