// Uses no GPU, and starts nothing that could.
#include <cstdio>

int main() {
  std::puts("nothing");
  return 0;
}
