// Writing a handler in C++. A complete example:
//
//   #include <fade/handler.h>
//
//   struct LaneCount : fade::Handler {
//     static constexpr const char *name = "LaneCount", *summary = "active lanes of all accesses";
//     static constexpr uint32_t needs = FADE_NEEDS_ACCESSES;
//     using Handler::Handler;
//
//     struct Shard {
//       uint64_t lanes = 0;
//       Shard(const LaneCount &, const fade::Dispatch &) {}
//       void records(const fade::Batch &batch) {
//         batch.forEachAccess([&](const fade::Record &r) { lanes += r.laneCount(); });
//       }
//     };
//     void dispatchEnd(const fade::Dispatch &, std::span<Shard *const> shards) {
//       for (const Shard *shard : shards) total += shard->lanes;
//     }
//     void report() { sink().line("lanes: " + std::to_string(total)); }
//     uint64_t total = 0;
//   };
//   FADE_HANDLER(LaneCount)
//
// handler_abi.h says which calls may run at the same time. An exception that leaves a handler's
// function is reported once, and the handler is disabled.
#pragma once

#include "decode.h"
#include "handler_abi.h"
#include "options.h"
#include "sink.h"
#include "site_table.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fade {

// Identity of a kernel: two modules may have kernels of the same name.
struct KernelId {
  std::string name;   // demangled, with its parameters
  std::string module; // as in fade_kernel; empty: not known

  auto operator<=>(const KernelId &) const = default;
  void writeTo(JsonWriter &json) const {
    json.field("kernel", name);
    if (!module.empty()) json.field("module", module);
  }
};

// A kernel and its sites.
class Kernel {
public:
  explicit Kernel(const fade_kernel &kernel) : Kernel(kernel, readSites(kernel)) {}
  // With sites that were read before.
  Kernel(const fade_kernel &kernel, std::shared_ptr<const SiteTable> sites)
      : id_(kernel.id), identity_{kernel.name, moduleOf(kernel)}, symbol_(kernel.symbol),
        target_(kernel.target), sites_(std::move(sites)) {}

  static std::shared_ptr<const SiteTable> readSites(const fade_kernel &kernel) {
    if (!kernel.sites) return nullptr;
    const auto *bytes = static_cast<const std::byte *>(kernel.sites);
    std::string error;
    auto table = SiteTable::parse({bytes, kernel.sites_size}, error);
    return table ? std::make_shared<const SiteTable>(std::move(*table)) : nullptr;
  }

  uint32_t id() const { return id_; }
  const KernelId &identity() const { return identity_; }
  const std::string &name() const { return identity_.name; }
  const std::string &symbol() const { return symbol_; }
  const std::string &target() const { return target_; }
  // Null if the kernel is not instrumented.
  const SiteTable *sites() const { return sites_.get(); }
  std::size_t siteCount() const { return sites_ ? sites_->sites().size() : 0; }

private:
  // A FADE that is older than this header has a shorter struct.
  static std::string moduleOf(const fade_kernel &kernel) {
    constexpr auto end = offsetof(fade_kernel, module) + sizeof kernel.module;
    return kernel.size >= end && kernel.module ? kernel.module : "";
  }

  uint32_t id_;
  KernelId identity_;
  std::string symbol_, target_;
  std::shared_ptr<const SiteTable> sites_;
};

class Dispatch {
public:
  Dispatch(const fade_dispatch &dispatch, const Kernel &kernel)
      : dispatch_(&dispatch), kernel_(&kernel) {}

  const fade_dispatch *operator->() const { return dispatch_; }
  const Kernel &kernel() const { return *kernel_; } // lives as long as the handler
  bool isInstrumented() const { return (dispatch_->flags & FADE_DISPATCH_INSTRUMENTED) != 0; }
  bool hasTimes() const { return (dispatch_->flags & FADE_DISPATCH_HAS_TIMES) != 0; }
  std::span<const fade_allocation> allocations() const {
    return {dispatch_->allocations, dispatch_->allocation_count};
  }
  // The symbol of a variable; empty for memory that the application has allocated.
  std::string_view nameOf(const fade_allocation &allocation) const {
    if (!has(&dispatch_->allocation_names) || !dispatch_->allocation_names) return {};
    return dispatch_->allocation_names + allocation.name;
  }
  /// "main (app.cpp:12)": who made it; empty if that is not known.
  std::string_view originOf(const fade_allocation &allocation) const {
    if (!has(&dispatch_->allocation_origins) || !dispatch_->allocation_origins) return {};
    const auto index = static_cast<std::size_t>(&allocation - dispatch_->allocations);
    return dispatch_->allocation_names + dispatch_->allocation_origins[index];
  }
  std::size_t argumentCount() const {
    return has(&dispatch_->argument_size) && dispatch_->arguments ? dispatch_->argument_count : 0;
  }
  // By number, from 0; there may be more of it than this header knows.
  const fade_argument &argument(std::size_t i) const {
    const auto *bytes = reinterpret_cast<const char *>(dispatch_->arguments);
    return *reinterpret_cast<const fade_argument *>(bytes + i * dispatch_->argument_size);
  }
  bool isInSoftware() const { return (dispatch_->flags & FADE_DISPATCH_IN_SOFTWARE) != 0; }
  std::span<const fade_counter> counters() const {
    return {dispatch_->counters, dispatch_->counter_count};
  }
  // By site: clocks of blocks that were measured without a stream.
  std::span<const fade_u64> clocks() const {
    constexpr auto end = offsetof(fade_dispatch, clock_count) + sizeof dispatch_->clock_count;
    if (dispatch_->size < end || !dispatch_->clocks) return {};
    return {dispatch_->clocks, dispatch_->clock_count};
  }

private:
  // A FADE that is older than this header has a shorter struct.
  template <typename T> bool has(const T *field) const {
    const auto *end = reinterpret_cast<const char *>(field + 1);
    return end - reinterpret_cast<const char *>(dispatch_) <= std::ptrdiff_t{dispatch_->size};
  }

  const fade_dispatch *dispatch_;
  const Kernel *kernel_;
};

class Batch {
public:
  explicit Batch(const fade_batch &batch) : batch_(&batch) {}

  const fade_batch *operator->() const { return batch_; }
  template <typename F> void forEach(F &&f) const {
    RecordCursor cursor({static_cast<const std::byte *>(batch_->bytes), batch_->byte_count});
    Record record;
    while (cursor.next(record) == RecordCursor::Status::record) f(std::as_const(record));
  }
  template <typename F> void forEachAccess(F &&f) const {
    forEach([&](const Record &record) {
      if (record.isAccess()) f(record);
    });
  }
  // The same with executions that the device has added up, for handlers that take them: each stands
  // for record.weight() executions.
  template <typename F> void forEachAccessOrSummary(F &&f) const {
    forEach([&](const Record &record) {
      if (record.isAccess() || record.isSummary()) f(record);
    });
  }
  // What the kernel's author records (user.h).
  template <typename F> void forEachUser(F &&f) const {
    forEach([&](const Record &record) {
      if (record.isUser()) f(record);
    });
  }
  std::optional<fade_wave_begin> wave(uint32_t id) const {
    fade_wave_begin wave;
    if (!batch_->find_wave(batch_->waves, id, &wave)) return std::nullopt;
    return wave;
  }

private:
  const fade_batch *batch_;
};

// The base class of handlers. A handler H also has:
//   static name, summary, needs
//   H::Shard with a constructor (const H &, const Dispatch &) and records(const Batch &)
//   optionally dispatchEnd(const Dispatch &, std::span<Shard *const>) and report()
//   optionally takes() const: FADE_TAKES_*
// and is constructed from a Sink and its Options.
class Handler {
public:
  Handler(const Sink &sink, const Options &) : sink_(sink) {}
  Handler(const Handler &) = delete;
  Handler &operator=(const Handler &) = delete;

  const Sink &sink() const { return sink_; }

private:
  Sink sink_;
};

namespace detail {

// Makes the C interface of a handler.
template <typename H> class HandlerGlue {
public:
  static const fade_handler_api *api() {
    static constexpr fade_handler_api table = {
        sizeof(fade_handler_api),
        FADE_HANDLER_ABI,
        FADE_MESSAGE_VERSION,
        H::needs,
        H::name,
        H::summary,
        create,
        shard,
        records,
        dispatchEnd,
        shardFree,
        report,
        destroy,
        takes,
    };
    return &table;
  }

private:
  using ShardOf = typename H::Shard;
  struct OwnedShard {
    HandlerGlue &glue;
    ShardOf shard;
  };

  HandlerGlue(const fade_host &host, const Options &options)
      : sink_(host), handler_(sink_, options) {}

  static HandlerGlue &of(void *handler) { return *static_cast<HandlerGlue *>(handler); }

  // Runs f unless an earlier call has failed.
  template <typename F> auto guarded(F &&f) noexcept -> decltype(f()) {
    using R = decltype(f());
    if (failed_.load(std::memory_order_relaxed)) return R();
    try {
      return f();
    } catch (const std::exception &e) {
      fail(e.what());
    } catch (...) {
      fail("an exception of unknown type");
    }
    return R();
  }
  void fail(const char *what) noexcept {
    if (failed_.exchange(true)) return;
    try {
      sink_.warn(std::string(H::name) + " failed and is switched off: " + what);
    } catch (...) { // out of memory, most likely: nothing left to say
    }
  }

  const Kernel &kernelOf(const fade_dispatch &dispatch) {
    const std::lock_guard lock(mutex_);
    auto &kernel = kernels_[dispatch.kernel->id];
    if (!kernel || (!kernel->sites() && dispatch.kernel->sites)) {
      // Dispatches of a kernel may begin before its twin is known; earlier ones keep the old view.
      if (kernel) retired_.push_back(std::move(kernel));
      kernel = std::make_unique<Kernel>(*dispatch.kernel, sitesOf(*dispatch.kernel));
    }
    return *kernel;
  }
  // A module may have thousands of kernels, and its table is read once.
  std::shared_ptr<const SiteTable> sitesOf(const fade_kernel &kernel) {
    if (!kernel.sites || !sink_.sharesSites()) return Kernel::readSites(kernel);
    auto &table = tables_[kernel.sites];
    if (!table) table = Kernel::readSites(kernel);
    return table;
  }

  static void *create(const fade_host *host, const char *options, char *error,
                      fade_u64 error_size) {
    const char *what = "out of memory";
    std::string text;
    try {
      return new HandlerGlue(*host, Options(options));
    } catch (const std::exception &e) {
      try {
        text = e.what();
        what = text.c_str();
      } catch (...) {
      }
    } catch (...) {
      what = "an exception of unknown type";
    }
    if (error_size != 0) {
      const auto length = std::min<std::size_t>(error_size - 1, std::string_view(what).size());
      std::copy_n(what, length, error);
      error[length] = 0;
    }
    return nullptr;
  }
  static void *shard(void *handler, const fade_dispatch *dispatch) {
    HandlerGlue &glue = of(handler);
    return glue.guarded([&]() -> OwnedShard * {
      const Kernel &kernel = glue.kernelOf(*dispatch);
      return new OwnedShard{glue,
                            ShardOf(std::as_const(glue.handler_), Dispatch(*dispatch, kernel))};
    });
  }
  static void records(void *shard, const fade_batch *batch) {
    auto *owned = static_cast<OwnedShard *>(shard);
    owned->glue.guarded([&] { owned->shard.records(Batch(*batch)); });
  }
  static void dispatchEnd(void *handler, const fade_dispatch *dispatch, void *const *shards,
                          fade_u32 count) {
    if constexpr (requires(H & h, const Dispatch &d, std::span<ShardOf *const> s) {
                    h.dispatchEnd(d, s);
                  }) {
      HandlerGlue &glue = of(handler);
      glue.guarded([&] {
        std::vector<ShardOf *> own;
        for (fade_u32 i = 0; i < count; ++i)
          if (shards[i]) own.push_back(&static_cast<OwnedShard *>(shards[i])->shard);
        glue.handler_.dispatchEnd(Dispatch(*dispatch, glue.kernelOf(*dispatch)), own);
      });
    }
  }
  static void shardFree(void *shard) { delete static_cast<OwnedShard *>(shard); }
  static void report(void *handler) {
    if constexpr (requires(H & h) { h.report(); })
      of(handler).guarded([&] { of(handler).handler_.report(); });
  }
  static void destroy(void *handler) { delete static_cast<HandlerGlue *>(handler); }
  static fade_u32 takes(const void *handler) {
    if constexpr (requires(const H &h) { h.takes(); })
      return static_cast<const HandlerGlue *>(handler)->handler_.takes();
    return 0;
  }

  Sink sink_;
  H handler_;
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<Kernel>> retired_;
  std::unordered_map<const void *, std::shared_ptr<const SiteTable>> tables_;
  std::atomic<bool> failed_ = false;
};

} // namespace detail

} // namespace fade

#define FADE_HANDLER(Class)                                                                        \
  extern "C" __attribute__((visibility("default"))) const fade_handler_api *fade_handler(void) {   \
    return fade::detail::HandlerGlue<Class>::api();                                                \
  }
