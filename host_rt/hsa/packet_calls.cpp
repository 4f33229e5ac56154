#include "hsa/packet_calls.h"

#include "hip/recorder.h"
#include "hsa/queue_registry.h"
#include "hsa/runtime.h"

namespace fade {
namespace {

void noteCall(const hsa_queue_t *queue, uint64_t first, uint64_t count) noexcept {
  const uint64_t call = hip::currentCall();
  if (call == 0 || Runtime::isInChild()) return;
  try {
    const QueueState *state = queues().find(queue);
    if (state && state->calls) state->calls->note(first, count, call);
  } catch (...) { // a lock that cannot be had: the packet has no call
  }
}

template <auto CoreApiTable::*Entry>
uint64_t addWriteIndex(const hsa_queue_t *queue, uint64_t count) {
  const uint64_t first = (hsaApi().core.*Entry)(queue, count);
  noteCall(queue, first, count);
  return first;
}

template <auto CoreApiTable::*Entry> void hook(CoreApiTable &core) {
  core.*Entry = addWriteIndex<Entry>;
}

} // namespace

void hookWriteIndex(HsaTables &tables) {
  hook<&CoreApiTable::hsa_queue_add_write_index_relaxed_fn>(tables.core());
  hook<&CoreApiTable::hsa_queue_add_write_index_scacquire_fn>(tables.core());
  hook<&CoreApiTable::hsa_queue_add_write_index_screlease_fn>(tables.core());
  hook<&CoreApiTable::hsa_queue_add_write_index_scacq_screl_fn>(tables.core());
}

} // namespace fade
