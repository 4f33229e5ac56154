// Bytes that nobody wrote, beside others of the same dword that somebody did.
#include "cases.h"

// A pixel without its last component. Compilers load all four bytes at once.
__global__ void paint(unsigned char *p, int components) {
  for (int k = 0; k < components; ++k) p[4 * threadIdx.x + k] = threadIdx.x + k;
}
template <bool broken> __global__ void blend(const uchar4 *p, float *out) {
  const uchar4 *c = p + threadIdx.x;
  out[threadIdx.x] =
      broken ? (c->x + c->y) * float(c->w) : c->x + c->y * float(c->z); // finds: init
}
// Only one bit of it counts.
template <bool broken> __global__ void flags(const unsigned *p, int *out) {
  const unsigned word = p[threadIdx.x]; // finds: init
  out[threadIdx.x] = word & (broken ? 0x01000000 : 0x00010000) ? 3 : 4;
}
// By a mask that is not known to the compiler.
template <bool broken> __global__ void masked(const unsigned *p, unsigned mask, unsigned *out) {
  const unsigned word = p[threadIdx.x]; // finds: init
  out[threadIdx.x] = (word & mask) * 3;
}
template <bool broken> __global__ void shifted(const unsigned *p, const int *by, unsigned *out) {
  const unsigned word = p[threadIdx.x]; // finds: init
  out[threadIdx.x] = (word << by[threadIdx.x]) * 5;
}

// Two halves of a dword.
struct Pair {
  short key, value;
};
__global__ void set_keys(Pair *p, bool both) {
  p[threadIdx.x].key = threadIdx.x;
  if (both) p[threadIdx.x].value = 2;
}
template <bool broken> __global__ void lookup(const Pair *p, int *out) {
  const Pair *mine = p + threadIdx.x;
  out[threadIdx.x] = broken ? mine->key * mine->value : mine->key * 3; // finds: init
}
// A sum whose lower half is clean, though it is computed with the whole register.
__global__ void narrow(const Pair *p, const Pair *q, short *out) {
  const Pair a = p[threadIdx.x], b = q[threadIdx.x];
  out[threadIdx.x] = a.key + b.key;
}
// Copies leave the copy as unwritten as it was, byte by byte.
__global__ void duplicate(const Pair *from, Pair *to) { to[threadIdx.x] = from[63 - threadIdx.x]; }
template <bool broken> __global__ void use_copy(const Pair *p, int *out) {
  const Pair *mine = p + threadIdx.x;
  out[threadIdx.x] = (broken ? mine->value : mine->key) + 1; // finds: init
}
// Selected by something else.
template <bool broken> __global__ void chosen(const Pair *p, const int *which, int *out) {
  const Pair *mine = p + threadIdx.x;
  out[threadIdx.x] = (which[threadIdx.x] ? mine->value : mine->key) * 7; // finds: init
}

// Only the sign: the highest bit, of the byte that was written.
__global__ void set_highest(signed char *p) { p[4 * threadIdx.x + 3] = -int(threadIdx.x); }
template <bool broken> __global__ void sign(const int *p, int *out) {
  const int word = p[threadIdx.x]; // finds: init
  out[threadIdx.x] = (broken ? word < 5 : word < 0) ? 1 : 2;
}

// The last bytes of a string, whose length is no multiple of four.
__global__ void write_text(char *p, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = 'a' + i % 26;
}
template <bool broken> __global__ void checksum(const unsigned *words, int n, unsigned *out) {
  unsigned sum = 0;
  for (int i = 0; i < (n + 3) / 4; ++i) {
    unsigned w = words[i]; // finds: init
    const int left = n - 4 * i;
    if (!broken && left < 4) w &= (1u << 8 * left) - 1;
    sum = sum * 31 + w;
  }
  out[threadIdx.x] = sum;
}

// In LDS, and from a neighbor's register.
template <bool broken> __global__ void tile(float *out) {
  __shared__ uchar4 pixels[64];
  unsigned char *bytes = reinterpret_cast<unsigned char *>(pixels);
  for (int k = 0; k < (broken ? 3 : 4); ++k) bytes[threadIdx.x * 4 + k] = k;
  __syncthreads();
  out[threadIdx.x] = pixels[63 - threadIdx.x].x * float(pixels[63 - threadIdx.x].w); // finds: init
}
template <bool broken> __global__ void from_neighbor(const uchar4 *p, int *out) {
  const uchar4 *c = p + threadIdx.x;
  out[threadIdx.x] = c->x + __shfl_xor(int(broken ? c->w : c->z), 1) * 3; // finds: init
}

// Fields of a few bits: who sets one loads what it lies in, and stores it again.
struct Fields {
  unsigned kind : 5, count : 11, rest : 16;
};
template <bool broken> __global__ void set_fields(Fields *p) {
  __shared__ Fields own[64];
  own[threadIdx.x].kind = threadIdx.x % 7;
  if (!broken) p[threadIdx.x].count = own[threadIdx.x].kind;
  Fields local;
  local.kind = own[threadIdx.x].kind;
  p[threadIdx.x + 64] = local;
}
template <bool broken> __global__ void use_fields(const Fields *p, int *out) {
  out[threadIdx.x] = p[threadIdx.x].count + p[threadIdx.x + 64].kind; // finds: init
}

template <bool broken> int run() {
  Device<int> out(64), one(64);
  Device<float> floats(64);
  Device<unsigned> words(64);
  Device<short> shorts(64);
  std::vector<int> shifts(64, broken ? 4 : 8), choices(64, 0);
  if (broken) choices[17] = 1;
  {
    Device<unsigned char> p(256, false);
    paint<<<1, 64>>>(p.data, 3);
    const auto *pixels = reinterpret_cast<uchar4 *>(p.data);
    const auto *dwords = reinterpret_cast<unsigned *>(p.data);
    blend<broken><<<1, 64>>>(pixels, floats.data);
    flags<broken><<<1, 64>>>(dwords, out.data);
    masked<broken><<<1, 64>>>(dwords, broken ? 0xff00ff00 : 0x00ff00ff, words.data);
    HIP(hipMemcpy(one.data, shifts.data(), 256, hipMemcpyHostToDevice));
    shifted<broken><<<1, 64>>>(dwords, one.data, words.data);
    from_neighbor<broken><<<1, 64>>>(pixels, out.data);
    finish();
  }
  {
    Device<Pair> p(64, false), q(64, false);
    set_keys<<<1, 64>>>(p.data, false);
    lookup<broken><<<1, 64>>>(p.data, out.data);
    narrow<<<1, 64>>>(p.data, p.data, shorts.data);
    duplicate<<<1, 64>>>(p.data, q.data);
    use_copy<broken><<<1, 64>>>(q.data, out.data);
    HIP(hipMemcpy(one.data, choices.data(), 256, hipMemcpyHostToDevice));
    chosen<broken><<<1, 64>>>(p.data, one.data, out.data);
    finish();
  }
  {
    Device<int> p(64, false);
    set_highest<<<1, 64>>>(reinterpret_cast<signed char *>(p.data));
    sign<broken><<<1, 64>>>(p.data, out.data);
    finish();
  }
  {
    Device<unsigned> p(32, false);
    write_text<<<1, 64>>>(reinterpret_cast<char *>(p.data), 102);
    checksum<broken><<<1, 64>>>(p.data, 102, words.data);
    finish();
  }
  {
    Device<Fields> p(128, false);
    set_fields<broken><<<1, 64>>>(p.data);
    use_fields<broken><<<1, 64>>>(p.data, out.data);
    finish();
  }
  tile<broken><<<1, 64>>>(floats.data);
  finish();
  std::printf("done\n");
  return 5;
}

int main(int argc, char **argv) {
  return argc > 1 && std::string(argv[1]) == "broken" ? run<true>() : run<false>();
}
