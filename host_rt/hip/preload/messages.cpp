// libfademessages.so, which fadeprobe preloads where many processes are recorded: calls of MPI (C,
// and Fortran's mpif.h and `use mpi`) and RCCL become ranges with the domain "MPI" or "RCCL".
//
// MPI is taken by its profiling interface: MPI_Send is defined here, and PMPI_Send does the work.
// No header of MPI is needed: all arguments are integers or pointers, so that a function is called
// with as many as the longest has, whatever it takes. What a communicator is differs (a pointer in
// Open MPI, a number in MPICH), but it goes to PMPI_Comm_size as it came.
//
// A collective call has in its arguments what tells it apart from all others of the job, the same
// on all ranks: "comm=4.0.0 seq=17": 4 processes, of which the first is rank 0 of the world, the
// first such communicator of this process, and its 17th collective.
#include "own_fade.h"

#include "fade/host_events.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <vector>

namespace {

using fade::events::MarkerParts;
using Word = intptr_t;
constexpr std::size_t kMostArguments = 13;
using Words = std::array<Word, kMostArguments>;
using Function = Word(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);
using Record = void(uint32_t kind, const char *text, uint64_t range);

constexpr int kNotThere = 16; // MPI_ERR_OTHER

enum class Kind { collective, other };

struct Description {
  const char *name; ///< as it is recorded
  const char *real; ///< the function that does it
  Kind kind;
  int communicator, count, type; ///< indices of arguments; -1: none
  bool is_fortran = false;       ///< arguments are pointers to them
};

/// In the program, what it is linked with, or what was loaded with the library that calls: mpi4py,
/// for example, has its MPI for itself.
void *find(const char *name, const void *caller) noexcept {
  if (void *found = dlsym(RTLD_DEFAULT, name)) return found;
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || !info.dli_fname) return nullptr;
  void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, name) : nullptr; // stays loaded
}

Function *functionNamed(const char *name, const void *caller) noexcept {
  return reinterpret_cast<Function *>(find(name, caller));
}

Word call(Function *function, const Words &a) {
  return function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
}

template <typename... T> Word ask(Function *function, T... arguments) {
  if (!function) return -1;
  return static_cast<int>(call(function, {reinterpret_cast<Word>(arguments)...}));
}

/// Functions of MPI that are asked, and the world.
struct Mpi {
  Function *size, *rank, *group, *translate, *free_group, *type_size, *comm_of, *type_of;
  Word world;
  bool has_numbers; ///< handles are numbers of 32 bits (MPICH), not addresses (Open MPI)

  explicit Mpi(const void *caller)
      : size(functionNamed("PMPI_Comm_size", caller)),
        rank(functionNamed("PMPI_Comm_rank", caller)),
        group(functionNamed("PMPI_Comm_group", caller)),
        translate(functionNamed("PMPI_Group_translate_ranks", caller)),
        free_group(functionNamed("PMPI_Group_free", caller)),
        type_size(functionNamed("PMPI_Type_size", caller)),
        comm_of(functionNamed("PMPI_Comm_f2c", caller)),
        type_of(functionNamed("PMPI_Type_f2c", caller)) {
    constexpr Word mpich_world = 0x44000000;
    void *open_mpi = find("ompi_mpi_comm_world", caller);
    world = open_mpi ? reinterpret_cast<Word>(open_mpi) : mpich_world;
    has_numbers = !open_mpi;
    // In Fortran handles are numbers; MPICH has the same ones in C, and no functions for them.
  }
  /// What tells communicators apart. The other half of a register says nothing about a number.
  Word keyOf(Word handle) const {
    return has_numbers ? Word{static_cast<uint32_t>(handle)} : handle;
  }
  Word communicator(Word handle) const { return comm_of ? call(comm_of, {handle}) : handle; }
  Word datatype(Word handle) const { return type_of ? call(type_of, {handle}) : handle; }

  /// The rank in the world of the first process of a communicator.
  int first(Word communicator) const {
    Word own = 0, all = 0;
    int zero = 0, found = -1;
    if (!translate || ask(group, communicator, &own) != 0) return -1;
    if (ask(group, world, &all) == 0) (void)ask(translate, own, Word{1}, &zero, all, &found);
    (void)ask(free_group, &own);
    if (all) (void)ask(free_group, &all);
    return found;
  }
};

const Mpi &mpi(const void *caller) {
  static const Mpi *found = new Mpi(caller);
  return *found;
}

/// A communicator that this process has used.
struct Communicator {
  Word handle = 0;
  int size = 0, rank = 0, first = 0;
  unsigned number = 0; ///< of those with the same size and first
  uint64_t calls = 0;
  bool is_freed = false; ///< its handle may be another one's by now
};

std::mutex communicators_mutex;
std::vector<Communicator> &communicators() {
  static auto *all = new std::vector<Communicator>;
  return *all;
}

Communicator *known(Word handle) {
  const auto at =
      std::find_if(communicators().begin(), communicators().end(),
                   [&](const Communicator &c) { return c.handle == handle && !c.is_freed; });
  return at == communicators().end() ? nullptr : &*at;
}

/// Counts the call. What is not known is asked outside of the lock.
Communicator counted(Word given, const Mpi &functions) {
  const Word handle = functions.keyOf(given);
  {
    const std::lock_guard lock(communicators_mutex);
    if (Communicator *found = known(handle)) {
      ++found->calls;
      return *found;
    }
  }
  Communicator fresh;
  fresh.handle = handle;
  (void)ask(functions.size, handle, &fresh.size);
  (void)ask(functions.rank, handle, &fresh.rank);
  fresh.first = functions.first(handle);
  const std::lock_guard lock(communicators_mutex);
  if (!known(handle)) {
    fresh.number = static_cast<unsigned>(
        std::count_if(communicators().begin(), communicators().end(), [&](const Communicator &c) {
          return c.size == fresh.size && c.first == fresh.first;
        }));
    communicators().push_back(fresh);
  }
  Communicator *found = known(handle);
  ++found->calls;
  return *found;
}

void forget(Word handle) {
  const std::lock_guard lock(communicators_mutex);
  if (Communicator *found = known(handle)) found->is_freed = true;
}

Record *recorder() noexcept {
  static std::atomic<Record *> record{nullptr};
  Record *found = record.load(std::memory_order_acquire);
  if (!found) {
    found = fade::preload::fadeFunctionOf<Record>("fade_record_marker");
    if (found) record.store(found, std::memory_order_release);
  }
  return found;
}

/// An argument as C has it.
Word argument(const Description &what, const Words &words, int index) {
  const Word word = words[static_cast<std::size_t>(index)];
  return what.is_fortran ? Word{*reinterpret_cast<const int *>(word)} : word;
}

/// "comm=4.0.0 seq=17 rank=2 bytes=4096".
void describe(const Description &what, const Words &words, const void *caller, char *text,
              std::size_t room) {
  const Mpi &functions = mpi(caller);
  int used = 0;
  if (what.kind == Kind::collective) {
    const Word given = argument(what, words, what.communicator);
    const Communicator c =
        counted(what.is_fortran ? functions.communicator(given) : given, functions);
    used = std::snprintf(text, room, "comm=%d.%d.%u seq=%llu rank=%d", c.size, c.first, c.number,
                         static_cast<unsigned long long>(c.calls), c.rank);
  }
  if (what.count < 0 || used < 0) return;
  const Word type = argument(what, words, what.type);
  int size = 0;
  if (ask(functions.type_size, what.is_fortran ? functions.datatype(type) : type, &size) != 0)
    return;
  const auto count = static_cast<int>(argument(what, words, what.count));
  std::snprintf(text + used, room - static_cast<std::size_t>(used), "%sbytes=%lld", used ? " " : "",
                static_cast<long long>(size) * count);
}

void push(Record *to, const char *domain, const char *name, const char *arguments) {
  char text[256];
  std::snprintf(text, sizeof text, "%s%s%s", domain, name, arguments);
  to(1, text,
     MarkerParts{static_cast<uint16_t>(std::strlen(domain)),
                 static_cast<uint16_t>(std::strlen(name))}
         .packed());
}

/// What is asked of MPI meanwhile is not the application's.
thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

Word through(const Description &what, std::atomic<Function *> &cached, const Words &words,
             const void *caller) {
  Function *real = cached.load(std::memory_order_acquire);
  if (!real) {
    real = functionNamed(what.real, caller);
    if (!real) return kNotThere;
    cached.store(real, std::memory_order_release);
  }
  Record *to = is_inside ? nullptr : recorder();
  if (!to) return call(real, words);
  is_inside = true;
  char arguments[160] = "";
  describe(what, words, caller, arguments, sizeof arguments);
  push(to, "MPI", what.name, arguments);
  const Word result = call(real, words);
  to(2, nullptr, 0);
  is_inside = false;
  return result;
}

/// RCCL has the same kind of interface; where a version does not, it is the next of that name.
template <typename F>
F *rcclFunction(const char *name, std::atomic<F *> &cached, const void *caller) {
  F *real = cached.load(std::memory_order_acquire);
  if (real) return real;
  char profiled[64];
  std::snprintf(profiled, sizeof profiled, "p%s", name);
  real = reinterpret_cast<F *>(find(profiled, caller));
  if (!real) real = reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
  cached.store(real, std::memory_order_release);
  return real;
}

constexpr int kRcclNotThere = 3; // ncclInternalError

template <typename F, typename... T> Word throughRccl(const char *name, F *real, T... arguments) {
  if (!real) return kRcclNotThere;
  Record *to = is_inside ? nullptr : recorder();
  if (!to) return real(arguments...);
  is_inside = true;
  push(to, "RCCL", name, "");
  const Word result = real(arguments...);
  to(2, nullptr, 0);
  is_inside = false;
  return result;
}

/// ncclUniqueId is given by value: on x86-64 all of it lies on the stack.
struct RcclId {
  char bytes[128];
};
using RcclInit = int(void **, int, RcclId, int);

} // namespace

#define FADE_WORDS                                                                                 \
  Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l,  \
      Word m
#define FADE_SAME                                                                                  \
  { a, b, c, d, e, f, g, h, i, j, k, l, m }

// NOLINTBEGIN(bugprone-macro-parentheses)
#define MESSAGE(name, kind, communicator, count, type)                                             \
  FADE_EXPORT Word MPI_##name(FADE_WORDS) {                                                        \
    static std::atomic<Function *> real{nullptr};                                                  \
    static constexpr Description what{"MPI_" #name, "PMPI_" #name, Kind::kind,                     \
                                      communicator, count,         type};                          \
    return through(what, real, FADE_SAME, __builtin_return_address(0));                            \
  }
#include "message_functions.inc"
#undef MESSAGE

#define FADE_FORTRAN(small, name, kind, communicator, count, type)                                 \
  FADE_EXPORT Word mpi_##small##_(FADE_WORDS) {                                                    \
    static std::atomic<Function *> real{nullptr};                                                  \
    static constexpr Description what{                                                             \
        "MPI_" #name, "pmpi_" #small "_", Kind::kind, communicator, count, type, true};            \
    return through(what, real, FADE_SAME, __builtin_return_address(0));                            \
  }
FADE_FORTRAN(barrier, Barrier, collective, 0, -1, -1)
FADE_FORTRAN(bcast, Bcast, collective, 4, 1, 2)
FADE_FORTRAN(reduce, Reduce, collective, 6, 2, 3)
FADE_FORTRAN(allreduce, Allreduce, collective, 5, 2, 3)
FADE_FORTRAN(gather, Gather, collective, 7, 1, 2)
FADE_FORTRAN(scatter, Scatter, collective, 7, 4, 5)
FADE_FORTRAN(allgather, Allgather, collective, 6, 1, 2)
FADE_FORTRAN(alltoall, Alltoall, collective, 6, 1, 2)
FADE_FORTRAN(send, Send, other, -1, 1, 2)
FADE_FORTRAN(recv, Recv, other, -1, 1, 2)
FADE_FORTRAN(isend, Isend, other, -1, 1, 2)
FADE_FORTRAN(irecv, Irecv, other, -1, 1, 2)
FADE_FORTRAN(sendrecv, Sendrecv, other, -1, 1, 2)
FADE_FORTRAN(wait, Wait, other, -1, -1, -1)
FADE_FORTRAN(waitall, Waitall, other, -1, -1, -1)

/// Its handle may become another one's.
FADE_EXPORT Word MPI_Comm_free(Word *communicator) {
  static std::atomic<Function *> real{nullptr};
  static constexpr Description what{"MPI_Comm_free", "PMPI_Comm_free", Kind::other, -1, -1, -1};
  if (communicator) {
    const Mpi &functions = mpi(__builtin_return_address(0));
    Word handle = 0;
    std::memcpy(&handle, communicator, functions.has_numbers ? sizeof(uint32_t) : sizeof handle);
    forget(functions.keyOf(handle));
  }
  return through(what, real, {reinterpret_cast<Word>(communicator)}, __builtin_return_address(0));
}

#define FADE_RCCL(name)                                                                            \
  FADE_EXPORT Word name(FADE_WORDS) {                                                              \
    static std::atomic<Function *> real{nullptr};                                                  \
    return throughRccl(#name, rcclFunction(#name, real, __builtin_return_address(0)), a, b, c, d,  \
                       e, f, g, h, i, j, k, l, m);                                                 \
  }
FADE_EXPORT int ncclCommInitRank(void **comm, int ranks, RcclId id, int rank) {
  static std::atomic<RcclInit *> real{nullptr};
  const char *name = "ncclCommInitRank";
  return static_cast<int>(throughRccl(name, rcclFunction(name, real, __builtin_return_address(0)),
                                      comm, ranks, id, rank));
}
FADE_RCCL(ncclCommInitAll)
FADE_RCCL(ncclCommDestroy)
FADE_RCCL(ncclGroupStart)
FADE_RCCL(ncclGroupEnd)
FADE_RCCL(ncclAllReduce)
FADE_RCCL(ncclReduce)
FADE_RCCL(ncclBroadcast)
FADE_RCCL(ncclBcast)
FADE_RCCL(ncclReduceScatter)
FADE_RCCL(ncclAllGather)
FADE_RCCL(ncclAllToAll)
FADE_RCCL(ncclSend)
FADE_RCCL(ncclRecv)
// NOLINTEND(bugprone-macro-parentheses)
