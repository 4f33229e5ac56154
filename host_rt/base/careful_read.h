// Reads memory of this process that may be no longer there, or was never the host's to read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fade {

/// Copies bytes that the process could load itself, a card's memory behind the PCI aperture among
/// them. False if it could not load one of them.
bool readCarefully(void *to, uint64_t from, std::size_t size) noexcept;

} // namespace fade
