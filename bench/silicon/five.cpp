#include "five.h"

#include <random>

namespace fade::silicon {
namespace {

constexpr AccessName loadGlobal(uint32_t n) { return {FADE_SITE_LOAD, FADE_SPACE_GLOBAL, n}; }
constexpr AccessName loadShared(uint32_t n) { return {FADE_SITE_LOAD, FADE_SPACE_LDS, n}; }
constexpr AccessName storeGlobal(uint32_t n) { return {FADE_SITE_STORE, FADE_SPACE_GLOBAL, n}; }
constexpr AccessName storeShared(uint32_t n) { return {FADE_SITE_STORE, FADE_SPACE_LDS, n}; }
constexpr AccessName atomicGlobal(uint32_t n) { return {FADE_SITE_ATOMIC, FADE_SPACE_GLOBAL, n}; }
constexpr AccessName atomicShared(uint32_t n) { return {FADE_SITE_ATOMIC, FADE_SPACE_LDS, n}; }

std::vector<float> numbers(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 1000) * 0.25f;
  return values;
}

Workload vadd(Backend &backend, bool large) {
  const uint32_t n = large ? 1u << 24 : 100003; // the last wave is not whole
  Workload w;
  w.name = "vadd";
  w.group = {256};
  w.groups = {(n + 255) / 256};
  const uint64_t a = w.input(backend, numbers(n)), b = w.input(backend, numbers(n));
  const uint64_t c = w.output(backend, n * 4ull);
  w.number(n);
  w.accesses = {loadGlobal(0), loadGlobal(1), storeGlobal(0)};
  w.reference = [=](const Thread &t, const Workload::Access &access) {
    const uint64_t i = t.block_x * 256 + t.x;
    if (i >= n) return;
    access(0, a + 4 * i);
    access(1, b + 4 * i);
    access(2, c + 4 * i);
  };
  return w;
}

Workload transpose(Backend &backend, uint32_t shared, bool padded, bool large) {
  const uint32_t width = large ? 4096 : 203, height = large ? 4096 : 157;
  const uint32_t pitch = padded ? 33 : 32;
  Workload w;
  w.name = padded ? "transpose_padded" : "transpose";
  w.group = {32, 8};
  w.groups = {(width + 31) / 32, (height + 31) / 32};
  const std::size_t size = std::size_t{width} * height;
  const uint64_t in = w.input(backend, numbers(size)), out = w.output(backend, size * 4);
  w.number(width);
  w.number(height);
  w.accesses = {loadGlobal(0), storeShared(0), loadShared(0), storeGlobal(0)};
  w.reference = [=](const Thread &t, const Workload::Access &access) {
    const uint32_t left = t.block_x * 32, top = t.block_y * 32;
    for (uint32_t j = 0; j < 32; j += 8)
      if (left + t.x < width && top + t.y + j < height) {
        access(0, in + 4 * (uint64_t{top + t.y + j} * width + left + t.x));
        access(1, shared + 4 * ((t.y + j) * pitch + t.x));
      }
    for (uint32_t j = 0; j < 32; j += 8)
      if (top + t.x < height && left + t.y + j < width) {
        access(2, shared + 4 * (t.x * pitch + t.y + j));
        access(3, out + 4 * (uint64_t{left + t.y + j} * height + top + t.x));
      }
  };
  return w;
}

Workload matmul(Backend &backend, uint32_t shared, bool large) {
  const uint32_t n = large ? 512 : 128;
  Workload w;
  w.name = "matmul";
  w.group = {16, 16};
  w.groups = {n / 16, n / 16};
  const uint64_t a = w.input(backend, numbers(n * n)), b = w.input(backend, numbers(n * n));
  const uint64_t c = w.output(backend, n * n * 4ull);
  w.number(n);
  w.accesses = {loadGlobal(0), storeShared(0), loadGlobal(1), storeShared(1),
                loadShared(0), loadShared(1),  storeGlobal(0)};
  w.reference = [=](const Thread &t, const Workload::Access &access) {
    const uint64_t row = t.block_y * 16 + t.y, column = t.block_x * 16 + t.x;
    for (uint32_t k = 0; k < n; k += 16) {
      access(0, a + 4 * (row * n + k + t.x));
      access(1, shared + 4 * (16 * t.y + t.x));
      access(2, b + 4 * (uint64_t{k + t.y} * n + column));
      access(3, shared + 1024 + 4 * (16 * t.y + t.x));
      for (uint32_t i = 0; i < 16; ++i) {
        access(4, shared + 4 * (16 * t.y + i));
        access(5, shared + 1024 + 4 * (16 * i + t.x));
      }
    }
    access(6, c + 4 * (row * n + column));
  };
  return w;
}

Workload spmv(Backend &backend, bool large) {
  const uint32_t rows = large ? 1u << 20 : 5001, columns = rows;
  std::mt19937 random(7);
  std::vector<uint32_t> starts(rows + 1), at;
  for (uint32_t r = 0; r < rows; ++r) {
    // Rows of very different length, some empty.
    const uint32_t length = random() % 8 == 0 ? random() % 64 : random() % 12;
    for (uint32_t k = 0; k < length; ++k) at.push_back(static_cast<uint32_t>(random()) % columns);
    starts[r + 1] = static_cast<uint32_t>(at.size());
  }
  Workload w;
  w.name = "spmv";
  w.group = {128};
  w.groups = {(rows + 127) / 128};
  const uint64_t s = w.input(backend, starts), c = w.input(backend, at);
  const uint64_t v = w.input(backend, numbers(at.size())), x = w.input(backend, numbers(columns));
  const uint64_t y = w.output(backend, rows * 4ull);
  w.number(rows);
  w.accesses = {loadGlobal(0), loadGlobal(1), loadGlobal(2),
                loadGlobal(3), loadGlobal(4), storeGlobal(0)};
  w.reference = [=](const Thread &t, const Workload::Access &access) {
    const uint64_t row = t.block_x * 128 + t.x;
    if (row >= rows) return;
    access(0, s + 4 * row);
    access(1, s + 4 * (row + 1));
    for (uint64_t k = starts[row]; k < starts[row + 1]; ++k) {
      access(2, c + 4 * k);
      access(3, v + 4 * k);
      access(4, x + 4ull * at[k]);
    }
    access(5, y + 4 * row);
  };
  return w;
}

Workload histogram(Backend &backend, uint32_t shared, bool large) {
  const uint32_t n = large ? 1u << 24 : 100001, blocks = large ? 1056 : 20;
  std::mt19937 random(11);
  std::vector<uint32_t> data(n);
  for (uint32_t &value : data) value = static_cast<uint32_t>(random());
  Workload w;
  w.name = "histogram";
  w.group = {256};
  w.groups = {blocks};
  const uint64_t d = w.input(backend, data), bins = w.output(backend, 256 * 4);
  w.number(n);
  w.accesses = {storeShared(0), loadGlobal(0), atomicShared(0), loadShared(0), atomicGlobal(0)};
  w.reference = [=](const Thread &t, const Workload::Access &access) {
    access(0, shared + 4 * t.x);
    for (uint64_t i = t.block_x * 256 + t.x; i < n; i += blocks * 256) {
      access(1, d + 4 * i);
      access(2, shared + 4 * (data[i] % 256));
    }
    access(3, shared + 4 * t.x);
    access(4, bins + 4 * t.x);
  };
  return w;
}

} // namespace

std::unique_ptr<Launch> Workload::launch(CudaBackend &backend, CUfunction function,
                                         uint64_t control) const {
  std::vector<uint64_t> values = arguments_;
  if (control != 0) values.push_back(control);
  std::vector<void *> pointers;
  pointers.reserve(values.size());
  for (uint64_t &value : values) pointers.push_back(&value);
  return backend.launch(function, groups, group, pointers.data());
}

std::vector<Workload> makeWorkloads(Backend &backend, uint32_t shared, bool large) {
  std::vector<Workload> all;
  all.push_back(vadd(backend, large));
  all.push_back(transpose(backend, shared, false, large));
  all.push_back(transpose(backend, shared, true, large));
  all.push_back(matmul(backend, shared, large));
  all.push_back(spmv(backend, large));
  all.push_back(histogram(backend, shared, large));
  return all;
}

} // namespace fade::silicon
