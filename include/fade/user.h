/* User-defined records from device code:
 *
 *   #include <fade/user.h>
 *   __global__ void sort(...) {
 *     ...
 *     fade::record<7>(steps);   // 7 is a number that you choose
 *
 * In an instrumented kernel (fadeprobe cc, or the plugin of clang) each execution writes one
 * record: the site, the number, and the value of each active lane. Handlers read them
 * (Batch::forEachUser, message.h), and the analyzer UserRecords sums them up. Without
 * instrumentation it costs no instruction; only the value is kept in a register up to this point.
 * On the host, and on GPUs other than AMD's, it does nothing.
 *
 * Values are numbers of up to 64 bits. Floating-point numbers are kept as double. */
#ifndef FADE_USER_H
#define FADE_USER_H

#if defined(__HIP__) || defined(__CUDA__)
#define FADE_USER_FUNCTION __attribute__((host, device, always_inline)) inline
#else
#define FADE_USER_FUNCTION inline
#endif

namespace fade {

template <unsigned Number, typename T> FADE_USER_FUNCTION void record(T value) {
#if defined(__AMDGCN__)
  /* The pass knows it by this text; an assembler takes it for a comment. */
  if constexpr (__is_floating_point(T)) {
    const double number = static_cast<double>(value);
    asm volatile("; fade_record_f64 %0 %1" : : "n"(Number), "v"(number));
  } else {
    const long long number = static_cast<long long>(value); /* negative ones stay so */
    asm volatile("; fade_record_i64 %0 %1" : : "n"(Number), "v"(number));
  }
#else
  static_cast<void>(value);
#endif
}

} // namespace fade

#endif
