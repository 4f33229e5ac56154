// Where shared memory starts for a kernel with a single variable there, as all of these are:
// addresses of shared memory count from the start of the block's whole share, the first part of
// which some GPUs keep to themselves.
//
//   shared_start(u32 *out): one thread; writes the offset of its variable to out[0]
#include "gpu.h"

__kernel void shared_start(__global u32 *out) {
  __local u32 variable[4];
  *out = (u32)(u64)&variable[0];
}
