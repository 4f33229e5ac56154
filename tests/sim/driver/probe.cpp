// A program to be started with the library preloaded: reads the GPU's files the ways that programs
// do.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <linux/kfd_ioctl.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int failures = 0;
void expect(bool condition, const char *what) {
  if (condition) return;
  std::printf("failed: %s (errno %d)\n", what, errno);
  ++failures;
}

const char *const properties = "/sys/class/kfd/kfd/topology/nodes/1/properties";

std::string text_of(const char *path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void read_files() {
  std::string by_stream = text_of(properties);
  expect(by_stream.find("simd_count 416") != by_stream.npos, "ifstream reads properties");
  char buffer[4096] = {};
  int fd = open(properties, O_RDONLY);
  expect(fd >= 0 && read(fd, buffer, sizeof buffer) == static_cast<ssize_t>(by_stream.size()),
         "open and read");
  close(fd);
  fd = openat(AT_FDCWD, properties, O_RDONLY | O_CLOEXEC);
  expect(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC), "openat keeps O_CLOEXEC");
  close(fd);
  FILE *file = std::fopen(properties, "r");
  expect(file && std::fgets(buffer, sizeof buffer, file), "fopen");
  if (file) std::fclose(file);
  expect(open(properties, O_WRONLY) < 0 && errno == EACCES, "files are read-only");
  expect(open("/sys/class/kfd/kfd/topology/none", O_RDONLY) < 0 && errno == ENOENT, "missing file");
}

void look_at_nodes() {
  struct stat st;
  expect(stat("/dev/kfd", &st) == 0 && S_ISCHR(st.st_mode), "stat /dev/kfd");
  int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  expect(fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(226, 128),
         "fstat of the render node");
  struct statx sx;
  expect(statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &sx) == 0 && sx.stx_rdev_major == 226,
         "statx of a descriptor");
  close(fd);
  expect(access("/dev/kfd", R_OK | W_OK) == 0, "access /dev/kfd");
  expect(access(properties, W_OK) != 0 && errno == EACCES, "access of a read-only file");
  expect(lstat("/sys/class/kfd/kfd", &st) == 0 && S_ISLNK(st.st_mode), "lstat sees the link");
  expect(stat("/sys/class/kfd/kfd", &st) == 0 && S_ISDIR(st.st_mode), "stat follows the link");
  char target[256] = {};
  expect(readlink("/sys/class/kfd/kfd", target, sizeof target) > 0 &&
             !std::strcmp(target, "/sys/devices/virtual/kfd/kfd"),
         "readlink");
  char *real = realpath("/sys/class/kfd/kfd/topology/../dev", nullptr);
  expect(real && !std::strcmp(real, "/sys/devices/virtual/kfd/kfd/dev"), "realpath");
  std::free(real);
}

void list_folders() {
  DIR *folder = opendir("/sys/class/kfd/kfd/topology/nodes");
  expect(folder, "opendir");
  std::string names;
  while (folder) {
    dirent *entry = readdir(folder);
    if (!entry) break;
    names += std::string(entry->d_name) + (entry->d_type == DT_DIR ? "/ " : " ");
  }
  expect(names == "./ ../ 0/ 1/ ", "readdir lists the nodes");
  if (folder) {
    rewinddir(folder);
    dirent *first = readdir(folder);
    expect(first && !std::strcmp(first->d_name, "."), "rewinddir");
    closedir(folder);
  }
  dirent **list = nullptr;
  int n = scandir("/sys/class/kfd/kfd/topology/nodes", &list, nullptr, alphasort);
  expect(n == 4 && !std::strcmp(list[3]->d_name, "1"), "scandir");
  for (int i = 0; i < n; ++i) std::free(list[i]);
  std::free(list);
  expect(!opendir(properties) && errno == ENOTDIR, "opendir of a file");
}

int open_descriptors() {
  int n = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) ++n;
  if (folder) closedir(folder);
  return n;
}

// What a child that was forked after the GPU was used says of itself.
template <class F> void in_child(const char *what, F test) {
  pid_t child = fork();
  if (child == 0) _exit(test() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

void fork_children() {
  expect(!text_of(properties).empty(), "parent sees the GPU");
  int fd = open("/dev/kfd", O_RDWR);
  in_child("child without a GPU is left alone", [] {
    int before = open_descriptors();
    close(open("/dev/null", O_RDONLY));
    return open_descriptors() == before;
  });
  in_child("child gets a GPU of its own",
           [] { return !text_of(properties).empty() && open("/dev/kfd", O_RDWR) >= 0; });
  close(fd);
}

// Memory shared with the GPU that one thread gives back and another gets at once, at the same
// address: what the first did must not take the second one's range from it.
class SharedMemory {
public:
  SharedMemory() : kfd_(open("/dev/kfd", O_RDWR)) {
    gpu_ = static_cast<uint32_t>(std::stoul(text_of("/sys/class/kfd/kfd/topology/nodes/1/gpu_id")));
  }
  ~SharedMemory() { close(kfd_); }

  bool survives_other_threads() {
    std::vector<std::thread> threads;
    std::atomic<int> lost{0};
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        // On a machine that is busy a yield may cost a whole time slice.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        for (int i = 0; i < 5000 && std::chrono::steady_clock::now() < end; ++i)
          lost += !range_stays();
      });
    for (auto &t : threads) t.join();
    return lost == 0;
  }

  // The kernel refuses to unmap more than a process can have.
  bool survives_what_the_kernel_refuses() {
    void *at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kfd_ioctl_svm_attribute a = {KFD_IOCTL_SVM_ATTR_ACCESS, gpu_};
    bool good = call(at, KFD_IOCTL_SVM_OP_SET_ATTR, a) && munmap(nullptr, size_t{1} << 60) != 0 &&
                call(at, KFD_IOCTL_SVM_OP_GET_ATTR, a) && a.type == KFD_IOCTL_SVM_ATTR_ACCESS;
    munmap(at, size_);
    return good;
  }

private:
  bool call(void *at, uint32_t operation, kfd_ioctl_svm_attribute &attribute) {
    alignas(8) char bytes[sizeof(kfd_ioctl_svm_args) + sizeof attribute] = {};
    auto *args = reinterpret_cast<kfd_ioctl_svm_args *>(bytes);
    args->start_addr = reinterpret_cast<uint64_t>(at);
    args->size = size_;
    args->op = operation;
    args->nattr = 1;
    std::memcpy(bytes + sizeof *args, &attribute, sizeof attribute);
    if (ioctl(kfd_, AMDKFD_IOC_SVM, args) != 0) return false;
    std::memcpy(&attribute, bytes + sizeof *args, sizeof attribute);
    return true;
  }
  bool range_stays() {
    void *at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kfd_ioctl_svm_attribute a = {KFD_IOCTL_SVM_ATTR_ACCESS, gpu_};
    bool good = call(at, KFD_IOCTL_SVM_OP_SET_ATTR, a);
    for (int i = 0; good && i < 4; ++i) {
      std::this_thread::yield();
      good = call(at, KFD_IOCTL_SVM_OP_GET_ATTR, a) && a.type == KFD_IOCTL_SVM_ATTR_ACCESS;
    }
    munmap(at, size_);
    return good;
  }

  static constexpr size_t size_ = 4096;
  int kfd_;
  uint32_t gpu_;
};

} // namespace

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "files") read_files(), look_at_nodes(), list_folders();
  if (what == "fork") fork_children();
  if (what == "elsewhere")
    expect(chdir("/") == 0 && !text_of(properties).empty(), "a GPU, seen from another folder");
  if (what == "munmap") {
    expect(SharedMemory().survives_other_threads(), "a range stays until it is unmapped");
    expect(SharedMemory().survives_what_the_kernel_refuses(), "a refused munmap changes nothing");
  }
  std::printf("%s\n", failures ? "failed" : "ok");
  return failures != 0;
}
