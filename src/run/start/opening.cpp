// Checks everything first and changes the run folder last.
#include "run/start/opening.hpp"

#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "core/settings_text.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "io/origin.hpp"
#include "io/source.hpp"
#include "method/method.hpp"
#include "run/checkpoint/part_check.hpp"
#include "run/context/numerics.hpp"
#include "run/context/question_forms.hpp"
#include "run/context/recipe_needs.hpp"
#include "run/context/run_texts.hpp"
#include "run/coordinator/kept_folder.hpp"
#include "run/coordinator/make_scheduler.hpp"
#include "run/folder/branch_leftovers.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/folder/run_folder.hpp"
#include "run/folder/start_directory.hpp"
#include "run/folder/submitted_files.hpp"
#include "run/judge/judge_model.hpp"
#include "run/start/branch.hpp"
#include "run/start/draft.hpp"
#include "run/start/on_policy.hpp"
#include "run/start/programs.hpp"
#include "run/start/resume_checks.hpp"
#include "run/start/start_checks.hpp"
#include "run/start/unreached.hpp"
#include "run/step/archived_steps.hpp"
#include "run/step/heard_rewards.hpp"
#include "task/rows/file_list.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace rollcall::run {
namespace {

std::string holder() {
  char host[256] = "unknown host";
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}", ::getpid(), host);
}

/// Removes an evaluation that was stopped or killed. It kept no result, so the new one takes its
/// place.
void remove_unfinished_evaluation(const std::filesystem::path& out) {
  require<EnvironmentError>(
      !FolderLock::is_held(out), fmt::format("an evaluation is being made in {}", out.string()),
      "two would write one folder", "wait for it, or name another folder with --out");
  log_info("{} holds an evaluation that did not finish: it is made again", out.string());
  // The file by which an evaluation is recognised is removed last.
  for (const char* name : {"shards", "archive", "set_aside", "metrics.jsonl", "config.toml"}) {
    std::error_code failure;
    std::filesystem::remove_all(out / name, failure);
    require<StorageError>(
        !failure, fmt::format("cannot remove {}: {}", (out / name).string(), failure.message()),
        "it would mix with the new evaluation", "remove the folder, or name another with --out");
  }
}

void require_no_evaluation(const std::filesystem::path& out) {
  const bool ended =
      std::filesystem::exists(out / "eval.json") || std::filesystem::exists(out / "checkpoints");
  require<EnvironmentError>(!ended,
                            fmt::format("{} already holds an evaluation or a run", out.string()),
                            "existing results are never overwritten",
                            "read its eval.json, or name another folder with --out");
}

/// Turns the settings of a run into those of an evaluation of the requested weights.
void take_weights(const JobRequest& request, RunConfig& config) {
  const auto weights = checkpoint_folder(request.evaluate);
  config.run.init_from.clear();
  config.model.path = weights.string();
  config.sft.steps = 0, config.train.steps = 0, config.train.from_archive.clear();
  config.gradient_mask = {};
}

/// Requires an existing run if one is to be resumed, and none if a new one is to begin. Both are
/// checked before a model is read. A new run in place of an old one would be noticed only after
/// hours.
void require_run(const JobRequest& request, const RunConfig& config, const std::string& ignored) {
  if (request.kind == JobKind::eval) return;
  if (request.start == Start::fresh) return require_no_run(config.run.dir, ignored);
  const bool there = holds_run(config.run.dir);
  require<EnvironmentError>(
      there || request.start == Start::resume_or_fresh,
      fmt::format("run.dir {} holds no run", config.run.dir),
      "--resume continues one, and a new one would begin at step 0",
      "correct the run file or run.dir, leave --resume out, or add --start-if-none");
  if (there) return;
  require_no_run(config.run.dir, ignored);
  log_info("run.dir {} holds no run yet: it starts one", config.run.dir);
}

/// The checkpoint from which the run continues. A run that would have to undo steps is refused
/// before anything is changed.
std::optional<io::StoredCheckpoint> find_checkpoint(const RunConfig& config,
                                                    CoordinatorState& state) {
  std::vector<std::string> warnings;
  auto checkpoint = io::newest_checkpoint(config.run.dir, &warnings);
  for (const auto& warning : warnings) log_warning("{}", warning);
  if (!checkpoint) {
    require_checkpoint_of_archive(config.run.dir);
    return checkpoint;
  }
  state = state_of(*checkpoint);
  check_parts(checkpoint->files(), part_needs(config, state, checkpoint->name()),
              checkpoint->name());
  check_steps(config, state.train_steps);
  check_archive(config, state);
  return checkpoint;
}

/// Throws ConfigError if the content of files that settings name has changed. Prompts may change,
/// because the scheduler can distinguish old prompts from new ones. An empty hash is from an
/// earlier format of the state and is not compared.
void check_same_data(const RunContext& context, const CoordinatorState& state) {
  const auto check = [](const std::string& before, const std::string& now, const std::string& what,
                        const char* suggestion) {
    require<ConfigError>(before.empty() || before == now, what + " not what the run began with",
                         "a resumed run must equal the uninterrupted one", suggestion);
  };
  check(state.examples_hash, context.texts.examples_hash,
        fmt::format("the examples of sft.file ({}) are", context.config.sft.file),
        "restore the file, or start a new run with --set run.dir=... and --init-from");
  check(
      state.text_hash, text_fingerprint(context.texts),
      "the tokenizer, the chat template or what they and task.forms make of a prompt is",
      "restore tokenizer.json and the template; for a template that writes the date set SOURCE_DATE_EPOCH to the day on which the run began");
  const std::string& numerics = state.numerics.back().numerics;  // the judge has the numerics of
                                                                 // the run
  const bool same =
      context.rank_zero.judge_digest.empty() || numerics == context.config.run.numerics;
  require<ConfigError>(
      state.judge_digest == (same ? context.rank_zero.judge_digest
                                  : identify_judge(context.config.judge, numerics).digest),
      fmt::format("the judge in \"{}\" is not the one that the run began with",
                  context.config.judge.model),
      "a resumed run must equal the uninterrupted one",
      "restore its folder, or start a new run with --set run.dir=... and --init-from");
  require<ConfigError>(
      state.mask_digest == context.mask.digest,
      context.mask.digest.empty()
          ? "the run began with a gradient mask, and gradient_mask names none"
      : state.mask_digest.empty()
          ? "the run began without a gradient mask, and gradient_mask names one"
          : "gradient_mask makes other weights train than the run began with",
      "a resumed run must equal the uninterrupted one",
      "name the same two checkpoints, or branch off: rollcall train --from RUN --set run.dir=NEW --set ...");
}

/// Warns of changed prompts. They are allowed, because the scheduler can distinguish old prompts
/// from new ones, and evaluations on other prompts are left out. But the change may be a mistake,
/// such as a file of the same name in another directory.
void tell_other_prompts(const RunContext& context, const CoordinatorState& state) {
  if (state.prompts_hash.empty() || state.prompts_hash == context.texts.prompts.hash) return;
  const TaskSection& task = context.config.task;
  const auto whole = [](const std::string& file) {
    return std::filesystem::absolute(file).string();
  };
  const std::string trained = task::is_file_list(task) ? task::shown_files(task) : whole(task.file);
  const std::string files = task.heldout_file.empty()
                                ? trained + " holds"
                                : fmt::format("{} or {} holds", trained, whole(task.heldout_file));
  log_warning(
      "the prompts are not those of the last start: {} others; the run goes on with them, so it is another than without the change",
      task.file.empty() ? "the task makes" : files);
}

/// The numerics of the run so far and from here on. Throws if they differ and the run file does not
/// allow it.
std::vector<NumericsRecord> numerics_of_run(const RunConfig& config,
                                            const CoordinatorState& state) {
  auto all = state.numerics;
  const auto now = numerics_here(config.run.numerics, state.sft_steps, state.train_steps);
  if (all.empty()) return {now};
  if (all.back().numerics == now.numerics && all.back().device == now.device) return all;
  const std::string change = fmt::format("the run in {} was computed in {} and would go on in {}",
                                         config.run.dir, text_of(all.back()), text_of(now));
  require<ConfigError>(
      config.run.allow_numerics_change, change, "a resumed run must equal the uninterrupted one",
      "resume in what it was computed in, or allow the change by run.allow_numerics_change=true: the archive then notes it");
  log_warning("{}: its bits will be those of neither alone, and its archive notes the change",
              change);
  all.push_back(now);
  return all;
}

/// Warns of a different processor or library. The training is still right, but its bits differ from
/// an uninterrupted run.
void tell_other_arithmetic(const RunConfig& config, const CoordinatorState& state) {
  const std::string now = arithmetic_of(config.run.numerics);
  if (!state.arithmetic.empty() && state.arithmetic != now)
    log_warning(
        "the run was on {} and continues on {}: its bits no longer match those of a run on either alone",
        state.arithmetic, now);
}

/// Logs the facts about the model's text files that a user should know before the run.
void tell_text(const RunContext& context) {
  const auto suggestion =
      text::differing_suggestion(context.texts.format->files().suggested, context.config.sampling);
  if (!suggestion.empty())
    log_info("generation_config.json suggests {}: the run file decides", suggestion);
  if (const auto missing =
          context.texts.format->answer_ends().missing_end(context.config.sampling.stop);
      !missing.empty())
    log_warning("{}", missing);
  if (context.texts.format->reads_clock() && std::getenv("SOURCE_DATE_EPOCH") == nullptr)
    log_warning(
        "the chat template writes the date into every prompt: the run cannot be resumed on another day, and a repeat on another day would differ; set it in "
        "[text.variables] if the template has a variable for it, or start and resume with SOURCE_DATE_EPOCH={} in the environment",
        std::time(nullptr));
  if (context.texts.format->is_chat() && !context.texts.prompts.train.empty())
    log_info("a prompt as the policy sees it ({} tokens):\n{}",
             prompt_tokens(context.texts, context.texts.prompts.train.front(), 0).size(),
             context.texts.format->prompt_text(
                 asked(context.texts, context.texts.prompts.train.front(), 0),
                 context.texts.forms.front()->opening));
}

/// Warns that a run learns the built-in task if neither the run file nor a flag names a task, so
/// that the user does not find this out from the result.
void tell_unnamed_task(const JobRequest& request, const GivenSettings& given) {
  const Places& places = given.faults.places;
  const bool is_refused = !given.faults.empty();  // for a different reason, which is enough
  if (is_refused || request.kind != JobKind::train || places.contains("task.name") ||
      places.contains("task.file"))
    return;
  const RunConfig& c = given.config;
  const bool is_made = c.model.path.empty() && c.run.init_from.empty();
  log_warning(
      "{}: {} learns the built-in task {} in {}; to train on questions of your own, {} (docs/guide/own-data.md)",
      request.run_file.empty() ? "no run file is given"
                               : fmt::format("{} names no task", request.run_file.string()),
      is_made ? "a small new model" : "the model", c.task.name, c.run.dir,
      request.run_file.empty() ? "write a run file and start rollcall train RUN.toml"
                               : "set task.file");
}

/// Checks the files of the archive that the run trains from, because another run wrote them, and
/// ranks that hold devices read them.
void look_through_archive(const RunConfig& config) {
  if (config.train.from_archive.empty()) return;
  log_info("looking through the files of {}", config.train.from_archive);
  io::read_files_of(io::Origin::others);
  const auto source = io::open_source(config.train.from_archive);
  io::read_files_of(io::Origin::own);
  for (const auto& entry : source.packed) io::look_through(source.root / entry.file.path);
  for (const auto& shard : source.loose)
    for (const auto& path : io::files_of_shard(shard)) io::look_through(source.root / path);
  for (const auto& path : source.training) io::look_through(source.root / path);
}

/// Applies a request to the settings, and checks the folders that they name.
class Request {
 public:
  Request(const JobRequest& request, GivenSettings& given)
      : request_(&request), config_(&given.config), faults_(&given.faults) {}

  /// Returns whether the run folder can be used, as far as the settings say which one it is.
  bool settle() {
    bool usable = true;
    if (request_->kind == JobKind::eval) {
      // The command sets them by options of its own.
      for (const char* key : {"run.dir", "run.init_from", "model.path"}) faults_->places.erase(key);
      usable &= faults_->check({"run.dir"}, [&] { require_no_evaluation(config_->run.dir); });
      faults_->check({}, [&] { take_weights(*request_, *config_); });
    }
    if (faults_->empty()) ignored_ = ignored_run_dir(request_->run_file, *config_);
    if (!ignored_.empty()) log_warning("{}", ignored_);
    if (!request_->from.empty()) usable &= branch_off();
    if (request_->from.empty() || faults_->empty())
      usable &= faults_->check({"run.dir"}, [&] { require_run(*request_, *config_, ignored_); });
    usable &= faults_->check({"run.dir"}, [&] { require_place(config_->run.dir, request_->kind); });
    if (request_->start != Start::fresh && faults_->empty() && holds_run(config_->run.dir)) {
      take_recorded(*config_, *faults_);
      usable &= faults_->empty();
    }
    faults_->check({"run.numerics"}, [&] { (void)run_kernels(config_->run.numerics); });
    faults_->check({"train.from_archive"}, [&] { look_through_archive(*config_); });
    return usable;
  }
  std::optional<Branch> branch{};

 private:
  bool branch_off() {
    if (!faults_->check({}, [&] { branch.emplace(find_branch(request_->from)); })) return false;
    const bool has_folder =
        faults_->check({"run.dir"}, [&] { require_folder_of_branch(*branch, config_->run.dir); });
    if (!faults_->empty()) return has_folder;
    return faults_->check({}, [&] { *config_ = settings_of_branch(*branch, *config_); });
  }

  const JobRequest* request_;
  RunConfig* config_;
  Faults* faults_;
  std::string ignored_{};
};

/// Logs the messages of a start before the first step.
void tell_start(const RunContext& context, JobKind kind, const method::Objective& objective,
                const scheduling::Scheduler& policy, int cores) {
  const RunConfig& config = context.config;
  tell_text(context);
  for (const auto& warning : policy.traits().warnings)
    log_warning("scheduler.policy {}: {}", config.scheduler.policy, warning);
  if (kind != JobKind::train) return;
  if (config.train.steps > 0 && config.train.optimizer.warmup_steps >= config.train.steps)
    log_info(
        "train.warmup_steps is {} and train.steps {}: the learning rate rises up to the last step",
        config.train.optimizer.warmup_steps, config.train.steps);
  for (const auto& warning : costly_settings(context, cores)) log_warning("{}", warning);
  for (const auto& warning : {truncation_told(config), lone_rollouts_told(config, objective),
                              reward_scale_told(config, objective)})
    if (!warning.empty()) log_warning("{}", warning);
  for (const auto& warning : unread_rewards_told(config, objective, policy.traits().hears_rewards))
    log_warning("{}", warning);
  for (const auto& warning : companions_told(config)) log_info("{}", warning);
  for (const auto& line : unreached_told(config, objective)) log_info("{}", line);
  tell_shortage(config, policy);
  tell_idle_pieces(config, objective);
  if (const auto warning = padding_told(config, context.models.policy.vocab_size,
                                        context.texts.tokenizer->vocab_size());
      !warning.empty())
    log_info("{}", warning);
}

}  // namespace

OpenedJob open_job(comm::Communicator& world, const JobRequest& request,
                   const comm::NodeShare& share) {
  OpenedJob opening;
  GivenSettings given = gather_settings(request.run_file, request.assignments);
  start_log(given.config.run.log_level, world.rank(), world.size());
  if (request.lacks_directory) log_warning("{}", request.note);
  else if (!request.note.empty()) log_info("{}", request.note);
  tell_unnamed_task(request, given);
  if (request.kind == JobKind::train) tell_since_submission(request.run_file, given.config);
  Request asked(request, given);
  if (!asked.settle()) {  // told before the data are read, with what else is wrong with settings
    (void)check_start(given.config, request.kind, given.faults);
    check_texts(given.config, given.faults);
    given.faults.require_none();
  }
  const RankShape shape{.ranks = world.size(), .threads = thread_count(given.config, share)};
  Draft draft = make_draft(given.config, shape, request.kind, given.faults);
  given.faults.require_none();
  const bool resume = request.start != Start::fresh;
  const std::optional<Branch>& branch = asked.branch;
  const auto& objective = draft.named.objective;
  opening.context.emplace(std::move(draft.context));
  RunConfig config = opening.context->config;  // with the resolved values of text.tokenizer,
                                               // text.template and train.micro_batch_tokens
  complete_job(*opening.context, shape);
  opening.context->layout.nodes = share.nodes;
  try_programs(*opening.context, request);
  if (!config.judge.model.empty()) {
    const LongPhase phase("reading the judge in " + config.judge.model);
    const auto judge = identify_judge(config.judge, config.run.numerics);
    opening.context->identity.judge = judge.json,
    opening.context->rank_zero.judge_digest = judge.digest;
  }
  if (masks_gradient(config))
    opening.preamble.mask = opening.context->mask =
        find_mask(config, opening.context->models.policy);
  fit_memory(*opening.context, world.rank(), share.memory);
  const auto policy = make_scheduler(opening.context->config, opening.context->texts);
  const bool begins = !branch && (!resume || !holds_run(config.run.dir));
  if (begins && request.kind == JobKind::train && config.sft.steps > 0)
    log_info("{} supervised steps come first (sft.steps)", config.sft.steps);
  tell_start(*opening.context, request.kind, *objective, *policy, share.cores);
  opening.preamble.sends_rollouts = opening.context->sends_rollouts =
      sends_rollouts(config, *objective, *policy);
  opening.preamble.diversity = opening.context->diversity = diversity_of(*policy);
  check_from_archive(opening.context->config, opening.context->texts,
                     opening.context->models.policy.max_position_embeddings, *objective);
  if (request.kind == JobKind::eval &&
      std::filesystem::exists(std::filesystem::path(config.run.dir) / "config.toml"))
    remove_unfinished_evaluation(config.run.dir);
  make_run_folder(config.run.dir, request.kind);
  opening.lock = std::make_unique<FolderLock>(config.run.dir, holder());
  opening.context->rank_zero.lock = std::make_shared<LockFile>(config.run.dir);
  if (!resume || !holds_run(config.run.dir)) remove_unfinished_branch(config.run.dir);
  CoordinatorState state;
  if (branch) plant(*branch, *opening.context);
  const auto checkpoint = resume || branch ? find_checkpoint(config, state) : std::nullopt;
  if (checkpoint && state.numerics.empty()) {  // an earlier build wrote the state: the numerics of
                                               // its runs could not change
    const bool has_settings =
        std::filesystem::exists(std::filesystem::path(config.run.dir) / "config.toml");
    const std::string before =
        has_settings ? read_run_folder(config.run.dir).run.numerics : config.run.numerics;
    state.numerics.push_back(before == config.run.numerics ? numerics_here(before, 0, 0)
                                                           : NumericsRecord{.numerics = before});
  }
  if (checkpoint && state.best_value && state.best_metric.empty() &&
      std::filesystem::exists(std::filesystem::path(config.run.dir) / "config.toml"))
    // An earlier build did not record which metric the best value is of.
    state.best_metric = read_run_folder(config.run.dir).checkpoint.keep_best;
  if (checkpoint && state.train_steps < config.train.steps)
    check_same_archive(config, state.archive_digest);
  if (checkpoint)
    check_same_settings(config, checkpoint->name()), check_same_data(*opening.context, state),
        tell_other_arithmetic(config, state), tell_other_prompts(*opening.context, state);
  opening.context->rank_zero.numerics = numerics_of_run(config, state);
  if (opening.context->rank_zero.numerics.size() > 1)
    opening.context->identity.numerics = to_json(opening.context->rank_zero.numerics);
  note_programs(*opening.context, checkpoint ? &state : nullptr);
  opening.context->identity.parent = state.parent;
  const bool compared =
      open_run_folder(config, resume || branch, checkpoint ? checkpoint->name() : "");
  record_directory(config.run.dir);
  keep_text_files(text_source(config), *opening.context->texts.format, config.run.dir);
  if (checkpoint) opening.preamble.checkpoint = checkpoint->name();
  if (resume) {  // even without a config.toml, which a user may have removed
    std::vector<io::PublishedFile> keep;
    if (checkpoint) {
      for (const auto& file : state.unpacked)
        keep.push_back(file.files.shard), keep.push_back(file.files.scores);
      for (const auto& file : keep)
        io::look_through(std::filesystem::path(config.run.dir) / file.path);
      log_info("resuming from {}", checkpoint->name());
      if (!compared)
        log_warning(
            "{} had no config.toml: it is not known whether the settings are those the run was started with",
            config.run.dir);
    } else if (compared) {
      log_warning("the run in {} has no checkpoint yet: it begins at step 0", config.run.dir);
    }
    io::Removed removed = io::remove_leftovers(config.run.dir);
    if (const int moved = io::set_aside_unfinished(config.run.dir, keep, &removed))
      log_info("set aside {} files of unfinished steps", moved);
    if (removed.files > 0)
      log_info("removed {} unfinished files, {} bytes", removed.files, removed.bytes);
  }
  // The weights in the folder of run.init_from may have changed since the run began.
  if (checkpoint && !state.weights_hash.empty())
    opening.context->identity.weights_hash = state.weights_hash;
  opening.preamble.weights_hash = opening.context->identity.weights_hash,
  opening.preamble.data_hash = opening.context->identity.data_hash;
  opening.preamble.judge = opening.context->identity.judge,
  opening.preamble.numerics = opening.context->identity.numerics;
  opening.preamble.parent = opening.context->identity.parent,
  opening.preamble.grader = opening.context->identity.grader,
  opening.preamble.environment = opening.context->identity.environment;
  opening.preamble.arithmetic = arithmetic_of(config.run.numerics);
  opening.preamble.toml = bind(config).to_toml();
  return opening;
}

void take_identity(const Preamble& first, io::RunIdentity& own) {
  own.weights_hash = first.weights_hash, own.judge = first.judge, own.numerics = first.numerics;
  own.parent = first.parent, own.grader = first.grader, own.environment = first.environment;
}

int thread_count(const RunConfig& config, const comm::NodeShare& share) {
  return config.run.threads > 0 ? int(config.run.threads) : share.cores;
}

void require_same_start(const io::RunIdentity& own, const Preamble& first) {
  require<EnvironmentError>(
      own.data_hash == first.data_hash,
      "this rank's prompts, examples or text files differ from those of rank 0",
      "results would depend on the number of ranks",
      "put the files of [task], [sft] and the model folder on a file system that all nodes of the job share");
  require<EnvironmentError>(
      !first.checkpoint.empty() || own.weights_hash.empty() ||
          own.weights_hash == first.weights_hash,
      "this rank's initial weights differ from those of rank 0",
      "results would depend on the number of ranks",
      "if they come from a live run, name one of its checkpoints (RUN@STEP), in a folder that all nodes of the job share");
}

}  // namespace rollcall::run
