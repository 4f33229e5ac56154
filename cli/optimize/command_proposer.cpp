#include "base/json_text.h"
#include "base/supervised.h"
#include "base/temporary.h"
#include "optimize/proposer.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace fade::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostAnswer = std::size_t{16} << 20;

class CommandProposer : public Proposer {
public:
  CommandProposer(std::string command, std::chrono::seconds patience)
      : command_(std::move(command)), patience_(patience) {}

  Result<Proposal> propose(const OrderedJson &request, const std::string &folder) override {
    const std::string question = folder + "/request.json", answer = folder + "/answer.json";
    std::ofstream(question) << jsonText(request) << "\n";
    // Its stdin is a file, and so is what it writes, up to what is read of it: nothing blocks, all
    // can be read later, and who never stops fills no disk. The command stands in lines of its own,
    // so that it may end with a comment.
    const auto end =
        runSupervised({"/bin/sh", "-c",
                       fmt::format("{{ (\n{}\n) <\"$0\"; echo $? >\"$2\"; }} | head -c {} >\"$1\"\n"
                                   "exit \"$(cat \"$2\")\"",
                                   command_, kMostAnswer + 1),
                       question, answer, folder + "/exit_code"},
                      {}, patience_);
    if (end.timed_out)
      return wrong(fmt::format("it did not answer within {} s", patience_.count()));
    std::error_code error;
    if (std::filesystem::file_size(answer, error) > kMostAnswer && !error)
      return wrong("its answer is longer than 16 MiB");
    if (end.signal != 0 || end.code != 0)
      return wrong(fmt::format("it ended with {} {}", end.signal ? "signal" : "exit code",
                               end.signal ? end.signal : end.code));
    const OrderedJson object = parsedOrderedJson(contentsOf(answer));
    if (!object.is_object()) return wrong("its answer is not a JSON object");
    Proposal proposal;
    const auto stop = object.find("stop");
    if (stop != object.end() && stop->is_boolean() && stop->get<bool>()) {
      proposal.stops = true;
      return proposal;
    }
    const auto source = object.find("source"), comment = object.find("comment");
    if (source == object.end() || !source->is_string())
      return wrong("its answer has no 'source', and no 'stop'");
    proposal.source = source->get<std::string>();
    if (comment != object.end() && comment->is_string())
      proposal.comment = comment->get<std::string>();
    return proposal;
  }

private:
  Error wrong(const std::string &what) const { return {command_, "", 0, what}; }

  const std::string command_;
  const std::chrono::seconds patience_;
};

} // namespace

std::unique_ptr<Proposer> commandProposer(std::string command, std::chrono::seconds patience) {
  return std::make_unique<CommandProposer>(std::move(command), patience);
}

} // namespace fade::cli
