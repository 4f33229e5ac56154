// Recordings, as `fadeprobe analyze` reads them: the reader, the engine and every analyzer of FADE.
#include "base/diagnostics.h"
#include "base/settings.h"
#include "stream/analysis.h"
#include "stream/trace_format.h"
#include "stream/trace_reader.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace fade;

/// All of FADE's, with options that make them do more.
const std::vector<HandlerChoice> &analyzers() {
  static const auto *choices = [] {
    auto *made = new std::vector<HandlerChoice>;
    for (const std::string_view name : handlerNames())
      made->push_back({std::string(name), name == "Heatmap" ? "steps=16,svg=/dev/null" : ""});
    return made;
  }();
  return *choices;
}

/// The analyzers' libraries stay loaded: what the fuzzer knows of where it has been is in them.
const fade_handler_api *interfaceOf(const HandlerChoice &analyzer) {
  const std::string path = FADE_HANDLER_DIR "/lib" + analyzer.name + ".so";
  void *library = dlopen(path.c_str(), RTLD_NOW);
  auto *entry =
      library ? reinterpret_cast<const fade_handler_api *(*)()>(dlsym(library, "fade_handler"))
              : nullptr;
  if (entry) return entry();
  std::fprintf(stderr, "%s: %s\n", path.c_str(), dlerror());
  std::abort();
}

/// A file without a name. What is written to it can be read under path().
class MemoryFile {
public:
  explicit MemoryFile(const char *name) : fd_(memfd_create(name, MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
  }
  int fd() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  void clear() const {
    if (ftruncate(fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) std::abort();
  }

private:
  int fd_;
};

/// What FADE says goes into a file, what the fuzzer says to stderr.
const MemoryFile &complaints() {
  static const MemoryFile *file = [] {
    auto *made = new MemoryFile("complaints");
    const int before = dup(STDERR_FILENO);
    dup2(made->fd(), STDERR_FILENO);
    keepStderr();
    dup2(before, STDERR_FILENO);
    close(before);
    return made;
  }();
  return *file;
}

/// An analyzer need not doubt what it is given: one that fails was given what it must not get.
void expectNoFailure() {
  std::string said(1 << 16, '\0');
  const ssize_t size = pread(complaints().fd(), said.data(), said.size(), 0);
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  complaints().clear();
  if (said.find("it is disabled") == said.npos) return;
  std::fputs(said.c_str(), stderr);
  std::abort();
}

Handlers allHandlers(Output &output) {
  static const auto *interfaces = [] {
    auto *made = new std::vector<const fade_handler_api *>;
    for (const HandlerChoice &analyzer : analyzers()) made->push_back(interfaceOf(analyzer));
    return made;
  }();
  Handlers handlers;
  for (std::size_t i = 0; i < interfaces->size(); ++i) {
    handlers.push_back(std::make_unique<LoadedHandler>((*interfaces)[i], analyzers()[i], output));
    if (!handlers.back()->ok()) std::abort();
  }
  return handlers;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const MemoryFile *file = new MemoryFile("trace");
  complaints();
  file->clear();
  if (writeAll(file->fd(), {reinterpret_cast<const char *>(data), size}) != 0) std::abort();
  const auto trace = TraceReader::open(file->path());
  if (!trace) return 0;
  // A byte that the reader does not look at chooses the form of the report.
  Output output(static_cast<Format>(data[offsetof(trace::FileHeader, reserved)] % 3));
  Analysis analysis({}, allHandlers(output), output, nullptr);
  trace->replay(analysis);
  analysis.close(std::chrono::hours(1));
  expectNoFailure();
  return 0;
}

// ---- mutations: sizes of chunks stay right, so that what is inside of them is reached

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace {

struct Chunk {
  std::uint32_t kind;
  std::vector<std::uint8_t> payload;
};

std::vector<Chunk> split(const std::uint8_t *data, std::size_t size) {
  std::vector<Chunk> chunks;
  std::size_t at = sizeof(trace::FileHeader);
  while (at < size && size - at >= sizeof(trace::ChunkHeader)) {
    trace::ChunkHeader header;
    std::memcpy(&header, data + at, sizeof header);
    at += sizeof header;
    const std::size_t length = std::min<std::size_t>(header.size, size - at);
    chunks.push_back({header.kind, {data + at, data + at + length}});
    at += std::min<std::size_t>((length + 7) / 8 * 8, size - at);
  }
  return chunks;
}

std::vector<std::uint8_t> join(const std::vector<Chunk> &chunks, std::uint64_t reserved) {
  trace::Writer out;
  trace::FileHeader file;
  file.message_version = FADE_MESSAGE_VERSION;
  file.reserved[0] = reserved;
  out.put(file);
  for (const Chunk &chunk : chunks) {
    out.put(trace::ChunkHeader{chunk.kind, 0, chunk.payload.size()});
    out.putBytes(chunk.payload.data(), chunk.payload.size());
    constexpr std::uint64_t zeros = 0;
    out.putBytes(&zeros, (8 - chunk.payload.size() % 8) % 8);
  }
  return {out.bytes().begin(), out.bytes().end()};
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  auto chunks = split(data, size);
  const unsigned choice = seed % 16;
  const unsigned number = seed / 16;
  if (chunks.empty() || choice == 0) return LLVMFuzzerMutate(data, size, most);
  const auto picked = chunks.begin() + number % static_cast<unsigned>(chunks.size());
  const auto other = chunks.begin() + number / 7 % static_cast<unsigned>(chunks.size());
  if (choice == 1) {
    chunks.erase(picked);
  } else if (choice == 2) {
    const Chunk copy = *picked;
    chunks.insert(other, copy);
  } else if (choice == 3) {
    std::swap(*picked, *other);
  } else {
    auto &bytes = picked->payload;
    const std::size_t room = choice < 8 ? bytes.size() + 64 : bytes.size(); // longer, or as long
    const std::size_t before = bytes.size();
    bytes.resize(room);
    if (room != 0) bytes.resize(LLVMFuzzerMutate(bytes.data(), before, room));
  }
  const auto trace = join(chunks, seed / 256);
  if (trace.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, trace.data(), trace.size());
  return trace.size();
}
