// The stage of the model that judges: questions of any scoring rank in, judgements out. What has arrived meanwhile is judged together; no judgement depends on it.
#pragma once

#include "stages/job.hpp"
#include "stages/judge_model.hpp"
#include "stages/mailbox.hpp"
#include "stages/messages.hpp"

#include <map>
#include <string>
#include <vector>

namespace rollcall::stages {

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

class Judging {
 public:
  /// Packs the job's judge. Throws EnvironmentError where it is not the one that rank 0 read.
  Judging(Job& job, Mailbox& mail);

  void on_request(int from, JudgeRequest request) { asked_.push_back({from, std::move(request)}); }
  bool is_asked() const { return !asked_.empty(); }
  void answer();  ///< all that was asked

 private:
  struct Asked {
    int from;
    JudgeRequest request;
  };
  Job* job_;
  Mailbox* mail_;
  JudgeModel model_;
  KnownJudgements known_;
  std::vector<Asked> asked_;
};

/// Throws ConfigError where the judge of the run file does not fit verifier and objective.
void check_judge(const Job& job, const std::vector<std::string>& columns);

}  // namespace rollcall::stages
