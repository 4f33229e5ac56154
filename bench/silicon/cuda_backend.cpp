#include "cuda_backend.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

namespace fade::silicon {
namespace {

using Clock = std::chrono::steady_clock;

class CudaLaunch : public Launch {
public:
  CudaLaunch(const CudaBackend &backend, CUstream stream) : backend_(backend), stream_(stream) {
    backend.check(api().eventCreate(&start_, 0), "cuEventCreate");
    backend.check(api().eventCreate(&end_, 0), "cuEventCreate");
    backend.check(api().eventRecord(start_, stream_), "cuEventRecord");
  }
  void launched() { backend_.check(api().eventRecord(end_, stream_), "cuEventRecord"); }
  ~CudaLaunch() override {
    api().streamSynchronize(stream_);
    api().eventDestroy(start_);
    api().eventDestroy(end_);
  }
  bool isDone() override {
    const CUresult result = api().eventQuery(end_);
    if (result == kCudaNotReady) return false;
    backend_.check(result, "the kernel");
    return true;
  }
  double seconds() override {
    float ms = 0;
    backend_.check(api().eventElapsedTime(&ms, start_, end_), "cuEventElapsedTime");
    return ms * 1e-3;
  }

private:
  const CudaApi &api() const { return backend_.api(); }
  const CudaBackend &backend_;
  CUstream stream_;
  CUevent start_ = nullptr, end_ = nullptr;
};

// Answers and data travel in streams of their own, which other rings may share: a copy waits for
// copies only.
class CudaCopies : public CopyEngine {
public:
  CudaCopies(const CudaBackend &backend, CUstream answers, CUstream data)
      : backend_(backend), answers_(answers), data_(data) {
    for (CUevent &event : events_)
      backend.check(backend.api().eventCreate(&event, 2 /* without times */), "cuEventCreate");
  }
  ~CudaCopies() override {
    for (CUevent event : events_) backend_.api().eventDestroy(event);
  }
  bool start(unsigned slot, void *to, uint64_t from, std::size_t size) noexcept override {
    CUstream stream = slot == 0 ? answers_ : data_;
    return backend_.api().memcpyDtoHAsync(to, from, size, stream) == kCudaSuccess &&
           backend_.api().eventRecord(events_[slot], stream) == kCudaSuccess;
  }
  bool isDone(unsigned slot) noexcept override {
    return backend_.api().eventQuery(events_[slot]) == kCudaSuccess;
  }

private:
  const CudaBackend &backend_;
  CUstream answers_, data_;
  std::array<CUevent, kSlots> events_{};
};

} // namespace

void CudaBackend::check(CUresult result, const char *what) const {
  if (result != kCudaSuccess) throw Error(std::string(what) + ": " + api_.errorText(result));
}

CUstream CudaBackend::newStream() const {
  CUstream stream = nullptr;
  check(api_.streamCreate(&stream, kStreamNonBlocking), "cuStreamCreate");
  return stream;
}

bool CudaBackend::open(const std::string &artefacts, std::string &why) {
  if (!api_.load(why)) return false;
  // Before the driver reads them: loading code later would wait for kernels, and few queues would
  // make kernels and copies wait for each other.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  int count = 0;
  if (const CUresult result = api_.init(0)) {
    why = "no NVIDIA GPU: " + api_.errorText(result);
    return false;
  }
  if (api_.deviceGetCount(&count) != kCudaSuccess || count == 0) {
    why = "no NVIDIA GPU: the driver finds none";
    return false;
  }
  CUdevice device = 0;
  check(api_.deviceGet(&device, 0), "cuDeviceGet");
  char name[128] = "";
  check(api_.deviceGetName(name, sizeof name, device), "cuDeviceGetName");
  const auto attribute = [&](int which) {
    int value = 0;
    check(api_.deviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  int driver = 0;
  check(api_.driverGetVersion(&driver), "cuDriverGetVersion");
  multiprocessors_ = static_cast<uint32_t>(attribute(kMultiprocessors));
  device_name_ = std::string(name) + ", sm_" + std::to_string(attribute(kMajor)) +
                 std::to_string(attribute(kMinor)) + ", " + std::to_string(multiprocessors_) +
                 " multiprocessors, CUDA " + std::to_string(driver / 1000) + "." +
                 std::to_string(driver % 1000 / 10);
  check(api_.primaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
  enterThread();
  for (CUstream &stream : kernel_streams_) stream = newStream();
  for (CUstream &stream : copy_streams_) stream = newStream();
  service_ = newStream();
  bounce_ = allocate(Place::host, kBounce).host;

  const CUmodule module = load(artefacts + "/emit.ptx");
  emit_ = function(module, "emit");
  emit_fast_ = function(module, "emit_fast");
  store16_ = function(module, "store16");
  bare_records_ = function(module, "bare_records");
  int groups = 0;
  check(api_.occupancy(&groups, emit_, EMIT_WAVES_PER_GROUP * EMIT_WAVE_SIZE, 0), "occupancy");
  full_groups_ = static_cast<uint32_t>(groups) * multiprocessors_;
  device_name_ += "; emit: " + registers(emit_) + "; emit_fast: " + registers(emit_fast_);
  return true;
}

CUmodule CudaBackend::load(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.empty()) throw Error("no code for the GPU: cannot read " + path);
  std::string log(8192, '\0');
  int options[] = {kJitErrorLog, kJitErrorLogSize};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule module = nullptr;
  const CUresult result = api_.moduleLoadDataEx(&module, text.c_str(), 2, options, values);
  if (result != kCudaSuccess)
    throw Error(path + ": " + api_.errorText(result) + "\n" + log.c_str());
  return module;
}

CUfunction CudaBackend::function(CUmodule module, const char *name) {
  CUfunction found = nullptr;
  check(api_.moduleGetFunction(&found, module, name), name);
  return found;
}

std::vector<std::byte> CudaBackend::global(CUmodule module, const char *name) {
  CUdeviceptr at = 0;
  size_t size = 0;
  check(api_.moduleGetGlobal(&at, &size, module, name), name);
  std::vector<std::byte> bytes(size);
  read(bytes.data(), at, size);
  return bytes;
}

std::string CudaBackend::registers(CUfunction function) const {
  int registers = 0, local = 0;
  check(api_.funcGetAttribute(&registers, kFunctionRegisters, function), "cuFuncGetAttribute");
  check(api_.funcGetAttribute(&local, kFunctionLocalBytes, function), "cuFuncGetAttribute");
  return std::to_string(registers) + " registers, " + std::to_string(local) + " B of stack";
}

Memory CudaBackend::allocate(Place place, std::size_t size) {
  Memory memory{nullptr, 0, size};
  if (place == Place::device) {
    // What waves write to at the same time is kept apart: neighbours may share a slice of the
    // cache.
    constexpr std::size_t apart = 64 << 10;
    CUdeviceptr at = 0;
    check(api_.memAlloc(&at, std::max(size, apart)), "cuMemAlloc");
    memory.device = at;
    fill(at, 0, size);
    return memory;
  }
  void *host = nullptr;
  check(api_.memHostAlloc(&host, size, kHostPortable | kHostDeviceMap), "cuMemHostAlloc");
  std::memset(host, 0, size);
  CUdeviceptr at = 0;
  check(api_.memHostGetDevicePointer(&at, host, 0), "cuMemHostGetDevicePointer");
  memory.host = static_cast<std::byte *>(host);
  memory.device = at;
  return memory;
}

void CudaBackend::release(const Memory &memory) {
  if (memory.host)
    api_.memFreeHost(memory.host);
  else
    api_.memFree(memory.device);
}

void CudaBackend::write(uint64_t to, const void *from, std::size_t size) {
  const std::lock_guard lock(mutex_);
  check(api_.memcpyHtoDAsync(to, from, size, service_), "cuMemcpyHtoDAsync");
  check(api_.streamSynchronize(service_), "cuStreamSynchronize");
}

void CudaBackend::fill(uint64_t to, uint8_t value, std::size_t size) {
  const std::lock_guard lock(mutex_);
  check(api_.memsetAsync(to, value, size, service_), "cuMemsetD8Async");
  check(api_.streamSynchronize(service_), "cuStreamSynchronize");
}

// Through pinned memory: a copy to other memory might wait for more than itself.
bool CudaBackend::copyOut(void *to, uint64_t from, std::size_t size, double patience) {
  const std::lock_guard lock(mutex_);
  const auto start = Clock::now();
  for (std::size_t done = 0; done < size;) {
    const std::size_t part = std::min(size - done, kBounce);
    check(api_.memcpyDtoHAsync(bounce_, from + done, part, service_), "cuMemcpyDtoHAsync");
    for (CUresult result; (result = api_.streamQuery(service_)) != kCudaSuccess;) {
      if (result != kCudaNotReady) check(result, "a copy from the device");
      if (std::chrono::duration<double>(Clock::now() - start).count() > patience) return false;
      std::this_thread::yield();
    }
    std::memcpy(static_cast<std::byte *>(to) + done, bounce_, part);
    done += part;
  }
  return true;
}

void CudaBackend::read(void *to, uint64_t from, std::size_t size) {
  if (!copyOut(to, from, size, 20)) throw Error("a copy from the device does not end");
}
bool CudaBackend::peek(void *to, uint64_t from, std::size_t size) {
  return copyOut(to, from, size, 1);
}

std::unique_ptr<Launch> CudaBackend::launch(CUfunction function, Dim groups, Dim group,
                                            void **arguments) {
  CUstream stream;
  {
    const std::lock_guard lock(mutex_);
    stream = kernel_streams_[next_kernel_++ % kernel_streams_.size()];
  }
  auto started = std::make_unique<CudaLaunch>(*this, stream);
  check(api_.launchKernel(function, groups.x, groups.y, groups.z, group.x, group.y, group.z, 0,
                          stream, arguments, nullptr),
        "cuLaunchKernel");
  started->launched();
  return started;
}

std::unique_ptr<Launch> CudaBackend::emit(Emitter emitter, uint64_t control, uint64_t plan,
                                          Grid grid) {
  void *arguments[] = {&control, &plan};
  return launch(emitter == Emitter::checked ? emit_ : emit_fast_, {grid.groups},
                {grid.waves_per_group * EMIT_WAVE_SIZE}, arguments);
}

std::unique_ptr<CopyEngine> CudaBackend::makeCopyEngine() {
  const std::lock_guard lock(mutex_);
  const unsigned pair = next_engine_++ % (copy_streams_.size() / 2);
  return std::make_unique<CudaCopies>(*this, copy_streams_[2 * pair], copy_streams_[2 * pair + 1]);
}

std::unique_ptr<Backend> makeCudaBackend(const std::string &artefacts, std::string &why) {
  auto backend = std::make_unique<CudaBackend>();
  if (!backend->open(artefacts, why)) return nullptr;
  return backend;
}

} // namespace fade::silicon
