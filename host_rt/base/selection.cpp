#include "base/selection.h"

#include "base/fnv1a.h"
#include "base/kernel_expression.h"

namespace fade {
namespace {

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

} // namespace

Selection::Selection(const Settings &settings)
    : dispatches_(settings.dispatches), seed_(settings.seed) {
  if (!settings.kernels.empty()) kernels_ = kernelExpression(settings.kernels);
  wants_others_ = settings.library_filter.starts_with('!');
  if (!settings.library_filter.empty())
    libraries_ = kernelExpression(settings.library_filter.substr(wants_others_ ? 1 : 0));
}

bool Selection::wantsLibrary(const std::string &path) const {
  return !libraries_ || std::regex_search(path, *libraries_) != wants_others_;
}

bool Selection::wantsKernel(const std::string &demangled) const {
  return !kernels_ || std::regex_search(demangled, *kernels_);
}

bool Selection::wantsDispatch(const std::string &symbol, uint64_t ordinal) const {
  switch (dispatches_.kind) {
  case DispatchChoice::Kind::all: return true;
  case DispatchChoice::Kind::range:
    return dispatches_.first <= ordinal && ordinal <= dispatches_.last;
  case DispatchChoice::Kind::random: break;
  }
  const uint64_t dice = mix(mix(seed_ ^ fnv1a(symbol)) + ordinal * 0x9e3779b97f4a7c15ull);
  return dice % dispatches_.one_in == 0;
}

} // namespace fade
