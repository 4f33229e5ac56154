#include "hip/python_frames.h"

#include "hip/libraries.h"
#include "hip/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <mutex>
#include <unistd.h>

namespace fade::hip {
namespace {

struct Object; // of Python

/// How Python describes a function of C.
struct MethodDefinition {
  const char *name;
  Object *(*function)(Object *, Object *);
  int flags;
  const char *documentation;
};

/// Python's functions, from 3.9 on, if the process has them. Found when they are first there.
struct Python {
  int (*is_initialized)() = nullptr;
  int (*has_lock)() = nullptr;
  int (*take_lock)() = nullptr;
  void (*give_lock)(int) = nullptr;
  void *(*own_thread)() = nullptr;
  Object *(*occurred)() = nullptr;
  Object *(*current_frame)() = nullptr; // borrowed
  Object *(*back)(Object *) = nullptr;
  Object *(*code)(Object *) = nullptr;
  int (*line)(Object *) = nullptr;
  Object *(*attribute)(Object *, const char *) = nullptr;
  const char *(*utf8)(Object *) = nullptr;
  void (*clear_error)() = nullptr;
  void (*release)(Object *) = nullptr;
  // For its end.
  int (*is_finalizing)() = nullptr;
  Object *(*import)(const char *) = nullptr;
  Object *(*function)(MethodDefinition *, Object *, Object *) = nullptr;
  Object *(*call)(Object *, ...) = nullptr;
  void *(*save_thread)() = nullptr;
  void (*restore_thread)(void *) = nullptr;
  void (*keep)(Object *) = nullptr;
  Object *none = nullptr;
  AddressRange module; ///< of the interpreter
  bool is_there = false;

  static const Python &get();

private:
  void find();
};

void Python::find() {
  bool has_all = true;
  const auto take = [&](auto &to, const char *name) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(RTLD_DEFAULT, name));
    has_all = has_all && to;
  };
  take(is_initialized, "Py_IsInitialized");
  if (!has_all) return;
  take(has_lock, "PyGILState_Check");
  take(take_lock, "PyGILState_Ensure");
  take(give_lock, "PyGILState_Release");
  take(own_thread, "PyGILState_GetThisThreadState");
  take(occurred, "PyErr_Occurred");
  take(current_frame, "PyEval_GetFrame");
  take(back, "PyFrame_GetBack");
  take(code, "PyFrame_GetCode");
  take(line, "PyFrame_GetLineNumber");
  take(attribute, "PyObject_GetAttrString");
  take(utf8, "PyUnicode_AsUTF8");
  take(clear_error, "PyErr_Clear");
  take(release, "Py_DecRef");
  take(import, "PyImport_ImportModule");
  take(function, "PyCFunction_NewEx");
  take(call, "PyObject_CallFunctionObjArgs");
  take(save_thread, "PyEval_SaveThread");
  take(restore_thread, "PyEval_RestoreThread");
  take(keep, "Py_IncRef");
  take(none, "_Py_NoneStruct");
  if (!has_all) return;
  take(is_finalizing, "Py_IsFinalizing"); // from 3.13 on
  if (!is_finalizing) take(is_finalizing, "_Py_IsFinalizing");
  if (!is_finalizing) return;
  module = rangeAround(reinterpret_cast<const void *>(current_frame));
  is_there = module.end != 0;
}

const Python &Python::get() {
  // An interpreter may be loaded later than FADE; where there is none, looking costs a little with
  // every stack that is new.
  static const Python none;
  static std::atomic<const Python *> found{nullptr};
  if (const Python *there = found.load(std::memory_order_acquire)) return *there;
  if (!dlsym(RTLD_DEFAULT, "Py_IsInitialized")) return none;
  static std::mutex find_mutex;
  const std::unique_lock lock(find_mutex, std::try_to_lock); // a child of fork must not wait
  if (!lock) return none;
  if (!found.load()) {
    auto *python = new Python; // never destroyed
    python->find();
    found.store(python, std::memory_order_release);
  }
  return *found.load();
}

/// Whether a call comes from ctypes: the innermost frame is in libffi, or in the module that has it
/// inside.
bool comesFromCtypes(uint64_t address) noexcept {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void *>(address), &info) == 0 || !info.dli_fname) return false;
  const char *slash = std::strrchr(info.dli_fname, '/');
  const char *name = slash ? slash + 1 : info.dli_fname;
  return std::strncmp(name, "libffi.so", 9) == 0 || std::strncmp(name, "_ctypes", 7) == 0;
}

std::string textOf(const Python &python, Object *object, const char *name) {
  std::string text = "?";
  if (Object *value = python.attribute(object, name)) {
    if (const char *bytes = python.utf8(value)) text = bytes;
    python.release(value);
  }
  return text;
}

/// With the lock. The innermost first.
unsigned walk(const Python &python, uint64_t *to, unsigned most) {
  unsigned count = 0;
  Object *frame = python.current_frame();
  bool is_own = false; // the first is borrowed
  while (frame && count < most) {
    if (Object *code = python.code(frame)) {
      const std::string text = fmt::format("{}\n{}\n{}", textOf(python, code, "co_name"),
                                           textOf(python, code, "co_filename"), python.line(frame));
      python.release(code);
      if (const uint64_t id = recordText(text)) to[count++] = events::kInterpretedFrame | id;
    }
    Object *outer = python.back(frame);
    if (is_own) python.release(frame);
    frame = outer;
    is_own = true;
  }
  if (frame && is_own) python.release(frame);
  if (python.occurred()) python.clear_error();
  return count;
}

/// Without memory there are none.
unsigned walkOrNothing(const Python &python, uint64_t *to, unsigned most) noexcept {
  try {
    return walk(python, to, most);
  } catch (...) {
    return 0;
  }
}

/// A thread that waits for the lock when the interpreter ends is ended by Python (before 3.14),
/// with an exception that no function of ours may swallow, or is never woken again. So nobody waits
/// for it by then: the interpreter tells of its end before it begins, and waits until those are out
/// that are inside.
class LockGate {
public:
  static bool enter(const Python &python) noexcept {
    inside.fetch_add(1);
    if (!is_closed.load() && python.is_finalizing() == 0) return true;
    leave();
    return false;
  }
  static void leave() noexcept { inside.fetch_sub(1); }

  /// With the lock, once.
  static void watchEnd(const Python &python) noexcept {
    static std::atomic<bool> is_watched{false};
    if (is_watched.exchange(true)) return;
    static MethodDefinition definition{"fade_at_exit", atExit, kNoArguments, nullptr};
    if (Object *atexit = python.import("atexit")) {
      Object *enlist = python.attribute(atexit, "register");
      Object *own = enlist ? python.function(&definition, nullptr, nullptr) : nullptr;
      Object *done = own ? python.call(enlist, own, static_cast<Object *>(nullptr)) : nullptr;
      for (Object *object : {done, own, enlist, atexit})
        if (object) python.release(object);
    }
    if (python.occurred()) python.clear_error();
  }

private:
  static constexpr int kNoArguments = 4; // METH_NOARGS

  /// Called by Python with the lock, while its threads still run.
  static Object *atExit(Object *, Object *) noexcept {
    const Python &python = Python::get();
    is_closed.store(true);
    void *const thread = python.save_thread();
    // A child of fork may have a count of threads that it does not have.
    for (int i = 0; i < 1000 && inside.load() != 0; ++i) usleep(1000);
    python.restore_thread(thread);
    python.keep(python.none);
    return python.none;
  }

  static inline std::atomic<int> inside{0};
  static inline std::atomic<bool> is_closed{false};
};

} // namespace

unsigned addPythonFrames(uint64_t *frames, unsigned count, unsigned most) noexcept {
  try {
    const Python &python = Python::get();
    if (!python.is_there || python.is_initialized() == 0) return count;
    uint64_t *const end = frames + count;
    uint64_t *const first =
        std::find_if(frames, end, [&](uint64_t frame) { return python.module.has(frame); });
    if (first == end) return count;
    constexpr unsigned most_python = 64;
    std::array<uint64_t, most_python> own;
    unsigned found = 0;
    if (python.has_lock() == 1) {
      if (!python.occurred()) found = walk(python, own.data(), most_python);
    } else if (comesFromCtypes(frames[0]) && python.own_thread() && LockGate::enter(python)) {
      const int state = python.take_lock();
      LockGate::watchEnd(python);
      found = walkOrNothing(python, own.data(), most_python);
      python.give_lock(state);
      LockGate::leave();
    }
    if (found == 0) return count;
    // What is not the interpreter's own stays, outside of all that is Python's.
    std::vector<uint64_t> all(frames, first);
    all.insert(all.end(), own.begin(), own.begin() + found);
    std::copy_if(first, end, std::back_inserter(all),
                 [&](uint64_t frame) { return !python.module.has(frame); });
    const auto size = std::min<std::size_t>(all.size(), most);
    std::copy_n(all.begin(), size, frames);
    return static_cast<unsigned>(size);
  } catch (...) { // no memory
    return count;
  }
}

} // namespace fade::hip
