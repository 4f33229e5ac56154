#include "cases.h"

namespace fade::test {

namespace {

constexpr std::size_t items = 256;

struct Header {
  uint16_t kind;
  uint8_t flags[3];
  char tail;
};

} // namespace

std::vector<Case> moreCases() {
  std::vector<Case> cases;
  auto add = [&](std::string name, std::function<Arguments(Data &)> arguments,
                 unsigned liberties = none, uint32_t workgroup = 64) {
    cases.push_back({name,
                     "more",
                     {name, {items, 1, 1}, {workgroup, 1, 1}, 0},
                     std::move(arguments),
                     liberties});
  };
  // From gfx10 on both loads are in one clause, and a clause has one line.
  add(
      "raw_buffers",
      [](Data &d) {
        return Arguments()
            .add(d.add(counted<int>(items + 8)))
            .add(d.add(zeros<int>(items + 8)))
            .add<int>(232 * 4) // the last lanes are out of range
            .add<int>(12);
      },
      merged);
  add("struct_buffers", [](Data &d) {
    return Arguments()
        .add(d.add(counted<int>(items * 3 + 4)))
        .add(d.add(zeros<int>(items * 3 + 4)))
        .add<int>(200)
        .add<int>(4);
  });
  add("buffer_atomics", [](Data &d) {
    return Arguments()
        .add(d.add(zeros<int>(32)))
        .add(d.add(zeros<int>(items * 2)))
        .add<int>(32 * 4)
        .add<int>(200);
  });
  add(
      "lds_atomics",
      [](Data &d) {
        return Arguments()
            .add(d.add(random<int>(items, 5000)))
            .add(d.add(zeros<int>(128)))
            .add(d.add(zeros<uint64_t>(8)));
      },
      combined, 128);
  add(
      "float_atomics",
      [](Data &d) {
        return Arguments().add(d.add(counted<float>(items))).add(d.add(counted<double>(items)));
      },
      expanded);
  // kind and tail are neighbours.
  add(
      "small_fields",
      [](Data &d) {
        std::vector<Header> headers(items);
        for (std::size_t i = 0; i < items; ++i) headers[i] = {uint16_t(i * 77), {}, char(i % 40)};
        return Arguments().add(d.add(headers)).add<int>(250);
      },
      merged);
  add("mixed_widths", [](Data &d) {
    return Arguments().add(d.add(counted<float>(items * 4))).add(d.add(zeros<float>(items * 4)));
  });
  add("ways", [](Data &d) {
    return Arguments().add(d.add(random<int>(items, 1000, 9))).add(d.add(zeros<int>(items)));
  });
  add("nested_calls", [](Data &d) {
    return Arguments()
        .add(d.add(counted<float>(items + 4)))
        .add(d.add(zeros<float>(items)))
        .add<int>(251);
  });
  add(
      "moves",
      [](Data &d) {
        return Arguments()
            .add(d.add(random<uint8_t>(items * 64 + 64, 256)))
            .add(d.add(random<int>(items, 50, 4)));
      },
      overlapping | unlined);
  add("unrolled", [](Data &d) {
    return Arguments()
        .add(d.add(random<int16_t>(items * 7, 30000)))
        .add(d.add(zeros<int64_t>(items)))
        .add<int>(253);
  });
  return cases;
}

std::vector<Case> cornerCases() {
  std::vector<Case> cases;
  for (const char *name :
       {"far_apart", "backwards", "one_address", "in_rows", "gathered", "scattered", "some_atomics",
        "conflicts", "widths", "anywhere", "leaving", "single", "moving_by_parts", "following",
        "following_anywhere"})
    cases.push_back({name, "corners", {name, {256, 1, 1}, {64, 1, 1}}, [](Data &d) {
                       const auto in = d.add(random<int>(4096, 1000, 5));
                       return Arguments().add(in).add(d.add(zeros<int>(4096)));
                     }});
  return cases;
}

std::vector<Case> pathCases() {
  std::vector<Case> cases;
  const char *names[] = {"nested",          "collatz",
                         "irreducible",     "ends_early",
                         "in_a_row",        "one_condition",
                         "no_condition",    "either",
                         "together",        "uniform_loop",
                         "never_ends_well", "calls_in_loops",
                         "many_blocks",     "many_blocks_in_a_loop",
                         "busy_registers",  "moving_lanes",
                         "lanes_that_part"};
  for (const uint32_t size : {225u, 256u}) // the last workgroup has fewer work-items
    for (const char *name : names)
      cases.push_back({name, "paths", {name, {size, 1, 1}, {64, 1, 1}}, [](Data &d) {
                         const auto in = d.add(random<int>(264, 1000, 7));
                         return Arguments().add(in).add(d.add(zeros<int>(260)));
                       }});
  return cases;
}

} // namespace fade::test
