// A workgroup: its waves and its LDS. One worker runs it at a time.
#pragma once

#include "wave/caches.h"
#include "wave/wave.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fade::sim {

class Workgroup {
public:
  std::vector<Wave *> waves;
  std::byte *lds = nullptr;
  uint32_t lds_bytes = 0; // as allocated for the dispatch: accesses beyond read 0 and write nothing
  ObservedGroup info{};   // all but `state` is set, whether it is observed or not
  unsigned at_barrier = 0;
  unsigned ended = 0;
  uint64_t gws_barrier_waiting = 0;
  uint64_t number = 0;             // in its dispatch
  uint32_t die = 0;                // where it runs; always the first if caches are not modelled
  std::unique_ptr<VectorCache> l1; // null if caches are not modelled
};

} // namespace fade::sim
