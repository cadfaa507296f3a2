// Checks between settings of a run file that need nothing but the settings.
#include "core/conversation_checks.hpp"
#include "core/derived_prompt.hpp"
#include "core/run_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace rollcall {
namespace {

/// Refuses a list if one path is meant. A setting by --set is text, whatever it looks like.
void check_one_path(const char* key, const std::string& path, Faults& faults) {
  std::error_code unknown;
  const bool is_list = path.starts_with('[') && path.ends_with(']');
  faults.need({key}, !is_list || std::filesystem::exists(path, unknown),
              fmt::format("{} is {}, which looks like a list", key, path),
              "one file or folder is read",
              "name one; several files of lines become one by cat A B > ALL");
}

void check_paths(const RunConfig& c, Faults& faults) {
  if (c.task.name != "file") check_one_path("task.file", c.task.file, faults);
  check_one_path("task.heldout_file", c.task.heldout_file, faults);
  check_one_path("sft.file", c.sft.file, faults);
  check_one_path("environment.index", c.environment.index, faults);
  check_one_path("model.path", c.model.path, faults);
  check_one_path("run.init_from", c.run.init_from, faults);
  // NAME_MAX of limits.h; Lustre, GPFS, NFS, ext4 and XFS have it too
  constexpr std::size_t kLongestName = 255;
  std::size_t longest = 0;
  for (const auto& part : std::filesystem::path(c.run.dir))
    longest = std::max(longest, part.native().size());
  faults.need({"run.dir"}, longest <= kLongestName,
              fmt::format("run.dir has a name of {} bytes", longest),
              fmt::format("file systems hold names of up to {} bytes", kLongestName),
              "choose a shorter one");
}

void check_reward(const RunConfig& c, Faults& faults) {
  check_components("reward.components", c.reward.components, {}, faults);
  if (c.reward.command.empty()) {
    faults.need({"reward.components", "reward.command"}, c.reward.components.empty(),
                "reward.components is set without reward.command",
                "a task's verifier has components of its own",
                "leave it out, or set reward.command");
    return;
  }
  faults.need({"task.forms", "reward.command"}, c.task.forms.empty(),
              "task.forms is set, and reward.command is set",
              "a form comes with its own way to read an answer", "leave one of them out");
  faults.need({"reward.verifier", "reward.command"}, c.reward.verifier.empty(),
              fmt::format("reward.verifier is {}, and reward.command is set", c.reward.verifier),
              "one of them judges, not both", "leave one of them out");
  faults.need({"reward.command"}, !c.reward.command.front().empty(),
              "the first word of reward.command is empty", "there is no program to start",
              "name the program, for example reward.command = [\"./grade\"]");
  faults.need(
      {"task.format_weight", "reward.command"}, c.task.format_weight == 0.0,
      fmt::format("task.format_weight is {}, and reward.command is set", c.task.format_weight),
      "the command's score is the reward, and has no format component",
      "leave task.format_weight out");
  faults.need(
      {"experts.share", "reward.command"}, c.experts.share == 0.0,
      fmt::format("experts.share is {}, and reward.command is set", c.experts.share),
      "worked solutions are judged by a verifier of the program, whose components are not the "
      "command's",
      "leave one of them out");
}

void check_judge(const RunConfig& c, Faults& faults) {
  const JudgeSection& j = c.judge;
  if (j.model.empty()) {
    faults.need({"judge.ranks", "judge.model"}, j.ranks == 0,
                fmt::format("judge.ranks is {}, but judge.model is empty", j.ranks),
                "those ranks would have nothing to do",
                "name the judge's folder in judge.model, or set judge.ranks=0");
    return;
  }
  faults.need(
      {"judge.component"}, !j.component.empty() && j.component.find('/') == std::string::npos,
      fmt::format("judge.component is \"{}\"", j.component),
      "it names a column of the archive and a metric", "use letters, digits and underscores");
  faults.need({"judge.prompt"},
              j.prompt.empty() || j.prompt.find("{response}") != std::string::npos,
              fmt::format("judge.prompt is \"{}\"", j.prompt),
              "without {response} every answer would be judged alike",
              "put {response} where the answer belongs");
  faults.need({"judge.prompt", "judge.kind"}, !compares(j) || j.kind == "judge",
              "judge.prompt has {other}, and judge.kind is reward_model",
              "a reward model scores one answer, and compares none",
              "leave {other} out, or set judge.kind=judge");
  faults.need({"judge.prompt", "train.rollouts_per_prompt", "train.steps"},
              !compares(j) || c.train.steps == 0 || c.train.rollouts_per_prompt > 1,
              "judge.prompt has {other}, and train.rollouts_per_prompt is 1",
              "an answer alone has no other of its prompt to be compared with",
              "set train.rollouts_per_prompt to 2 or more, or leave {other} out");
  faults.need(
      {"judge.scale"},
      j.scale.size() == 2 && j.scale[0] < j.scale[1] && std::isfinite(j.scale[1] - j.scale[0]),
      fmt::format("judge.scale is [{}]", fmt::join(j.scale, ", ")),
      "verdicts between its two numbers become 0 to 1",
      "give the lowest and the highest verdict, for example judge.scale=[0, 10]");
  faults.need({"judge.votes", "judge.temperature"}, j.votes == 1 || j.sampling.temperature > 0.0,
              fmt::format("judge.votes is {} and judge.temperature 0", j.votes),
              "all votes would be the same", "raise judge.temperature, or set judge.votes=1");
  faults.need({"experts.share", "judge.model"}, c.experts.share == 0.0,
              fmt::format("experts.share is {}, and judge.model is set", c.experts.share),
              "worked solutions are judged by the verifier alone and would lack a component",
              "leave one of them out");
}

/// Requires at least one question, and that each non-empty one shows the answer that it asks about.
void check_judge_texts(const SelfJudgingSection& s, const std::string& on, Faults& faults) {
  const std::pair<const char*, const std::string*> asked[] = {
      {"self_judging.pointwise", &s.pointwise},
      {"self_judging.pairwise", &s.pairwise},
      {"self_judging.reflection", &s.reflection}};
  bool any = false;
  for (const auto& [key, text] : asked) {
    any = any || !text->empty();
    const bool pair = text == &s.pairwise;
    const auto holds = [&, &words = *text](const char* place) {
      return words.find(place) != std::string::npos;
    };
    faults.need(
        {key},
        text->empty() || (pair ? holds("{first}") && holds("{second}") : holds("{response}")),
        fmt::format("{} is \"{}\"", key, *text), "what is judged would not be shown",
        pair ? "put {first} and {second} where the answers belong"
             : "put {response} where the answer belongs");
  }
  faults.need({"self_judging.share", "self_judging.pointwise", "self_judging.pairwise",
               "self_judging.reflection"},
              any, on + ", and all of its texts are empty", "there is nothing to ask",
              "set self_judging.pointwise, self_judging.pairwise or self_judging.reflection, or "
              "self_judging.share=0");
}

void check_self_judging(const RunConfig& c, Faults& faults) {
  const SelfJudgingSection& s = c.self_judging;
  if (s.share == 0.0) return;
  const std::string on = fmt::format("self_judging.share is {}", s.share);
  check_judge_texts(s, on, faults);
  const double tasks = s.share * double(c.train.prompts_per_step);
  faults.need({"self_judging.share", "train.prompts_per_step"}, tasks >= 1.0,
              fmt::format("{} of train.prompts_per_step {}", on, c.train.prompts_per_step),
              "that is less than one judge task per step", "raise it, or set self_judging.share=0");
  const bool judges = !s.pointwise.empty() || !s.pairwise.empty();
  const double reflections = s.reflection.empty() ? 0.0 : judges ? tasks / 2 : tasks;
  faults.need({"self_judging.share", "train.prompts_per_step", "train.steps"},
              tasks <= double(kVerdictsOfAStep) && reflections <= double(kDerivedOfAStep) &&
                  c.train.steps < std::int64_t(kDerivedSteps),
              fmt::format("{} of train.prompts_per_step {} over train.steps {}", on,
                          c.train.prompts_per_step, c.train.steps),
              "judge tasks have no numbers beyond 65536 a step, reflections none beyond 8192, and "
              "steps none beyond 4194303",
              "lower self_judging.share, or begin a new run with --init-from");
  const auto apart = [&](bool fits, const char* key, const char* other) {
    faults.need({key, "self_judging.share"}, fits, fmt::format("{}, and {}", on, other),
                "it would meet prompts that the task does not have", "leave one of them out");
  };
  apart(c.reward.command.empty(), "reward.command", "reward.command is set");
  apart(c.judge.model.empty(), "judge.model", "judge.model is set");
  apart(c.experts.share == 0.0, "experts.share", "experts.share is above 0");
  apart(c.guide.share == 0.0, "guide.share", "guide.share is above 0");
  apart(c.task.forms.empty(), "task.forms", "task.forms is set");
}

void check_task(const TaskSection& t, Faults& faults) {
  const bool has_rows = t.name == "file", reads_a_file = has_rows || t.name == "corpus";
  faults.need({"task.min_level", "task.max_level"}, t.min_level <= t.max_level,
              fmt::format("task.min_level {} is above task.max_level {}", t.min_level, t.max_level),
              "no difficulty level would be left", "swap them");
  faults.need({"task.file", "task.name"}, !reads_a_file || !t.file.empty(),
              fmt::format("task.name is {} but task.file is empty", t.name),
              "there is nothing to read prompts from",
              has_rows ? "set task.file to a file with one JSON object a line"
                       : "set task.file to a text file");
  const auto asks_for_some = [&](const char* key, std::int64_t prompts) {
    faults.need(
        {key, "task.name", "task.file"}, has_rows || prompts > 0, fmt::format("{} is 0", key),
        fmt::format(
            "0 means all rows of a file, and task {} makes as many prompts as it is asked for",
            t.name),
        "name a number of prompts");
  };
  asks_for_some("task.train_prompts", t.train_prompts);
  asks_for_some("task.heldout_prompts", t.heldout_prompts);
  faults.need({"task.validation_prompts", "task.name", "task.file"},
              has_rows || t.validation_prompts >= 0, "task.validation_prompts is -1",
              "a made task has no rows to take a tenth of",
              "name a number of prompts; 0 validates nothing");
  faults.need(
      {"task.heldout_share", "task.split"}, t.split == "exact" || t.heldout_share == 0.1,
      fmt::format("task.heldout_share is {}, and task.split is {}", t.heldout_share, t.split),
      "by_row holds out a tenth, as earlier builds did",
      "leave task.heldout_share out, or set task.split=exact");
}

void check_model(const ModelSection& m, Faults& faults) {
  faults.need(
      {"model.num_attention_heads", "model.num_key_value_heads"},
      m.num_attention_heads % m.num_key_value_heads == 0,
      fmt::format("model.num_attention_heads {} is not a multiple of model.num_key_value_heads {}",
                  m.num_attention_heads, m.num_key_value_heads),
      "grouped-query attention shares each key head among equally many query heads",
      "change one of them");
  faults.need({"model.head_dim"}, m.head_dim % 2 == 0,
              fmt::format("model.head_dim {} is odd", m.head_dim),
              "rotary embedding rotates pairs of dimensions", "use an even head_dim");
}

void check_budget(const RunConfig& c, Faults& faults) {
  const TrainSection& t = c.train;
  faults.need(
      {"train.rollouts_per_prompt", "scheduler.min_rollouts", "scheduler.max_rollouts"},
      c.scheduler.min_rollouts <= t.rollouts_per_prompt &&
          t.rollouts_per_prompt <= c.scheduler.max_rollouts,
      fmt::format("the budget of {} rollouts a prompt lies outside scheduler.min_rollouts {} .. "
                  "scheduler.max_rollouts {}",
                  t.rollouts_per_prompt, c.scheduler.min_rollouts, c.scheduler.max_rollouts),
      "the total could not be spent exactly",
      "widen the bounds or change train.rollouts_per_prompt");
  faults.need(
      {"train.mini_batches", "train.prompts_per_step"}, t.mini_batches <= t.prompts_per_step,
      fmt::format("train.mini_batches {} exceeds train.prompts_per_step {}", t.mini_batches,
                  t.prompts_per_step),
      "a group is never cut, so some mini-batches would be empty", "lower train.mini_batches");
}

}  // namespace

void check(const RunConfig& c, Faults& faults) {
  const auto& mask = c.gradient_mask;
  faults.need(
      {"gradient_mask.before", "gradient_mask.after"}, mask.before.empty() == mask.after.empty(),
      fmt::format("gradient_mask.{} is set without gradient_mask.{}",
                  mask.after.empty() ? "before" : "after", mask.after.empty() ? "after" : "before"),
      "what moved is known from two checkpoints",
      "name the model that a run began from in gradient_mask.before, and the run in "
      "gradient_mask.after");
  check_paths(c, faults);
  check_task(c.task, faults);
  check_model(c.model, faults);
  check_budget(c, faults);
  faults.need(
      {"eval.pass_k", "eval.samples", "eval.every", "eval.validation_samples"},
      c.eval.pass_k <= c.eval.samples &&
          (c.eval.every == 0 || c.eval.pass_k <= c.eval.validation_samples),
      fmt::format(
          "eval.pass_k {} exceeds the samples per prompt (eval.samples {}, eval.validation_samples "
          "{})",
          c.eval.pass_k, c.eval.samples, c.eval.validation_samples),
      "pass@k needs at least k samples", "lower eval.pass_k or raise the samples");
  faults.need(
      {"checkpoint.patience", "checkpoint.keep_best"},
      c.checkpoint.patience == 0 || c.checkpoint.keep_best.starts_with("validation/") ||
          c.checkpoint.keep_best.starts_with("-validation/"),
      fmt::format("checkpoint.patience is {}, but checkpoint.keep_best, which is \"{}\", names no "
                  "metric of validations",
                  c.checkpoint.patience, c.checkpoint.keep_best),
      "patience counts validations without a new best",
      "set checkpoint.keep_best=validation/pass_at_1, or leave checkpoint.patience out");
  check_reward(c, faults);
  check_judge(c, faults);
  check_self_judging(c, faults);
  check_conversations(c, faults);
  const auto no_empty_text = [&](const char* key, const std::vector<std::string>& texts) {
    faults.need({key}, std::find(texts.begin(), texts.end(), "") == texts.end(),
                fmt::format("{} has an empty text", key),
                "every text ends with it, so no answer would be longer than a token",
                "leave it out, or name a text that answers end with");
  };
  no_empty_text("sampling.stop", c.sampling.stop);
  no_empty_text("judge.stop", c.judge.sampling.stop);
  faults.need({"run.dir"}, !c.run.dir.empty(), "run.dir is empty",
              "a run keeps everything in a folder of its own", "name one, for example runs/first");
  faults.need({"text.user"}, c.text.user.find("{prompt}") != std::string::npos,
              fmt::format("text.user is \"{}\"", c.text.user),
              "without {prompt} every question would be the same",
              "put {prompt} where the task's prompt belongs");
}

}  // namespace rollcall
