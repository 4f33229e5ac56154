// The guarded loop: propose, build, compare, accept or not, and write down what happened.
#pragma once

#include "optimize/command.h"
#include "optimize/other_kernels.h"
#include "optimize/proposer.h"
#include "optimize/signature.h"
#include "optimize/trial.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

class OptimizeLoop {
public:
  OptimizeLoop(const OptimizeOptions &options, std::vector<std::string> build,
               std::vector<CaptureLine> captures, std::unique_ptr<Proposer> proposer);

  /// An exit code.
  int run();

private:
  /// A version of the source.
  struct Version {
    std::string source, code;
    Costs costs;
    std::optional<double> surely_faster; ///< than the captured code, on a card
  };
  Status prepare();
  Result<std::string> build(const std::string &source, const std::string &folder);
  /// A version that was accepted, and what made it.
  struct Step {
    std::string source, comment;
  };
  /// What a version must be to be accepted.
  enum class Aim { better, no_worse };
  void attempt(uint32_t number);
  bool settle(uint32_t number, const Result<Proposal> &proposal, const std::string &folder,
              Aim aim);
  void dropSteps();
  std::optional<std::vector<Step>> stepsWithout(std::size_t dropped) const;
  std::optional<Failure> judge(const Proposal &proposal, uint32_t number, const std::string &folder,
                               Aim aim, Version &version);
  Result<OtherKernels> othersIn(const std::string &code) const;
  std::optional<Failure> isNotBetter(const Version &version) const;
  std::optional<Failure> isWorse(const Version &version) const;
  nlohmann::ordered_json request(uint32_t number) const;
  std::string nameInPatch() const;
  void write(const nlohmann::ordered_json &line);
  bool finish();

  const OptimizeOptions &options_;
  const std::vector<std::string> build_;
  const std::vector<CaptureLine> captures_;
  const std::unique_ptr<Proposer> proposer_;
  Trial trial_;
  std::vector<Signature> signatures_; ///< of each capture's kernel
  OtherKernels others_;
  std::string original_; ///< the source as it is
  Version best_;
  std::vector<Step> steps_; ///< the first is the original, the last is the best
  Costs first_;
  nlohmann::ordered_json accesses_ = nlohmann::ordered_json::array(),
                         profiles_ = nlohmann::ordered_json::array(),
                         history_ = nlohmann::ordered_json::array();
  std::map<std::string, uint32_t> offered_; ///< sources, and the first attempt with each
  uint32_t accepted_ = 0, tried_ = 0, last_number_ = 0;
  bool has_ended_ = false; ///< the proposer has no more
};

} // namespace fade::cli
