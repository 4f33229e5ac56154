#include "hip/api_functions.h"

#include "hip/call_wrapper.h"

#include <vector>

namespace fade::hip {

bool is_hip_five = false;
std::atomic<void (*)()> before_first{nullptr};

namespace {

template <Table From, unsigned Index, typename Signature, Launched What, unsigned Copy = 0>
struct Hook {
  using W = Wrapper<functionNumber(From, Index), Signature, What, Copy>;
  static ApiFunction make(const FunctionInfo &info) {
    return {info, From, Index, reinterpret_cast<void *>(&W::call),
            reinterpret_cast<void **>(&W::next)};
  }
};

template <Table From, unsigned Index, typename Signature>
void addRtc(std::vector<ApiFunction> &to, const FunctionInfo &info) {
  if constexpr (From == Table::rtc)
    to.push_back(Hook<From, Index, Signature, Launched::nothing, 1>::make(info));
}

} // namespace

std::span<const ApiFunction> apiFunctions() {
  static std::size_t at = 0;
  static const ApiFunction functions[] = {
#define FADE_HIP(table, index, name, group, result, arguments, result_type, parameters)            \
  Hook<Table::table, index, result arguments, launchedBy(#group, parameters)>::make(               \
      kFunctions[at++]),
#include "fade/hip_functions.inc"
#undef FADE_HIP
  };
  return functions;
}

std::span<const ApiFunction> rtcFunctionsOfHip() {
  static const std::vector<ApiFunction> functions = [] {
    std::vector<ApiFunction> all;
    std::size_t at = 0;
#define FADE_HIP(table, index, name, group, result, arguments, result_type, parameters)            \
  addRtc<Table::table, index, result arguments>(all, kFunctions[at++]);
#include "fade/hip_functions.inc"
#undef FADE_HIP
    return all;
  }();
  return functions;
}

} // namespace fade::hip
