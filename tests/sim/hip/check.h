// What the HIP programs of this folder share: calls that must succeed, comparisons that say what
// differs, device memory that frees itself. A program ends with `return check::result();`.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace check {

inline int made = 0, failed = 0;

inline bool report(bool ok, const char *file, int line, const std::string &what) {
  ++made;
  if (!ok && ++failed <= 20) std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
  return ok;
}

template <class T> std::string show(const T &value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (sizeof(T) == 1 && std::is_integral_v<T>)
    out << +value;
  else
    out << value;
  return out.str();
}

// Nothing after a failed call makes sense, so the program ends.
inline void succeeded(hipError_t error, const char *call, const char *file, int line) {
  if (report(error == hipSuccess, file, line, std::string(call) + ": " + hipGetErrorName(error)))
    return;
  std::fflush(nullptr);
  std::_Exit(1);
}

template <class A, class B>
bool equal(const A &got, const B &want, const char *what, const char *file, int line) {
  bool ok = got == want;
  return report(ok, file, line,
                ok ? "" : std::string(what) + " is " + show(got) + ", not " + show(want));
}

template <class T>
bool same(const std::vector<T> &got, const std::vector<T> &want, const char *what, const char *file,
          int line) {
  if (!equal(got.size(), want.size(), what, file, line)) return false;
  for (size_t i = 0; i < got.size(); ++i)
    if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0)
      return report(false, file, line,
                    std::string(what) + "[" + show(i) + "] is " + show(got[i]) + ", not " +
                        show(want[i]));
  return report(true, file, line, "");
}

inline int result() {
  if (made == 0) std::fprintf(stderr, "nothing was checked\n");
  if (failed) std::fprintf(stderr, "%d of %d checks failed\n", failed, made);
  return made > 0 && failed == 0 ? 0 : 1;
}

// count elements of device memory.
template <class T> class Device {
public:
  explicit Device(size_t count) : count_(count) {
    succeeded(hipMalloc(reinterpret_cast<void **>(&data_), count * sizeof(T)), "hipMalloc",
              __FILE__, __LINE__);
  }
  explicit Device(const std::vector<T> &from) : Device(from.size()) { put(from); }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device() { static_cast<void>(hipFree(data_)); }

  T *get() const { return data_; }
  operator T *() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

  void put(const std::vector<T> &from) {
    succeeded(hipMemcpy(data_, from.data(), from.size() * sizeof(T), hipMemcpyHostToDevice),
              "copy to the device", __FILE__, __LINE__);
  }
  void fill(int byte) {
    succeeded(hipMemset(data_, byte, bytes()), "hipMemset", __FILE__, __LINE__);
  }
  std::vector<T> read() const {
    std::vector<T> to(count_);
    succeeded(hipMemcpy(to.data(), data_, bytes(), hipMemcpyDeviceToHost), "copy from the device",
              __FILE__, __LINE__);
    return to;
  }

private:
  size_t count_;
  T *data_ = nullptr;
};

// The same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }
  // In [low, high).
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  template <class T> std::vector<T> bytes(size_t count) {
    std::vector<T> v(count);
    for (T &x : v) {
      uint64_t bits = next();
      std::memcpy(&x, &bits, sizeof x);
    }
    return v;
  }

private:
  uint64_t state_;
};

// The architecture that the program runs on, without features: gfx90a.
inline std::string architecture() {
  hipDeviceProp_t p;
  succeeded(hipGetDeviceProperties(&p, 0), "hipGetDeviceProperties", __FILE__, __LINE__);
  std::string name = p.gcnArchName;
  return name.substr(0, name.find(':'));
}

} // namespace check

#define HIP(call) ::check::succeeded((call), #call, __FILE__, __LINE__)
#define EXPECT(condition)                                                                          \
  ::check::report(static_cast<bool>(condition), __FILE__, __LINE__, #condition)
#define EXPECT_EQ(got, want) ::check::equal((got), (want), #got, __FILE__, __LINE__)
#define EXPECT_SAME(got, want) ::check::same((got), (want), #got, __FILE__, __LINE__)
#define LAUNCH(kernel, grid, block, ...)                                                           \
  do {                                                                                             \
    kernel<<<(grid), (block)>>>(__VA_ARGS__);                                                      \
    HIP(hipGetLastError());                                                                        \
  } while (0)
