// Many packets that are no dispatches: events on an empty stream.
#include "check.h"

int main() {
  hipEvent_t event;
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  hipStream_t first, second;
  CHECK(hipStreamCreate(&first));
  CHECK(hipStreamCreate(&second));
  for (int i = 0; i < 30000; ++i) {
    CHECK(hipEventRecord(event, first));
    CHECK(hipStreamWaitEvent(second, event, 0));
  }
  CHECK(hipDeviceSynchronize());
  std::puts("30000 events");
  return 0;
}
