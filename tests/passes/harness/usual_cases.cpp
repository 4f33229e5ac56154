#include "cases.h"

namespace fade::test {

const std::vector<Case> &usualCases() {
  static const std::vector<Case> cases = [] {
    constexpr std::size_t work_items = 256, numbers = 8192;
    std::vector<Case> all;
    for (const char *name : {"pairs_32",
                             "pairs_33",
                             "pairs_34",
                             "write_pairs",
                             "rows_of_four",
                             "doubles_in_lds",
                             "wide_tile",
                             "points_in_lds",
                             "dynamic_pairs",
                             "tile_product",
                             "tile_product_transposed",
                             "tree",
                             "constant_places",
                             "stencil",
                             "row_softmax",
                             "lds_histogram",
                             "coefficients",
                             "coefficients_written",
                             "running_sum",
                             "either_way",
                             "butterflies",
                             "shorts_in_lds",
                             "bitonic",
                             "sparse_rows",
                             "particles",
                             "double_additions",
                             "float_maxima",
                             "float_additions"})
      all.push_back({name, "usual", {name, {work_items, 1, 1}, {64, 1, 1}, 1024}, [](Data &d) {
                       const auto in = d.add(random<float>(numbers, 1000, 3));
                       const auto indices = d.add(random<int>(1024, 1000, 4));
                       return Arguments().add(in).add(indices).add(d.add(zeros<float>(numbers)));
                     }});
    return all;
  }();
  return cases;
}

} // namespace fade::test
