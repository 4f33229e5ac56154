// Loads that are not waited for, in assembly. A statement in assembly is one line of the source.
#include "cases.h"

// clang-format off

// What waits for all stores, by its name.
#if defined(__GFX12__)
#define WAIT_STORES "s_wait_storecnt 0x0\n"
#elif defined(__GFX10__) || defined(__GFX11__)
#define WAIT_STORES "s_waitcnt_vscnt null, 0x0\n"
#else
#define WAIT_STORES "s_waitcnt vmcnt(0)\n"
#endif
// Additions without a carry have other names there, too.
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define ADD "v_add_nc_u32"
#else
#define ADD "v_add_u32"
#endif

// What waits for all but so many loads of memory, of scalars and of LDS.
#if defined(__GFX12__)
#define WAIT_LOADS(n) "s_wait_loadcnt " #n "\n "
#define WAIT_SCALARS(n) "s_wait_kmcnt " #n "\n "
#define WAIT_LDS(n) "s_wait_dscnt " #n "\n "
#else
#define WAIT_LOADS(n) "s_waitcnt vmcnt(" #n ")\n "
#define WAIT_SCALARS(n) "s_waitcnt lgkmcnt(" #n ")\n "
#define WAIT_LDS(n) "s_waitcnt lgkmcnt(" #n ")\n "
#endif

// How an atomic is told to return the old value.
#if defined(__GFX12__)
#define RETURNS "th:TH_ATOMIC_RETURN"
#elif defined(__gfx942__) || defined(__gfx950__)
#define RETURNS "sc0"
#else
#define RETURNS "glc"
#endif

#define CASE(name, arguments) template <bool broken> __global__ void name arguments

CASE(vector_load, (int *out, const int *in)) {
  int v;
  if (broken) {
    asm volatile("global_load_dword %0, %1, off\n v_lshlrev_b32 %0, 1, %0\n " WAIT_LOADS(0) : "=&v"(v) : "v"(in + threadIdx.x)); // finds: wait
  } else {
    asm volatile("global_load_dword %0, %1, off\n " WAIT_LOADS(0) "v_lshlrev_b32 %0, 1, %0" : "=&v"(v) : "v"(in + threadIdx.x));
  }
  out[threadIdx.x] = v;
}

// The second of two loads: vmcnt(1) waits for the first alone.
CASE(second_load, (int *out, const int *in)) {
  int a, b;
  if (broken) {
    asm volatile("global_load_dword %0, %2, off\n global_load_dword %1, %2, off offset:4\n " WAIT_LOADS(1) "v_or_b32 %0, %0, %1\n " WAIT_LOADS(0) : "=&v"(a), "=&v"(b) : "v"(in + threadIdx.x)); // finds: wait
  } else {
    asm volatile("global_load_dword %0, %2, off\n global_load_dword %1, %2, off offset:4\n " WAIT_LOADS(1) "v_or_b32 %0, 1, %0\n " WAIT_LOADS(0) "v_or_b32 %0, %0, %1" : "=&v"(a), "=&v"(b) : "v"(in + threadIdx.x));
  }
  out[threadIdx.x] = a + b;
}

// A register of a wide load.
CASE(wide_load, (int *out, const int4 *in)) {
  int4 v;
  if (broken) {
    asm volatile("global_load_dwordx4 %0, %1, off\n v_mov_b32 v40, 0\n global_store_dwordx4 %2, %0, off\n " WAIT_LOADS(0) WAIT_STORES : "=&v"(v) : "v"(in + threadIdx.x), "v"(out + 4 * threadIdx.x) : "v40"); // finds: wait
  } else {
    asm volatile("global_load_dwordx4 %0, %1, off\n v_mov_b32 v40, 0\n " WAIT_LOADS(0) "global_store_dwordx4 %2, %0, off\n" WAIT_STORES : "=&v"(v) : "v"(in + threadIdx.x), "v"(out + 4 * threadIdx.x) : "v40");
  }
  out[4 * threadIdx.x] += v.w;
}

// Scalar loads come back in any order: lgkmcnt(1) says nothing about the first.
CASE(scalar_load, (int *out, const int *in)) {
  int a, b;
  if (broken) {
    asm volatile("s_load_dword %0, %2, 0x0\n s_load_dword %1, %2, 0x40\n " WAIT_SCALARS(1) "s_add_i32 %0, %0, 1\n " WAIT_SCALARS(0) : "=&s"(a), "=&s"(b) : "s"(in) : "scc"); // finds: wait
  } else {
    asm volatile("s_load_dword %0, %2, 0x0\n s_load_dword %1, %2, 0x40\n " WAIT_SCALARS(0) "s_add_i32 %0, %0, 1" : "=&s"(a), "=&s"(b) : "s"(in) : "scc");
  }
  out[threadIdx.x] = a + b;
}

// LDS answers in order.
CASE(lds_load, (int *out)) {
  __shared__ int tile[128];
  tile[threadIdx.x] = tile[threadIdx.x + 64] = threadIdx.x;
  __syncthreads();
  int a, b;
  const int at = threadIdx.x * 4;
  if (broken) {
    asm volatile("ds_read_b32 %0, %2\n ds_read_b32 %1, %2 offset:256\n " WAIT_LDS(1) "v_or_b32 %1, %0, %1\n " WAIT_LDS(0) : "=&v"(a), "=&v"(b) : "v"(at)); // finds: wait
  } else {
    asm volatile("ds_read_b32 %0, %2\n ds_read_b32 %1, %2 offset:256\n " WAIT_LDS(1) "v_or_b32 %0, 1, %0\n " WAIT_LDS(0) "v_or_b32 %1, %0, %1" : "=&v"(a), "=&v"(b) : "v"(at));
  }
  out[threadIdx.x] = a + b;
}

// A flat access may be of LDS or of memory: both counters.
CASE(flat_load, (int *out, const int *in)) {
  int v;
  if (broken) {
    asm volatile("flat_load_dword %0, %1\n " WAIT_LOADS(0) "v_lshlrev_b32 %0, 1, %0\n " WAIT_LDS(0) : "=&v"(v) : "v"(in + threadIdx.x)); // finds: wait
  } else {
    asm volatile("flat_load_dword %0, %1\n " WAIT_LOADS(0) WAIT_LDS(0) "v_lshlrev_b32 %0, 1, %0" : "=&v"(v) : "v"(in + threadIdx.x));
  }
  out[threadIdx.x] = v;
}

// The register is overwritten, and then the load comes.
CASE(overwritten, (int *out, const int *in)) {
  int v;
  if (broken) {
    asm volatile("global_load_dword %0, %1, off\n v_mov_b32 %0, 7\n " WAIT_LOADS(0) : "=&v"(v) : "v"(in + threadIdx.x)); // finds: wait
  } else {
    asm volatile("global_load_dword %0, %1, off\n " WAIT_LOADS(0) "v_mov_b32 %0, 7" : "=&v"(v) : "v"(in + threadIdx.x));
  }
  out[threadIdx.x] = v;
}

// The result of an atomic.
CASE(atomic_result, (int *out, int *in)) {
  int v;
  if (broken) {
    asm volatile("global_atomic_add %0, %1, %2, off " RETURNS "\n v_mov_b32 v40, %0\n " WAIT_LOADS(0) : "=&v"(v) : "v"(in), "v"(1) : "v40", "memory"); // finds: wait
  } else {
    asm volatile("global_atomic_add %0, %1, %2, off " RETURNS "\n " WAIT_LOADS(0) "v_mov_b32 v40, %0" : "=&v"(v) : "v"(in), "v"(1) : "v40", "memory");
  }
  out[threadIdx.x] = v;
}

// The wrong counter is waited for.
CASE(wrong_counter, (int *out, const int *in)) {
  int v;
  if (broken) {
    asm volatile("global_load_dword %0, %1, off\n " WAIT_LDS(0) ADD " %0, 1, %0\n " WAIT_LOADS(0) : "=&v"(v) : "v"(in + threadIdx.x)); // finds: wait
  } else {
    asm volatile("global_load_dword %0, %1, off\n " WAIT_LOADS(0) ADD " %0, 1, %0" : "=&v"(v) : "v"(in + threadIdx.x));
  }
  out[threadIdx.x] = v;
}

// The result of an atomic in LDS.
CASE(lds_atomic, (int *out)) {
  __shared__ int word;
  word = 0;
  __syncthreads();
  int v;
  const int at = 0;
  if (broken) {
    asm volatile("ds_add_rtn_u32 %0, %1, %2\n v_or_b32 %0, 1, %0\n " WAIT_LDS(0) : "=&v"(v) : "v"(at), "v"(1) : "memory"); // finds: wait
  } else {
    asm volatile("ds_add_rtn_u32 %0, %1, %2\n " WAIT_LDS(0) "v_or_b32 %0, 1, %0" : "=&v"(v) : "v"(at), "v"(1) : "memory");
  }
  out[threadIdx.x] = v + word;
}

// The address of the next load comes from the one before.
CASE(pointer_chase, (int *out, int *const *in)) {
  int *p;
  int v;
  if (broken) {
    asm volatile("global_load_dwordx2 %0, %2, off\n global_load_dword %1, %0, off\n " WAIT_LOADS(0) : "=&v"(p), "=&v"(v) : "v"(in)); // finds: wait
  } else {
    asm volatile("global_load_dwordx2 %0, %2, off\n " WAIT_LOADS(0) "global_load_dword %1, %0, off\n " WAIT_LOADS(0) : "=&v"(p), "=&v"(v) : "v"(in));
  }
  out[threadIdx.x] = v;
}

// The last register of a wide scalar load.
CASE(wide_scalar, (int *out, const int *in)) {
  int v;
  if (broken) {
    asm volatile("s_load_dwordx4 s[20:23], %1, 0x0\n s_mov_b32 %0, s23\n " WAIT_SCALARS(0) : "=&s"(v) : "s"(in) : "s20", "s21", "s22", "s23"); // finds: wait
  } else {
    asm volatile("s_load_dwordx4 s[20:23], %1, 0x0\n " WAIT_SCALARS(0) "s_mov_b32 %0, s23" : "=&s"(v) : "s"(in) : "s20", "s21", "s22", "s23");
  }
  out[threadIdx.x] = v;
}

// What the turn before has loaded is used one turn too early.
CASE(in_a_loop, (int *out, const int *in)) {
  int sum = 0, next = 0;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    if (broken) {
      asm volatile(ADD " %0, %0, %1\n global_load_dword %1, %2, off" : "+v"(sum), "+v"(next) : "v"(in + i)); // finds: wait
    } else {
      asm volatile(ADD " %0, %0, %1\n global_load_dword %1, %2, off\n " WAIT_LOADS(0) : "+v"(sum), "+v"(next) : "v"(in + i));
    }
  }
  asm volatile(WAIT_LOADS(0) : "+v"(next));
  out[threadIdx.x] = sum + next;
}

// Memory that is loaded to LDS, where it is read too early; other GPUs have no such loads.
#if defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
#define LOAD_TO_LDS "s_mov_b32 m0, %2\n s_nop 0\n global_load_lds_dword %1, off\n "
#elif defined(__GFX9__)
#define LOAD_TO_LDS "s_mov_b32 m0, %2\n s_nop 0\n global_load_dword %1, off lds\n "
#endif
CASE(loaded_to_lds, (int *out, const int *in)) {
  __shared__ int tile[64];
  int v = 0;
#ifdef LOAD_TO_LDS
  const int at = 4 * threadIdx.x;
  if (broken) {
    asm volatile(LOAD_TO_LDS "ds_read_b32 %0, %3\n s_waitcnt vmcnt(0) lgkmcnt(0)" : "=&v"(v) : "v"(in + threadIdx.x), "s"(0), "v"(at) : "memory"); // finds: wait on gfx9
  } else {
    asm volatile(LOAD_TO_LDS "s_waitcnt vmcnt(0)\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)" : "=&v"(v) : "v"(in + threadIdx.x), "s"(0), "v"(at) : "memory");
  }
#endif
  out[threadIdx.x] = v + (in == nullptr ? tile[threadIdx.x] : 0);
}
// The barrier does not wait for loads: another wave reads what is still under way.
CASE(loaded_for_others, (int *out, const int *in)) {
  __shared__ int tile[128];
  int v = 0;
#ifdef LOAD_TO_LDS
  const int at = 4 * ((threadIdx.x + 64) % 128), wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64 * 256);
  if (broken) {
    asm volatile(LOAD_TO_LDS "s_barrier\n ds_read_b32 %0, %3\n s_waitcnt vmcnt(0) lgkmcnt(0)" : "=&v"(v) : "v"(in + threadIdx.x), "s"(wave), "v"(at) : "memory"); // finds: wait on gfx9
  } else {
    asm volatile(LOAD_TO_LDS "s_waitcnt vmcnt(0)\n s_barrier\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)" : "=&v"(v) : "v"(in + threadIdx.x), "s"(wave), "v"(at) : "memory");
  }
#endif
  out[threadIdx.x] = v + (in == nullptr ? tile[threadIdx.x] : 0);
}

template <bool broken> int run() {
  Device<int> out(1024), in(1024);
  Device<int *> pointers(1);
  vector_load<broken><<<1, 64>>>(out.data, in.data);
  second_load<broken><<<1, 64>>>(out.data, in.data);
  wide_load<broken><<<1, 64>>>(out.data, reinterpret_cast<int4 *>(in.data));
  scalar_load<broken><<<1, 64>>>(out.data, in.data);
  lds_load<broken><<<1, 64>>>(out.data);
  flat_load<broken><<<1, 64>>>(out.data, in.data);
  overwritten<broken><<<1, 64>>>(out.data, in.data);
  atomic_result<broken><<<1, 64>>>(out.data, in.data);
  wrong_counter<broken><<<1, 64>>>(out.data, in.data);
  lds_atomic<broken><<<1, 64>>>(out.data);
  loaded_to_lds<broken><<<1, 64>>>(out.data, in.data);
  loaded_for_others<broken><<<1, 128>>>(out.data, in.data);
  finish();
  HIP(hipMemcpy(pointers.data, &in.data, sizeof in.data, hipMemcpyHostToDevice));
  pointer_chase<broken><<<1, 64>>>(out.data, pointers.data);
  wide_scalar<broken><<<1, 64>>>(out.data, in.data);
  in_a_loop<broken><<<1, 64>>>(out.data, in.data);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
