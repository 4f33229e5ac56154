#include "codeobj/inflate.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <zlib.h>
#include <zstd.h>

namespace fade::codeobj {
namespace {

/// Room for the next piece of output: doubles, up to one byte more than allowed so that an excess
/// shows.
bool grow(std::vector<uint8_t> &out, uint64_t limit) {
  if (out.size() > limit) return false;
  uint64_t size = std::max<uint64_t>(out.size() * 2, 1 << 16);
  out.resize(std::min(size, limit + 1));
  return true;
}

Error tooLarge(uint64_t offset, uint64_t limit) {
  return {"", "", offset, fmt::format("holds more than the {} bytes it may", limit)};
}

} // namespace

Inflated inflateZlib(ByteView compressed, uint64_t limit) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return Error{"", "", 0, "zlib cannot be initialized"};
  std::unique_ptr<z_stream, int (*)(z_stream *)> cleanup(&stream, inflateEnd);
  std::vector<uint8_t> out;
  std::size_t used = 0, made = 0;
  for (;;) {
    if (made == out.size() && !grow(out, limit)) return tooLarge(used, limit);
    auto input = static_cast<uInt>(std::min<std::size_t>(compressed.size() - used, 1 << 30));
    auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - made, 1 << 30));
    stream.next_in = const_cast<Bytef *>(compressed.data() + used);
    stream.avail_in = input;
    stream.next_out = out.data() + made;
    stream.avail_out = room;
    int status = ::inflate(&stream, Z_NO_FLUSH);
    used += input - stream.avail_in;
    made += room - stream.avail_out;
    if (status == Z_STREAM_END) break;
    if (status != Z_OK && status != Z_BUF_ERROR)
      return Error{"", "", used, fmt::format("zlib: {}", stream.msg ? stream.msg : "bad data")};
    if (used == compressed.size() && made < out.size())
      return Error{"", "", used, "zlib: data ends early"};
  }
  if (made > limit) return tooLarge(used, limit);
  out.resize(made);
  return out;
}

Inflated inflateZstd(ByteView compressed, uint64_t limit) {
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx *)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  if (!context) return Error{"", "", 0, "zstd cannot be initialized"};
  std::vector<uint8_t> out;
  std::size_t made = 0;
  ZSTD_inBuffer input{compressed.data(), compressed.size(), 0};
  for (;;) {
    if (made == out.size() && !grow(out, limit)) return tooLarge(input.pos, limit);
    ZSTD_outBuffer output{out.data(), out.size(), made};
    std::size_t status = ZSTD_decompressStream(context.get(), &output, &input);
    made = output.pos;
    if (ZSTD_isError(status))
      return Error{"", "", input.pos, fmt::format("zstd: {}", ZSTD_getErrorName(status))};
    if (status == 0) break; // the frame is complete
    if (input.pos == input.size && made < out.size())
      return Error{"", "", input.pos, "zstd: data ends early"};
  }
  if (made > limit) return tooLarge(input.pos, limit);
  out.resize(made);
  return out;
}

} // namespace fade::codeobj
