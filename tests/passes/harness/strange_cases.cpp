#include "cases.h"

namespace fade::test {

namespace {

constexpr std::size_t strange_items = 256;

Arguments ints(Data &d) {
  return Arguments()
      .add(d.add(random<int>(strange_items + 8, 1000, 7)))
      .add(d.add(zeros<int>(strange_items)));
}

template <typename T, typename U>
std::function<Arguments(Data &)> pair(std::size_t from, std::size_t to) {
  return [from, to](Data &d) {
    const auto in = d.add(random<T>(from, 100, 5));
    return Arguments().add(in).add(d.add(zeros<U>(to)));
  };
}

// The by-value argument of by_reference.
struct Aggregate {
  uint64_t in, out;
  int32_t shift[5];
};

} // namespace

std::vector<Case> strangeCases() {
  std::vector<Case> cases;
  auto add = [&](std::string name, std::function<Arguments(Data &)> arguments,
                 unsigned liberties = none, uint32_t lds = 0) {
    cases.push_back({name,
                     "strange",
                     {name, {strange_items, 1, 1}, {64, 1, 1}, lds},
                     std::move(arguments),
                     liberties});
  };
  for (const char *name :
       {"assembly", "table_of_ways", "through_a_table", "mutual_recursion", "lambdas",
        "hidden_templates", "bounded", "loops", "never_trap", "tail_calls", "convergent",
        "device_variables", "constant_memory", "three_spaces", "hundreds"})
    add(name, ints);
  add("dynamic_lds", ints, none, 64 * 4);
  add(
      "atomic_kinds",
      [](Data &d) {
        return Arguments()
            .add(d.add(counted<int>(strange_items)))
            .add(d.add(counted<uint32_t>(strange_items)))
            .add(d.add(counted<uint64_t>(strange_items)));
      },
      expanded | merged); // the compiler does not know whether the memory is that of the device
  add("atomic_loads", pair<int, uint64_t>(strange_items, strange_items));
  // Of wide[] only the upper halves are used.
  add(
      "lds_swaps", [](Data &d) { return Arguments().add(d.add(zeros<int>(strange_items))); },
      resized);
  add("narrow_atomics", pair<uint16_t, uint8_t>(strange_items * 2, strange_items * 4), expanded);
  add("wide_vectors", pair<float, float>(strange_items * 4, strange_items * 4));
  add("halves", pair<uint32_t, uint32_t>(strange_items, strange_items));
  add("flags", [](Data &d) {
    return Arguments()
        .add(d.add(random<uint8_t>(strange_items, 2)))
        .add(d.add(zeros<uint8_t>(strange_items)));
  });
  add(
      "odd_sizes",
      [](Data &d) {
        const auto in = d.add(random<uint32_t>(strange_items, 1 << 24));
        const auto out = d.add(zeros<uint32_t>(strange_items));
        return Arguments()
            .add(in)
            .add(out)
            .add(d.add(random<uint8_t>(strange_items * 4, 256)))
            .add(d.add(zeros<uint8_t>(strange_items * 4)));
      },
      resized); // a vector of three is one of four, whose last nobody uses
  add("packed_fields", pair<uint8_t, uint8_t>(strange_items * 13, strange_items * 13), merged);
  add("big_structs", pair<int, int>(strange_items * 24, strange_items * 24), overlapping | unlined);
  add("constant_copies", pair<uint8_t, uint8_t>(strange_items * 32, strange_items * 32),
      overlapping | unlined);
  add("volatile_fields", pair<int16_t, float>(strange_items, strange_items * 4));
  add("by_reference", [](Data &d) {
    Aggregate a{
        d.add(random<int>(strange_items, 1000)), d.add(zeros<int>(strange_items)), {1, 2, 3, 4, 5}};
    return Arguments().add(a).add<char>(1).add<int>(7);
  });
  using List = std::vector<std::string>;
  auto other = [&](std::string name, std::string file, std::function<Arguments(Data &)> arguments,
                   List archs = {}, List levels = {}) {
    cases.push_back({name,
                     file,
                     {name, {strange_items, 1, 1}, {64, 1, 1}, 0},
                     std::move(arguments),
                     none,
                     archs,
                     levels});
  };
  other("masked", "masked", [](Data &d) {
    const auto in = d.add(random<int>(strange_items * 4, 1000));
    return Arguments()
        .add(in)
        .add(d.add(zeros<int>(strange_items * 4)))
        .add(d.add(zeros<int>(strange_items * 2)));
  });
  // LLVM 19 crashes on it when it optimizes.
  other("lds_loads", "lds_loads", ints, {"gfx942"}, {"O0"});
  const List archs = {"gfx90a", "gfx1030"}, levels = {"O0", "O2"};
  other("cl_tile", "opencl", ints, archs, levels);
  other("cl_vectors", "opencl", pair<int, int16_t>(strange_items * 4, strange_items * 2), archs,
        levels);
  other("cl_atomics", "opencl", pair<int, int>(strange_items, strange_items), archs, levels);
  other("cl_generic", "opencl", ints, archs, levels);
  add("touches_nothing", [](Data &) { return Arguments().add<int>(1); });
  return cases;
}

} // namespace fade::test
