#include "hsa/packet_calls.h"

#include "hip/recorder.h"
#include "hsa/queue_registry.h"
#include "hsa/runtime.h"

namespace fade {
namespace {

void note(const hsa_queue_t *queue, uint64_t first, uint64_t count) noexcept {
  const uint64_t call = hip::currentCall();
  if (call == 0 || Runtime::isInChild()) return;
  try {
    const QueueState *state = queues().find(queue);
    if (state && state->calls) state->calls->note(first, count, call);
  } catch (...) { // a lock that cannot be had: the packet has no call
  }
}

#define FADE_ADD(order)                                                                            \
  uint64_t add_##order(const hsa_queue_t *queue, uint64_t count) {                                 \
    const uint64_t first = hsaApi().core.hsa_queue_add_write_index_##order##_fn(queue, count);     \
    note(queue, first, count);                                                                     \
    return first;                                                                                  \
  }
FADE_ADD(relaxed)
FADE_ADD(scacquire)
FADE_ADD(screlease)
FADE_ADD(scacq_screl)
#undef FADE_ADD

} // namespace

void hookWriteIndex(HsaTables &tables) {
  CoreApiTable &core = tables.core();
  core.hsa_queue_add_write_index_relaxed_fn = add_relaxed;
  core.hsa_queue_add_write_index_scacquire_fn = add_scacquire;
  core.hsa_queue_add_write_index_screlease_fn = add_screlease;
  core.hsa_queue_add_write_index_scacq_screl_fn = add_scacq_screl;
}

} // namespace fade
