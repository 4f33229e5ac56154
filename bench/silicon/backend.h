// What the checks and measurements need of a machine that runs waves. Two of them exist: a GPU
// (cuda_backend.cpp) and CPU threads (cpu_backend.cpp).
//
// While a kernel runs, only launches, isDone(), peek() and copy engines are used: anything else may
// wait for the kernel, and the kernel waits for us.
#pragma once

#include "pattern.h"
#include "stream/segment_reader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace fade::silicon {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Memory {
  std::byte *host = nullptr; // null if the host cannot look at it
  uint64_t device = 0;
  std::size_t size = 0;
};

enum class Place { host, device };

// The emitting kernels of emit.cl. `fast` takes lanes and shape as they are in the plan.
enum class Emitter { checked, fast };

struct Grid {
  uint32_t groups = 1;
  uint32_t waves_per_group = EMIT_WAVES_PER_GROUP;
  uint32_t waves() const { return groups * waves_per_group; }
};

// A kernel under way. Ends before it is destroyed.
class Launch {
public:
  virtual ~Launch() = default;
  virtual bool isDone() = 0;
  virtual double seconds() = 0; // on the device, once it is done
};

class Backend {
public:
  virtual ~Backend() = default;

  virtual const char *name() const = 0;
  virtual std::string device() const = 0;
  virtual uint32_t fullGroups() const = 0; // groups of the emitter that run at a time

  virtual Memory allocate(Place place, std::size_t size) = 0; // zero
  virtual void release(const Memory &memory) = 0;
  virtual void write(uint64_t to, const void *from, std::size_t size) = 0;
  virtual void read(void *to, uint64_t from, std::size_t size) = 0;
  virtual void fill(uint64_t to, uint8_t value, std::size_t size) = 0;
  // As read(), also while kernels run; false if there was no answer for a second.
  virtual bool peek(void *to, uint64_t from, std::size_t size) = 0;

  // `plan` is the device address of an emit_plan.
  virtual std::unique_ptr<Launch> emit(Emitter emitter, uint64_t control, uint64_t plan,
                                       Grid grid) = 0;
  virtual std::unique_ptr<CopyEngine> makeCopyEngine() = 0;
  // Each thread calls it before it uses the backend.
  virtual void enterThread() {}

  std::string doing; // what is going on, for whoever finds that nothing moves
};

// Memory that goes with its scope.
class Buffer {
public:
  Buffer() = default;
  Buffer(Backend &backend, Place place, std::size_t size)
      : backend_(&backend), memory_(backend.allocate(place, size)) {}
  Buffer(Buffer &&other) noexcept
      : backend_(std::exchange(other.backend_, nullptr)), memory_(other.memory_) {}
  Buffer &operator=(Buffer &&other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Buffer() {
    if (backend_) backend_->release(memory_);
  }

  std::byte *host() const { return memory_.host; }
  uint64_t device() const { return memory_.device; }
  std::size_t size() const { return memory_.size; }

private:
  Backend *backend_ = nullptr;
  Memory memory_;
};

std::unique_ptr<Backend> makeCpuBackend();
// Null, and why, if there is no such GPU. `artefacts` is the directory with the PTX.
std::unique_ptr<Backend> makeCudaBackend(const std::string &artefacts, std::string &why);

} // namespace fade::silicon
