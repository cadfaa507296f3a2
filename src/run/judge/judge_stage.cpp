// Judges all waiting questions as one batch. Known questions are not run, and equal questions run
// only once.
#include "run/judge/judge_stage.hpp"

#include "base/errors/error.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::run {
namespace {

constexpr std::size_t kRemembered = std::size_t(1) << 16;
constexpr std::string_view kComponent = "component/";

}  // namespace

const Judgement* KnownJudgements::find(const JudgeKey& key) const {
  if (const auto found = newer_.find(key); found != newer_.end()) return &found->second;
  const auto found = older_.find(key);
  return found == older_.end() ? nullptr : &found->second;
}

void KnownJudgements::add(const JudgeKey& key, Judgement judgement) {
  if (newer_.size() >= most_) older_ = std::exchange(newer_, {});
  newer_.emplace(key, std::move(judgement));
}

JudgeStage::JudgeStage(RunContext& context, Mailbox& mail)
    : context_(&context),
      mail_(&mail),
      model_(context.config.judge, context.config.run.numerics,
             std::uint64_t(context.config.run.seed),
             {context.threads.pool->threads(), context.threads.pool->side_by_side()}),
      known_(kRemembered) {
  require<EnvironmentError>(
      model_.identity().json == context.identity.judge,
      fmt::format("the judge in {} differs here from the one of rank 0",
                  context.config.judge.model),
      "judgements would depend on the number of ranks",
      "put the folder of judge.model on a file system that all nodes of the job share");
}

void JudgeStage::answer() {
  const auto asked = std::exchange(asked_, {});
  std::vector<std::pair<std::vector<JudgeKey>, JudgeReply>> replies;
  std::map<JudgeKey, Judgement> made;  // the judgements of this batch: known_ may drop one of them
                                       // while others are added
  std::vector<std::vector<std::int32_t>> questions;
  std::vector<JudgeKey> keys;
  for (const auto& [from, request] : asked) {
    auto& [own, reply] = replies.emplace_back();
    reply.id = request.id;
    for (const Question& question : request.questions) {
      auto tokens = model_.tokens(question);
      const JudgeKey key = own.emplace_back(model_.key(tokens));
      const Judgement* known = known_.find(key);
      const bool is_new =
          made.try_emplace(key, known == nullptr ? Judgement{} : *known).second && known == nullptr;
      if (is_new) keys.push_back(key), questions.push_back(std::move(tokens));
      else ++reply.known;
    }
  }
  const auto judgements =
      model_.judge(questions, {.decode = decode_options(*context_),
                               .progressed = [this] { context_->threads.pool->progressed(); }});
  for (std::size_t i = 0; i < keys.size(); ++i) known_.add(keys[i], made[keys[i]] = judgements[i]);
  for (std::size_t r = 0; r < replies.size(); ++r) {
    auto& [own, reply] = replies[r];
    for (const JudgeKey& key : own) reply.judgements.push_back(made.at(key));
    mail_->send(asked[r].from, Tag::judgement, reply);
  }
}

void check_judge(const RunConfig& config, const reward::Grader& grader,
                 const std::vector<std::string>& columns) {
  auto filled = grader.components();
  if (!config.judge.model.empty()) {
    require<ConfigError>(
        std::find(filled.begin(), filled.end(), config.judge.component) == filled.end(),
        fmt::format("judge.component is {}, and {} has a component of that name",
                    config.judge.component, grader.name()),
        "each component is a column of its own", "choose another judge.component");
    filled.push_back(config.judge.component);
  }
  // The files of an archive name the components.
  if (!config.train.from_archive.empty()) return;
  for (const std::string& column : columns) {
    if (!column.starts_with(kComponent)) continue;
    const std::string name = column.substr(kComponent.size());
    require<ConfigError>(
        std::find(filled.begin(), filled.end(), name) != filled.end(),
        fmt::format("objective.recipe {} reads {}, which neither {} nor a judge fills",
                    config.objective.recipe, column, grader.name()),
        "its reward is made of it",
        fmt::format(
            "name a model that judges it in judge.model and set judge.component=\"{}\", or use a reward.command that reports it",
            name));
  }
}

}  // namespace rollcall::run
