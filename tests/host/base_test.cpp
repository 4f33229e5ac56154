// What keeps FADE and the process that it lives in apart.
#include "base/careful_read.h"
#include "base/contain.h"
#include "base/diagnostics.h"
#include "base/own_file.h"
#include "base/progress_line.h"
#include "base/quiet_thread.h"
#include "base/recycled.h"
#include "base/semaphore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <list>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#if defined(__has_feature)
#define HAS_SANITIZER __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#else
#define HAS_SANITIZER 0
#endif

namespace fade {
namespace {

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Made : Recycled<Made> {
  uint64_t number = 0, more[5] = {};
};
struct Larger : Made {
  uint64_t even_more[100] = {};
};

TEST(Recycled, WhatOneThreadGivesBackAnotherUsesAgain) {
  constexpr uint64_t count = 1000;
  std::set<const void *> first, second;
  for (std::set<const void *> *all : {&first, &second}) {
    std::vector<std::unique_ptr<Made>> made;
    for (uint64_t i = 0; i < count; ++i) {
      made.push_back(std::make_unique<Made>());
      made.back()->number = i;
      all->insert(made.back().get());
    }
    EXPECT_EQ(all->size(), count) << "each has its own memory";
    for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(made[i]->number, i);
    std::thread([&] { made.clear(); }).join();
  }
#if !HAS_SANITIZER
  EXPECT_EQ(first, second);
#endif
  (void)std::make_unique<Larger>(); // has memory of its own size
}

TEST(Recycled, ThreadsThatTakeAndGiveBackAtOnceNeverShareABlock) {
  std::atomic<bool> is_wrong{false};
  const auto work = [&](uint64_t self) {
    std::list<uint64_t, RecyclingAllocator<uint64_t>> held;
    for (uint64_t i = 0; i < 20'000; ++i) {
      held.push_back(self << 32 | i);
      if (held.size() < 50) continue;
      if (held.front() != (self << 32 | (i - 49))) is_wrong = true;
      held.pop_front();
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread &thread : threads) thread.join();
  EXPECT_FALSE(is_wrong);
}

TEST(Contain, WhatIsThrownIsSaid) {
  EXPECT_EQ(contain([] {}), "");
  EXPECT_EQ(contain([] { throw std::runtime_error("why"); }), "it threw an exception: why");
  EXPECT_EQ(contain([] { throw 1; }), "it threw an exception");
}

TEST(Contain, ACrashEndsTheCallOnly) {
#if HAS_SANITIZER
  GTEST_SKIP() << "the sanitizer takes the signals";
#else
  handleCrashes();
  int after = 0;
  for (int i = 0; i < 3; ++i) { // again and again: the signal must not stay blocked
    const std::string what = contain([] { *reinterpret_cast<volatile int *>(8) = 1; });
    EXPECT_EQ(what, "it crashed (SIGSEGV)");
    ++after;
  }
  EXPECT_EQ(contain([] { std::abort(); }), "it crashed (SIGABRT)");
  startQuietThread("test", [&] {
    EXPECT_EQ(contain([] { *reinterpret_cast<volatile int *>(8) = 1; }), "it crashed (SIGSEGV)");
    ++after;
  }).join();
  EXPECT_EQ(after, 4);
#endif
}

TEST(Contain, InnerCallsEndBeforeOuterOnes) {
  EXPECT_EQ(contain([] {
              EXPECT_EQ(contain([] { throw std::runtime_error("inner"); }),
                        "it threw an exception: inner");
              throw std::runtime_error("outer");
            }),
            "it threw an exception: outer");
}

TEST(QuietThread, SignalsOfTheProcessAreNotDeliveredToIt) {
  startQuietThread("test", [] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    for (const int number : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGPIPE})
      EXPECT_EQ(sigismember(&blocked, number), 1) << number;
    EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
    EXPECT_TRUE(isOwnThread());
  }).join();
  EXPECT_FALSE(isOwnThread());
}

/// With a folder that no other process uses.
class OwnFileTest : public ::testing::Test {
protected:
  OwnFileTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~OwnFileTest() override { std::filesystem::remove_all(folder_); }
  std::string ownPath(const char *name) const { return folder_ + "/" + name; }

private:
  std::string folder_ = ::testing::TempDir() + "fade-own-file-XXXXXX";
};

TEST_F(OwnFileTest, ADescriptorThatBelongsToAnotherFileNowIsNotWrittenTo) {
  const std::string ours = ownPath("own-file"), theirs = ours + "-theirs";
  OwnFile file = OwnFile::open(ours, false);
  ASSERT_TRUE(file.is());
  EXPECT_EQ(file.write("one\n"), 0);
  const int stranger = open(theirs.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ASSERT_EQ(dup2(stranger, file.fd()), file.fd()); // the process takes our number
  const int taken = file.fd();
  EXPECT_EQ(file.write("two\n"), 0);
  EXPECT_EQ(file.close(), 0);
  EXPECT_EQ(readFile(ours), "one\ntwo\n");
  EXPECT_EQ(write(taken, "mine", 4), 4); // still open, and theirs
  EXPECT_EQ(readFile(theirs), "mine");
  close(taken);
  close(stranger);
}

TEST_F(OwnFileTest, AFileForOneProcessIsNeverWrittenOver) {
  const std::string path = ownPath("own-file-alone");
  const std::string second = path + "." + std::to_string(getpid()), third = second + ".2";
  for (const auto &old : {path, second, third}) std::remove(old.c_str());
  EXPECT_EQ(OwnFile::openAlone(path, "a").path(), path);
  EXPECT_EQ(OwnFile::openAlone(path, "b").path(), second);
  EXPECT_EQ(OwnFile::openAlone(path, "c").path(), third);
  EXPECT_EQ(readFile(path) + readFile(second) + readFile(third), "abc");
  EXPECT_EQ(OwnFile::openAlone("/dev/null", "a").path(), "/dev/null");
  EXPECT_EQ(OwnFile::openAlone("/dev/null", "a").path(), "/dev/null");
}

TEST_F(OwnFileTest, AFileThatAnotherOneWritesToIsNotEmptied) {
  const std::string path = ownPath("own-file-shared");
  EXPECT_EQ(OwnFile::openShared(path).write("old"), 0);
  OwnFile first = OwnFile::openShared(path);
  EXPECT_EQ(first.write("a"), 0);
  EXPECT_EQ(OwnFile::openShared(path).write("b"), 0);
  EXPECT_EQ(first.write("c"), 0);
  EXPECT_EQ(readFile(path), "abc");
}

TEST_F(OwnFileTest, APipeThatNobodyReadsIsAnError) {
  const std::string path = ownPath("own-file-pipe");
  std::remove(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(OwnFile::open(path, true).is());
  EXPECT_EQ(errno, ENXIO);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  OwnFile file = OwnFile::open(path, true);
  EXPECT_EQ(fcntl(file.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(file.write("x"), 0);
  close(reader);
}

TEST_F(OwnFileTest, AppendKeepsWhatIsThereAndOpenDoesNot) {
  const std::string path = ownPath("own-file-append");
  EXPECT_EQ(OwnFile::open(path, false).write("a"), 0);
  EXPECT_EQ(OwnFile::open(path, true).write("b"), 0);
  EXPECT_EQ(readFile(path), "ab");
  EXPECT_EQ(OwnFile::open(path, false).write("c"), 0);
  EXPECT_EQ(readFile(path), "c");
  EXPECT_FALSE(OwnFile::open("/no/such/file", true).is());
}

TEST_F(OwnFileTest, ADuplicateOutlivesTheOriginal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  OwnFile copy = OwnFile::duplicate(ends[1]);
  close(ends[1]);
  EXPECT_EQ(copy.write("x"), 0);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  close(ends[0]);
}

/// Three pages of which the middle one is not there; the others count up.
class PagesWithAHole {
public:
  PagesWithAHole() {
    void *got =
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages_ = static_cast<uint8_t *>(got);
    std::iota(pages_, pages_ + 3 * kPage, uint8_t{1});
    munmap(pages_ + kPage, kPage);
  }
  ~PagesWithAHole() { munmap(pages_, 3 * kPage); }

  /// Whether what is there is read, and what is not is not.
  bool areReadRight() const {
    std::vector<uint8_t> to(3 * kPage);
    const auto at = reinterpret_cast<uint64_t>(pages_);
    return readCarefully(to.data(), at, kPage) && std::equal(pages_, pages_ + kPage, to.begin()) &&
           readCarefully(to.data(), at + 2 * kPage, kPage) &&
           std::equal(pages_ + 2 * kPage, pages_ + 3 * kPage, to.begin()) &&
           !readCarefully(to.data(), at + kPage - 8, 16) &&
           !readCarefully(to.data(), at, 3 * kPage) && !readCarefully(to.data(), at + kPage, 1) &&
           readCarefully(to.data(), at + kPage, 0);
  }
  void change() { pages_[0] += 1; }

private:
  static constexpr std::size_t kPage = 65536; // the largest there is
  uint8_t *pages_;
};

/// As in a container that does not allow it.
bool forbidReadingByCall(unsigned error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int exitCodeOf(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CarefulRead, WhatIsThereIsReadAndWhatIsNotIsNoCrash) {
  EXPECT_TRUE(PagesWithAHole().areReadRight());
}

TEST(CarefulRead, AForkedChildReadsItsOwn) {
  PagesWithAHole pages;
  ASSERT_TRUE(pages.areReadRight());
  const pid_t child = fork();
  if (child == 0) {
    pages.change();
    _exit(pages.areReadRight() ? 0 : 1);
  }
  EXPECT_EQ(exitCodeOf(child), 0);
}

TEST(CarefulRead, WhereTheCallIsNotAllowedAPipeDoesIt) {
  for (const unsigned error : {EPERM, ENOSYS}) {
    const PagesWithAHole pages;
    const pid_t child = fork();
    if (child == 0) _exit(!forbidReadingByCall(error) ? 2 : pages.areReadRight() ? 0 : 1);
    EXPECT_EQ(exitCodeOf(child), 0) << error;
  }
}

// ROCr reserves addresses so, for VRAM that the host does not see. The kernel has pages of zeros
// for whoever asks past the protection.
TEST(CarefulRead, AReservationIsNotThere) {
  constexpr std::size_t size = 65536;
  void *reserved =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  const auto isRead = [&] {
    uint64_t word = 1;
    return readCarefully(&word, reinterpret_cast<uint64_t>(reserved), sizeof word);
  };
  EXPECT_FALSE(isRead());
  const pid_t child = fork();
  if (child == 0) _exit(!forbidReadingByCall(EPERM) ? 2 : isRead() ? 1 : 0);
  EXPECT_EQ(exitCodeOf(child), 0);
  munmap(reserved, size);
}

TEST(Semaphore, GivesAsManyAsWereReleased) {
  using std::chrono::milliseconds;
  Semaphore semaphore;
  EXPECT_FALSE(semaphore.tryAcquireFor(milliseconds(0)));
  semaphore.release(2);
  EXPECT_TRUE(semaphore.tryAcquireFor(milliseconds(0)));
  semaphore.acquire();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(semaphore.tryAcquireFor(milliseconds(20)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20));
}

TEST(Semaphore, WhatWasDoneBeforeReleasingIsSeenBehindIt) {
  Semaphore there, back;
  int value = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      there.acquire();
      ++value;
      back.release();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    value += 2;
    there.release();
    while (!back.tryAcquireFor(std::chrono::seconds(100))) {
    }
  }
  other.join();
  EXPECT_EQ(value, 3000);
}

TEST(ProgressLine, WithoutATerminalIsALineNowAndThen) {
  testing::internal::CaptureStderr();
  {
    int calls = 0;
    ProgressLine line([&](double) { return "line " + std::to_string(++calls); },
                      std::chrono::milliseconds(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("line 1\n")) << text;
  EXPECT_LE(std::ranges::count(text, '\n'), 10) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos) << "nothing is drawn";
}

} // namespace
} // namespace fade
