#include "cases.h"

#include <stdexcept>

namespace fade::test {

namespace {

Arguments spmvArguments(Data &data) {
  constexpr int n = 300;
  std::vector<int> rows{0};
  const auto lengths = random<int>(n, 9, 5);
  for (int length : lengths) rows.push_back(rows.back() + length);
  const auto entries = static_cast<std::size_t>(rows.back());
  return Arguments()
      .add(data.add(rows))
      .add(data.add(random<int>(entries, n, 6)))
      .add(data.add(counted<float>(entries)))
      .add(data.add(counted<float>(n)))
      .add(data.add(zeros<float>(n)))
      .add<int>(n);
}

struct Pixel {
  int x, y;
  char name[20];
  double value;
};

Arguments pixels(Data &data) {
  std::vector<Pixel> in(150);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = {int(i), -int(i), "pixel", double(i) / 3};
  const auto from = data.add(in);
  return Arguments().add(from).add(data.add(zeros<Pixel>(150))).add<int>(150);
}

} // namespace

std::vector<Case> basicCases() {
  std::vector<Case> cases;
  auto add = [&](std::string name, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> workgroup,
                 std::function<Arguments(Data &)> arguments, unsigned liberties = none,
                 uint32_t lds = 0) {
    cases.push_back({name, "basic", {name, grid, workgroup, lds}, std::move(arguments), liberties});
  };
  add("vadd", {1024, 1, 1}, {256, 1, 1}, [](Data &d) {
    return Arguments()
        .add(d.add(counted<float>(1000)))
        .add(d.add(counted<float>(1000, 7)))
        .add(d.add(zeros<float>(1000)))
        .add<int>(1000);
  });
  add("transpose", {64, 48, 1}, {16, 16, 1}, [](Data &d) {
    return Arguments()
        .add(d.add(counted<float>(45 * 45)))
        .add(d.add(zeros<float>(64 * 64)))
        .add<int>(45);
  });
  add("matmul", {32, 32, 1}, {16, 16, 1}, [](Data &d) {
    return Arguments()
        .add(d.add(counted<float>(1024)))
        .add(d.add(counted<float>(1024)))
        .add(d.add(zeros<float>(1024)))
        .add<int>(32);
  });
  // rows[row + 1] of the loop's condition is read before the loop and loses its line.
  add("spmv", {320, 1, 1}, {64, 1, 1}, spmvArguments, merged);
  add(
      "reduction", {1024, 1, 1}, {128, 1, 1},
      [](Data &d) {
        return Arguments()
            .add(d.add(counted<float>(1000)))
            .add(d.add(zeros<float>(8)))
            .add<int>(1000);
      },
      none, 128 * 4);
  add("histogram", {512, 1, 1}, {256, 1, 1}, [](Data &d) {
    return Arguments()
        .add(d.add(random<unsigned>(500, 1000)))
        .add(d.add(zeros<unsigned>(64)))
        .add<int>(500);
  });
  add("strided", {256, 1, 1}, {64, 1, 1}, [](Data &d) {
    return Arguments()
        .add(d.add(counted<int>(8000)))
        .add(d.add(zeros<int>(256)))
        .add<int>(32)
        .add<int>(250);
  });
  add("vectors", {256, 1, 1}, {64, 1, 1}, [](Data &d) {
    return Arguments()
        .add(d.add(counted<float>(1024)))
        .add(d.add(zeros<double>(512)))
        .add<int>(200);
  });
  add("bytes", {256, 1, 1}, {128, 1, 1}, [](Data &d) {
    return Arguments()
        .add(d.add(random<uint8_t>(200, 256)))
        .add(d.add(zeros<uint16_t>(200)))
        .add<int>(200);
  });
  add("structs", {192, 1, 1}, {64, 1, 1}, pixels, overlapping);
  add("byvalue", {128, 1, 1}, {64, 1, 1}, [](Data &d) {
    return Arguments().add(Pixel{5, 6, "a by-value pixel", 1.5}).add(d.add(zeros<int>(128)));
  });
  add(
      "copies", {128, 1, 1}, {64, 1, 1},
      [](Data &d) {
        return Arguments()
            .add(d.add(zeros<uint8_t>(128 * 64)))
            .add(d.add(random<uint8_t>(128 * 64, 256)))
            .add(d.add(random<int>(128, 5, 3)))
            .add<int>(120);
      },
      overlapping | unlined);
  add(
      "fills", {128, 1, 1}, {64, 1, 1},
      [](Data &d) {
        return Arguments()
            .add(d.add(zeros<uint8_t>(128 * 32)))
            .add(d.add(random<int>(128, 32, 3)))
            .add<int>(120);
      },
      overlapping | unlined);
  auto ints = [](Data &d) {
    return Arguments().add(d.add(random<int>(256, 1000))).add(d.add(zeros<int>(256)));
  };
  auto countedInts = [ints](Data &d) { return ints(d).add<int>(250); };
  add("called", {256, 1, 1}, {64, 1, 1}, countedInts);
  add("recursion", {256, 1, 1}, {64, 1, 1}, ints);
  add("pointers", {256, 1, 1}, {64, 1, 1}, ints);
  // p[i] * p[i]
  add("virtuals", {256, 1, 1}, {64, 1, 1}, ints, repeated);
  add(
      "globals", {256, 1, 1}, {64, 1, 1},
      [](Data &d) { return Arguments().add(d.add(zeros<int>(256))); }, combined);
  add(
      "atomics", {256, 1, 1}, {64, 1, 1},
      [](Data &d) {
        return Arguments().add(d.add(zeros<int>(8 + 256 + 256))).add(d.add(zeros<uint64_t>(4)));
      },
      combined);
  add("shuffles", {256, 1, 1}, {64, 1, 1}, ints);
  add("volatiles", {256, 1, 1}, {64, 1, 1},
      [](Data &d) { return Arguments().add(d.add(counted<int>(256))); });
  add("generic", {256, 1, 1}, {128, 1, 1}, countedInts);
  add("volumes", {12, 6, 10}, {4, 3, 5}, [](Data &d) {
    return Arguments()
        .add(d.add(counted<int>(11 * 5 * 9)))
        .add(d.add(zeros<int>(11 * 5 * 9)))
        .add<int>(11)
        .add<int>(5)
        .add<int>(9);
  });
  add("exits", {256, 1, 1}, {64, 1, 1}, countedInts);
  add("nothing", {256, 1, 1}, {64, 1, 1}, [](Data &) { return Arguments(); });
  return cases;
}

const std::vector<Case> &allCases() {
  static const std::vector<Case> cases = [] {
    auto all = basicCases();
    for (auto &&more : {moreCases(), strangeCases(), cornerCases()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return cases;
}

const Case &findCase(const std::string &name) {
  for (const auto *cases : {&allCases(), &usualCases()})
    for (const Case &c : *cases)
      if (c.name == name) return c;
  throw std::runtime_error("no case " + name);
}

} // namespace fade::test
