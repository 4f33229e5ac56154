// The part of the CUDA driver API that is used here, found at run time: the program builds without
// CUDA and starts without a GPU. Declarations follow the driver's published interface.
#pragma once

#include <cstddef>
#include <string>

namespace fade::silicon {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;

constexpr CUresult kCudaSuccess = 0, kCudaNotReady = 600;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kHostPortable = 1, kHostDeviceMap = 2;
// attributes of a device and of a function
constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76;
constexpr int kFunctionLocalBytes = 3, kFunctionRegisters = 4;
// options of the compiler in the driver
constexpr int kJitErrorLog = 5, kJitErrorLogSize = 6;

// F(member, name of the symbol, parameters)
#define FADE_CUDA_FUNCTIONS(F)                                                                     \
  F(init, "cuInit", (unsigned))                                                                    \
  F(driverGetVersion, "cuDriverGetVersion", (int *))                                               \
  F(getErrorString, "cuGetErrorString", (CUresult, const char **))                                 \
  F(deviceGetCount, "cuDeviceGetCount", (int *))                                                   \
  F(deviceGet, "cuDeviceGet", (CUdevice *, int))                                                   \
  F(deviceGetName, "cuDeviceGetName", (char *, int, CUdevice))                                     \
  F(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice))                            \
  F(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                         \
  F(ctxSetCurrent, "cuCtxSetCurrent", (CUcontext))                                                 \
  F(moduleLoadDataEx, "cuModuleLoadDataEx", (CUmodule *, const void *, unsigned, int *, void **))  \
  F(moduleUnload, "cuModuleUnload", (CUmodule))                                                    \
  F(moduleGetFunction, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))              \
  F(moduleGetGlobal, "cuModuleGetGlobal_v2", (CUdeviceptr *, size_t *, CUmodule, const char *))    \
  F(funcGetAttribute, "cuFuncGetAttribute", (int *, int, CUfunction))                              \
  F(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *, CUfunction, int, size_t))    \
  F(memAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                            \
  F(memFree, "cuMemFree_v2", (CUdeviceptr))                                                        \
  F(memHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                   \
  F(memFreeHost, "cuMemFreeHost", (void *))                                                        \
  F(memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr *, void *, unsigned))    \
  F(memsetAsync, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))                \
  F(memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream))        \
  F(memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))              \
  F(streamCreate, "cuStreamCreate", (CUstream *, unsigned))                                        \
  F(streamQuery, "cuStreamQuery", (CUstream))                                                      \
  F(streamSynchronize, "cuStreamSynchronize", (CUstream))                                          \
  F(eventCreate, "cuEventCreate", (CUevent *, unsigned))                                           \
  F(eventDestroy, "cuEventDestroy_v2", (CUevent))                                                  \
  F(eventRecord, "cuEventRecord", (CUevent, CUstream))                                             \
  F(eventQuery, "cuEventQuery", (CUevent))                                                         \
  F(eventElapsedTime, "cuEventElapsedTime", (float *, CUevent, CUevent))                           \
  F(launchKernel, "cuLaunchKernel",                                                                \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,   \
     void **, void **))

struct CudaApi {
#define FADE_CUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;
  FADE_CUDA_FUNCTIONS(FADE_CUDA_MEMBER)
#undef FADE_CUDA_MEMBER

  // False, and why, if there is no driver or it lacks something.
  bool load(std::string &why);
  std::string errorText(CUresult result) const;
};

} // namespace fade::silicon
