// All kernels in one module.
//
// Each file says which accesses its kernel makes, in the order in which a thread makes them, so
// that a host can work out all of them. An access is named after its kind, space and size, with a
// number where a kernel has several of the same: they count in the order of line and column in the
// source. Threads of a block are numbered x first; 32 in a row are a wave.
#include "histogram.cl"
#include "matmul.cl"
#include "shared_start.cl"
#include "spmv.cl"
#include "transpose.cl"
#include "vadd.cl"
