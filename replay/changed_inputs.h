// Other inputs than the captured ones, of the same kind: two versions of a kernel that agree on
// what an application happened to have may disagree on these.
#pragma once

#include "capture/reader.h"
#include "replay/memory.h"

#include <cstdint>
#include <optional>

namespace fade::replay {

/// Changes what counts as captured: floating-point numbers get other digits, and with an even seed
/// some of them the other sign; whole numbers change places within their page, so that an index
/// stays one, and where all are the same some become smaller; pointers, code and arguments stay.
/// The same seed changes the same. How many pages were changed. `besides`: a region to leave alone.
uint64_t changeInputs(const capture::Reader &reader, Memory &memory, uint64_t seed,
                      std::optional<std::size_t> besides);

} // namespace fade::replay
