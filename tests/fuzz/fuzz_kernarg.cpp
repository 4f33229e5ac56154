// Argument lists of an original and a clone: the rewriting stays inside its blocks whatever the
// lists say.
#include "codeobj/kernarg.h"

namespace {

using namespace fade::codeobj;

class Input {
public:
  explicit Input(ByteView bytes) : bytes_(bytes) {}
  template <class T> T take() {
    auto value = read<T>(bytes_, 0);
    bytes_ = bytes_.subspan(std::min(sizeof(T), bytes_.size()));
    return value.value_or(0);
  }

private:
  ByteView bytes_;
};

KernelMetadata metadata(Input &in) {
  KernelMetadata m;
  m.kernarg_segment_size = in.take<std::uint16_t>();
  m.group_segment_fixed_size = in.take<std::uint16_t>();
  unsigned count = in.take<std::uint8_t>() % 24;
  for (unsigned i = 0; i < count; ++i) {
    KernelArg arg;
    arg.offset = in.take<std::uint16_t>();
    arg.size = in.take<std::uint8_t>();
    arg.kind =
        static_cast<ArgKind>(in.take<std::uint8_t>() % (static_cast<unsigned>(ArgKind::Other) + 1));
    arg.kind_text = to_string(arg.kind);
    m.args.push_back(arg);
  }
  return m;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  Input in({data, size});
  auto original = KernargLayout::from(metadata(in));
  auto clone = KernargLayout::from(metadata(in));
  if (!original || !clone) return 0;
  auto rewrite = KernargRewrite::plan(*original, *clone);
  if (!rewrite) return 0;
  std::vector<std::uint8_t> block(in.take<std::uint16_t>()), out(rewrite->size());
  DispatchFields dispatch;
  for (auto &n : dispatch.workgroup_size) n = in.take<std::uint16_t>();
  for (auto &n : dispatch.grid_size) n = in.take<std::uint32_t>();
  dispatch.group_segment_size = in.take<std::uint32_t>();
  if (!rewrite->build(block, dispatch, ~0ull, out)) __builtin_trap();
  std::uint64_t control = 0;
  std::memcpy(&control, out.data() + original->control_offset, sizeof control);
  if (control != ~0ull) __builtin_trap();
  return 0;
}
