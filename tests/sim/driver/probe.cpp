// A program to be started with the library preloaded: reads the GPU's files the ways that programs
// do.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

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

// A child of a process that has used the GPU gets a GPU of its own.
void fork_child() {
  expect(!text_of(properties).empty(), "parent sees the GPU");
  int fd = open("/dev/kfd", O_RDWR);
  pid_t child = fork();
  if (child == 0) _exit(text_of(properties).empty() || open("/dev/kfd", O_RDWR) < 0);
  int status = -1;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child sees the GPU");
  close(fd);
}

} // namespace

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "files") read_files(), look_at_nodes(), list_folders();
  if (what == "fork") fork_child();
  std::printf("%s\n", failures ? "failed" : "ok");
  return failures != 0;
}
