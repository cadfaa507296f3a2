// The judge stage receives questions from any scoring rank and sends judgements back. All questions
// that have arrived are judged as one batch. No judgement depends on the others in it.
#pragma once

#include "core/run_config.hpp"
#include "reward/verifier.hpp"
#include "run/judge/judge_model.hpp"
#include "run/messages/mailbox.hpp"
#include "run/messages/messages.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// A cache of the newest judgements: at least `most` of them, and at most twice that number.
class KnownJudgements {
 public:
  explicit KnownJudgements(std::size_t most) : most_(most) {}
  const Judgement* find(const JudgeKey& key) const;
  void add(const JudgeKey& key, Judgement judgement);

 private:
  std::size_t most_;
  std::map<JudgeKey, Judgement> newer_, older_;
};

class JudgeStage {
 public:
  /// Packs the judge of the run. Throws EnvironmentError where it differs from the one that rank 0
  /// read.
  JudgeStage(RunContext& context, Mailbox& mail);

  void on_request(int from, JudgeRequest request) { asked_.push_back({from, std::move(request)}); }
  bool is_asked() const { return !asked_.empty(); }
  void answer();  ///< judges all questions that have arrived

 private:
  struct Asked {
    int from;
    JudgeRequest request;
  };
  RunContext* context_;
  Mailbox* mail_;
  JudgeModel model_;
  KnownJudgements known_;
  std::vector<Asked> asked_;
};

/// Throws ConfigError where the judge of the run file does not fit the verifier or the objective.
void check_judge(const RunConfig& config, const reward::Grader& grader,
                 const std::vector<std::string>& columns);

}  // namespace rollcall::run
