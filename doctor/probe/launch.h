// What stages need to run a kernel: its arguments, and values on either side.
#pragma once

#include "hsa_device.h"

#include <cstring>

namespace fade::probe {

/// Arguments of a kernel, each at its natural alignment.
class Arguments {
public:
  template <class T> Arguments &add(T value) {
    while (bytes_.size() % sizeof(T) != 0) bytes_.push_back(0);
    const auto *from = reinterpret_cast<const uint8_t *>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  std::span<const uint8_t> bytes() const { return bytes_; }

private:
  std::vector<uint8_t> bytes_;
};

/// What the buffer holds, copied to where the host can look at it.
template <class T> std::vector<T> contents(const Device &device, const T *from, std::size_t count) {
  const Buffer mirror(device, device.hostMemory(), count * sizeof(T));
  device.copy(mirror.as<T>(), device.host(), from, device.agent(), count * sizeof(T));
  return {mirror.as<T>(), mirror.as<T>() + count};
}

template <class T> void fill(const Device &device, T *to, std::span<const T> values) {
  const Buffer mirror(device, device.hostMemory(), values.size_bytes());
  std::memcpy(mirror.as<T>(), values.data(), values.size_bytes());
  device.copy(to, device.agent(), mirror.as<T>(), device.host(), values.size_bytes());
}

} // namespace fade::probe
