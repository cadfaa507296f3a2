// The stage of the model that judges: questions of any scoring rank in, judgements out. What has
// arrived meanwhile is judged together; no judgement depends on it.
#pragma once

#include "run/context/run_context.hpp"
#include "run/judge/judge_model.hpp"
#include "run/messages/mailbox.hpp"
#include "run/messages/messages.hpp"

#include <map>
#include <string>
#include <vector>

namespace rollcall::run {

/// Judgements that are remembered: the newest, as many as `most` and up to twice as many.
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
  /// Packs the job's judge. Throws EnvironmentError where it is not the one that rank 0 read.
  JudgeStage(RunContext& context, Mailbox& mail);

  void on_request(int from, JudgeRequest request) { asked_.push_back({from, std::move(request)}); }
  bool is_asked() const { return !asked_.empty(); }
  void answer();  ///< all that was asked

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

/// Throws ConfigError where the judge of the run file does not fit verifier and objective.
void check_judge(const RunContext& context, const std::vector<std::string>& columns);

}  // namespace rollcall::run
