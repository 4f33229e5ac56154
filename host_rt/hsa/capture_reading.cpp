// What a CaptureSession writes of a dispatch: its description, memory before and after, code.
#include "base/careful_read.h"
#include "base/diagnostics.h"
#include "hsa/capture_estimate.h"
#include "hsa/capture_session.h"
#include "hsa/operations.h"
#include "hsa/run_place.h"

#include <sys/statvfs.h>

namespace fade {
namespace {

constexpr auto kCopyPatience = std::chrono::milliseconds(10000);

/// On the disk that captures go to.
uint64_t freeBytes(const std::string &folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return UINT64_MAX;
  return uint64_t{disk.f_bavail} * disk.f_frsize;
}

std::string inMib(uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

} // namespace

void CaptureSession::describe(Job &job) {
  const KernelEntry &kernel = *job.kernel;
  const DispatchPacket &packet = job.packet;
  capture::Description &d = job.description;
  d.fade = FADE_VERSION;
  d.runtime = runtimeVersion();
  d.gpu = job.queue->agent->target;
  d.isa = job.queue->agent->isa;
  d.kernel = kernel.info->name();
  d.module = kernel.info->module();
  d.symbol = kernel.info->symbol();
  d.dispatch = job.ordinal;
  const DispatchShape shape = shapeOf(packet);
  d.grid = shape.grid;
  d.workgroup = shape.workgroup;
  d.dimensions = shape.dimensions;
  d.private_segment = packet.private_segment_size;
  d.group_segment = packet.group_segment_size;
  d.kernel_object = packet.kernel_object;
  d.kernarg_address = reinterpret_cast<uint64_t>(packet.kernarg_address);
  d.queue_address = reinterpret_cast<uint64_t>(job.queue->queue);
  d.is_cooperative = job.queue->cooperative != nullptr;
  if (packet.kernarg_address) {
    d.arguments.resize(kernel.device.kernarg_size);
    if (!readCarefully(d.arguments.data(), d.kernarg_address, d.arguments.size()))
      d.arguments.clear(); // it is in the regions as well
  }
}

bool CaptureSession::readRegion(Job &job, capture::State state, std::size_t index,
                                Reachable *reachable) {
  const VisibleRegion &region = job.regions[index];
  job.writer->begin(state, index);
  std::string problem;
  uint64_t done = 0;
  const bool is_read = reader_->read(region, [&](std::span<const uint8_t> pages) {
    const Status added = job.writer->add(pages);
    if (!added) problem = added.error().message();
    if (reachable) reachable->scan(pages);
    done += pages.size();
    read_ += pages.size();
    return added.ok();
  });
  if (is_read) return true;
  if (!problem.empty()) { // a full disk, perhaps
    abandon(job, problem);
    return false;
  }
  note("capture: {} bytes at {:#x} ({}) cannot be read", region.region.size, region.region.address,
       capture::kRegionKinds[static_cast<std::size_t>(region.region.kind)]);
  job.writer->skip((region.region.size - done) / capture::kPageSize,
                   state == capture::State::before ? capture::Run::kAbsent : capture::Run::kSame);
  return true;
}

/// From the arguments and the code, whatever pointers lead to. What remains is left out.
void CaptureSession::readReachable(Job &job) {
  Reachable reachable(job.regions);
  reachable.addAddress(job.description.kernarg_address);
  reachable.scan(job.description.arguments);
  for (std::size_t i = 0; i < job.regions.size(); ++i)
    if (job.regions[i].region.kind == capture::RegionKind::code) reachable.add(i);
  uint64_t total = 0;
  while (const auto next = reachable.next()) {
    total += job.regions[*next].region.size;
    if (const uint64_t most = services_.settings.capture_size; total > most)
      return abandon(
          job, fmt::format("pointers lead to more than {} of memory (--max-size)", sizeText(most)));
    if (!readRegion(job, capture::State::before, *next, &reachable)) return;
  }
  for (std::size_t i = job.regions.size(); i-- != 0;)
    if (!reachable.has(i)) {
      job.writer->leaveOut(i);
      job.regions.erase(job.regions.begin() + static_cast<std::ptrdiff_t>(i));
    }
  job.description.only_reachable = true;
}

bool CaptureSession::announce(Job &job) {
  const Settings &settings = services_.settings;
  CaptureEstimate estimate;
  for (const VisibleRegion &region : job.regions) estimate.memory += region.region.size;
  estimate.most = settings.capture_size;
  estimate.only_reachable = settings.capture_reachable;
  if (const std::string why = estimate.refusal(); !why.empty()) {
    abandon(job, why);
    return false;
  }
  if (estimate.memory >= CaptureEstimate::kWorthALine) estimate.free = freeBytes(settings.capture);
  if (const std::string text = estimate.text(); !text.empty())
    warn("capture: {} (dispatch {}): {}", job.description.kernel, job.ordinal, text);
  return true;
}

void CaptureSession::readState(Job &job, capture::State state) {
  if (!job.writer) return;
  const auto hold = memory_.hold();
  if (!reader_)
    reader_ =
        std::make_unique<MemoryReader>(services_.agents, services_.settings.patient(kCopyPatience));
  if (state == capture::State::before) {
    job.regions = memory_.seenBy(*job.queue->agent);
    if (!announce(job)) return;
    beginProgress(job);
    if (services_.settings.capture_reachable) {
      readReachable(job);
    } else {
      for (std::size_t i = 0; i < job.regions.size(); ++i)
        if (!readRegion(job, state, i, nullptr)) return;
    }
    for (const VisibleRegion &region : job.regions)
      job.description.regions.push_back(region.region);
    return;
  }
  const std::vector<bool> are_there = memory_.areStillThere(job.regions);
  for (std::size_t i = 0; i < job.regions.size(); ++i)
    if (are_there[i] && !readRegion(job, state, i, nullptr)) return;
}

void CaptureSession::beginProgress(const Job &job) {
  uint64_t total = 0; // before and after
  for (const VisibleRegion &region : job.regions) total += 2 * region.region.size;
  read_ = 0;
  to_read_ = total;
  const std::lock_guard lock(mutex_);
  kernel_ = job.description.kernel;
}

std::string CaptureSession::progress(double seconds) {
  const std::lock_guard lock(mutex_);
  const std::string head = fmt::format("fade: {:.0f} s, ", seconds);
  if (is_working_ && !kernel_.empty())
    return head + fmt::format("capturing {}: {} of {} read", kernel_, inMib(read_.load()),
                              inMib(to_read_.load()));
  return head + fmt::format("{} capture{}", made_, made_ == 1 ? "" : "s");
}

void CaptureSession::readDuration(Job &job) const {
  hsa_amd_profiling_dispatch_time_t time{};
  if (ok(hsaApi().amd.hsa_amd_profiling_get_dispatch_time_fn(job.queue->agent->handle, job.done,
                                                             &time)))
    job.description.duration_ns = nanosecondsOf(time.end - time.start);
}

void CaptureSession::finish(Job &job, double seconds) {
  if (!job.writer) return;
  std::vector<capture::Code> code;
  if (job.kernel->code) {
    const codeobj::CodeObject *object = job.kernel->code->object();
    const codeobj::Symbol *symbol =
        object ? object->findSymbol(job.description.symbol + ".kd") : nullptr;
    const codeobj::ByteView bytes = job.kernel->code->bytes();
    code.push_back(
        {{bytes.begin(), bytes.end()}, symbol ? job.description.kernel_object - symbol->value : 0});
  }
  const Status done = job.writer->finish(job.description, code);
  if (!done) return abandon(job, done.error().message());
  {
    const std::lock_guard lock(mutex_);
    ++made_;
  }
  const capture::Sizes &sizes = job.writer->sizes();
  warn("captured {} (dispatch {}{}): {} of memory, {} on disk, {:.2f} s{}: {}",
       job.description.kernel, job.ordinal,
       job.description.has_after ? "" : ", which did not end, without memory after it",
       inMib(sizes.memory), inMib(sizes.on_disk), seconds,
       job.description.other_queues_busy == 0
           ? ""
           : fmt::format("; still busy meanwhile: {}", capture::busyText(job.description)),
       job.writer->path());
}

} // namespace fade
