// Image resources (T#) and samplers (S#): textures of one level, in one to three dimensions, with
// layers.
//
// Linear images lie in memory as the resource says. The tiled layouts are the hardware's secret:
// only image instructions can make sense of them. So any order of texels will do as long as it fits
// in the same space, and tiled images are kept row by row without gaps.
#pragma once

#include "isa/arch.h"
#include "semantics/texel_format.h"

#include <cstdint>
#include <optional>

namespace fade::sim {

struct ImageResource {
  enum class Dim : uint8_t {
    d1 = 0,
    d2 = 1,
    d3 = 2,
    cube = 3,
    d1_array = 4,
    d2_array = 5,
    msaa = 6,
    msaa_array = 7
  };

  uint64_t base = 0;
  TexelFormat format;
  uint32_t width = 1, height = 1, depth = 1; // depth counts layers of arrays
  uint32_t pitch = 1;                        // texels from row to row
  Dim dim = Dim::d2;
  uint8_t select[4] = {}; // as in a buffer resource

  unsigned coordinates() const; // with the layer
  bool layered() const { return dim == Dim::d1_array || dim == Dim::d2_array; }
};

// `dim` is the instruction's, from gfx10 on; gfx9 takes the resource's (-1).
ImageResource image_resource(const Arch &arch, const uint32_t *words, int dim);

// A texel's place. Nothing when it is outside.
struct TexelIndex {
  int64_t x = 0, y = 0, z = 0;
};
std::optional<uint64_t> texel_address(const ImageResource &r, const TexelIndex &t);

struct Sampler {
  enum class Clamp : uint8_t {
    wrap,
    mirror,
    edge,
    mirror_once_edge,
    half_border,
    mirror_once_half_border,
    border,
    mirror_once_border
  };
  Clamp clamp[3];
  bool unnormalized, linear;
  uint8_t border; // 0 transparent black, 1 opaque black, 2 opaque white
};
Sampler sampler(const uint32_t *words);

// Where a coordinate falls: two neighbouring texels and the weight of the second, in steps of 1/256
// as the hardware filters. A texel of -1 is the border's.
struct Footprint {
  int64_t texel[2];
  float weight;
};
Footprint footprint(float coordinate, uint32_t size, Sampler::Clamp clamp, bool unnormalized,
                    bool linear);

} // namespace fade::sim
