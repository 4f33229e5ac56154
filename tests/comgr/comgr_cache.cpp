// HIP before 6 compiles its copy kernels each time it starts, which takes longer than all else that
// most test programs do. This library stands in front of the real libamd_comgr.so.2 and keeps what
// that made, by all that went into it. It has only the function that compiles: for all others the
// loader goes on to the real one, on which this one depends by its path.
#include <amd_comgr.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr bool good(amd_comgr_status_t status) { return status == AMD_COMGR_STATUS_SUCCESS; }

/// Kinds of data: the numbers have a gap.
constexpr int kFirstKind = AMD_COMGR_DATA_KIND_SOURCE, kLastKind = AMD_COMGR_DATA_KIND_LAST;

struct Data {
  amd_comgr_data_kind_t kind;
  std::string name, bytes;
};

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

bool readAll(amd_comgr_data_set_t set, std::vector<Data> &out) {
  for (int number = kFirstKind; number <= kLastKind; ++number) {
    const auto kind = static_cast<amd_comgr_data_kind_t>(number);
    size_t count = 0;
    if (!good(amd_comgr_action_data_count(set, kind, &count))) continue;
    for (size_t i = 0; i < count; ++i) {
      amd_comgr_data_t data{};
      if (!good(amd_comgr_action_data_get_data(set, kind, i, &data))) return false;
      Data one{kind, {}, {}};
      const bool is_read =
          read([&](size_t *n, char *to) { return amd_comgr_get_data_name(data, n, to); },
               one.name) &&
          read([&](size_t *n, char *to) { return amd_comgr_get_data(data, n, to); }, one.bytes);
      amd_comgr_release_data(data);
      if (!is_read) return false;
      out.push_back(std::move(one));
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

/// Everything that the result depends on; false if it cannot be told.
bool keyOf(amd_comgr_action_kind_t action, amd_comgr_action_info_t info, amd_comgr_data_set_t input,
           std::string &key) {
  key = std::to_string(action);
  std::string text;
  amd_comgr_language_t language{};
  size_t options = 0;
  if (!good(amd_comgr_action_info_get_language(info, &language)) ||
      !good(amd_comgr_action_info_get_option_list_count(info, &options)) ||
      !read([&](size_t *n, char *to) { return amd_comgr_action_info_get_isa_name(info, n, to); },
            text))
    return false;
  put(key, text);
  put(key, std::to_string(language));
  for (size_t i = 0; i < options; ++i) {
    if (!read([&](size_t *n,
                  char *to) { return amd_comgr_action_info_get_option_list_item(info, i, n, to); },
              text))
      return false;
    put(key, text);
  }
  std::vector<Data> all;
  if (!readAll(input, all)) return false;
  for (const Data &one : all) {
    put(key, std::to_string(one.kind));
    put(key, one.name);
    put(key, one.bytes);
  }
  return true;
}

uint64_t hash(std::string_view text) {
  uint64_t value = 0xcbf29ce484222325;
  for (const unsigned char c : text) value = (value ^ c) * 0x100000001b3;
  return value;
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
  std::string key;
  if (is_quick || !keyOf(action, info, input, key)) return real(action, info, input, result);
  char name[32];
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(hash(key)));
  const std::string path = CACHE + std::string(name);
  std::stringstream stored;
  stored << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string content = stored.str();
  std::string_view rest = content;
  std::string its_key;
  if (get(rest, its_key) && its_key == key)
    return addAll(rest, result) ? AMD_COMGR_STATUS_SUCCESS : AMD_COMGR_STATUS_ERROR;
  const amd_comgr_status_t status = real(action, info, input, result);
  std::vector<Data> made;
  if (!good(status) || !readAll(result, made)) return status;
  std::string out;
  put(out, key);
  for (const Data &one : made) {
    put(out, std::to_string(one.kind));
    put(out, one.name);
    put(out, one.bytes);
  }
  write(path, out);
  return status;
}
