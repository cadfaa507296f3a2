// Forms of questions: what is drawn, what is asked and learnt, and that neither ranks nor a stop
// change it.
#include "run/context/question_forms.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "io/archive.hpp"
#include "io/sample_run.hpp"
#include "run/rank.hpp"
#include "run/small_job.hpp"
#include "support/temporary_folder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace rollcall::run {
namespace {

using io::test::RunFolder;

std::vector<std::string> settings(const RunFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> all{"run.threads=1",
                               "run.log_level=error",
                               "task.name=sorting",
                               "task.train_prompts=32",
                               "task.heldout_prompts=4",
                               "task.validation_prompts=0",
                               "task.min_level=1",
                               "task.max_level=2",
                               "task.format_weight=1",
                               "model.hidden_size=32",
                               "model.intermediate_size=48",
                               "model.num_hidden_layers=1",
                               "model.head_dim=16",
                               "model.num_key_value_heads=1",
                               "model.num_attention_heads=2",
                               "model.max_position_embeddings=128",
                               "sampling.max_new_tokens=12",
                               "sft.steps=4",
                               "sft.batch_size=8",
                               "train.steps=4",
                               "train.prompts_per_step=6",
                               "train.rollouts_per_prompt=4",
                               "train.lr=1e-2",
                               "eval.samples=1",
                               "eval.pass_k=1",
                               "eval.before=false",
                               "eval.after=false",
                               "archive.pack_every=2",
                               "run.deadline_s=60"};
  all.insert(all.end(), more.begin(), more.end());
  all.push_back("run.dir=\"" + folder.path().string() + "\"");
  return all;
}

const std::vector<std::string> kForms{"task.forms=[\"boxed\", \"think_opened\", \"plain\"]",
                                      "objective.recipe=prompt-augmentation-grpo"};

RunContext job_of(const RunFolder& folder, const std::vector<std::string>& more) {
  return make_context(load_run_config({}, settings(folder, more)), {});
}

TEST(QuestionForms, AreDrawnUniformlyByAddressedDraws) {
  const RunFolder folder;
  const RunContext context = job_of(folder, kForms);
  std::map<std::size_t, int> counts;
  for (std::uint64_t step = 1; step <= 100; ++step)
    for (std::uint64_t prompt = 0; prompt < 32; ++prompt)
      ++counts[form_of(context.texts, Purpose::train, {step, {prompt}, 0})];
  // 26.7: the deviation of a third of 3200
  for (std::size_t form = 0; form < 3; ++form)
    EXPECT_NEAR(counts[form], 3200 / 3.0, 4 * 26.7) << form;
  const GroupId group{7, {3}, 0};
  EXPECT_EQ(form_of(context.texts, Purpose::greedy, group),
            form_of(context.texts, Purpose::train, group));
  std::set<std::size_t> by_draw;
  for (std::uint32_t draw = 0; draw < 20; ++draw)
    by_draw.insert(form_of(context.texts, Purpose::train, {7, {3}, draw}));
  EXPECT_EQ(by_draw.size(), 3U) << "a prompt that is drawn again in a step has a form of its own";
  for (std::uint64_t prompt = 0; prompt < 4; ++prompt)
    EXPECT_EQ(form_of(context.texts, Purpose::eval, {9, {prompt}, 0}), 0U);
}

TEST(QuestionForms, TokensAreThoseOfWhatIsAsked) {
  const RunFolder folder;
  const RunContext context = job_of(folder, kForms);
  const Prompt& prompt = context.texts.prompts.train[5];
  EXPECT_EQ(prompt_tokens(context.texts, prompt, 1),
            context.texts.format->prompt_tokens(
                prompt.text +
                "\nThink up to </think>, then answer within <answer> and </answer>.\n<think>"));
  EXPECT_EQ(prompt_tokens(context.texts, prompt, 2),
            context.texts.format->prompt_tokens(prompt.text));
  EXPECT_EQ(asked(context.texts, prompt, 1).solution,
            prompt.answer + "</think><answer>" + prompt.answer + "</answer>");
  EXPECT_EQ(context.texts.examples.size(), 3 * context.texts.prompts.train.size());
  EXPECT_EQ(context.texts.format->answer_text(context.texts.examples[32 + 5].tokens)
                .substr(prompt_tokens(context.texts, prompt, 1).size() - 1),
            asked(context.texts, prompt, 1).solution);
}

/// The texts know the seed that draws forms, and the marker before the answers of a file.
TEST(QuestionForms, FollowTheSeedAndTheMarkerOfTheRunFile) {
  std::set<std::vector<std::size_t>> draws;
  for (const char* seed : {"run.seed=1", "run.seed=2"}) {
    const RunFolder folder;
    auto more = kForms;
    more.push_back(seed);
    const RunContext context = job_of(folder, more);
    std::vector<std::size_t> forms;
    for (std::uint64_t prompt = 0; prompt < 32; ++prompt)
      forms.push_back(form_of(context.texts, Purpose::train, {1, {prompt}, 0}));
    draws.insert(forms);
  }
  EXPECT_EQ(draws.size(), 2U) << "another seed draws other forms";
  const testing::TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 12; ++i)
    lines += fmt::format("{{\"question\": \"{0}\", \"answer\": \"so it is Answer: {0}\"}}\n", i);
  const RunContext context = test::small_job(
      folder / "run",
      {"task.name=jsonl", "task.file=\"" + folder.write("q.jsonl", lines) + "\"",
       "task.answer_marker=\"Answer:\"", "task.forms=[\"boxed\"]", "task.validation_prompts=1",
       "text.tokenizer=byte", "model.max_position_embeddings=128"});
  const Prompt& prompt = context.texts.prompts.train.front();
  EXPECT_EQ(asked(context.texts, prompt, 0).solution, "so it is\n\\boxed{" + prompt.answer + "}");
}

/// TON, arXiv:2505.16854.
TEST(ThoughtDropout, EmptiesTheThoughtsOfAShareOfTheExamples) {
  const auto empty = [](const std::vector<std::string>& more) {
    const RunFolder folder;
    std::vector<std::string> all{"task.max_level=3", "task.train_prompts=400"};
    all.insert(all.end(), more.begin(), more.end());
    int count = 0;
    const RunContext context = job_of(folder, all);
    for (const auto& example : context.texts.examples) {
      const std::string text = context.texts.format->answer_text(example.tokens);
      EXPECT_NE(text.find("</think><answer>"), std::string::npos) << text;
      count += text.find("<think></think>") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(empty({"task.forms=[\"think\"]"}), 0);
  EXPECT_EQ(empty({"task.forms=[\"think\"]", "sft.thought_dropout=1"}), 400);
  // 4 deviations
  EXPECT_NEAR(empty({"task.forms=[\"think\"]", "sft.thought_dropout=0.5"}), 200, 40);
  EXPECT_NEAR(empty({"task.forms=[\"think_opened\"]", "sft.thought_dropout=0.5"}), 200, 40)
      << "the opening is given";
  EXPECT_THROW(empty({"sft.thought_dropout=0.5"}), ConfigError) << "no example has a thought";
}

TEST(QuestionForms, RefusalsNameTheSetting) {
  const auto refusal = [](const std::vector<std::string>& more) -> std::string {
    const RunFolder folder;
    try {
      const RunContext context = job_of(folder, more);
      check_forms(context.config, context.texts, *context.grading.grader);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(kForms), "accepted");
  EXPECT_NE(refusal({"task.name=tags", "task.forms=[\"answer_tag\"]"})
                .find("in the form answer_tag of task.forms is judged wrong"),
            std::string::npos);
  EXPECT_NE(refusal({"task.forms=[\"boxd\"]"}).find("did you mean boxed"), std::string::npos);
}

/// Policy and archive of a run; with `stop_first` it is asked to stop as soon as it can, and goes
/// on.
std::string trained(int ranks, bool stop_first, std::set<std::string>* prompts = nullptr,
                    int steps = 4) {
  const RunFolder folder;
  auto all = settings(folder, kForms);
  all.insert(all.end(),
             {"sft.steps=40", "sft.batch_size=16", "sft.lr=1e-2", "sampling.max_new_tokens=32"});
  all.push_back(ranks == 1 ? "run.layout=single" : "run.layout=colocated");
  const auto go = [&](bool resume, ExitCode expected) {
    comm::run_as_threads(ranks, [&](comm::Communicator& world) {
      const JobRequest request{.kind = JobKind::train,
                               .run_file = {},
                               .assignments = all,
                               .start = resume ? Start::resume : Start::fresh,
                               .binary_version = [] { return std::string("test"); },
                               .evaluate = {}};
      EXPECT_EQ(int(run_job(world, request)), int(expected));
    });
  };
  if (stop_first) {
    auto few = all;
    few.push_back("train.steps=2"), few.push_back("train.min_lr_ratio=1");
    std::swap(all, few);
    go(false, ExitCode::done);
    std::swap(all, few);
  }
  all.push_back("train.min_lr_ratio=1"), all.push_back("train.steps=" + std::to_string(steps));
  go(stop_first, ExitCode::done);
  if (prompts != nullptr)
    for (const auto& entry : io::read_manifest(folder.path()))
      for (const auto& of : io::read_archive(folder.path(), entry))
        if (of.purpose == Purpose::train)
          prompts->insert(of.prompt.text.substr(of.prompt.text.find('>') + 1));
  const auto result = nlohmann::json::parse(read_file(folder.path() / "result.json"));
  return result.at("policy_sha256").dump() + result.at("archive_sha256").dump();
}

TEST(QuestionForms, RanksAndAStopChangeNoBit) {
  std::set<std::string> endings;
  const std::string one = trained(1, false, &endings);
  EXPECT_EQ(endings, (std::set<std::string>{
                         "", "\nPut the final answer in \\boxed{}.\n",
                         "\nThink up to </think>, then answer within <answer> and </answer>.\n"}))
      << "the archive stores what was asked";
  EXPECT_NE(trained(1, false, nullptr, 2).substr(0, 66), one.substr(0, 66))
      << "the policy does not move: equal bits say nothing";
  EXPECT_EQ(trained(3, false), one);
  EXPECT_EQ(trained(3, true), one);
}

}  // namespace
}  // namespace rollcall::run
