// What RCCL is to a program, without a GPU: the functions that it calls, with RCCL's signatures.
// They check that their arguments arrive as they were given.
#include <cstddef>

namespace {

constexpr int kWrong = 4; // ncclInvalidArgument

} // namespace

extern "C" {

struct ncclUniqueId {
  char internal[128];
};

int ncclGetUniqueId(ncclUniqueId *id) {
  for (std::size_t i = 0; i < sizeof id->internal; ++i) id->internal[i] = static_cast<char>(i);
  return 0;
}

int ncclCommInitRank(void **comm, int ranks, ncclUniqueId id, int rank) {
  static int one;
  for (std::size_t i = 0; i < sizeof id.internal; ++i)
    if (id.internal[i] != static_cast<char>(i)) return kWrong;
  *comm = &one;
  return ranks == 2 && rank == 1 ? 0 : kWrong;
}

int ncclAllReduce(const void *from, void *to, std::size_t count, int type, int operation,
                  void *comm, void *stream) {
  const bool is_right = !from && !to && count == (std::size_t{1} << 33) && type == 7 &&
                        operation == 2 && comm && stream == comm;
  return is_right ? 0 : kWrong;
}

int ncclGroupStart() { return 0; }
int ncclGroupEnd() { return 0; }
int ncclCommDestroy(void *comm) { return comm ? 0 : kWrong; }

} // extern "C"
