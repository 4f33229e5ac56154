// Processes end and fork while a thread of theirs compiles, and have little address space.
#include "code_bench.h"

#include "isa/arch.h"

#include <chrono>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fade::sim {
namespace {

std::vector<Instruction> some_code() {
  std::vector<Instruction> all;
  for (unsigned i = 0; i < 60; i++) {
    Instruction in = instruction_of(*opcodes().find(i % 3 ? "v_add_f32" : "v_mul_lo_u32"));
    in.plain = true;
    in.dst = vector_register(i % 7);
    in.src[0] = vector_register(i % 5), in.src[1] = vector_register(i % 11);
    all.push_back(in);
  }
  return all;
}

void compile_for_ever() {
  const std::vector<Instruction> code = some_code();
  const Arch &arch = *find_arch("gfx90a");
  for (;;) const CodeBench bench(code, arch, 64);
}

class InOtherProcesses : public testing::Test {
protected:
  // What a process says by its end that runs this.
  template <class F> int status_of(F &&f) {
    const pid_t child = fork();
    if (child == 0) f();
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }
};

TEST_F(InOtherProcesses, AProcessEndsWhileItCompiles) {
  for (int i = 0; i < 20; i++) {
    const int status = status_of([&] {
      std::thread(compile_for_ever).detach();
      std::this_thread::sleep_for(std::chrono::milliseconds(2 + 5 * i));
      std::exit(17);
    });
    EXPECT_TRUE(WIFEXITED(status)) << "round " << i << ": signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 17);
  }
}

// It has LLVM's locks as other threads left them.
TEST_F(InOtherProcesses, AForkedChildInterpretsAndEnds) {
  const int status = status_of([&] {
    std::thread(compile_for_ever).detach();
    for (int i = 0; i < 10; i++) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + 11 * i));
      const int result = status_of([] {
        const CodeBench bench(some_code(), *find_arch("gfx90a"), 64);
        std::exit(bench.is_compiled() ? 1 : 0);
      });
      if (result != 0) _exit(3);
    }
    std::exit(0);
  });
  EXPECT_EQ(status, 0);
}

// LLVM would end the process when it gets no memory.
TEST_F(InOtherProcesses, AProcessOfLimitedAddressSpaceInterprets) {
  const auto compiles = [](rlim_t bytes) {
    const rlimit limit{bytes, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
    const CodeBench bench(some_code(), *find_arch("gfx90a"), 64);
    std::exit(bench.is_compiled() ? 1 : 0);
  };
  const int unlimited = status_of([&] { compiles(RLIM_INFINITY); });
  EXPECT_EQ(WEXITSTATUS(unlimited), 1);
  EXPECT_EQ(status_of([&] { compiles(rlim_t{1} << 40); }), 0);
}

} // namespace
} // namespace fade::sim
