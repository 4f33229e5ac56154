// Many readers of one code object at the same time give what one alone gives. TSan runs these, too.
#include "codeobj/kernel_code.h"
#include "codeobj/source_map.h"
#include "support.h"

#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

namespace fade::codeobj {
namespace {

/// Asks in four threads that start together, and then once alone: what is made on first use is made
/// under contention.
void expect_same_answers(const std::function<std::string()> &ask) {
  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (std::string &answer : answers) threads.emplace_back([&answer, &ask] { answer = ask(); });
  for (std::thread &thread : threads) thread.join();
  const std::string expected = ask();
  EXPECT_FALSE(expected.empty());
  for (const std::string &answer : answers) EXPECT_EQ(answer, expected);
}

TEST(Threads, KernelsAndDescriptorsAreReadAtTheSameTime) {
  auto object = testing::open_object(testing::sample("arguments-gfx90a-v5"));
  expect_same_answers([&] {
    std::string all;
    for (std::size_t i = 0; i < object->kernelCount(); ++i) {
      auto kernel = object->kernel(i);
      if (!kernel) return kernel.error().message();
      EXPECT_EQ(object->findKernel(kernel->symbol), i);
      all += fmt::format("{} {} {} {}\n", kernel->name, kernel->metadata.args.size(),
                         kernel->descriptor.kernarg_size, kernel->code_size);
    }
    return all;
  });
}

TEST(Threads, SourceStacksAreAskedForAtTheSameTime) {
  auto object = testing::open_object(testing::sample("inlined-gfx90a-g"));
  auto map = SourceMap::open(object);
  ASSERT_TRUE(map) << map.error().message();
  expect_same_answers([&] {
    std::string all;
    for (const Symbol &symbol : object->symbols())
      for (std::uint64_t a = symbol.value; a < symbol.value + symbol.size; a += 4)
        for (const SourceFrame &frame : (*map)->stack(a))
          all += fmt::format("{} {}:{}:{}\n", frame.function, frame.file, frame.line, frame.column);
    return all;
  });
}

TEST(Threads, InstructionsAreDisassembledAtTheSameTime) {
  auto object = testing::open_object(testing::sample("inlined-gfx90a-g"));
  expect_same_answers([&] {
    std::string all;
    for (std::size_t i = 0; i < object->kernelCount(); ++i) {
      auto kernel = object->kernel(i);
      if (!kernel) return kernel.error().message();
      auto code = analyzeKernel(*object, *kernel);
      if (!code) return code.error().message();
      for (const Instruction &instruction : code->instructions)
        all += fmt::format("{:#x} {}\n", instruction.address, instruction.text);
    }
    return all;
  });
}

} // namespace
} // namespace fade::codeobj
