#include "hip/api_functions.h"

#include "hip/call_wrapper.h"

namespace fade::hip {

bool is_hip_five = false;
std::atomic<void (*)()> before_first{nullptr};

namespace {

template <Table From, unsigned Index, typename Signature, Launched What> struct Hook {
  using W = Wrapper<functionNumber(From, Index), Signature, What>;
  static ApiFunction make(const FunctionInfo &info) {
    return {info, From, Index, reinterpret_cast<void *>(&W::call),
            reinterpret_cast<void **>(&W::next)};
  }
};

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

} // namespace fade::hip
