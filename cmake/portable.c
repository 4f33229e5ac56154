// Of newer versions of glibc, what the standard library refers to. Visible to nobody else.
#include <sys/random.h>
#include <stdint.h>

// Since 2.32: whether there is one thread only. There may always be more.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// Since 2.36.
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
