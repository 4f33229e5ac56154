// Objects with static storage in this library, and in the LLVM that it contains, are never
// destroyed: the threads of the software GPU may compile until the process is gone, while others
// run exit handlers.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *,
                                                                  void *) {
  return 0;
}
