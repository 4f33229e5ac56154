// How a stage ends: with a text for people, or with one of these.
#pragma once

#include <stdexcept>
#include <string>

namespace fade::probe {

/// It does not work.
struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// It works in part, or is not offered.
struct Limited : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// It cannot be tried here.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace fade::probe
