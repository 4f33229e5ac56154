// Calls HIP as PyTorch's extensions and ZLUDA do: the library is loaded with RTLD_LOCAL and every
// function is taken with dlsym. Says what it did, for the tests of fadeprobe trace.
//   dl_calls typed            one call of each kind of arguments
//   dl_calls loop N           N calls; says the CPU time of one, in ns
//   dl_calls threads T N      T threads at once with N calls each
//   dl_calls churn N          N threads, one after the other, with a call each
//   dl_calls killed           ends by SIGKILL while a call waits for a callback
//   dl_calls fork             calls before a fork, in the child and after it
//   dl_calls limited BYTES    no file may grow beyond that
//   dl_calls launches FILE T N [S [W]]   T threads with S streams each launch N kernels, and wait
//                             after every W of them, if it is not 0; a thread's grids are a
//                             workgroup larger than those of the one before
//   dl_calls paced [T [FILE]] for each number on stdin as many calls, then says so; for -1 T
//                             threads call until the input ends, or launch the kernel of a file
//   dl_calls markers [LIB]    marks and ranges of roctx, before and after the first use of the GPU
//   dl_calls rpd              starts and stops with RPD's functions; waits for a byte after a flush
//   dl_calls properties       what HIP says about the first device, asked in all ways there are
//   dl_calls both_answers     compute units of every device by properties and by attribute
//   dl_calls ignored          errors, of which one is looked at
//   dl_calls cuda LIBRARY     calls through a library with CUDA's names, which is closed again
//   dl_calls header           the same with FADE's own header
//   dl_calls without_gpu S    finds the GPU, then has S seconds of processor time more, as far as
//   it
//                             and the libraries in it can tell
//   dl_calls copies           copies and fills of many sizes and directions
#include "fade/trace.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <initializer_list>
#include <memory>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {
std::atomic<long> pretended_seconds{0};
}

// The program's own, so that seconds of work need not take any.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec *time) noexcept {
  static auto *const real =
      reinterpret_cast<int (*)(clockid_t, timespec *)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (clock == CLOCK_PROCESS_CPUTIME_ID) time->tv_sec += pretended_seconds;
  return result;
}

namespace {

void *hip = nullptr;

void *load() {
  for (const char *name : {"libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"})
    if (void *found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  std::puts(dlerror());
  std::exit(98);
}

template <typename Function> Function *function(const char *name) {
  auto *found = reinterpret_cast<Function *>(dlsym(hip, name));
  if (!found) {
    std::printf("%s is missing\n", name);
    std::exit(97);
  }
  return found;
}

struct Dim3 {
  uint32_t x, y, z;
};

int typed() {
  const auto get_count = function<int(int *)>("hipGetDeviceCount");
  const auto allocate = function<int(void **, size_t)>("hipMalloc");
  const auto copy = function<int(void *, const void *, size_t, int)>("hipMemcpy");
  const auto release = function<int(void *)>("hipFree");
  const auto error_name = function<const char *(int)>("hipGetErrorName");
  const auto load_module = function<int(void **, const char *)>("hipModuleLoad");
  const auto elapsed = function<int(float *, void *, void *)>("hipEventElapsedTime");
  const auto create_event = function<int(void **)>("hipEventCreate");
  const auto record = function<int(void *, void *)>("hipEventRecord");
  const auto wait = function<int(void *)>("hipEventSynchronize");
  const auto get_name = function<int(char *, int, int)>("hipDeviceGetName");
  const auto push = function<int(Dim3, Dim3, size_t, void *)>("__hipPushCallConfiguration");
  const auto pop = function<int(Dim3 *, Dim3 *, size_t *, void **)>("__hipPopCallConfiguration");
  int count = 0;
  get_count(&count);
  void *memory = nullptr, *none = nullptr, *begin = nullptr, *end = nullptr;
  allocate(&memory, 4096);
  std::vector<char> bytes(4096, 7);
  copy(memory, bytes.data(), bytes.size(), 1);
  const int huge = allocate(&none, size_t{1} << 50);
  const char *name = error_name(huge);
  const int missing = load_module(&none, "/no/such/file.hsaco");
  create_event(&begin);
  create_event(&end);
  record(begin, nullptr);
  record(end, nullptr);
  wait(end);
  float milliseconds = -1;
  elapsed(&milliseconds, begin, end);
  char device[256] = "";
  get_name(device, sizeof device, 0);
  push({3, 4, 5}, {6, 7, 8}, 99, nullptr);
  Dim3 grid{}, block{};
  size_t shared = 0;
  void *stream = &stream;
  pop(&grid, &block, &shared, &stream);
  release(memory);
  std::printf(
      "{\"count\": %d, \"memory\": \"%p\", \"bytes\": \"%p\", \"huge\": %d, \"name\": \"%s\", "
      "\"missing\": %d, \"begin\": \"%p\", \"ms\": %.9g, \"device\": \"%s\", \"thread\": %ld}\n",
      count, memory, static_cast<void *>(bytes.data()), huge, name, missing, begin,
      static_cast<double>(milliseconds), device, static_cast<long>(syscall(SYS_gettid)));
  return 0;
}

auto getDevice() { return function<int(int *)>("hipGetDevice"); }

void call(int (*get_device)(int *), long times) {
  int device = -1;
  for (long i = 0; i < times; ++i) get_device(&device);
}

int loop(long times) {
  const auto get_device = getDevice();
  call(get_device, 1000); // HIP has begun
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  call(get_device, times);
  std::printf("%.1f\n", (now() - start) / static_cast<double>(times));
  return 0;
}

/// They begin at the same time, with the first calls of the process.
int threads(long count, long times) {
  const auto get_device = getDevice();
  std::atomic<long> there{0};
  std::vector<std::thread> all;
  for (long i = 0; i < count; ++i)
    all.emplace_back([=, &there] {
      ++there;
      while (there < count) {
      }
      call(get_device, times);
    });
  for (std::thread &thread : all) thread.join();
  return 0;
}

int churn(long count) {
  const auto get_device = getDevice();
  call(get_device, 1);
  for (long i = 0; i < count; ++i) std::thread([=] { call(get_device, 1); }).join();
  return 0;
}

int64_t processorTime(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

/// A thread that is about to wait.
struct Waiter {
  std::atomic<pid_t> id{0};
  clockid_t clock{};
  int64_t began = 0;

  void isThisThread() {
    pthread_getcpuclockid(pthread_self(), &clock);
    began = processorTime(clock);
    id = static_cast<pid_t>(syscall(SYS_gettid));
  }
  /// It does when it sleeps, or has had the processor for longer than it takes to get there.
  bool waits() const {
    if (id == 0) return false;
    if (processorTime(clock) - began > 2'000'000) return true;
    const std::string path = "/proc/self/task/" + std::to_string(id) + "/stat";
    std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "r"), std::fclose);
    char text[128] = {};
    if (!file || !std::fgets(text, sizeof text, file.get())) return false;
    const char *state = std::strrchr(text, ')');
    return state && state[1] == ' ' && state[2] == 'S';
  }
} waiter;

int killed() {
  using Callback = void (*)(void *, int, void *);
  const auto create = function<int(void **)>("hipStreamCreate");
  const auto add = function<int(void *, Callback, void *, unsigned)>("hipStreamAddCallback");
  const auto wait = function<int(void *)>("hipStreamSynchronize");
  const auto get_device = getDevice();
  void *stream = nullptr;
  create(&stream);
  call(get_device, 5);
  add(
      stream,
      [](void *, int, void *data) {
        call(reinterpret_cast<int (*)(int *)>(data), 2);
        while (!waiter.waits()) usleep(1000);
        raise(SIGKILL);
      },
      reinterpret_cast<void *>(get_device), 0);
  waiter.isThisThread();
  wait(stream);
  pause();
  return 1;
}

int forks() {
  const auto get_device = getDevice();
  call(get_device, 3);
  const pid_t child = fork();
  if (child == 0) {
    call(get_device, 20);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  call(get_device, 5);
  std::printf("%d %d\n", getpid(), child);
  return 0;
}

int markers(const char *library) {
  void *roctx = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!roctx) return 93;
  const auto take = [&](const char *name) { return dlsym(roctx, name); };
  const auto mark = reinterpret_cast<void (*)(const char *)>(take("roctxMarkA"));
  const auto push = reinterpret_cast<int (*)(const char *)>(take("roctxRangePushA"));
  const auto pop = reinterpret_cast<int (*)()>(take("roctxRangePop"));
  const auto start = reinterpret_cast<uint64_t (*)(const char *)>(take("roctxRangeStartA"));
  const auto stop = reinterpret_cast<void (*)(uint64_t)>(take("roctxRangeStop"));
  if (!mark || !push || !pop || !start || !stop) return 92;
  std::printf("%d", pop());
  mark("early");
  const auto get_device = getDevice();
  call(get_device, 1);
  std::printf(" %d", push("aten::add, seq = 1, op_id = 2"));
  const uint64_t range = start("free");
  std::printf(" %d", push("inner \"quoted\""));
  call(get_device, 3);
  mark("here");
  std::printf(" %d", pop());
  stop(range);
  std::printf(" %d\n", pop());
  return 0;
}

/// What HIP says of device 0: by the structure of today, that of HIP 5 and an attribute. Then which
/// device is like that.
int properties() {
  using Get = int(void *, int);
  using Choose = int(int *, const void *);
  alignas(8) static char bytes[4096];
  int units = 0, units_of_old = 0, attribute = 0, chosen = -1, chosen_by_old = -1;
  const auto get_old = function<Get>("hipGetDeviceProperties");
  if (get_old(bytes, 0) != 0 || get_old(bytes, 0) != 0)
    return 90; // FADE is loaded in the first one
  std::memcpy(&units_of_old, bytes + 336, sizeof units_of_old);
  function<Choose>("hipChooseDevice")(&chosen_by_old, bytes);
  if (auto *get = reinterpret_cast<Get *>(dlsym(hip, "hipGetDevicePropertiesR0600"))) {
    if (get(bytes, 0) != 0) return 91;
    std::memcpy(&units, bytes + 388, sizeof units);
    function<Choose>("hipChooseDeviceR0600")(&chosen, bytes);
  } else {
    units = units_of_old;
    chosen = chosen_by_old;
  }
  function<int(int *, int, int)>("hipDeviceGetAttribute")(&attribute, 63, 0);
  std::printf("%d %d %d, %d %d\n", units, units_of_old, attribute, chosen, chosen_by_old);
  return 0;
}

int bothAnswers() {
  alignas(8) static char bytes[4096];
  int count = 0;
  function<int(int *)>("hipGetDeviceCount")(&count);
  for (int device = 0; device < count; ++device) {
    int units = 0, attribute = 0;
    function<int(void *, int)>("hipGetDeviceProperties")(bytes, device);
    std::memcpy(&units, bytes + 336, sizeof units);
    function<int(int *, int, int)>("hipDeviceGetAttribute")(&attribute, 63, device);
    std::printf("%d %d\n", units, attribute);
  }
  return function<int()>("hipGetLastError")();
}

/// A GPU is found, and the host does the work.
int withoutGpu(long seconds) {
  int count = 0;
  if (function<int(int *)>("hipGetDeviceCount")(&count) != 0 || count == 0) return 89;
  pretended_seconds = seconds;
  return 0;
}

/// Errors that nobody looks at, and some that are looked at.
int ignored() {
  const auto allocate = function<int(void **, size_t)>("hipMalloc");
  const auto release = function<int(void *)>("hipFree");
  const auto last = function<int()>("hipGetLastError");
  const auto get_device = getDevice();
  call(get_device, 1);
  void *memory = nullptr;
  for (int i = 0; i < 3; ++i) allocate(&memory, size_t{1} << 50);
  call(get_device, 1);
  allocate(&memory, size_t{1} << 51);
  last();
  int on_stack = 0;
  release(&on_stack);
  call(get_device, 1);
  return 0;
}

/// Through a library with CUDA's names.
/// `times`: how often the same is done without the layer.
int cuda(const char *library, long times) {
  void *layer = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!layer) return 89;
  const auto allocate = reinterpret_cast<int (*)(void **, size_t)>(dlsym(layer, "cudaMalloc"));
  if (!allocate) return 88;
  call(getDevice(), 1);
  void *memory = nullptr;
  for (int i = 0; i < 4; ++i)
    if (allocate(&memory, 64) != 0) return 87;
  const auto itself = function<int(void **, size_t)>("hipMalloc");
  for (long i = 0; i < times; ++i)
    if (itself(&memory, 64) != 0) return 86;
  function<int(void *)>("hipFree")(memory);
  dlclose(layer);
  return 0;
}

/// RPD's functions, by whatever has them.
int rpd() {
  const auto take = [](const char *name) { return dlsym(RTLD_DEFAULT, name); };
  const auto start = reinterpret_cast<void (*)()>(take("rpdstart"));
  const auto stop = reinterpret_cast<void (*)()>(take("rpdstop"));
  const auto flush = reinterpret_cast<void (*)()>(take("rpdflush"));
  using Push = void (*)(const char *, const char *, const char *);
  const auto push = reinterpret_cast<Push>(take("rpd_rangePush"));
  const auto pop = reinterpret_cast<void (*)()>(take("rpd_rangePop"));
  if (!start || !stop || !flush || !push || !pop) return 91;
  const auto get_device = getDevice();
  call(get_device, 1000);
  start();
  push("python", "step", "epoch=1");
  start();
  call(get_device, 10);
  stop();
  call(get_device, 5); // one start is left
  pop();
  stop();
  call(get_device, 1000);
  flush();
  std::puts("flushed");
  std::fflush(stdout);
  (void)!std::getchar();
  stop(); // one too many
  start();
  call(get_device, 2);
  return 0;
}

int header() {
  fade_range_push("before the GPU");
  const auto get_device = getDevice();
  call(get_device, 2);
  fade_start();
  fade_range_start("free", 77);
  call(get_device, 3);
  fade_mark("here");
  fade_range_pop();
  fade_stop();
  fade_range_stop(77);
  call(get_device, 4);
  fade_stop();
  call(get_device, 100);
  fade_flush();
  return 0;
}

/// Launches a kernel of a file, again and again, in a stream of its own.
class Launcher {
public:
  explicit Launcher(const char *file) {
    void *module = nullptr;
    if (function<int(void **, const char *)>("hipModuleLoad")(&module, file) != 0 ||
        function<int(void **, void *, const char *)>("hipModuleGetFunction")(&kernel_, module,
                                                                             "scale") != 0)
      std::exit(95);
    function<int(void **, size_t)>("hipMalloc")(&memory_, 4096);
  }
  void *stream() const {
    void *made = nullptr;
    function<int(void **)>("hipStreamCreate")(&made);
    return made;
  }
  void launch(unsigned groups, void *stream) const {
    using Launch = int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void *, void **, void **);
    static auto *const call = function<Launch>("hipModuleLaunchKernel");
    void *memory = memory_;
    float by = 1;
    int n = 0;
    void *arguments[] = {&memory, &by, &n};
    if (call(kernel_, groups, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr) != 0) std::exit(94);
  }

private:
  void *kernel_ = nullptr, *memory_ = nullptr;
};

/// Threads that call, or launch, until the end of the input; says how often.
int busy(long count, const char *file) {
  const auto get_device = getDevice();
  const std::unique_ptr<Launcher> launcher(file ? new Launcher(file) : nullptr);
  std::atomic<bool> is_over{false};
  std::atomic<long> made{0}, begun{0};
  std::vector<std::thread> all;
  for (long i = 0; i < count; ++i)
    all.emplace_back([&, i] {
      void *stream = launcher ? launcher->stream() : nullptr;
      const auto wait = function<int(void *)>("hipStreamSynchronize");
      long own = 0;
      for (bool is_last = false; !is_last; own += 10) {
        is_last = is_over; // and once more
        if (launcher)
          for (int k = 0; k < 10; ++k) launcher->launch(static_cast<unsigned>(i + 1), stream);
        else
          call(get_device, 10);
        if (launcher) wait(stream);
        if (own == 0) ++begun;
        usleep(200); // a log that can be read in a moment
      }
      made += own;
    });
  while (begun < count) usleep(1000);
  std::puts("busy");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  is_over = true;
  for (std::thread &thread : all) thread.join();
  std::printf("%ld\n", made.load());
  return 0;
}

int paced(long count, const char *file) {
  const auto get_device = getDevice();
  call(get_device, 1);
  std::printf("%d\n", getpid());
  std::fflush(stdout);
  for (long times = 0; std::scanf("%ld", &times) == 1;) {
    if (times < 0) return busy(count, file);
    call(get_device, times);
    std::puts("done");
    std::fflush(stdout);
  }
  return 0;
}

int launches(const char *file, long count, long times, long queues, long waits) {
  const Launcher launcher(file);
  const auto wait = function<int(void *)>("hipStreamSynchronize");
  std::vector<std::thread> all;
  for (long i = 0; i < count; ++i)
    all.emplace_back([=, &launcher] {
      std::vector<void *> streams(static_cast<size_t>(queues));
      for (void *&stream : streams) stream = launcher.stream();
      for (long k = 0; k < times; ++k) {
        if (waits != 0 && k % waits == 0)
          for (void *stream : streams) wait(stream);
        launcher.launch(static_cast<unsigned>(i + 1), streams[static_cast<size_t>(k % queues)]);
      }
      for (void *stream : streams) wait(stream);
    });
  for (std::thread &thread : all) thread.join();
  return 0;
}

int copies() {
  const auto allocate = function<int(void **, size_t)>("hipMalloc");
  const auto pin = function<int(void **, size_t, unsigned)>("hipHostMalloc");
  const auto copy = function<int(void *, const void *, size_t, int)>("hipMemcpy");
  const auto fill = function<int(void *, int, size_t)>("hipMemset");
  const auto wait = function<int()>("hipDeviceSynchronize");
  constexpr size_t most = 1 << 20;
  void *a = nullptr, *b = nullptr, *pinned = nullptr;
  allocate(&a, most);
  allocate(&b, most);
  pin(&pinned, most, 0);
  std::vector<char> host(most);
  for (const size_t size : {size_t{4}, size_t{1024}, size_t{65536}, most}) {
    copy(a, host.data(), size, 1);
    copy(host.data(), a, size, 2);
    copy(b, a, size, 3);
    copy(a, pinned, size, 1);
    copy(pinned, a, size, 2);
    copy(host.data(), pinned, size, 0);
    fill(b, 7, size);
  }
  // Sizes for which HIP needs several kernels, a direction that it finds out itself, and a box.
  fill(b, 7, 4097);
  copy(b, a, 4097, 3);
  copy(pinned, a, 1001, 4);
  copy(a, pinned, 1001, 4);
  copy(b, a, 1001, 4);
  struct Pitched {
    void *at;
    size_t pitch, width, height;
  };
  struct Extent {
    size_t width, height, depth;
  };
  function<int(Pitched, int, Extent)>("hipMemset3D")({b, 256, 37, 5}, 7, {37, 5, 3});
  wait();
  fill(b, 7, most);
  bool is_right = true;
  copy(host.data(), b, most, 2);
  for (const char byte : host) is_right = is_right && byte == 7;
  std::puts(is_right ? "right" : "wrong");
  return 0;
}

int limited(unsigned long bytes) {
  const auto get_device = getDevice();
  call(get_device, 1); // the software GPU has made its files
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
  call(get_device, 100'000);
  std::puts("done");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int at) { return argc > at ? std::atol(argv[at]) : 1; };
  hip = load();
  if (mode == "typed") return typed();
  if (mode == "loop") return loop(number(2));
  if (mode == "threads") return threads(number(2), number(3));
  if (mode == "churn") return churn(number(2));
  if (mode == "killed") return killed();
  if (mode == "fork") return forks();
  if (mode == "launches" && argc > 2)
    return launches(argv[2], number(3), number(4), number(5), argc > 6 ? number(6) : 0);
  if (mode == "markers") return markers(argc > 2 ? argv[2] : "libroctx64.so.4");
  if (mode == "rpd") return rpd();
  if (mode == "properties") return properties();
  if (mode == "both_answers") return bothAnswers();
  if (mode == "ignored") return ignored();
  if (mode == "cuda" && argc > 2) return cuda(argv[2], argc > 3 ? number(3) : 0);
  if (mode == "header") return header();
  if (mode == "paced") return paced(number(2), argc > 3 ? argv[3] : nullptr);
  if (mode == "copies") return copies();
  if (mode == "without_gpu") return withoutGpu(number(2));
  if (mode == "limited") return limited(static_cast<unsigned long>(number(2)));
  return 96;
}
