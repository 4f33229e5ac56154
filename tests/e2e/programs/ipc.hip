// ipc ROLE MODE FOLDER: memory of one process (ROLE give) that another one (take) opens, fills and closes; both: one is the other's child.
// They talk through pipes in FOLDER. MODE: clean, overrun (the taker writes beyond the end), closed (it writes after it has closed it).
#include "check.h"

#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

constexpr int ints = 1000; // not whole pages

__global__ void put(int *at, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) at[i] = 1000 + i;
}
__global__ void twice(int *to, const int *from) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < ints) to[i] = 2 * from[i];
}

static void putAll(int *at, int count) {
  put<<<(count + 63) / 64, 64>>>(at, count);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());
}

struct Handles {
  hipIpcMemHandle_t memory;
  hipIpcEventHandle_t event;
};

static int opened(const std::string &pipe, int way) {
  const int file = open(pipe.c_str(), way);
  if (file < 0) std::exit(1);
  return file;
}

static int give(const std::string &folder) {
  const int there = opened(folder + "/there", O_WRONLY), back = opened(folder + "/back", O_RDONLY);
  int *at = nullptr, *doubled = nullptr;
  CHECK(hipMalloc(&at, ints * sizeof(int)));
  CHECK(hipMalloc(&doubled, ints * sizeof(int)));
  Handles handles{};
  hipEvent_t event;
  CHECK(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
  CHECK(hipEventRecord(event, nullptr));
  CHECK(hipIpcGetMemHandle(&handles.memory, at));
  CHECK(hipIpcGetEventHandle(&handles.event, event));
  char done = 0;
  if (write(there, &handles, sizeof handles) != sizeof handles || read(back, &done, 1) != 1) return 1;
  twice<<<(ints + 63) / 64, 64>>>(doubled, at);
  std::vector<int> host(ints);
  CHECK(hipMemcpy(host.data(), doubled, ints * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < ints; ++i)
    if (host[i] != 2 * (1000 + i)) return 1;
  CHECK(hipFree(at));
  CHECK(hipFree(doubled));
  std::puts("given");
  return 0;
}

static int take(const std::string &folder, const char *mode) {
  const int there = opened(folder + "/there", O_RDONLY), back = opened(folder + "/back", O_WRONLY);
  Handles handles;
  if (read(there, &handles, sizeof handles) != sizeof handles) return 1;
  int *at = nullptr;
  CHECK(hipIpcOpenMemHandle(reinterpret_cast<void **>(&at), handles.memory, hipIpcMemLazyEnablePeerAccess));
  hipEvent_t event;
  CHECK(hipIpcOpenEventHandle(&event, handles.event));
  CHECK(hipStreamWaitEvent(nullptr, event, 0));
  putAll(at, std::strcmp(mode, "overrun") == 0 ? ints + 8 : ints);
  CHECK(hipIpcCloseMemHandle(at));
  if (std::strcmp(mode, "closed") == 0) putAll(at, ints);
  if (write(back, "x", 1) != 1) return 1;
  std::puts("taken");
  return 0;
}

int main(int, char **argv) {
  const std::string role = argv[1], folder = argv[3];
  if (role == "give") return give(folder);
  if (role == "take") return take(folder, argv[2]);
  for (const char *pipe : {"/there", "/back"})
    if (mkfifo((folder + pipe).c_str(), 0600) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) return take(folder, argv[2]);
  int status = give(folder), of_child = 1;
  return waitpid(child, &of_child, 0) != child || of_child != 0 ? 1 : status;
}
