// A second language model that scores answers: a judge that writes a verdict, or a reward model.
// Each judgement depends on what the model reads alone.
#pragma once

#include "core/run_config.hpp"
#include "model/decode/decode.hpp"
#include "model/train/reward_model.hpp"
#include "reward/judge_verdict.hpp"
#include "run/messages/messages.hpp"
#include "sizing/memory.hpp"
#include "text/chat/prompt_format.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// Which judge a run has: its folder, the SHA-256 of its weights and of its prompt and template,
/// its numerics, and how its verdicts are drawn and read.
struct JudgeIdentity {
  std::string json;    ///< for the archive
  std::string digest;  ///< SHA-256 of all of it but the folder's name
};

/// What can be known of the judge of a run file without packing it: weights are read once, for
/// their hash. Throws ConfigError, InputError.
JudgeIdentity identify_judge(const JudgeSection& section, const std::string& numerics);

/// What a judgement is remembered by, and where its random numbers are: of identity and tokens.
struct JudgeKey {
  std::uint64_t first = 0, second = 0;
  auto operator<=>(const JudgeKey&) const = default;
};

class JudgeModel {
 public:
  static constexpr std::int64_t kMicroBatchTokens = sizing::
      kRewardModelMicroBatchTokens;  ///< of a forward pass of a reward model, unless one sequence has
                                     ///< more
  /// `seed`: that of the run. Throws as identify_judge() does, and for weights that do not fit.
  JudgeModel(const JudgeSection& section, const std::string& numerics, std::uint64_t seed,
             const model::Threads& threads);
  const JudgeIdentity& identity() const { return identity_; }

  /// What the model reads of a question. A judge: judge.prompt as the user's turn of the folder's
  /// chat template, or as it is where the folder has none. A reward model: judge.prompt as it is;
  /// where that is empty prompt and response as user's and assistant's turn of the template.
  /// Special tokens that prompt, response or reference spell out are left out of them, so that no
  /// answer can end its
  /// turn and speak for the judge. So is what the prompt has right behind {response} ("Reference
  /// answer:"): no answer can end its place and give a reference of its own.
  std::vector<std::int32_t> tokens(const Question& question) const;
  bool opens_thought() const {
    return opens_thought_;
  }  ///< the prompt ends in <think>: up to its
     ///< end nothing that is said is a verdict
  JudgeKey key(std::span<const std::int32_t> tokens) const;

  /// What it decodes with, and whom it tells of progress; no bit depends on either.
  struct Means {
    model::DecodeOptions decode;
    std::function<void()> progressed = [] {};
  };
  /// A judgement of each of `questions`, given as tokens(). All are decoded together; a question
  /// without room for a verdict is undecided.
  std::vector<Judgement> judge(std::span<const std::vector<std::int32_t>> questions,
                               const Means& means) const;

 private:
  std::vector<Judgement> written(std::span<const std::vector<std::int32_t>> questions,
                                 const Means& means) const;
  std::vector<Judgement> scored(std::span<const std::vector<std::int32_t>> questions,
                                const Means& means) const;
  model::StopRules stop_rules() const;
  std::string said_by(std::span<const std::int32_t> tokens) const;
  Judgement verdict_of(const std::vector<model::DecodedSequence>& votes) const;

  JudgeSection section_;
  JudgeIdentity identity_;
  std::uint64_t seed_;
  text::PromptFormat format_;
  std::vector<std::string> end_marks_;  ///< of an answer's place in the prompt
  bool opens_thought_ = false;
  std::optional<reward::VerdictReader> reader_;
  std::optional<model::PolicyModel> judge_;  ///< one of the two
  std::optional<model::RewardModel> rewards_;
};

}  // namespace rollcall::run
