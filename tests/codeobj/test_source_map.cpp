// Addresses to source by the library against llvm-symbolizer, at every instruction of every code
// object.
#include "codeobj/source_map.h"
#include "extent.h"
#include "support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace fade::codeobj {
namespace {

std::shared_ptr<const SourceMap> map_of(const std::shared_ptr<const CodeObject> &object) {
  auto map = SourceMap::open(object);
  EXPECT_TRUE(map) << map.error().message();
  return *map;
}

/// Every fourth byte of every function: all instructions start at one of them.
std::vector<std::uint64_t> code_addresses(const CodeObject &object) {
  std::vector<std::uint64_t> addresses;
  for (const Symbol &symbol : object.symbols())
    if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF)
      for (std::uint64_t a = symbol.value; a < symbol.value + symbol.size; a += 4)
        addresses.push_back(a);
  return addresses;
}

std::vector<std::vector<SourceFrame>> by_symbolizer(const std::string &path,
                                                    const std::vector<std::uint64_t> &addresses) {
  std::string input;
  for (std::uint64_t address : addresses) input += fmt::format("{:#x}\n", address);
  // For each address pairs of lines, a function and "file:line:column", and an empty line.
  std::istringstream out(testing::symbolizer("--no-demangle --inlines --obj=" + path, input));
  const auto known = [](std::string text) { return text == "??" ? std::string() : text; };
  std::vector<std::vector<SourceFrame>> stacks(1);
  for (std::string function, place; std::getline(out, function);) {
    if (function.empty()) {
      stacks.emplace_back();
      continue;
    }
    std::getline(out, place);
    const std::size_t column = place.rfind(':'), line = place.rfind(':', column - 1);
    const auto number = [&](std::size_t at) {
      return static_cast<std::uint32_t>(std::stoul(place.substr(at + 1)));
    };
    stacks.back().push_back(
        {known(function), known(place.substr(0, line)), number(line), number(column)});
  }
  stacks.pop_back();
  return stacks;
}

std::string print(const std::vector<SourceFrame> &stack) {
  std::string text;
  for (const SourceFrame &f : stack)
    text += fmt::format("  {} {}:{}:{}\n", f.function, f.file, f.line, f.column);
  return text;
}

class SourceOfObject : public ::testing::TestWithParam<std::string> {};

TEST_P(SourceOfObject, EqualsTheSymbolizerAtEveryInstruction) {
  auto object = testing::open_object(GetParam());
  auto map = map_of(object);
  std::vector<std::uint64_t> addresses = code_addresses(*object);
  ASSERT_FALSE(addresses.empty());
  if (extent::is_slowed) { // every fifth, not the same ones in each object
    std::vector<std::uint64_t> some;
    for (std::size_t i = addresses.size() % std::min<std::size_t>(5, addresses.size());
         i < addresses.size(); i += 5)
      some.push_back(addresses[i]);
    addresses = std::move(some);
  }
  auto expected = by_symbolizer(GetParam(), addresses);
  ASSERT_EQ(expected.size(), addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    auto stack = map->stack(addresses[i]);
    ASSERT_EQ(print(stack), print(expected[i])) << fmt::format("at {:#x}", addresses[i]);
  }
}

TEST_P(SourceOfObject, LinesLeadBackToTheAddressesThatLeadToThem) {
  auto object = testing::open_object(GetParam());
  auto map = map_of(object);
  std::set<std::tuple<std::string, std::uint32_t>> seen;
  for (std::uint64_t address : code_addresses(*object)) {
    SourceFrame place = map->place(address);
    if (place.line == 0 || !seen.emplace(place.file, place.line).second) continue;
    bool found = false;
    for (AddressRange range : map->addresses(place.file, place.line)) {
      found |= address >= range.begin && address < range.end;
      SourceFrame back = map->place(range.begin);
      EXPECT_EQ(back.file, place.file);
      EXPECT_EQ(back.line, place.line);
    }
    EXPECT_TRUE(found) << place.file << ":" << place.line;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SourceOfObject, ::testing::ValuesIn(testing::small_code_objects()),
                         [](const auto &p) { return testing::test_name(p.param); });

TEST(SourceMap, ShowsTheChainOfInlinedCalls) {
  auto object = testing::open_object(testing::sample("inlined-gfx90a-g"));
  auto map = map_of(object);
  std::size_t deepest = 0;
  for (std::uint64_t address : code_addresses(*object)) {
    auto stack = map->stack(address);
    if (stack.size() != 4) continue;
    // scale in twice in sum<4> in nested
    EXPECT_EQ(stack.back().function, "nested");
    EXPECT_EQ(stack[2].function, "_Z3sumILi4EEfPKfj");
    EXPECT_EQ(stack[1].function, "_Z5twicePKfj");
    deepest = stack.size();
  }
  EXPECT_EQ(deepest, 4u);
}

TEST(SourceMap, KnowsAtLeastTheSymbolWithoutDebugInformation) {
  auto object = testing::open_object(testing::sample("inlined-gfx90a-nodebug"));
  auto map = map_of(object);
  EXPECT_TRUE(map->empty());
  const Symbol *nested = object->findSymbol("nested");
  ASSERT_NE(nested, nullptr);
  auto stack = map->stack(nested->value + 8);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack[0], (SourceFrame{"nested", "", 0, 0}));
  EXPECT_TRUE(map->stack(0xdead0000).empty());
}

} // namespace
} // namespace fade::codeobj
