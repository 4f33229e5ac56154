// A library with pages between its segments, and a function that begins as most do: compiled
// without optimisation.
extern "C" __attribute__((visibility("default"))) int crowdedFunction(int a, int b) {
  const int sum = a + b;
  return sum;
}
int crowded_variable = 1; // a segment that is written to
