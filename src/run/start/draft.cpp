// Checks a draft. Each check names the settings that it looks at.
#include "run/start/draft.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "run/context/question_forms.hpp"
#include "run/coordinator/make_scheduler.hpp"
#include "run/coordinator/metric_names.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/judge/judge_stage.hpp"
#include "run/start/fork_checks.hpp"
#include "run/start/reference_checks.hpp"
#include "run/start/text_warnings.hpp"
#include "run/update/auxiliary_models.hpp"
#include "run/update/experts.hpp"
#include "run/update/recontext/probes.hpp"
#include "run/update/recontext/recontext.hpp"
#include "task/rows/file_list.hpp"

#include <fmt/format.h>

namespace rollcall::run {
namespace {

void check_splits(const RunContext& context, JobKind kind) {
  const EvalSection& eval = context.config.eval;
  require<ConfigError>(
      eval.every == 0 || !context.texts.prompts.validation.empty(),
      fmt::format(
          "eval.every is {}, and there is no validation prompt (task.validation_prompts is {})",
          eval.every, context.config.task.validation_prompts),
      "every validation would be of nothing",
      holds_run(context.config.run.dir)
          ? "set eval.every=0: the run trains on all rows; one that branches off (--from) may set task.validation_prompts"
          : "set task.validation_prompts, or eval.every=0");
  require<ConfigError>(
      kind == JobKind::eval || !context.texts.prompts.train.empty(),
      "task.heldout_file and task.file are the same file",
      "all of its rows are held out, and none is left to train on",
      "leave task.heldout_file out, so that task.heldout_share of them is held out, or name another");
  const bool evaluates =
      kind == JobKind::eval || eval.after || (eval.before && context.config.train.steps > 0);
  require<ConfigError>(
      !evaluates || !context.texts.prompts.heldout.empty(),
      fmt::format("there is no held-out prompt{}",
                  context.config.task.file.empty()
                      ? ""
                      : fmt::format(" in {}", task::shown_files(context.config.task))),
      "what the policy can do is measured on prompts that it is not trained on",
      "use more rows, name a file of them in task.heldout_file, or set eval.before=false and eval.after=false");
}

/// Refuses a variable that the template does not read in a new run. A run that an earlier build
/// began may have one, and continues with a warning.
void check_variables(const RunContext& context, JobKind kind) {
  const std::string unread = text::unread_variable(*context.texts.format);
  if (unread.empty()) return;
  if (kind == JobKind::train && !holds_run(context.config.run.dir)) throw ConfigError(unread);
  log_warning("{}", unread);
}

/// Components of the run's verdicts; empty if the verdicts come from an archive, which names its
/// own.
std::vector<std::string> known_components(const RunConfig& config, const Grading& grading) {
  if (!config.train.from_archive.empty()) return {};
  auto names = grading.grader->components();
  names.insert(names.end(), grading.environment.begin(), grading.environment.end());
  if (!config.judge.model.empty()) names.push_back(config.judge.component);
  return names;
}

/// Checks that no split is empty, that answers can be compared with the references, and that
/// prompts and components meet the needs of recipe and scheduler.
void check_draft(const RunContext& draft, const Named& named, JobKind kind, Faults& faults) {
  const Faults::Keys prompts{"task.file", "task."}, judge{"task.extract", "task.", "reward."};
  if (draft.texts.format) faults.check({"text.variables"}, [&] { check_variables(draft, kind); });
  const bool has_prompts =
      !draft.texts.prompts.train.empty() || !draft.texts.prompts.heldout.empty();
  if (has_prompts) {
    faults.check({"eval.every", "eval.before", "eval.after", "train.steps"},
                 [&] { check_splits(draft, kind); });
    faults.check({"scheduler.policy", "scheduler.", "task.fields.domain", "task.fields.prior"},
                 [&] { (void)make_scheduler(draft.config, draft.texts); });
  }
  if (draft.grading.grader && has_prompts) {
    faults.check(judge, [&] {
      check_references(draft.config.task, draft.texts.prompts, *draft.grading.grader);
    });
    faults.check({"task.forms"},
                 [&] { check_forms(draft.config, draft.texts, *draft.grading.grader); });
  }
  if (!draft.grading.grader || named.objective == nullptr) return;
  faults.check({"judge.component", "judge.", "reward.", "objective."}, [&] {
    check_judge(draft.config, *draft.grading.grader, named.objective->columns());
  });
  if (has_prompts && kind == JobKind::train && draft.config.train.steps > 0)
    faults.check({"task.fields.prior", "objective."}, [&] {
      check_predictions(draft.config, draft.texts.prompts.train, *named.objective);
    });
  faults.check({"checkpoint.keep_best", "eval.pass_k"}, [&] {
    check_keep_best(draft.config, known_components(draft.config, draft.grading));
  });
  if (!faults.empty()) return;  // the next checks read the tokens of complete texts
  for (const std::string& warning :
       texts_told(draft.config, draft.texts, *draft.grading.grader, *draft.threads.pool))
    log_warning("{}", warning);
  faults.check({"experts.share"}, [&] {
    check_solutions(draft.config, draft.texts, draft.models.policy.max_position_embeddings);
  });
  faults.check({"probes.max_tokens"}, [&] {
    check_probes(draft.config, draft.texts, draft.models.policy.max_position_embeddings,
                 *named.objective);
  });
  faults.check({"probes.opener", "environment.max_tokens"}, [&] {
    check_recontext(draft.config, draft.texts, draft.models.policy.max_position_embeddings,
                    *named.objective);
  });
}

}  // namespace

Draft make_draft(const RunConfig& config, const RankShape& shape, JobKind kind, Faults& faults) {
  Draft draft;
  draft.named = check_start(config, kind, faults);
  if (kind == JobKind::train) check_forks(config, faults);
  draft.context = draft_job(config, shape, faults);
  check_draft(draft.context, draft.named, kind, faults);
  return draft;
}

}  // namespace rollcall::run
