#include "semantics/cache_control.h"

#include "semantics/memory_access.h"
#include "wave/stats.h"

namespace fade::sim {

void invalidate_vector(Wave &w, const Instruction &) {
  full_fence();
  if (CachedView *c = w.memory->cached()) c->invalidate_l1();
}

void invalidate_scalar(Wave &w, const Instruction &) {
  full_fence();
  if (CachedView *c = w.memory->cached()) c->invalidate_scalar();
}

void invalidate_l2(Wave &w, const Instruction &) {
  full_fence();
  if (CachedView *c = w.memory->cached()) c->caches().invalidate(c->die());
}

void invalidate_to_scope(Wave &w, const Instruction &in) {
  invalidate_vector(w, in);
  if (scope_of(in) != Reach::workgroup) invalidate_l2(w, in);
}

void write_back_l2(Wave &w, const Instruction &in) {
  w.stats->l2_write_backs++;
  full_fence();
  if (w.arch->gfx94 && scope_of(in) == Reach::workgroup) return;
  if (CachedView *c = w.memory->cached()) c->caches().write_back(c->die());
}

} // namespace fade::sim
