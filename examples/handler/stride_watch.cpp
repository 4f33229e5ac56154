// StrideWatch: an analyzer of one's own. It answers one question: in which lines are neighboring
// lanes further apart than a limit?
//
//   fadeprobe -i -a ./libStrideWatch.so:limit=64 -- app
//
// Options: limit=BYTES   distance that is still fine (16)
#include <fade/handler.h>

#include <map>
#include <string>

namespace {

struct StrideWatch : fade::Handler {
  static constexpr const char *name = "StrideWatch";
  static constexpr const char *summary = "lines whose neighboring lanes are far apart";
  static constexpr uint32_t needs = FADE_NEEDS_ACCESSES;

  StrideWatch(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"limit"});
    limit = options.size("limit", 16);
  }

  struct Count {
    uint64_t executions = 0, far = 0;
  };

  // Counts by site, without a lock: a shard belongs to one thread.
  struct Shard {
    Shard(const StrideWatch &watch, const fade::Dispatch &dispatch)
        : limit(watch.limit), counts(dispatch.kernel().siteCount()) {}
    void records(const fade::Batch &batch) {
      batch.forEachAccess([&](const fade::Record &record) {
        Count &count = counts[record.site()];
        ++count.executions;
        const int64_t stride = record.stride();
        if (record.isLinear() && static_cast<uint64_t>(stride < 0 ? -stride : stride) > limit)
          ++count.far;
      });
    }
    uint64_t limit;
    std::vector<Count> counts;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
    const fade::SiteTable *table = dispatch.kernel().sites();
    for (const Shard *shard : shards)
      for (std::size_t i = 0; i < shard->counts.size(); ++i) {
        if (shard->counts[i].executions == 0) continue;
        const fade_site &site = table->sites()[i];
        Count &sum = lines[{std::string(table->string(site.file)), site.line}];
        sum.executions += shard->counts[i].executions;
        sum.far += shard->counts[i].far;
      }
  }

  void report() {
    fade::JsonWriter json;
    for (const auto &[line, count] : lines) {
      if (count.far == 0) continue;
      if (sink().isJson())
        json.object([&] {
          json.field("type", "stride_watch");
          json.field("version", 1);
          json.field("file", line.first);
          json.field("line", line.second);
          json.field("executions", count.executions);
          json.field("far", count.far);
        });
      else
        sink().line(line.first + ":" + std::to_string(line.second) + ": " +
                    std::to_string(count.far) + " of " + std::to_string(count.executions) +
                    " executions with lanes more than " + std::to_string(limit) + " bytes apart");
    }
    if (sink().isJson()) sink().write(json.take());
  }

  uint64_t limit = 16;
  std::map<std::pair<std::string, uint32_t>, Count> lines;
};

} // namespace

FADE_HANDLER(StrideWatch)
