// Builds the context of a run from its run file.
#include "run/context/run_context.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/byte_size.hpp"
#include "base/time/clock.hpp"
#include "comm/rank_groups.hpp"
#include "environment/chosen.hpp"
#include "model/support/huge_blocks.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/context/derived/hints.hpp"
#include "run/context/derived/second_pass_texts.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/context/job_texts.hpp"
#include "run/context/models_of.hpp"
#include "run/context/numerics.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_texts.hpp"
#include "run/context/step_bounds.hpp"
#include "run/context/text_memory.hpp"
#include "run/folder/run_folder.hpp"
#include "task/answer_source.hpp"
#include "task/examples.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <span>

namespace rollcall::run {

namespace {

model::AlignedFloats initial_weights(const RunContext& context) {
  const auto source = weights_source(context.config);
  if (!source.empty()) return std::move(model::read_finite_model(source).weights);
  const text::Tokenizer& tokenizer = *context.texts.tokenizer;
  return model::AlignedFloats(model::initial_weights(
      model::model_config(context.config.model, tokenizer.vocab_size(), tokenizer.eos()),
      std::uint64_t(context.config.run.seed)));
}

/// Checks that every token id of the tokenizer is a row of the model's embedding.
void check_vocabulary(const RunConfig& config, const RunContext& context) {
  const auto source = weights_source(config);
  const auto tokens = context.texts.tokenizer->vocab_size(),
             rows = context.models.policy.vocab_size;
  const bool chosen = config.text.tokenizer != "auto" || context.config.text.tokenizer == "model";
  require<ConfigError>(
      source.empty() || chosen || rows == tokens,
      fmt::format(
          "{} holds no tokenizer.json, and its model has {} tokens, which are not those of the built-in tokenizer \"{}\" ({})",
          source.string(), rows, context.texts.tokenizer->name(), tokens),
      "ids of another tokenizer mean nothing to a model",
      "put its tokenizer.json there, or set text.tokenizer to the one it was trained with");
  require(source.empty() || rows >= tokens,
          fmt::format("the model in {} has {} tokens, the tokenizer \"{}\" {}", source.string(),
                      rows, context.texts.tokenizer->name(), tokens),
          "some tokens would have no embedding",
          "choose the tokenizer that the model was trained with");
}

io::RunIdentity make_identity(const RunConfig& config, const std::string& data_hash) {
  io::RunIdentity identity;
  RunConfig copy = config;
  identity.config_sha256 = Sha256().add(bind(copy).to_toml()).hex();
  identity.run_id = identity.config_sha256.substr(0, 12);
  identity.data_hash = data_hash;
  identity.seed = std::uint64_t(config.run.seed);
  if (const char* id = std::getenv("SLURM_JOB_ID")) identity.slurm_job_id = id;
  return identity;
}

/// Hash of the data of a run: its prompts, and everything else that determines the tokens that it
/// learns from.
std::string data_hash(const RunTexts& texts) {
  const std::string text = text_fingerprint(texts);
  if (text.empty() && texts.examples_hash.empty()) return texts.prompts.hash;
  return Sha256().add(fmt::format("{} {} {}", texts.prompts.hash, text, texts.examples_hash)).hex();
}

/// The settings that each part of draft_job() reads, beginning with the one that is most likely
/// wrong.
const Faults::Keys kRowKeys{"task.answer_marker", "task.name",    "task.file",
                            "task.heldout_file",  "task.fields.", "reward.verifier"};
const Faults::Keys kPromptKeys{"task.file",
                               "task.name",
                               "task.heldout_file",
                               "task.fields.",
                               "task.answer_marker",
                               "task.heldout_share",
                               "task.on_bad_line",
                               "task.train_prompts",
                               "task.validation_prompts",
                               "task.heldout_prompts",
                               "task.min_level",
                               "task.max_level",
                               "task.tail_exponent",
                               "task.operators",
                               "task.digits",
                               "task.wording"};
const Faults::Keys kJudgeKeys{"task.extract",       "task.forms",        "task.answer_marker",
                              "task.format_weight", "task.operators",    "reward.verifier",
                              "reward.command",     "reward.components", "task.name"};
const Faults::Keys kExampleKeys{"sft.file", "sft.steps", "sft.messages_key", "sft.prompt_key",
                                "sft.answer_key"};
const Faults::Keys kFormatKeys{"model.path", "run.init_from", "text."};
const Faults::Keys kTurnKeys{"environment.name", "environment.", "task.name",
                             "reward.verifier",  "reward.",      "text."};
const Faults::Keys kModelKeys{"model.path",     "run.init_from", "model.",
                              "text.tokenizer", "objective.",    "teacher.model",
                              "guide.model",    "guide.share",   "judge."};
const Faults::Keys kMicroBatchKeys{"run.memory_limit", "train.micro_batch_tokens", "run.numerics"};
const Faults::Keys kLengthKeys{"sampling.max_new_tokens",
                               "model.max_position_embeddings",
                               "task.drop_overlong",
                               "sft.thought_dropout",
                               "sft.turns",
                               "text.user",
                               "sampling.turn_tokens",
                               "environment.max_tokens",
                               "environment.name",
                               "environment.command"};
const Faults::Keys kHelpKeys{"scheduler.knobs.hint_tiers", "hints.",    "scheduler.policy",
                             "scheduler.rounds",           "task.file", "sampling.max_new_tokens"};
const Faults::Keys kAgainKeys{"second_pass.refinement", "second_pass.error", "second_pass.",
                              "sampling.max_new_tokens", "task.forms"};

/// Makes the graders: the verifier or the command, and for judge tasks the reader of the policy's
/// verdicts.
void make_judges(RunContext& context) {
  const reward::Verifier& verifier = reward::chosen_verifier(
      context.config.reward, task::find_task(context.config.task.name).verifier);
  context.grading.grader.emplace(verifier, context.config.task, context.config.reward);
  if (context.config.self_judging.share > 0.0)
    context.grading.verdict_grader.emplace(verdict_grader(context.config.task, verifier));
}

/// Finds the text between the turns of conversations, and their components. A chat template that
/// rewrites earlier turns is refused here, and so are settings that do not fit the environment.
void prepare_turns(RunContext& context) {
  if (!task::has_environment(context.config)) return;
  const auto traits = environment::traits_of_run(context.config, *context.texts.format);
  const bool decides =
      traits.decides || !context.grading.grader || context.grading.grader->name() != "episode";
  require<ConfigError>(
      decides,
      fmt::format("reward.verifier is episode, and environment.name {} decides nothing",
                  task::built_in_environment(context.config)),
      "each of them leaves the verdict to the other, so that every rollout would be wrong",
      "choose another reward.verifier or environment");
  context.texts.turns = std::make_shared<const text::TurnTexts>(
      *context.texts.format, traits.role, environment::tool_schemas(context.config));
  context.grading.environment = traits.components;
}

/// Which formats could be taken.
struct Formats {
  bool text = false, tools = false, forms = false;
};

/// Takes the tokenizer and the templates, and the forms in which prompts are asked.
Formats take_formats(RunContext& context, Faults& faults) {
  const RunConfig& config = context.config;
  Formats sound;
  std::string tools;
  sound.tools = faults.are_sound({"task.name"}) &&
                faults.check({"environment.tools", "environment.name"},
                             [&] { tools = environment::tool_schemas(config); });
  sound.text = faults.check(kFormatKeys, [&] {
    context.texts.format =
        std::make_shared<const text::PromptFormat>(config.text, text_source(config), tools);
    context.texts.tokenizer = context.texts.format->tokenizer();
    context.config.text = context.texts.format->section(),
    context.config.sampling.vocab_size = context.texts.tokenizer->vocab_size();
  });
  sound.forms = faults.check({"task.forms"}, [&] {
    if (!config.task.forms.empty()) context.texts.forms.clear();
    for (const auto& name : config.task.forms)
      context.texts.forms.push_back(&text::find_answer_form(name));
  });
  return sound;
}

}  // namespace

void check_texts(const RunConfig& config, Faults& faults) {
  RunContext context;
  context.config = config;
  const Formats sound = take_formats(context, faults);
  if (sound.text && sound.tools) faults.check(kTurnKeys, [&] { prepare_turns(context); });
}

RunContext draft_job(const RunConfig& config, const RankShape& shape, Faults& faults) {
  std::optional<LongPhase> phase(std::in_place, "reading prompts and tokenizer");
  RunContext context;
  context.config = config;
  context.run_dir = config.run.dir;
  context.texts.forms_seed = std::uint64_t(config.run.seed);
  context.threads.pool = std::make_unique<WorkerPool>(shape.threads);
  faults.check(kRowKeys, [&] {
    if (const auto said = task::settle_answers(context.config.task, context.config.reward);
        !said.empty())
      log_info("{}", said);
  });
  context.texts.answer_marker = context.config.task.answer_marker;
  context.texts.hints = config.hints;
  faults.check({"run.layout", "judge.ranks", "judge.model"},
               [&] { context.layout = sizing::layout_of(config, shape.ranks); });
  const auto [reads, knows_tools, has_forms] = take_formats(context, faults);
  bool whole = has_forms;
  const bool has_prompts = faults.check(kPromptKeys, [&] {
    if (const auto said = task::settle_validation(context.config.task, context.config.eval.every);
        !said.empty())
      log_info("{}", said);
    context.texts.prompts =
        task::find_task(config.task.name).make(context.config.task, std::uint64_t(config.run.seed));
    if (task::follows_rows(context.config.task))
      context.config.task.validation_prompts =
          std::int64_t(context.texts.prompts.validation.size());
  });
  whole &= has_prompts;
  task::ExampleSet examples;
  whole &= faults.check(kExampleKeys, [&] {
    if (!config.sft.file.empty() && config.sft.steps > 0)
      examples = task::read_examples(config.sft);
    context.texts.examples_hash = examples.hash;
  });
  whole &= faults.check(kJudgeKeys, [&] { make_judges(context); });
  if (reads && knows_tools) faults.check(kTurnKeys, [&] { prepare_turns(context); });
  const bool has_models = reads && faults.check(kModelKeys, [&] {
    // The models follow from the columns of the objective, so LibTorch is loaded here.
    context.models = models_of(config, *context.texts.tokenizer);
    check_vocabulary(config, context);
  });
  std::int64_t tiers = 0;  // tiers of help that the scheduler asks for
  if (reads)
    faults.check(
        {"scheduler.policy", "scheduler.", "train.prompts_per_step", "train.rollouts_per_prompt"},
        [&] {
          add_step_bounds(context.models, config);
          tiers = policy_without_prompts(config)->traits().tiers;
        });
  whole &= has_models && faults.check(kMicroBatchKeys, [&] {
    context.config.train.micro_batch_tokens =
        sizing::micro_batch_tokens(config, context.models.policy);
  });
  phase.emplace("cutting prompts into tokens");
  if (whole)
    faults.check(kLengthKeys, [&] {
      fill_texts(context.texts, context.config, *context.threads.pool,
                 context.models.policy.max_position_embeddings, examples);
    });
  if (!has_prompts && has_forms && has_models)
    faults.check(kLengthKeys, [&] {
      check_good_rows(context.texts, context.config, *context.threads.pool,
                      context.models.policy.max_position_embeddings);
    });
  if (whole && tiers > 0 && config.train.steps > 0 && config.train.from_archive.empty())
    faults.check(kHelpKeys, [&] {
      fill_help(context.texts, context.config, *context.threads.pool,
                context.models.policy.max_position_embeddings, tiers);
    });
  if (whole && config.train.steps > 0 && config.train.from_archive.empty())
    faults.check(kAgainKeys, [&] {
      check_second_pass_room(context.config, context.texts,
                             context.models.policy.max_position_embeddings);
    });
  return context;
}

void complete_job(RunContext& context, const RankShape& shape) {
  const kernels::KernelSet& kernels = run_kernels(context.config.run.numerics);
  context.identity = make_identity(context.config, data_hash(context.texts));
  std::optional<model::AlignedFloats> weights;
  if (shape.weights) {
    const auto source = weights_source(context.config);
    const LongPhase phase(source.empty()
                              ? "drawing the first weights"
                              : fmt::format("reading the weights in {}", source.string()));
    weights = initial_weights(context);
    context.identity.weights_hash =
        fmt::format("{:016x}", checksum64(std::as_bytes(std::span<const float>(weights->span()))));
  }
  context.store = make_policy_store(context.models.policy, std::move(weights), kernels);
  context.threads.micro_batches =
      std::make_unique<MicroBatchWorkers>(*context.threads.pool, context.store->on_device());
}

RunContext make_context(const RunConfig& config, const RankShape& shape) {
  Faults faults;
  RunContext context = draft_job(config, shape, faults);
  faults.require_none();
  complete_job(context, shape);
  return context;
}

sizing::GivenTexts longest_of(const RunContext& context) {
  sizing::GivenTexts longest;
  longest.train = std::int64_t(context.texts.prompts.train.size());
  count_bytes(context.texts, longest);
  longest.validation = std::int64_t(context.texts.prompts.validation.size()),
  longest.heldout = std::int64_t(context.texts.prompts.heldout.size());
  longest.prompt =
      longest_asked(context.config, context.texts, context.models.policy.max_position_embeddings);
  for (const auto& example : context.texts.examples)
    longest.example = std::max(longest.example, std::int64_t(example.tokens.size()));
  return longest;
}

sizing::GivenTexts longest_given(const RunConfig& config, const RankShape& shape) {
  Faults faults;
  const RunContext context = draft_job(config, shape, faults);
  faults.require_none();
  return longest_of(context);
}

void open_policy(RunContext& context, comm::Communicator& node) {
  const LongPhase phase("packing the weights");
  context.store->open(node, PolicyVersion{0},
                      {context.threads.pool->threads(), context.threads.pool->side_by_side()});
}

void reserve_steps(WorkerPool& pool, std::uint64_t step_bytes) {
  if (!model::kKeepsBlocks) return;
  try {
    model::huge_blocks().reserve(step_bytes, {pool.threads(), pool.side_by_side()});
  } catch (const std::bad_alloc&) {
    throw EnvironmentError(error_message(
        fmt::format("the system refuses the {} that this rank's steps take",
                    bytes_text(step_bytes)),
        "a step would end without memory",
        "raise the limit (ulimit -v), use fewer ranks a node, or set run.memory_limit"));
  }
}

void fit_memory(RunContext& context, int rank, const std::vector<std::uint64_t>& offered) {
  const sizing::GivenTexts longest = longest_of(context);
  const std::string& given = context.config.run.memory_limit;
  std::map<std::string, std::vector<int>> alike;  // on rank 0: ranks by their line for the log,
                                                  // where equal lines are written once
  const auto fit = [&](int r) {
    // A twentieth of the measured memory is left for uses that no table counts: buffers of messages
    // and files, and other processes of the node.
    const std::uint64_t limit = given.empty() ? offered.at(std::size_t(r)) / 20 * 19
                                              : parse_bytes(given, "run.memory_limit");
    const auto need = memory_need(context.config, context.models, context.layout, r, longest);
    const auto use = fit_memory(
        need, limit,
        given.empty() ? fmt::format("the node of rank {} offers it", r) : "run.memory_limit is",
        context.threads.pool->threads());
    if (rank == 0)
      alike[fmt::format(
                "up to {} of {}{} ({})", bytes_text(use.bytes), bytes_text(limit),
                need.micro_batch_bytes > 0
                    ? fmt::format(", {} of {} tokens at a time",
                                  use.micro_batches_at_once == 1
                                      ? "a micro-batch"
                                      : fmt::format("{} micro-batches", use.micro_batches_at_once),
                                  context.config.train.micro_batch_tokens)
                    : "",
                items_text(need))]
          .push_back(r);
    return use;
  };
  context.memory = fit(rank);
  context.threads.micro_batches->fit(context.memory.micro_batches_at_once,
                                     context.memory.micro_batch_bytes);
  if (rank != 0) return;
  for (int r = 1; r < context.layout.ranks; ++r) fit(r);
  std::size_t logged = 0;
  for (const auto& [use, ranks] : alike)
    if (++logged <= comm::kNamedGroups) log_info("memory of {}: {}", comm::name_ranks(ranks), use);
  const std::uint64_t least = *std::min_element(offered.begin(), offered.end());
  if (!given.empty() && parse_bytes(given, "run.memory_limit") > least)
    log_warning("run.memory_limit is {}, but a node offers a rank only {}", given,
                bytes_text(least));
}

}  // namespace rollcall::run
