#include "hsa/runtime.h"

#include "base/diagnostics.h"
#include "base/own_file.h"
#include "fade/sites.h"
#include "hip/recorder.h"
#include "hsa/capture_session.h"
#include "hsa/executed.h"
#include "hsa/run_place.h"
#include "hsa/unseen.h"
#include "hsa/variables.h"
#include "stream/handler_set.h"
#include "stream/progress.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

namespace fade {
namespace {

// How long the end of the process may be held up by kernels and by handlers that do not end.
constexpr auto kCollectorPatience = std::chrono::milliseconds(3000);
constexpr auto kCollectorLimit = std::chrono::milliseconds(10000);
constexpr auto kSettlePatience = std::chrono::milliseconds(5000);
constexpr auto kHardEndPatience = std::chrono::milliseconds(200);
constexpr auto kCachePatience = std::chrono::milliseconds(3000);
constexpr auto kVisitPatience = std::chrono::milliseconds(2000);
constexpr auto kReportPatience = std::chrono::minutes(10);

unsigned workersOf(const Settings &settings) {
  if (settings.workers != 0) return settings.workers;
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp(processors / 4, 1u, 8u);
}

std::mutex finish_mutex;

// For Visit. The signal handler looks at the first two, so they must not be allocated on first use.
#define FADE_SIGNAL_SAFE thread_local __attribute__((tls_model("initial-exec")))
FADE_SIGNAL_SAFE int depth = 0;
FADE_SIGNAL_SAFE volatile int postponed = 0;
std::atomic<int> visitors{0};

} // namespace

// The count goes up before the pointer is read: whoever clears the pointer first and then sees no
// visitors knows that none will come.
Visit::Visit() noexcept
    : runtime_((++depth, visitors.fetch_add(1, std::memory_order_seq_cst),
                Runtime::active_.load(std::memory_order_seq_cst))) {}

Visit::~Visit() {
  visitors.fetch_sub(1, std::memory_order_release);
  if (--depth != 0 || postponed == 0) return;
  const int signal = postponed;
  postponed = 0;
  raise(signal);
}

bool Visit::postpone(int signal) noexcept {
  // Whoever sends a second one does not want to wait for the end of the visit.
  if (depth == 0 || postponed != 0) return false;
  postponed = signal;
  return true;
}

bool Visit::waitForAll(std::chrono::milliseconds patience) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (visitors.load(std::memory_order_seq_cst) > 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

std::atomic<Runtime *> Runtime::active_{nullptr};
std::atomic<bool> Runtime::is_child_{false};
Runtime *Runtime::latest_ = nullptr;

void Runtime::start(Settings settings) {
  // Never destroyed: threads of the application may be inside of it at any time.
  unseen().clear();
  latest_ = new Runtime(std::move(settings));
  active_.store(latest_, std::memory_order_release);
}

void Runtime::finish() {
  if (isInChild()) return;
  const std::lock_guard lock(finish_mutex);
  Runtime *runtime = active_.exchange(nullptr);
  if (!runtime) return;
  (void)Visit::waitForAll(kVisitPatience);
  runtime->close();
}

void Runtime::finishAndRelease() {
  if (isInChild()) return;
  finish(); // unless the process has begun to end, and that was done
  if (Runtime *runtime = std::exchange(latest_, nullptr)) runtime->release();
}

Runtime::Runtime(Settings settings)
    : settings_(std::move(settings)), selection_(settings_),
      loader_([this]() -> const Agents & { return agents(); },
              [this](hsa_executable_t executable, const Agent &agent) {
                if (wantsAllocations()) noteVariables(allocations_, executable, agent);
              }),
      allocation_policy_(settings_.allocations), pools_(settings_, agents_, allocations_),
      instrumentation_(settings_, selection_, registry_, loader_, pools_) {
  if (!settings_.capture.empty())
    captures_ = std::make_unique<CaptureSession>(
        CaptureServices{settings_, selection_, registry_, agents_, polled_, interrupts_, deaths()});
}

bool Runtime::wantsAllocations() const { return settings_.instrumented || hip::hasRecorder(); }

const Agents &Runtime::agents() {
  std::call_once(started_, [&] { startThreads(); });
  return agents_;
}

namespace {

// Not in the headers of ROCm 5: events, and what stands in them behind the agent.
constexpr int kMemoryFault = 0, kHardwareException = 1, kMemoryError = 2;
constexpr uint32_t kCacheEcc = 1u << 6; // of the reasons of a memory fault
struct HardwareException {
  uint64_t agent;
  uint32_t reset_type, cause;
};

std::vector<std::string> reasonsOf(const HardwareException &exception) {
  std::vector<std::string> reasons;
  if (exception.cause & 1) reasons.emplace_back("because it hung");
  if (exception.cause & 2) reasons.emplace_back("because of an ECC error");
  return reasons;
}

bool isEnd(const hsa_amd_event_t &event) {
  const int type = static_cast<int>(event.event_type);
  return type == kMemoryFault || type == kHardwareException || type == kMemoryError;
}

std::optional<Death> deathOf(const hsa_amd_event_t &event, DeathWatch &deaths) {
  switch (static_cast<int>(event.event_type)) {
  case kMemoryFault:
    // With these there is no address: ROCr before 6 has no other event for a reset.
    if (event.memory_fault.fault_reason_mask & kCacheEcc)
      return deaths.reset({"because of an ECC error"});
    return deaths.fault(event.memory_fault.virtual_address, event.memory_fault.fault_reason_mask);
  case kHardwareException: {
    HardwareException exception{};
    std::memcpy(&exception, &event.memory_fault, sizeof exception);
    return deaths.reset(reasonsOf(exception));
  }
  case kMemoryError: return deaths.reset({"because its memory reported an error"});
  default: return std::nullopt;
  }
}

/// The runtime goes on to do what it does without FADE: usually it ends the process.
hsa_status_t onSystemEvent(const hsa_amd_event_t *event, void *) {
  try {
    const Visit visit;
    Runtime *runtime = visit.runtime();
    if (runtime && runtime->deaths()) {
      runtime->settleRecords();
      if (const auto death = deathOf(*event, *runtime->deaths())) runtime->sayDeath(*death);
    }
    if (runtime && runtime->captures() && isEnd(*event))
      runtime->captures()->gpuStopped(std::nullopt);
  } catch (...) {
  }
  return HSA_STATUS_ERROR;
}

} // namespace

void Runtime::startThreads() {
  agents_ = Agents::enumerate();
  if ((deaths() || captures_) && hsaApi().amd.hsa_amd_register_system_event_handler_fn)
    (void)hsaApi().amd.hsa_amd_register_system_event_handler_fn(onSystemEvent, nullptr);
  output_ = settings_.hasReport()
                ? std::make_unique<Output>(settings_.log_location, settings_.log_format,
                                           settings_.log_append)
                : std::make_unique<Output>(settings_.log_format, Output::Discarded());
  if (!settings_.record.empty()) trace_ = TraceWriter::open(settings_.record);
  std::vector<std::string> complaints;
  Handlers handlers = loadHandlers(settings_.handlers, ownDirectory(), *output_, complaints);
  for (const std::string &complaint : complaints) warn("{}", complaint);
  AnalysisOptions options;
  options.workers = workersOf(settings_);
  options.call_patience = settings_.patient(options.call_patience);
  analysis_ = std::make_unique<Analysis>(options, std::move(handlers), *output_, trace_.get());
  analysis_->log().setFilter(settings_.workgroups);
  analysis_->log().setWishes(
      {settings_.instrumented, keepsCode() ? settings_.kernels : "", settings_.library_filter,
       [this](const std::string &name) { return selection_.wantsKernel(name); },
       [this] { return dispatches_.load(std::memory_order_relaxed); },
       [this] { return has_kernels_.load() && queues_.load() == 0; }});
  RunFacts facts = factsOfRun(agents_);
  if (trace_) {
    trace_->filter(settings_.workgroups);
    trace_->run(facts);
  }
  analysis_->log().setRun(std::move(facts));
  keepExecuted();
  Collector::Patience patience;
  patience.silence = settings_.patient(patience.silence);
  patience.stuck = settings_.patient(patience.stuck);
  collector_ = std::make_unique<Collector>(*analysis_, patience);
  if (settings_.progress && (ProgressLine::isPossible() || settings_.instrumented))
    progress_ = std::make_unique<ProgressLine>(
        captures_ ? [this](double seconds) { return captures_->progress(seconds); }
                  : describeProgress(*analysis_, collector_.get()),
        ProgressLine::isPossible() ? std::chrono::milliseconds(0) : ProgressLine::kApart);
  instrumentation_.start(*analysis_, trace_.get());
  is_running_.store(true, std::memory_order_release);
}

void Runtime::close() {
  copy_teller_.stop();
  for (const std::string &line : allocation_policy_.summary()) warn("{}", line);
  for (const std::string &line : unseen().lines(hip::hasRecorder() || captures_)) warn("{}", line);
  bool was_started = true;
  std::call_once(started_, [&] { was_started = false; });
  if (!was_started) return; // the process never made a queue: there is nothing to say
  if (captures_) captures_->stop();
  if (const std::string why = captures_ ? captures_->whyNothing() : ""; !why.empty())
    warn("nothing was captured: {}", why);
  instrumentation_.stop(kCachePatience);
  collector_->stop(settings_.patient(kCollectorPatience), settings_.patient(kCollectorLimit));
  if (deaths())
    if (const auto death = deaths_.unended()) sayDeath(*death);
  if (!analysis_->close(kReportPatience))
    warn("the analyzers did not finish; the report is incomplete");
  progress_.reset();
}

void Runtime::settleRecords() {
  if (settings_.instrumented && collector_) collector_->settle(settings_.patient(kSettlePatience));
}

void Runtime::settleTimes() {
  if (collector_) collector_->settle(settings_.patient(kHardEndPatience));
}

void Runtime::sayDeath(Death death) {
  death.knows_dispatches = !captures_; // it watches its own only
  for (const std::string &line : linesOf(death)) warn("{}", line);
  if (settings_.deaths.empty())
    return warn("to diagnose this crash: fadeprobe doctor -- application");
  OwnFile file = OwnFile::open(expandPath(settings_.deaths), true);
  int error = file.is() ? file.write(jsonOf(death)) : errno;
  if (file.is()) error = std::max(error, file.close());
  if (error != 0) warn("cannot write {}: {}", settings_.deaths, std::strerror(error));
}

void Runtime::release() {
  if (captures_) captures_->release();
  polled_.destroyAll();
  interrupts_.destroyAll();
  pools_.destroySignals();
}

} // namespace fade
