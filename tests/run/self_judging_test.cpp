// Judge tasks: made of groups with both outcomes alone, labelled as the verifier judged, the same
// however the step was cut, and within their share.
#include "run/context/derived/self_judging.hpp"

#include "base/errors/error.hpp"
#include "core/derived_prompt.hpp"
#include "io/sample_run.hpp"
#include "run/context/prompt_book.hpp"
#include "run/scoring/scoring.hpp"
#include "run/small_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rollcall::run {
namespace {

using Settings = std::vector<std::string>;

RunContext small_job(const std::filesystem::path& folder, const Settings& more = {}) {
  Settings settings{"task.name=sorting",
                    "task.train_prompts=64",
                    "model.max_position_embeddings=32",
                    "sampling.max_new_tokens=4",
                    "train.prompts_per_step=40",
                    "self_judging.share=0.5",
                    "self_judging.pointwise=\"{prompt}{response}?\"",
                    "self_judging.pairwise=\"{prompt}{first},{second}?\"",
                    "self_judging.reflection=\"{prompt}{response};\""};
  settings.insert(settings.end(), more.begin(), more.end());
  return test::small_job(folder, settings);
}

/// Group `prompt` of step 3: sample i is right where `outcome[i]` is '+'; 'x' was cut, 'u' has no
/// verdict. A response says "right" or "wrong" and its number.
struct Played {
  RolloutShard shard;
  ScoredShard scores;
  void add(std::uint64_t prompt, const std::string& outcome, std::uint32_t first = 0) {
    shard.step = scores.step = 3;
    Group group{.id = {3, {prompt}, 0}, .level = 2, .rollouts = {}};
    std::vector<Score> judged;
    for (std::uint32_t i = 0; i < outcome.size(); ++i) {
      const bool right = outcome[i] == '+';
      group.rollouts.push_back({.sample = first + i,
                                .turns = {},
                                .text = (right ? "r" : "w") + std::to_string(first + i)});
      if (outcome[i] == 'x') group.rollouts.back().finish = FinishReason::length;
      judged.push_back({.components = {0, 0}, .correct = right, .undecided = outcome[i] == 'u'});
    }
    shard.groups.push_back(std::move(group)), scores.scores.push_back(std::move(judged));
  }
  std::vector<Specimen> specimens() const { return run::specimens(1, shard, scores); }
};

/// Forty groups with both outcomes among some that have one.
Played many() {
  Played step;
  for (std::uint64_t prompt = 0; prompt < 40; ++prompt) step.add(prompt, "+--+");
  for (std::uint64_t prompt = 40; prompt < 44; ++prompt) step.add(prompt, "++++");
  for (std::uint64_t prompt = 44; prompt < 48; ++prompt) step.add(prompt, "----");
  step.add(48, "+uuu"), step.add(49, "+xxx"), step.add(50, "-xu-");
  return step;
}

std::vector<DerivedPrompt> tasks_of(const RunContext& context, const Played& step) {
  return make_judge_tasks(context.config, context.texts,
                          context.models.policy.max_position_embeddings, 4,
                          merged(step.specimens()));
}

TEST(SelfJudging, TasksComeFromMixedGroupsAndTheirLabelsAreTheVerifiers) {
  const io::test::RunFolder folder;
  const RunContext context = small_job(folder.path(), {"train.prompts_per_step=80"});
  std::set<std::string> of_mixed;
  for (std::uint64_t prompt = 0; prompt < 40; ++prompt)
    of_mixed.insert(context.texts.prompts.train[prompt].text);
  int points = 0, pairs = 0, reflections = 0, first = 0;
  for (const auto& [task, from, given, learns] : tasks_of(context, many())) {
    const auto end = task.text.find('>') + 1;
    EXPECT_TRUE(of_mixed.contains(task.text.substr(0, end))) << task.text;
    const std::string shown = task.text.substr(end);
    if (shown.ends_with(';')) {
      ++reflections;
      EXPECT_EQ(from.kind, DerivedKind::reflection);
      EXPECT_EQ(shown.front(), 'w') << "only a wrong answer is reflected on";
      std::string sorted = task.text.substr(0, end - 1);
      std::sort(sorted.begin(), sorted.end());
      EXPECT_TRUE(context.grading.grader->score(task, sorted, true).correct)
          << "the question is still the task's";
      continue;
    }
    EXPECT_EQ(from.kind, DerivedKind::verdict);
    const Score yes = context.grading.verdict_grader->score(task, "yes", true),
                a = context.grading.verdict_grader->score(task, "A", true),
                b = context.grading.verdict_grader->score(task, "B", true);
    EXPECT_EQ(a.correct, shown.front() == 'r') << task.text << " " << task.answer;
    EXPECT_NE(a.correct, b.correct);
    first += a.correct ? 1 : 0;
    const bool pair = shown.find(',') != std::string::npos;
    EXPECT_TRUE(!pair || shown.front() != shown[shown.find(',') + 1])
        << "a pair has one right answer";
    EXPECT_EQ(yes.correct, !pair && a.correct);
    ++(pair ? pairs : points);
  }
  EXPECT_EQ(points + pairs, 20);  // half of half of 80 prompts
  EXPECT_EQ(reflections, 20);
  EXPECT_GT(points, 0);
  EXPECT_GT(pairs, points);  // 0.3 against 0.7
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 20);
}

TEST(SelfJudging, HowAStepWasCutChangesNothing) {
  const io::test::RunFolder folder;
  const RunContext context = small_job(folder.path());
  const Played whole = many();
  std::vector<Specimen> cut;  // the second half of every group came in a later round, and shards in
                              // another order
  for (const bool later : {true, false}) {
    Played part = whole;
    for (std::size_t g = 0; g < part.shard.groups.size(); ++g) {
      auto& rollouts = part.shard.groups[g].rollouts;
      auto& scores = part.scores.scores[g];
      rollouts.erase(rollouts.begin() + (later ? 0 : 2),
                     later ? rollouts.begin() + 2 : rollouts.end());
      scores.erase(scores.begin() + (later ? 0 : 2), later ? scores.begin() + 2 : scores.end());
    }
    for (auto& specimen : part.specimens()) cut.push_back(std::move(specimen));
  }
  const auto tasks = tasks_of(context, whole),
             again =
                 make_judge_tasks(context.config, context.texts,
                                  context.models.policy.max_position_embeddings, 4, merged(cut));
  ASSERT_EQ(tasks.size(), again.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Prompt &one = tasks[i].prompt, &other = again[i].prompt;
    EXPECT_EQ(one.id, other.id);
    EXPECT_EQ(one.text + one.answer, other.text + other.answer);
  }
  EXPECT_TRUE(std::is_sorted(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) {
    return a.prompt.id < b.prompt.id;
  }));
}

TEST(SelfJudging, KindsAndLengthsAreLimited) {
  const io::test::RunFolder folder;
  const auto count = [&](const Settings& settings, bool verdicts) {
    const auto tasks = tasks_of(small_job(folder.path(), settings), many());
    return std::count_if(tasks.begin(), tasks.end(), [&](const DerivedPrompt& task) {
      return (task.from.kind == DerivedKind::verdict) == verdicts;
    });
  };
  EXPECT_EQ(count({"self_judging.reflection="}, true), 20);
  EXPECT_EQ(count({"self_judging.pointwise=", "self_judging.pairwise="}, false), 20);
  EXPECT_EQ(count({"self_judging.share=0.9"}, true), 18);
  EXPECT_EQ(count({"self_judging.share=0.025"}, true), 1);
  EXPECT_EQ(
      count({"self_judging.reflection=\"{prompt}{response} is long, too long for this model\""},
            false),
      0)
      << "it would not fit the model";
  Played none;
  none.add(1, "++"), none.add(2, "--");
  EXPECT_TRUE(tasks_of(small_job(folder.path()), none).empty());
}

TEST(SelfJudging, AnswersToJudgeTasksAreNotJudgedAgain) {
  Played step;
  step.add(1, "+-");
  step.shard.groups[0].id.prompt = derived_number(DerivedKind::verdict, 3, 0);
  EXPECT_TRUE(step.specimens().empty());
  step.shard.groups[0].id.prompt = {1}, step.shard.purpose = Purpose::eval;
  EXPECT_TRUE(step.specimens().empty());
}

TEST(SelfJudging, ShuffledLabelsKnowNothingOfTheAnswers) {
  const io::test::RunFolder folder;
  const Settings large{"train.prompts_per_step=80",
                       "self_judging.reflection=", "self_judging.shuffle_labels=true"};
  const RunContext context = small_job(folder.path(), large);
  int agree = 0, all = 0;
  for (const auto& [task, from, given, learns] : tasks_of(context, many())) {
    const char shown = task.text[task.text.find('>') + 1];
    agree +=
        context.grading.verdict_grader->score(task, "A", true).correct == (shown == 'r') ? 1 : 0,
        ++all;
  }
  EXPECT_EQ(all, 40);
  EXPECT_GT(agree, 8);
  EXPECT_LT(agree, 32);  // beyond 1e-4 on either side of a fair coin
}

TEST(SelfJudging, ATaskComesWithItsTextOrIsRefused) {
  const io::test::RunFolder folder;
  const RunContext context = small_job(folder.path());
  const auto tasks = tasks_of(context, many());
  const PromptBook book(context.texts, tasks);
  const auto text = [&](PromptId id) { return book.asked(Purpose::train, {4, id, 0}, {}).text; };
  EXPECT_EQ(text(tasks[3].prompt.id), tasks[3].prompt.text);
  EXPECT_EQ(text({2}), context.texts.prompts.train[2].text);
  EXPECT_THROW(text(derived_number(DerivedKind::verdict, 9, 9)), ProtocolError);
  const auto tokens = [&](PromptId id) { return book.tokens(Purpose::train, {4, id, 0}, {}); };
  EXPECT_EQ(tokens(tasks[3].prompt.id), context.texts.format->prompt_tokens(tasks[3].prompt.text));
  EXPECT_EQ(tokens({2}), context.texts.prompt_tokens[std::size_t(Split::train)][2]);
  EXPECT_EQ(&grader_of(context.grading, tasks[3].prompt), &*context.grading.verdict_grader);
  EXPECT_EQ(&grader_of(context.grading, tasks.back().prompt), &*context.grading.grader)
      << "a reflection answers the task's question";
  const auto by = [](PromptId prompt) { return GroupPlan{.id = {4, prompt, 0}}; };
  const auto asked = asked_by(
      std::vector{by({2}), by(tasks[6].prompt.id), by(tasks[1].prompt.id), by(tasks[6].prompt.id)},
      tasks);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].prompt.id, tasks[1].prompt.id);
  EXPECT_EQ(asked[1].prompt.id, tasks[6].prompt.id);
}

TEST(SelfJudging, MetricsTellVerdictsFromReflections) {
  const auto task = [](DerivedKind kind, std::uint64_t index, const char* answer) {
    const PromptId id = derived_number(kind, 1, index);
    return DerivedPrompt{.prompt = {.id = id, .text = {}, .answer = answer, .solution = {}},
                         .from = {.kind = kind}};
  };
  const std::vector<DerivedPrompt> tasks{task(DerivedKind::verdict, 0, R"({"answer": "A"})"),
                                         task(DerivedKind::verdict, 1, R"({"answer": "B"})"),
                                         task(DerivedKind::verdict, 2, R"({"answer": "B"})"),
                                         task(DerivedKind::reflection, 0, "12"),
                                         task(DerivedKind::continuation, 0, "12")};
  const auto report = [](PromptId id, std::vector<std::uint8_t> correct) {
    return GroupReport{.id = {1, id, 0}, .correct = std::move(correct)};
  };
  GroupReport continued = report(tasks[4].prompt.id, {1, 1, 1, 1});
  continued.from.kind = DerivedKind::continuation;
  const auto metrics = judging_metrics(
      tasks, {report(tasks[0].prompt.id, {1, 1}), report(tasks[1].prompt.id, {1, 0}),
              report(tasks[3].prompt.id, {0, 0, 1, 0}), continued});
  EXPECT_EQ(metrics.at("self_judging/tasks"), 4.0);
  EXPECT_EQ(metrics.at("self_judging/verdict_accuracy"), 0.75);
  EXPECT_DOUBLE_EQ(metrics.at("self_judging/majority_share"), 2.0 / 3.0);
  EXPECT_EQ(metrics.at("self_judging/reflection_accuracy"), 0.25);
  EXPECT_TRUE(judging_metrics({}, {}).empty());
}

}  // namespace
}  // namespace rollcall::run
