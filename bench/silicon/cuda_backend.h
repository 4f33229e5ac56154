// An NVIDIA GPU through the driver API. Beyond what a Backend does it runs kernels of other modules
// for the five kernels and the measurements.
#pragma once

#include "backend.h"
#include "cuda_api.h"

#include <array>
#include <mutex>
#include <string>
#include <vector>

namespace fade::silicon {

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
};

class CudaBackend : public Backend {
public:
  CudaBackend() = default;
  bool open(const std::string &artefacts, std::string &why);

  const char *name() const override { return "cuda"; }
  std::string device() const override { return device_name_; }
  uint32_t fullGroups() const override { return full_groups_; }

  Memory allocate(Place place, std::size_t size) override;
  void release(const Memory &memory) override;
  void write(uint64_t to, const void *from, std::size_t size) override;
  void read(void *to, uint64_t from, std::size_t size) override;
  void fill(uint64_t to, uint8_t value, std::size_t size) override;
  bool peek(void *to, uint64_t from, std::size_t size) override;
  std::unique_ptr<Launch> emit(Emitter emitter, uint64_t control, uint64_t plan,
                               Grid grid) override;
  std::unique_ptr<CopyEngine> makeCopyEngine() override;
  void enterThread() override { check(api_.ctxSetCurrent(context_), "cuCtxSetCurrent"); }

  CUmodule load(const std::string &path); // PTX
  void unload(CUmodule module) { check(api_.moduleUnload(module), "cuModuleUnload"); }
  CUfunction function(CUmodule module, const char *name);
  // The bytes of a variable of a module.
  std::vector<std::byte> global(CUmodule module, const char *name);
  std::unique_ptr<Launch> launch(CUfunction function, Dim groups, Dim group, void **arguments);
  std::string registers(CUfunction function) const; // and stack, in words
  CUfunction store16() const { return store16_; }
  CUfunction bareRecords() const { return bare_records_; }
  uint32_t multiprocessors() const { return multiprocessors_; }
  const CudaApi &api() const { return api_; }
  void check(CUresult result, const char *what) const;

private:
  static constexpr std::size_t kBounce = 1 << 20;
  bool copyOut(void *to, uint64_t from, std::size_t size, double patience);
  CUstream newStream() const;

  CudaApi api_;
  CUcontext context_ = nullptr;
  CUfunction emit_ = nullptr, emit_fast_ = nullptr, store16_ = nullptr, bare_records_ = nullptr;
  std::string device_name_;
  uint32_t full_groups_ = 0, multiprocessors_ = 0;
  // Few streams, all made at the start: the hardware has 32 queues, and a copy must never wait
  // behind a kernel that waits for the copy.
  std::array<CUstream, 16> kernel_streams_{};
  std::array<CUstream, 8> copy_streams_{};
  CUstream service_ = nullptr; // all else
  std::byte *bounce_ = nullptr;
  unsigned next_kernel_ = 0, next_engine_ = 0;
  std::mutex mutex_; // of the service stream and the numbers above
};

} // namespace fade::silicon
