// A file of JSON that is written piece by piece: traces are larger than memory should be.
#pragma once

#include "base/result.h"
#include "fade/json_writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace fade::host_trace {

class LineFile {
public:
  explicit LineFile(const std::string &path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (!file_) error_ = errno;
  }
  ~LineFile() {
    if (file_) std::fclose(file_);
  }
  LineFile(const LineFile &) = delete;
  LineFile &operator=(const LineFile &) = delete;

  JsonWriter json; ///< each object at its outermost level is a line

  /// After each line.
  void lineEnded() {
    if (json.text().size() >= kWriteAt) write(json.take());
  }
  /// Something else than objects.
  void put(std::string_view text) {
    write(json.take());
    write(text);
  }
  /// Makes everything so far readable, as if `rest` were all that follows.
  void flush(std::string_view rest) {
    write(json.take());
    if (error_ != 0) return;
    const off_t here = ftello(file_);
    write(rest);
    if ((std::fflush(file_) != 0 || fseeko(file_, here, SEEK_SET) != 0) && error_ == 0)
      error_ = errno;
  }
  /// In the place of what was written first, which was as long.
  void replaceBegin(std::string_view text) {
    write(json.take());
    if (error_ != 0) return;
    const off_t here = ftello(file_);
    if (fseeko(file_, 0, SEEK_SET) != 0) error_ = errno;
    write(text);
    if (fseeko(file_, here, SEEK_SET) != 0 && error_ == 0) error_ = errno;
  }
  /// Whether all of it could be written.
  Status close() {
    write(json.take());
    if (file_ && std::fclose(file_) != 0 && error_ == 0) error_ = errno;
    file_ = nullptr;
    if (error_ != 0) return Error{path_, "", 0, std::strerror(error_)};
    return Done{};
  }

private:
  static constexpr std::size_t kWriteAt = 1 << 16;

  void write(std::string_view text) {
    if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), file_) != text.size())
      error_ = errno;
  }

  const std::string path_;
  std::FILE *file_;
  int error_ = 0;
};

} // namespace fade::host_trace
