// What instructions say about caches: how far an access must be seen, and instructions that write
// back and invalidate. Memory is coherent unless caches are modelled (wave/caches.h), but what
// these instructions order stays ordered in any case.
#pragma once

#include "wave/caches.h"
#include "wave/wave.h"

namespace fade::sim {

// gfx942 has a scope in each access, sc0 and sc1: workgroup, device, both for the system. Of others
// only loads say that they go past the L1; how far stores and atomics go is a matter of the page.
inline Reach scope_of(const Instruction &in) {
  return !in.sc1 ? Reach::workgroup : in.glc ? Reach::system : Reach::device;
}
inline Reach load_reach(const Wave &w, const Instruction &in) {
  if (w.arch->gfx94) return scope_of(in);
  return in.glc ? Reach::device : Reach::workgroup;
}
inline Reach store_reach(const Wave &w, const Instruction &in) {
  return w.arch->gfx94 ? scope_of(in) : Reach::workgroup;
}
// There sc0 asks for the old value.
inline Reach atomic_reach(const Wave &w, const Instruction &in) {
  return w.arch->gfx94 && in.sc1 ? Reach::system : Reach::device;
}

void invalidate_vector(Wave &w, const Instruction &in);
void invalidate_scalar(Wave &w, const Instruction &in);
void invalidate_l2(Wave &w, const Instruction &in);
void invalidate_to_scope(Wave &w, const Instruction &in); // L1, and L2 from device scope on
void write_back_l2(Wave &w, const Instruction &in);

} // namespace fade::sim
