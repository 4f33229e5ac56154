#include "hsa/packet_calls.h"

#include "hip/recorder.h"
#include "hsa/queue_registry.h"
#include "hsa/ring_end.h"
#include "hsa/runtime.h"

namespace fade {
namespace {

bool gives_batches = false; ///< the runtime does: see ring_end.h

void noteCall(const hsa_queue_t *queue, uint64_t first, uint64_t count) noexcept {
  const uint64_t call = hip::currentCall();
  if (call == 0 || Runtime::isInChild()) return;
  try {
    const QueueState *state = queues().find(queue);
    if (state && state->calls) state->calls->note(first, count, call);
  } catch (...) { // a lock that cannot be had: the packet has no call
  }
}

/// The places from `first` up to `end` are the calling thread's.
void reserved(const hsa_queue_t *queue, uint64_t first, uint64_t end) noexcept {
  if (!gives_batches || first >= end || Runtime::isInChild()) return;
  try {
    if (queues().find(queue)) waitToFill(queue, first, end - first, QueueFlow::kPatience);
  } catch (...) { // a lock that cannot be had
  }
}

template <auto CoreApiTable::*Entry>
uint64_t addWriteIndex(const hsa_queue_t *queue, uint64_t count) {
  const uint64_t first = (hsaApi().core.*Entry)(queue, count);
  noteCall(queue, first, count);
  reserved(queue, first, first + count);
  return first;
}

template <auto CoreApiTable::*Entry>
uint64_t exchangeWriteIndex(const hsa_queue_t *queue, uint64_t expected, uint64_t value) {
  const uint64_t before = (hsaApi().core.*Entry)(queue, expected, value);
  if (before == expected) reserved(queue, expected, value);
  return before;
}

template <auto CoreApiTable::*Entry>
void storeWriteIndex(const hsa_queue_t *queue, uint64_t value) {
  const uint64_t first = hsaApi().core.hsa_queue_load_write_index_relaxed_fn(queue);
  (hsaApi().core.*Entry)(queue, value);
  reserved(queue, first, value);
}

template <auto CoreApiTable::*Entry> void hook(CoreApiTable &core) {
  core.*Entry = addWriteIndex<Entry>;
}
template <auto CoreApiTable::*Entry> void hookExchange(CoreApiTable &core) {
  core.*Entry = exchangeWriteIndex<Entry>;
}
template <auto CoreApiTable::*Entry> void hookStore(CoreApiTable &core) {
  core.*Entry = storeWriteIndex<Entry>;
}

} // namespace

void hookWriteIndex(HsaTables &tables) {
  gives_batches = tables.givesBatches();
  hook<&CoreApiTable::hsa_queue_add_write_index_relaxed_fn>(tables.core());
  hook<&CoreApiTable::hsa_queue_add_write_index_scacquire_fn>(tables.core());
  hook<&CoreApiTable::hsa_queue_add_write_index_screlease_fn>(tables.core());
  hook<&CoreApiTable::hsa_queue_add_write_index_scacq_screl_fn>(tables.core());
  if (!gives_batches) return;
  hookExchange<&CoreApiTable::hsa_queue_cas_write_index_relaxed_fn>(tables.core());
  hookExchange<&CoreApiTable::hsa_queue_cas_write_index_scacquire_fn>(tables.core());
  hookExchange<&CoreApiTable::hsa_queue_cas_write_index_screlease_fn>(tables.core());
  hookExchange<&CoreApiTable::hsa_queue_cas_write_index_scacq_screl_fn>(tables.core());
  hookStore<&CoreApiTable::hsa_queue_store_write_index_relaxed_fn>(tables.core());
  hookStore<&CoreApiTable::hsa_queue_store_write_index_screlease_fn>(tables.core());
}

} // namespace fade
