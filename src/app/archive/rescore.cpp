// rollcall archive rescore: makes other verdicts on the rollouts of a run, in separate score files,
// and shows how they agree with the stored ones.
#include "app/archive/choice.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "app/models/model_judge.hpp"
#include "app/tools/start_sandbox.hpp"
#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "base/process/stop_signals.hpp"
#include "core/derived_prompt.hpp"
#include "io/rescored.hpp"
#include "io/schema.hpp"
#include "reward/command/graders.hpp"
#include "reward/verifier.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/folder/run_folder.hpp"
#include "run/messages/actions.hpp"
#include "task/task.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

namespace rollcall::app::archive {
namespace {

constexpr std::size_t kMostWaiting = 4096;  // groups that wait for verdicts; limits the texts in
                                            // memory
constexpr std::size_t kMostAsked = 1024;    // answers that a model judges together

struct Flags {
  std::string run, verifier, name, purpose;
  RewardSection reward;
  JudgeFlags judge;
};

/// Counts how stored and new verdicts agree.
struct Agreement {
  std::uint64_t rollouts = 0, both = 0, stored_only = 0, new_only = 0, neither = 0, undecided = 0;
  void add(const Score& before, const Score& now) {
    ++rollouts;
    if (now.undecided) ++undecided;
    else if (before.correct) ++(now.correct ? both : stored_only);
    else ++(now.correct ? new_only : neither);
  }
};

std::string line_of(const std::string& level, const Agreement& a) {
  const std::uint64_t decided = a.rollouts - a.undecided;
  return fmt::format(
      "{:>7} {:>9} {:>12} {:>11} {:>9} {:>10} {:>10} {:>10}\n", level, a.rollouts, a.both,
      a.stored_only, a.new_only, a.neither, a.undecided,
      decided == 0 ? "-" : fmt::format("{:.4f}", double(a.both + a.neither) / double(decided)));
}

std::string table_of(const std::map<std::int32_t, Agreement>& levels) {
  std::string text = fmt::format("{:>7} {:>9} {:>12} {:>11} {:>9} {:>10} {:>10} {:>10}\n", "level",
                                 "rollouts", "both correct", "only stored", "only new",
                                 "both wrong", "undecided", "agreement");
  Agreement all;
  for (const auto& [level, a] : levels) {
    text += line_of(std::to_string(level), a);
    all.rollouts += a.rollouts, all.both += a.both, all.stored_only += a.stored_only,
        all.new_only += a.new_only, all.neither += a.neither, all.undecided += a.undecided;
  }
  return text + line_of("all", all);
}

/// Takes groups one by one in the archive's order, and their verdicts in any order.
class Rescoring {
 public:
  /// `model` judges if it is not null. `verdicts` grades the policy's verdicts on its own answers,
  /// if the run asked for them and no other program judges.
  Rescoring(const Flags& flags, const TaskSection& task, const ModelJudge* model,
            std::optional<reward::Grader> verdicts)
      : judge_(reward::find_verifier(flags.verifier.empty() ? task::find_task(task.name).verifier
                                                            : flags.verifier),
               task, flags.reward),
        verdicts_(std::move(verdicts)),
        section_(flags.reward),
        model_(model) {
    if (judge_.is_command()) spawner_.emplace();
  }

  void add(const io::ArchivedGroup& g) {
    if (all_.empty() || all_.back().purpose != g.purpose)
      all_.push_back(
          {g.purpose,
           model_ != nullptr ? std::vector{model_->section().component} : judge_.components(),
           {}});
    Waiting group{all_.size() - 1, all_.back().groups.size(), {}, {}, g.scores, g.group.level};
    Group light{.id = g.group.id, .level = g.group.level, .rollouts = {}};
    for (const Rollout& rollout : g.group.rollouts) {
      light.rollouts.push_back({.sample = rollout.sample, .turns = {}, .text = {}});
      group.responses.emplace_back(
          run::last_action(rollout),
          rollout.finish == FinishReason::stop || rollout.finish == FinishReason::turns);
      group.lost.push_back(rollout.finish == FinishReason::lost);
    }
    all_.back().groups.push_back({std::move(light), {}});
    if (model_ != nullptr) ask_model(g, std::move(group));
    else if (judge_.is_command()) ask(g, std::move(group));
    else judge(g, group);
  }
  void finish() {
    while (!waiting_.empty()) settle(graders_->await());
    settle_asked();
  }
  const std::vector<io::Rescored>& all() const { return all_; }
  const std::map<std::int32_t, Agreement>& levels() const { return levels_; }
  std::uint64_t lost() const { return lost_; }  ///< rollouts that nobody was asked about

 private:
  struct Waiting {
    std::size_t purpose, group;  ///< where its scores are put: index of the purpose in all_, and of
                                 ///< the group in that entry
    std::vector<std::pair<std::string, bool>> responses;
    std::vector<bool> lost;  ///< [responses] the environment lost the conversation
    std::vector<Score> before;
    std::int32_t level;
  };

  void judge(const io::ArchivedGroup& g, const Waiting& group) {
    const Prompt prompt{.id = g.group.id.prompt,
                        .level = g.group.level,
                        .text = g.prompt.text,
                        .answer = g.prompt.answer,
                        .solution = {}};
    std::vector<Score> scores;
    const reward::Grader& by =
        verdicts_ && kind_of(prompt.id) == DerivedKind::verdict ? *verdicts_ : judge_;
    for (std::size_t i = 0; i < group.responses.size(); ++i) {
      const auto& [response, finished] = group.responses[i];
      scores.push_back(group.lost[i] ? Score{} : by.score(prompt, response, finished));
      scores.back().components.resize(judge_.components().size(), 0.0);
    }
    keep(group, std::move(scores));
  }
  void ask(const io::ArchivedGroup& g, Waiting group) {
    std::vector<reward::Sample> samples;
    for (std::size_t i = 0; i < group.responses.size(); ++i) {
      if (group.lost[i]) continue;
      samples.push_back(
          {fmt::format("{}/{}/{}/{}/{}", io::text_of(g.purpose), g.step, g.group.id.prompt.value,
                       g.group.id.draw, g.group.rollouts[i].sample),
           g.prompt.text, group.responses[i].first, g.prompt.answer, g.prompt.extra});
    }
    if (samples.empty()) return keep(group, std::vector<Score>(group.responses.size()));
    if (!graders_) {
      auto first = samples.front();
      first.response = text::first_accepted(first.answer);
      try_command(*spawner_, section_, first);
      graders_.emplace(*spawner_, section_);
    }
    waiting_.emplace(graders_->add(std::move(samples)), std::move(group));
    if (waiting_.size() >= kMostWaiting) settle(graders_->await());
  }
  void settle(const reward::Graders::Batch& batch) {
    const auto group = waiting_.extract(batch.first);
    const Waiting& asked = group.mapped();
    std::vector<Score> scores(asked.responses.size());
    auto verdict = batch.second.begin();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (asked.lost[i]) continue;
      const auto& [response, finished] = asked.responses[i];
      scores[i] = judge_.score(verdict->reply, response, finished);
      scores[i].clock_ended = reward::has_ended_the_judging(*verdict++);
    }
    keep(asked, std::move(scores));
  }
  void ask_model(const io::ArchivedGroup& g, Waiting group) {
    for (std::size_t i = 0; i < group.responses.size(); ++i)
      if (is_asked(group, i))
        questions_.push_back(
            model_->model().tokens({g.prompt.text, group.responses[i].first, g.prompt.answer}));
    asked_.push_back(std::move(group));
    if (questions_.size() >= kMostAsked) settle_asked();
  }
  void settle_asked() {
    if (asked_.empty()) return;
    const auto judgements = model_->judge(questions_);
    auto next = judgements.begin();
    for (const Waiting& group : asked_) {
      std::vector<Score> scores;
      for (std::size_t i = 0; i < group.before.size(); ++i)
        scores.push_back(
            score_of(is_asked(group, i) ? *next++ : run::Judgement{}, group.before[i].correct));
      keep(group, std::move(scores));
    }
    questions_.clear(), asked_.clear();
  }
  bool is_asked(const Waiting& group, std::size_t i) const {
    return !group.lost[i] && (model_->section().asked == "all" || group.before[i].correct);
  }
  /// A reward model's score is not a verdict, so the stored verdict is kept.
  Score score_of(const run::Judgement& judgement, bool was_correct) const {
    const double value = judgement.undecided ? 0.0 : judgement.value;
    return {.components = {value},
            .reward = value,
            .correct = !judgement.undecided && model_->accepts(judgement).value_or(was_correct),
            .undecided = judgement.undecided,
            .reason = judgement.reason};
  }
  void keep(const Waiting& group, std::vector<Score> scores) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      // There is no answer to judge.
      if (group.lost[i]) {
        scores[i] = {.components = std::vector<double>(all_[group.purpose].component_names.size()),
                     .undecided = true,
                     .reason = group.before[i].reason};
        ++lost_;
      }
      levels_[group.level].add(group.before[i], scores[i]);
    }
    all_[group.purpose].groups[group.group].scores = std::move(scores);
  }

  reward::Grader judge_;
  std::optional<reward::Grader> verdicts_;
  RewardSection section_;
  std::vector<io::Rescored> all_;  ///< one entry per purpose, with its groups in the archive's
                                   ///< order
  std::map<std::int32_t, Agreement> levels_;
  std::uint64_t lost_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;  ///< groups whose verdicts the command has not given,
                                              ///< by number of the batch
  std::optional<reward::Spawner> spawner_;
  std::optional<reward::Graders> graders_;
  const ModelJudge* model_;
  std::vector<std::vector<std::int32_t>> questions_;
  std::vector<Waiting> asked_;  ///< the groups whose rollouts questions_ are about
};

std::string who(const Flags& flags, const ModelJudge* model) {
  if (!flags.verifier.empty()) return flags.verifier;
  if (model != nullptr) return model->section().model;
  std::string text;
  for (const auto& word : flags.reward.command) text += (text.empty() ? "" : " ") + word;
  return text;
}

void check_who(const Flags& flags) {
  const int judges = int(!flags.verifier.empty()) + int(!flags.reward.command.empty()) +
                     int(!flags.judge.file.empty());
  require<ConfigError>(
      judges > 0, "none of --verifier, --command and --judge is given", "nobody would judge",
      "name a verifier, a program that reads and writes JSON lines, or a run file with a [judge] "
      "(docs/guide/own-reward.md)");
  require<ConfigError>(judges == 1, "several of --verifier, --command and --judge are given",
                       "a verdict comes from one of them",
                       "rescore again for each, under names of their own");
  require<ConfigError>(
      flags.verifier != "episode", "--verifier is episode",
      "the environment has decided these conversations, and without it every answer is wrong",
      "name another verifier, which judges the last thing that the policy said");
  const bool is_option =
      !flags.reward.command.empty() && flags.reward.command.front().starts_with('-');
  require<ConfigError>(!is_option,
                       fmt::format("the command that would judge begins with {}",
                                   is_option ? flags.reward.command.front() : ""),
                       "all that follows --command is the program and its arguments",
                       "put --command after the other options");
}

std::string default_name(const Flags& flags) {
  if (!flags.verifier.empty()) return flags.verifier;
  return flags.reward.command.empty()
             ? "judge"
             : std::filesystem::path(flags.reward.command.front()).stem().string();
}

ExitCode rescore(Flags flags) {
  start_log("info", 0, 1);  // on standard error, because standard output has the table
  end_on_stop_signals("no verdict is kept, since all are written together at the end");
  check_who(flags);
  if (flags.name.empty()) flags.name = default_name(flags);
  require<ConfigError>(flags.name.find('/') == std::string::npos && !flags.name.starts_with('.'),
                       fmt::format("--name {} is no name of a folder", flags.name),
                       "the verdicts go to RUN/rescored/NAME", "choose letters and digits");
  const auto folder = io::rescored_folder(flags.run, flags.name);
  require<ConfigError>(!std::filesystem::exists(folder),
                       fmt::format("{} already exists", folder.string()),
                       "verdicts are never overwritten", "choose another --name, or remove it");
  RunConfig config = run::read_run_folder(flags.run);
  std::optional<reward::Grader> verdicts;
  if (config.self_judging.share > 0.0)
    verdicts.emplace(run::verdict_grader(
        config.task,
        reward::chosen_verifier(config.reward, task::find_task(config.task.name).verifier)));
  config.reward = flags.reward, config.self_judging.share = 0.0;
  if (!flags.reward.command.empty()) config.task.format_weight = 0.0, config.task.forms.clear();
  Faults faults;
  check(config, faults);
  faults.require_none();
  if (!flags.verifier.empty()) start_sandbox(reward::find_verifier(flags.verifier), config.sandbox);
  std::optional<ModelJudge> model;
  if (!flags.judge.file.empty()) {
    const LongPhase phase("reading the judge of " + flags.judge.file);
    model.emplace(flags.judge);
  }
  const ModelJudge* judge = model ? &*model : nullptr;
  Rescoring rescoring(flags, config.task, judge, std::move(verdicts));
  std::optional<io::RunIdentity> identity;
  const auto source = io::open_source(flags.run);
  for (const auto& entry : source.packed)
    if (!identity) identity = io::identity_of(flags.run, entry.file);
  std::atomic<std::uint64_t> rollouts = 0;
  {
    const LongPhase phase("judging " + flags.run,
                          [&] { return fmt::format("{} rollouts", rollouts.load()); });
    each_chosen({.source = flags.run, .purpose = flags.purpose, .step = {}, .prompt = {}},
                [&](const io::ArchivedGroup& group, const auto&) {
                  rescoring.add(group);
                  rollouts += group.group.rollouts.size();
                  return true;
                });
    rescoring.finish();
  }
  require(!rescoring.all().empty(), fmt::format("{} holds no rollouts", flags.run),
          "there is nothing to judge", "rollcall archive ls shows what there is");
  io::RunIdentity written = identity.value_or(io::RunIdentity{});
  written.judge = judge != nullptr ? judge->model().identity().json : "";
  io::write_rescored(flags.run, flags.name, rescoring.all(), who(flags, judge), written);
  Output out;
  out.write(table_of(rescoring.levels()));
  if (rescoring.lost() > 0)
    out.write(
        fmt::format("\nlost       {} conversations without an answer, which nobody was asked "
                    "about: undecided, as before\n",
                    rescoring.lost()));
  out.write(visible_format("\nverdicts   {}\n", folder.string()));
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_rescore(Command command) {
  auto flags = std::make_shared<Flags>();
  auto verb = command.command(
      "rescore",
      "judge stored rollouts again; the new verdicts go to RUN/rescored/NAME, the stored ones "
      "stay, and a table says where the two agree");
  verb.option("run", flags->run, "run folder").required();
  verb.option("--verifier", flags->verifier, "a verifier of Rollcall");
  verb.option("--command", flags->reward.command,
              "program and arguments that judge, as reward.command; must be the last option")
      .takes_rest();
  add_judge_options(verb, flags->judge);
  verb.option("--components", flags->reward.components,
              "components that the command reports beside correct")
      .comma_separated()
      .expected(1, 1);
  verb.option("--processes", flags->reward.processes, "processes of the command side by side");
  verb.option("--timeout", flags->reward.timeout_s, "longest time for a verdict [s]");
  verb.option(
      "--name", flags->name,
      "name of the folder of the new verdicts; default: the verifier's, the program's without its "
      "ending, or judge");
  verb.option("--purpose", flags->purpose, "only this purpose: train, validation, eval or greedy");
  verb.footer(
      "The table counts rollouts that are correct by both verdicts, by the stored one only, by the "
      "new one only, and by neither; agreement is the share of "
      "both and neither among those that the new judge decided. Lost conversations stay undecided "
      "and are not judged. Answers that have no verdict are judged like others.\n"
      "Exit codes: 0 all verdicts are written, whatever they agree on; 2 misconfigured; 3 failed. "
      "Nothing is written before the last verdict.");
  verb.runs([flags] { return rescore(*flags); });
}

}  // namespace rollcall::app::archive
