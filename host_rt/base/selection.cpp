#include "base/selection.h"

#include "base/fnv1a.h"

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
  std::string ignored; // both were read before
  if (!settings.kernels.empty()) kernels_ = Expression::parse(settings.kernels, ignored);
  wants_others_ = settings.library_filter.starts_with('!');
  if (!settings.library_filter.empty())
    libraries_ = Expression::parse(settings.library_filter.substr(wants_others_ ? 1 : 0), ignored);
}

bool Selection::wantsLibrary(const std::string &path) const {
  return !libraries_ || libraries_->isIn(path) != wants_others_;
}

bool Selection::wantsKernel(const std::string &demangled) const {
  return !kernels_ || kernels_->isIn(demangled);
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
