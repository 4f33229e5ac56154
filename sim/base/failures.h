// FADE_GPU_FAIL: the software GPU fails on purpose, so that what has to cope with it can be tested.
//
//   what[:N][:TEXT], several separated by commas
//
// N counts from 1, in this process; without it, 1. For dispatches TEXT is a part of the kernel's
// name, and only such kernels count; for allocations it is a size, and only those that are at least
// as large count. "*" in the place of N means each one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fade::sim {

enum class Failure {
  none,
  open,       // the device file cannot be opened
  allocation, // refused as if there were no memory left
  queue,      // not created
  fault,      // a dispatch accesses memory that is not mapped
  violation,  // a dispatch accesses memory that it must not access: the queue stops with an error
  illegal,    // a dispatch contains an illegal instruction: the queue stops with an error
  hang,       // a dispatch never ends
  lost,       // the queue stops working at a dispatch, and says nothing
  reset,      // the driver resets the GPU, because a dispatch hangs
  ecc,        // the same, because its memory has an error that cannot be corrected
  skip,       // a dispatch ends without having done anything
  copy,       // a copy of the copy engine ends without having copied
  copyhang,   // a copy of the copy engine never ends
};

class Failures {
public:
  // Words that are not understood are reported.
  explicit Failures(std::string_view text);

  // What is to happen to the next thing of a kind; says so on stderr. `name` is the kernel's, asked
  // for only if it matters.
  template <class Name> Failure at_dispatch(Name name) {
    return any_dispatch_ ? next_dispatch(any_name_ ? name() : std::string()) : Failure::none;
  }
  bool refuses(Failure what, uint64_t size = 0) {
    return !orders_.empty() && next(what, size) == what;
  }
  Failure at_copy();

private:
  struct Order {
    Failure what = Failure::none;
    uint64_t number = 1; // 0: each one
    std::string name;
    uint64_t size = 0;
    std::unique_ptr<std::atomic<uint64_t>> seen;
  };
  static bool is_of_dispatch(Failure what);
  bool read(std::string_view word);
  bool is_due(Order &order);
  Failure next_dispatch(const std::string &name);
  Failure next(Failure what, uint64_t size);

  std::vector<Order> orders_;
  bool any_dispatch_ = false, any_name_ = false;
};

// Of this process, as FADE_GPU_FAIL says.
Failures &failures();

} // namespace fade::sim
