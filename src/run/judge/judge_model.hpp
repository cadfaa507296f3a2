// A second language model that scores answers: a judge that writes a verdict, or a reward model. A
// judgement depends only on the tokens that the model reads.
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
  std::string json;    ///< the identity, as the archive stores it
  std::string digest;  ///< SHA-256 of the identity without the folder's name
};

/// The identity of the judge that a run file names. Reads its weights once, for their hash, and
/// does not pack them. Throws ConfigError, InputError.
JudgeIdentity identify_judge(const JudgeSection& section, const std::string& numerics);

/// A hash of the judge's identity and the tokens that it reads: the key under which a judgement is
/// remembered, and the address of its random numbers.
struct JudgeKey {
  std::uint64_t first = 0, second = 0;
  auto operator<=>(const JudgeKey&) const = default;
};

class JudgeModel {
 public:
  static constexpr std::int64_t kMicroBatchTokens = sizing::
      kRewardModelMicroBatchTokens;  ///< limit of a reward model's forward pass, unless one sequence
                                     ///< alone has more
  /// `seed`: the run's seed. Throws like identify_judge(), and for weights that do not fit
  /// config.json.
  JudgeModel(const JudgeSection& section, const std::string& numerics, std::uint64_t seed,
             const model::Threads& threads);
  const JudgeIdentity& identity() const { return identity_; }

  /// The tokens that the model reads for a question. A judge reads judge.prompt as the user's turn
  /// of the folder's chat template, or as it is where the folder has no template. A reward model
  /// reads judge.prompt as it is; where that is empty, it reads prompt and response as the turns of
  /// user and assistant. Special tokens that prompt, response or reference spell out are removed
  /// from them, so that no answer can end its turn and speak for the judge. The texts that follow
  /// {response} and {other} in the prompt ("Reference answer:") are removed likewise, so that no
  /// answer can give a reference of its own.
  std::vector<std::int32_t> tokens(const Question& question) const;
  bool opens_thought() const {
    return opens_thought_;
  }  ///< the prompt ends in <think>: no verdict is
     ///< looked for before the thought ends
  JudgeKey key(std::span<const std::int32_t> tokens) const;

  /// How the model decodes, and what is called as it progresses. No bit depends on either.
  struct Means {
    model::DecodeOptions decode;
    std::function<void()> progressed = [] {};
  };
  /// [questions] one judgement for each question, given as the tokens that tokens() returned. All
  /// are decoded together. A question that leaves the model no room for a verdict is undecided.
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
  std::vector<std::string> end_marks_;  ///< texts that end an answer's place in the prompt
  bool opens_thought_ = false;
  std::optional<reward::VerdictReader> reader_;
  std::optional<model::PolicyModel> judge_;  ///< either this model or the next is there
  std::optional<model::RewardModel> rewards_;
};

}  // namespace rollcall::run
