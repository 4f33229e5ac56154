#include "isa/arch.h"

namespace fade::sim {
namespace {
constexpr Arch table[] = {
    {Gfx::gfx90a, "gfx90a", 90010, 64 << 10, 1700, true, false, true, false, true, true},
    {Gfx::gfx942, "gfx942", 90402, 64 << 10, 2100, true, false, true, true, true, true},
    {Gfx::gfx1030, "gfx1030", 100300, 64 << 10, 2575, false, true, false, false, false, false},
    {Gfx::gfx1100, "gfx1100", 110000, 64 << 10, 2482, false, true, true, true, false, false},
};
} // namespace

const Arch *find_arch(std::string_view name) {
  for (const Arch &a : table)
    if (name == a.name) return &a;
  return nullptr;
}

const Arch &arch(Gfx id) { return table[static_cast<int>(id)]; }

std::span<const Arch> archs() { return table; }

} // namespace fade::sim
