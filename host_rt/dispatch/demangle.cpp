#include "dispatch/demangle.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace fade {

std::string demangle(const std::string &symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : symbol;
}

} // namespace fade
