// Not HIP: compiled as if FADE were not there.
int answer(int value) { return 2 * value; }
