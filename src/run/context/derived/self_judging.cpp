// Makes judge tasks. Every choice is drawn at the address of its group, so it does not depend on
// rounds, shards and ranks.
#include "run/context/derived/self_judging.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "method/columns.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/actions.hpp"
#include "text/answer/fill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::run {
namespace {

constexpr const char* kRecipe = "spark-coevolve";
constexpr double kPointwise = 0.3;  // share of verdicts on a single answer, as in the released code
constexpr const char* kFirstOption =
    R"({"answer": "A")";  // beginning of the reference where the first of two labels is right

// Indices in the random stream of a group, above all sample numbers.
constexpr std::uint64_t kKind = std::uint64_t{1} << 32, kSide = kKind + 1, kLabel = kKind + 2,
                        kVerdictOrder = kKind + 3, kReflectionOrder = kKind + 4;

RandomStream stream_of(std::uint64_t seed, const GroupId& id) {
  return {seed, RandomPurpose::self_judging, id.step, id.prompt.value, id.draw};
}

/// A task that may be asked. Candidates are taken in ascending `order`, which is drawn.
struct Candidate {
  std::uint64_t order = 0;
  Prompt prompt{};
};

class Maker {
 public:
  Maker(const RunConfig& config, const RunTexts& texts, std::int64_t positions)
      : config_(&config), texts_(&texts), positions_(positions), settings_(&config.self_judging) {}

  bool makes_verdicts() const {
    return !settings_->pointwise.empty() || !settings_->pairwise.empty();
  }

  Candidate verdict(const Specimen& s) const {
    const RandomStream stream = stream_of(std::uint64_t(config_->run.seed), s.id);
    const bool pointwise = settings_->pairwise.empty() ||
                           (!settings_->pointwise.empty() && stream.uniform(kKind) < kPointwise);
    const bool first = stream.bits(kSide) % 2 == 0;  // the right answer is the only one shown, or
                                                     // the first of two
    Candidate made{stream.bits(kVerdictOrder), prompt_of(s)};
    if (pointwise)
      made.prompt.text =
          text_of(settings_->pointwise, s, {{"{response}", first ? s.right : s.wrong}});
    else
      made.prompt.text = text_of(
          settings_->pairwise, s,
          {{"{first}", first ? s.right : s.wrong}, {"{second}", first ? s.wrong : s.right}});
    const bool says_first = settings_->shuffle_labels ? stream.bits(kLabel) % 2 == 0 : first;
    made.prompt.answer = fmt::format(R"({{"answer": "{}", "options": {}}})", says_first ? 'A' : 'B',
                                     pointwise ? R"(["yes", "no"])" : R"(["", ""])");
    return made;
  }

  Candidate reflection(const Specimen& s) const {
    Candidate made{stream_of(std::uint64_t(config_->run.seed), s.id).bits(kReflectionOrder),
                   prompt_of(s)};
    made.prompt.text = text_of(settings_->reflection, s, {{"{response}", s.wrong}});
    made.prompt.answer = texts_->prompts.train.at(s.id.prompt.value).answer;
    return made;
  }

  /// At most `limit` candidates for which the model has room, in the drawn order.
  std::vector<Prompt> choose(std::vector<Candidate> all, std::size_t limit) const {
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.order < b.order; });
    std::vector<Prompt> chosen;
    const std::int64_t room = longest_judge_task(*config_, *texts_, positions_);
    for (auto& candidate : all) {
      if (chosen.size() == limit) break;
      if (std::int64_t(texts_->format->prompt_tokens(candidate.prompt.text).size()) <= room)
        chosen.push_back(std::move(candidate.prompt));
    }
    return chosen;
  }

 private:
  static Prompt prompt_of(const Specimen& s) {
    return {.id = {}, .level = s.level, .text = {}, .answer = {}, .solution = {}};
  }

  std::string text_of(const std::string& asked, const Specimen& s,
                      std::vector<std::pair<std::string_view, std::string>> answers) const {
    answers.emplace_back("{prompt}", texts_->prompts.train.at(s.id.prompt.value).text);
    std::vector<text::Place> places;
    for (auto& [name, said] : answers)
      said = text::without_special(*texts_->tokenizer, std::move(said)),
      places.push_back({name, said});
    return text::filled(asked, places);
  }

  const RunConfig* config_;
  const RunTexts* texts_;
  std::int64_t positions_;
  const SelfJudgingSection* settings_;
};

/// Gives the prompts of a kind their numbers and appends them to `all`.
void add_tasks(std::vector<DerivedPrompt>& all, DerivedKind kind, std::uint64_t step,
               std::vector<Prompt> prompts) {
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    prompts[i].id = derived_number(kind, step, i);
    all.push_back({.prompt = std::move(prompts[i]), .from = {.kind = kind}});
  }
}

void take_smaller(std::uint64_t& number, std::string& text, std::uint64_t other_number,
                  std::string& other) {
  if (other_number < number) number = other_number, text = std::move(other);
}

}  // namespace

void check_self_judging(const RunConfig& config, const method::Objective& objective) {
  const std::string& recipe = config.objective.recipe;
  const bool on = config.self_judging.share > 0.0;
  require<ConfigError>(
      on || recipe != kRecipe || !config.train.from_archive.empty(),
      fmt::format("objective.recipe {} learns from judge tasks, but self_judging.share is 0",
                  recipe),
      "without them it would be plain grpo", "set self_judging.share, for example 0.5");
  if (!on) return;
  namespace column = method::column;
  for (const auto& name : objective.columns())
    require<ConfigError>(name != column::prior && name != column::posterior &&
                             name != column::predicted && name != column::prompt_best_length,
                         fmt::format("objective.recipe {} reads {}, and self_judging.share is {}",
                                     recipe, name, config.self_judging.share),
                         "it is known of prompts that come again, and a judge task is asked once",
                         "choose another recipe, or set self_judging.share=0");
  for (const auto& name : objective.columns())
    require<ConfigError>(name != column::probe_confidence && name != column::gold_logprob &&
                             name != column::gold_logprob_before,
                         fmt::format("objective.recipe {} reads {}, and self_judging.share is {}",
                                     recipe, name, config.self_judging.share),
                         "a verdict has no steps and no reference answer to ask for",
                         "choose another recipe, or set self_judging.share=0");
}

reward::Grader verdict_grader(const TaskSection& task, const reward::Verifier& of_task) {
  TaskSection section = task;
  if (section.extract.empty()) section.extract = of_task.extract;
  require<ConfigError>(
      !text::Extractor(section.extract, section.answer_marker).numbers_only(),
      fmt::format("task.extract is {}, and self_judging.share is above 0", section.extract),
      "a verdict is no number and would never be found",
      "choose final_line, answer_tag, boxed or whole");
  return reward::Grader(reward::find_verifier("multiple_choice"), section);
}

std::int64_t longest_judge_task(const RunConfig& config, const RunTexts& texts,
                                std::int64_t positions) {
  std::size_t question = 0, asked = 0;
  for (const auto& prompt : texts.prompt_tokens[std::size_t(Split::train)])
    question = std::max(question, prompt.size());
  const auto& s = config.self_judging;
  for (const std::string* text : {&s.pointwise, &s.pairwise, &s.reflection})
    asked = std::max(asked, texts.format->prompt_tokens(*text).size());
  const std::int64_t answer = config.sampling.max_new_tokens;
  return std::min(positions - answer, std::int64_t(question + asked) + 2 * answer);
}

std::vector<Specimen> specimens(std::uint64_t seed, const RolloutShard& shard,
                                const ScoredShard& scores) {
  std::vector<Specimen> all;
  for (std::size_t g = 0; g < shard.groups.size(); ++g) {
    const Group& group = shard.groups[g];
    if (shard.purpose != Purpose::train || !is_plain(group.id, group.from)) continue;
    const RandomStream stream = stream_of(seed, group.id);
    Specimen own{.id = group.id, .level = group.level};
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      const Rollout& rollout = group.rollouts[i];
      const Score& score = scores.scores[g][i];
      // The text of an answer that was cut off does not show the cut.
      if (score.undecided || rollout.finish != FinishReason::stop) continue;
      std::string text(last_action(rollout));
      const std::uint64_t number = stream.bits(rollout.sample) >> 1U;  // never kNone
      if (score.correct) take_smaller(own.right_number, own.right, number, text);
      else take_smaller(own.wrong_number, own.wrong, number, text);
    }
    all.push_back(std::move(own));
  }
  return all;
}

std::vector<Specimen> merged(std::vector<Specimen> specimens) {
  std::map<GroupId, Specimen> groups;
  for (auto& part : specimens) {
    Specimen& group =
        groups.try_emplace(part.id, Specimen{.id = part.id, .level = part.level}).first->second;
    take_smaller(group.right_number, group.right, part.right_number, part.right);
    take_smaller(group.wrong_number, group.wrong, part.wrong_number, part.wrong);
    std::move(part.exhibits.begin(), part.exhibits.end(), std::back_inserter(group.exhibits));
    group.cut += part.cut;
  }
  std::vector<Specimen> ascending;
  for (auto& [id, group] : groups) {
    std::sort(group.exhibits.begin(), group.exhibits.end(),
              [](const Exhibit& a, const Exhibit& b) { return a.sample < b.sample; });
    ascending.push_back(std::move(group));
  }
  return ascending;
}

std::vector<DerivedPrompt> make_judge_tasks(const RunConfig& config, const RunTexts& texts,
                                            std::int64_t positions, std::uint64_t step,
                                            const std::vector<Specimen>& specimens) {
  const Maker maker(config, texts, positions);
  const bool verdicts = maker.makes_verdicts(),
             reflections = !config.self_judging.reflection.empty();
  std::vector<Candidate> judged, reflected;
  for (const Specimen& s : specimens) {
    if (s.right_number == Specimen::kNone || s.wrong_number == Specimen::kNone) continue;
    if (verdicts) judged.push_back(maker.verdict(s));
    if (reflections) reflected.push_back(maker.reflection(s));
  }
  const auto limit = std::size_t(
      std::floor(config.self_judging.share * double(config.train.prompts_per_step) + 1e-9));
  // With both kinds on, half of the tasks are reflections, as in the released code.
  const std::size_t half = !reflections ? 0 : verdicts ? limit / 2 : limit;
  std::vector<DerivedPrompt> tasks;
  add_tasks(tasks, DerivedKind::verdict, step, maker.choose(std::move(judged), limit - half));
  add_tasks(tasks, DerivedKind::reflection, step, maker.choose(std::move(reflected), half));
  return tasks;
}

std::map<std::string, double> judging_metrics(const std::vector<DerivedPrompt>& derived,
                                              const std::vector<GroupReport>& reports) {
  double tasks = 0.0;
  struct Count {
    double right = 0.0, all = 0.0;
    double share() const { return right / std::max(all, 1.0); }
  } verdicts, reflections, first;
  for (const auto& [prompt, from, given, learns] : derived) {
    tasks += is_judge_task(from.kind) ? 1.0 : 0.0;
    if (from.kind == DerivedKind::verdict)
      first.right += prompt.answer.starts_with(kFirstOption) ? 1.0 : 0.0, first.all += 1.0;
  }
  if (tasks == 0.0) return {};
  for (const auto& report : reports) {
    const DerivedKind kind = kind_of(report.id, report.from);
    if (!is_judge_task(kind)) continue;
    Count& count = kind == DerivedKind::verdict ? verdicts : reflections;
    for (const auto correct : report.correct) count.right += correct, count.all += 1.0;
  }
  std::map<std::string, double> metrics{{"self_judging/tasks", tasks}};
  if (verdicts.all > 0)
    metrics["self_judging/verdict_accuracy"] = verdicts.share(),
    metrics["self_judging/majority_share"] = std::max(first.share(), 1.0 - first.share());
  if (reflections.all > 0) metrics["self_judging/reflection_accuracy"] = reflections.share();
  return metrics;
}

}  // namespace rollcall::run
