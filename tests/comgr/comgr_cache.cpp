// HIP before 6 compiles its copy kernels each time it starts, which takes longer than all else that
// most test programs do. This library stands in front of the real libamd_comgr.so.2 and keeps what
// that made, by all that went into it. It has only the function that compiles: for all others the
// loader goes on to the real one, on which this one depends by its path.
#include <amd_comgr.h>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace {

constexpr bool good(amd_comgr_status_t status) { return status == AMD_COMGR_STATUS_SUCCESS; }

/// Kinds of data: the numbers have a gap.
constexpr int kFirstKind = AMD_COMGR_DATA_KIND_SOURCE, kLastKind = AMD_COMGR_DATA_KIND_LAST;

/// As much of a precompiled header as tells it from others.
constexpr size_t kHeaderBytes = 16384;

void put(std::string &out, std::string_view text) {
  const uint64_t size = text.size();
  out.append(reinterpret_cast<const char *>(&size), sizeof size);
  out.append(text);
}

bool get(std::string_view &in, std::string &text) {
  uint64_t size = 0;
  if (in.size() < sizeof size) return false;
  in.copy(reinterpret_cast<char *>(&size), sizeof size);
  in.remove_prefix(sizeof size);
  if (in.size() < size) return false;
  text = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

/// What a function of comgr writes into a buffer whose size it tells when asked without one.
template <class Function> bool read(Function function, std::string &out) {
  size_t size = 0;
  if (!good(function(&size, nullptr))) return false;
  out.resize(size);
  return good(function(&size, out.data()));
}

/// Calls done(kind, name, data) for everything in a set; false if something cannot be read.
template <class Function> bool forEach(amd_comgr_data_set_t set, Function done) {
  std::string name;
  for (int number = kFirstKind; number <= kLastKind; ++number) {
    const auto kind = static_cast<amd_comgr_data_kind_t>(number);
    size_t count = 0;
    if (!good(amd_comgr_action_data_count(set, kind, &count))) continue;
    for (size_t i = 0; i < count; ++i) {
      amd_comgr_data_t data{};
      if (!good(amd_comgr_action_data_get_data(set, kind, i, &data))) return false;
      const bool is_done =
          read([&](size_t *n, char *to) { return amd_comgr_get_data_name(data, n, to); }, name) &&
          done(kind, name, data);
      amd_comgr_release_data(data);
      if (!is_done) return false;
    }
  }
  return true;
}

bool addAll(std::string_view stored, amd_comgr_data_set_t set) {
  std::string kind, name, bytes;
  while (!stored.empty()) {
    if (!get(stored, kind) || !get(stored, name) || !get(stored, bytes)) return false;
    if (bytes.empty()) continue; // an empty log: comgr itself cannot be given one
    amd_comgr_data_t data{};
    if (!good(amd_comgr_create_data(static_cast<amd_comgr_data_kind_t>(std::atoi(kind.c_str())),
                                    &data)))
      return false;
    const bool is_added = good(amd_comgr_set_data(data, bytes.size(), bytes.data())) &&
                          good(amd_comgr_set_data_name(data, name.c_str())) &&
                          good(amd_comgr_data_set_add(set, data));
    amd_comgr_release_data(data);
    if (!is_added) return false;
  }
  return true;
}

/// A hash of 128 bits of several texts: enough that nobody ever sees two alike, so that the texts
/// themselves, megabytes of them, need not be kept and compared.
class Key {
public:
  void add(std::string_view text) {
    mix(text.size());
    for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
      uint64_t word;
      std::memcpy(&word, text.data(), sizeof word);
      mix(word);
    }
    uint64_t word = 0;
    std::memcpy(&word, text.data(), text.size());
    mix(word);
  }
  std::string name() const {
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high_),
                  static_cast<unsigned long long>(low_));
    return text;
  }

private:
  void mix(uint64_t word) {
    high_ = (high_ ^ word) * 0x9e3779b97f4a7c15;
    high_ ^= high_ >> 32;
    low_ = (low_ + word) * 0xc2b2ae3d27d4eb4f;
    low_ ^= low_ >> 29;
  }
  uint64_t high_ = 0xcbf29ce484222325, low_ = 0x27d4eb2f165667c5;
};

/// Everything that the result depends on; false if it cannot be told.
bool keyOf(amd_comgr_action_kind_t action, amd_comgr_action_info_t info, amd_comgr_data_set_t input,
           Key &key) {
  key.add(std::to_string(action));
  std::string text;
  amd_comgr_language_t language{};
  size_t options = 0;
  if (!good(amd_comgr_action_info_get_language(info, &language)) ||
      !good(amd_comgr_action_info_get_option_list_count(info, &options)) ||
      !read([&](size_t *n, char *to) { return amd_comgr_action_info_get_isa_name(info, n, to); },
            text))
    return false;
  key.add(text);
  key.add(std::to_string(language));
  for (size_t i = 0; i < options; ++i) {
    if (!read([&](size_t *n,
                  char *to) { return amd_comgr_action_info_get_option_list_item(info, i, n, to); },
              text))
      return false;
    key.add(text);
  }
  return forEach(input,
                 [&](amd_comgr_data_kind_t kind, const std::string &name, amd_comgr_data_t data) {
                   size_t size = 0;
                   if (!good(amd_comgr_get_data(data, &size, nullptr))) return false;
                   key.add(std::to_string(kind));
                   key.add(name);
                   key.add(std::to_string(size));
                   // Precompiled headers are comgr's own, of megabytes: their beginning has the
                   // version, the size and the time of what they were made of.
                   if (kind == AMD_COMGR_DATA_KIND_PRECOMPILED_HEADER)
                     size = std::min(size, kHeaderBytes);
                   text.resize(size);
                   if (!good(amd_comgr_get_data(data, &size, text.data()))) return false;
                   key.add(text);
                   return true;
                 });
}

/// False where it is not there.
bool readFile(const std::string &path, std::string &out) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return false;
  out.resize(static_cast<size_t>(file.tellg()));
  return static_cast<bool>(
      file.seekg(0).read(out.data(), static_cast<std::streamsize>(out.size())));
}

/// Another process may be writing the same file.
void write(const std::string &path, const std::string &content) {
  const std::string mine = path + "." + std::to_string(getpid());
  if (std::ofstream(mine, std::ios::binary) << content)
    std::rename(mine.c_str(), path.c_str());
  else
    unlink(mine.c_str());
}

using DoAction = amd_comgr_status_t(amd_comgr_action_kind_t, amd_comgr_action_info_t,
                                    amd_comgr_data_set_t, amd_comgr_data_set_t);

} // namespace

extern "C" __attribute__((visibility("default"))) amd_comgr_status_t
amd_comgr_do_action(amd_comgr_action_kind_t action, amd_comgr_action_info_t info,
                    amd_comgr_data_set_t input, amd_comgr_data_set_t result) {
  static auto *const real = [] {
    void *library = dlopen(REAL_COMGR, RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<DoAction *>(library ? dlsym(library, "amd_comgr_do_action") : nullptr);
  }();
  if (!real) return AMD_COMGR_STATUS_ERROR;
  // These only add what comgr has in it.
  const bool is_quick = action == AMD_COMGR_ACTION_ADD_PRECOMPILED_HEADERS ||
                        action == AMD_COMGR_ACTION_ADD_DEVICE_LIBRARIES;
  Key key;
  if (is_quick || !keyOf(action, info, input, key)) return real(action, info, input, result);
  const std::string path = CACHE "/" + key.name();
  std::string stored;
  if (readFile(path, stored))
    return addAll(stored, result) ? AMD_COMGR_STATUS_SUCCESS : AMD_COMGR_STATUS_ERROR;
  const amd_comgr_status_t status = real(action, info, input, result);
  std::string out, bytes;
  if (!good(status) || !forEach(result, [&](amd_comgr_data_kind_t kind, const std::string &name,
                                            amd_comgr_data_t data) {
        if (!read([&](size_t *n, char *to) { return amd_comgr_get_data(data, n, to); }, bytes))
          return false;
        put(out, std::to_string(kind));
        put(out, name);
        put(out, bytes);
        return true;
      }))
    return status;
  write(path, out);
  return status;
}
