// Assembly of a job from its run file.
#include "stages/job.hpp"

#include "base/byte_size.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "comm/rank_groups.hpp"
#include "model/huge_blocks.hpp"
#include "model/model_folder.hpp"
#include "stages/numerics.hpp"
#include "stages/question_forms.hpp"
#include "stages/run_folder.hpp"
#include "stages/self_judging.hpp"
#include "stages/text_memory.hpp"
#include "stages/thought_dropout.hpp"
#include "stages/unread_keys.hpp"
#include "task/answer_source.hpp"
#include "task/examples.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <new>
#include <span>

namespace rollcall::stages {

PolicyStore::PolicyStore(model::ModelConfig config, std::optional<model::AlignedFloats> weights, const kernels::KernelSet& kernels)
    : config_(std::move(config)), layout_(model::weight_layout(config_)), kernels_(&kernels), first_(std::move(weights)) {
  expect(!first_ || std::int64_t(first_->size()) == layout_.size, "the buffer has the layout's size");
}

void PolicyStore::open(comm::Communicator& node, PolicyVersion version, model::Threads threads) {
  expect(node.rank() != 0 || first_.has_value(), "the first rank of a node has read the weights");
  threads_ = std::move(threads);
  model::AlignedArray<std::byte> panels;
  if (node.size() == 1) {
    weights_ = std::make_shared<model::AlignedFloats>(std::move(*first_));
    panels = model::AlignedArray<std::byte>(std::size_t(model::packed_bytes(config_, *kernels_)));
  } else {
    const std::size_t bytes = (std::size_t(layout_.size) * sizeof(float) + 4095) / 4096 * 4096;  // panels begin on a page
    const auto memory = node.share_memory(bytes + std::size_t(model::packed_bytes(config_, *kernels_)));
    weights_ = std::make_shared<model::AlignedFloats>(memory.view<float>(0, std::size_t(layout_.size)), memory.owner);
    panels = model::AlignedArray<std::byte>(memory.bytes.subspan(bytes), memory.owner);
    if (node.rank() == 0) std::copy(first_->span().begin(), first_->span().end(), weights_->data());
  }
  first_.reset();
  model::huge_blocks().release_idle();  // the copy of the weights that others have by now
  policy_ = std::make_unique<model::Policy>(config_, weights_, std::move(panels), *kernels_);
  publish(version, node);
}

double PolicyStore::publish(PolicyVersion version, comm::Communicator& node, std::span<const Stretch> packed) {
  node.barrier();  // all have written
  const Stopwatch since;
  std::vector<std::size_t> own;
  int left = 0;
  const auto cuts = policy_->cuts();
  for (std::size_t part = 0; part + 1 < cuts.size(); ++part) {
    const auto holds = [&](const Stretch& stretch) { return stretch.begin <= cuts[part] && cuts[part + 1] <= stretch.end; };
    if (std::any_of(packed.begin(), packed.end(), holds)) continue;
    if (left++ % node.size() == node.rank()) own.push_back(part);
  }
  policy_->renew(version, own, threads_);
  if (left > 0) node.barrier();  // all have packed
  fetched();
  return since.seconds();
}

void PolicyStore::take(PolicyVersion version) {
  policy_->renew(version, std::span<const std::size_t>());
  fetched();
}

void PolicyStore::publish_on_device(PolicyVersion version) { policy_->renewed_on_device(version); }

std::shared_ptr<const model::AlignedFloats> PolicyStore::shared_weights() const {
  expect(is_fetched(), "weights are read where they are new");
  return weights_;
}

model::AdamWParts PolicyStore::parts() {
  return {policy_->cuts(), [this](std::size_t part) { policy_->renew_part(part); }};
}

std::string PolicyStore::sha256() const { return model::weights_sha256(layout_, weights()); }

const std::vector<std::int32_t>& prompt_tokens(const Job& job, const Prompt& prompt, std::size_t form) {
  return job.prompt_tokens[std::size_t(prompt.split)].at(form * job.prompts.of(prompt.split).size() + prompt.id.value);
}

std::string heldout_digest(const Job& job) {
  std::uint64_t digest = 0;
  for (const Prompt& prompt : job.prompts.heldout) digest = checksum64(prompt.answer, checksum64(prompt.text, digest));
  return hex64(digest);
}

std::string text_fingerprint(const Job& job) {
  std::string digest = job.format->fingerprint();
  for (const text::AnswerForm* form : job.forms)
    if (form->instruction != nullptr) digest = Sha256().add(digest).add(text::asked_in(*form, "")).add(form->opening).hex();
  return digest;
}

Split split_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::train:
    case Purpose::greedy: return Split::train;
    case Purpose::validation: return Split::validation;
    case Purpose::eval: return Split::heldout;
  }
  throw ProtocolError("a message names a purpose that does not exist");
}

std::string excerpt(const std::string& text) {
  constexpr std::size_t kShown = 40;
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= kShown ? line : line.substr(0, kShown) + "...";
}

const char* purpose_name(Purpose purpose) {
  switch (purpose) {
    case Purpose::train: return "train";
    case Purpose::validation: return "validation";
    case Purpose::eval: return "eval";
    case Purpose::greedy: return "greedy";
  }
  throw ProtocolError("a message names a purpose that does not exist");
}

namespace {

model::AlignedFloats initial_weights(const RunConfig& c, const std::filesystem::path& source, const text::Tokenizer& tokenizer, bool chosen) {
  if (source.empty())
    return model::AlignedFloats(model::initial_weights(model::model_config(c.model, tokenizer.vocab_size(), tokenizer.eos()), std::uint64_t(c.run.seed)));
  auto loaded = model::read_model_folder(source);
  const auto& config = loaded.config;
  require(config.vocab_size >= tokenizer.vocab_size(),
          fmt::format("the model in {} has {} tokens, the tokenizer \"{}\" {}", source.string(), config.vocab_size, tokenizer.name(), tokenizer.vocab_size()),
          "some tokens would have no embedding", "choose the tokenizer that the model was trained with");
  require<ConfigError>(chosen || config.vocab_size == tokenizer.vocab_size(),
                       fmt::format("{} holds no tokenizer.json, and its model has {} tokens, which are not those of the built-in tokenizer \"{}\" ({})",
                                   source.string(), config.vocab_size, tokenizer.name(), tokenizer.vocab_size()),
                       "ids of another tokenizer mean nothing to a model",
                       "put its tokenizer.json there, or set text.tokenizer to the one it was trained with");
  return std::move(loaded.weights);
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

/// Tokens of all prompts: tasks of a chat are rendered and cut into tokens once, not in every step.
void fill_prompt_tokens(Job& job) {
  for (const Split split : {Split::train, Split::validation, Split::heldout}) {
    const auto& prompts = job.prompts.of(split);
    auto& tokens = job.prompt_tokens[std::size_t(split)];
    tokens.resize(prompts.size() * (split == Split::train ? job.forms.size() : 1));
    job.workers->run(std::int64_t(tokens.size()), [&](std::int64_t i, int) {
      const text::AnswerForm& form = *job.forms[std::size_t(i) / prompts.size()];
      tokens[std::size_t(i)] = job.format->prompt_tokens(text::asked_in(form, prompts[std::size_t(i) % prompts.size()].text), form.opening);
    });
  }
}

/// What supervised steps learn from, without examples that the model has no room for: those are never cut.
void fill_examples(Job& job, const task::ExampleSet& set) {
  if (job.config.sft.steps == 0) return;
  const bool own = job.config.sft.file.empty();
  const std::size_t conversations = set.conversations.size(), prompts = job.prompts.train.size(), count = own ? prompts * job.forms.size() : set.size();
  job.examples.resize(count);
  ThoughtDropout thoughts(job.config);
  UnreadKeys unread;
  const auto make = [&](std::size_t i) {
    if (own) {
      const std::string opening = job.forms[i / prompts]->opening;
      const Prompt prompt = asked(job, job.prompts.train[i % prompts], i / prompts);
      return job.format->supervised(prompt.text, thoughts.answer(i, opening + prompt.solution).substr(opening.size()), opening);
    }
    if (i < conversations) {
      unread.look(*job.format, set.conversations[i], set.lines[i]);
      return job.format->supervised(thoughts.conversation(i, set.conversations[i]));
    }
    return job.format->supervised(set.answers[i - conversations].first, thoughts.answer(i, set.answers[i - conversations].second));
  };
  job.workers->run(std::int64_t(count), [&](std::int64_t at, int) {
    const auto i = std::size_t(at);
    try {
      job.examples[i] = make(i);
    } catch (const InputError& e) {
      if (own) throw;
      throw InputError(fmt::format("{}:{}: {}", job.config.sft.file, set.lines[i], e.what()));
    }
  });
  thoughts.check();
  unread.tell(job.config.sft.file);
  for (const auto& [key, line] : set.unused) log_warning("{}:{}: nothing is learnt from the key \"{}\" of a line", job.config.sft.file, line, key);
  const std::int64_t positions = job.models.policy.max_position_embeddings;
  const auto left_out = std::erase_if(job.examples, [&](const text::Supervised& e) { return std::int64_t(e.tokens.size()) > positions; });
  require<ConfigError>(!job.examples.empty(), fmt::format("all {} examples of the supervised steps are longer than the model's {} positions", count, positions),
                       "there is nothing to learn from", "raise model.max_position_embeddings, use shorter examples, or set sft.steps=0");
  if (left_out > 0)
    log_warning("{} of {} examples of the supervised steps are left out: they are longer than the model's {} positions", left_out, count, positions);
}

/// The data of a run: its prompts, and what else decides the tokens that it learns from.
std::string data_hash(const Job& job) {
  const std::string text = text_fingerprint(job);
  if (text.empty() && job.examples_hash.empty()) return job.prompts.hash;
  return Sha256().add(fmt::format("{} {} {}", job.prompts.hash, text, job.examples_hash)).hex();
}

/// FILE:LINE of a prompt that was read, or its beginning.
std::string named(const Job& job, const Prompt& prompt) {
  return job.config.task.name == "jsonl" ? task::place_of(job.config.task, prompt.text) : fmt::format("the prompt \"{}\"", excerpt(prompt.text));
}

/// Takes prompts out that leave no room for an answer, in whichever form they are asked.
void drop_overlong(Job& job) {
  const std::int64_t room = job.models.policy.max_position_embeddings - job.config.sampling.max_new_tokens;
  std::size_t dropped = 0;
  std::string example;
  for (auto* prompts : {&job.prompts.train, &job.prompts.validation, &job.prompts.heldout}) {
    const auto& tokens = job.prompt_tokens[std::size_t(prompts == &job.prompts.train        ? Split::train
                                                       : prompts == &job.prompts.validation ? Split::validation
                                                                                            : Split::heldout)];
    std::vector<bool> fits(prompts->size(), true);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (std::int64_t(tokens[i].size()) > room) fits[i % prompts->size()] = false;
    for (std::size_t i = 0; i < fits.size() && example.empty(); ++i)
      if (!fits[i]) example = named(job, (*prompts)[i]);
    dropped += std::size_t(std::count(fits.begin(), fits.end(), false));
    std::size_t i = 0, next = 0;
    std::erase_if(*prompts, [&](const Prompt&) { return !fits[i++]; });
    for (Prompt& prompt : *prompts) prompt.id = {next++};
  }
  if (dropped == 0) return;
  log_info("task.drop_overlong: {} prompts of more than {} tokens are left out, {} for example", dropped, room, example);
  require<ConfigError>(!job.prompts.train.empty(), "task.drop_overlong leaves no training prompt", "there is nothing to learn from",
                       "lower sampling.max_new_tokens, or use a model with more positions");
  fill_prompt_tokens(job);
}

/// Found at the start: a prompt of the last step that does not fit would end the run after hours.
void check_lengths(const Job& job) {
  const std::int64_t positions = job.models.policy.max_position_embeddings, room = positions - job.config.sampling.max_new_tokens;
  std::int64_t too_long = 0, all = 0, longest = 0;
  const Prompt* example = nullptr;
  for (const Split split : {Split::train, Split::validation, Split::heldout}) {
    const auto& prompts = job.prompts.of(split);
    const auto& tokens_of = job.prompt_tokens[std::size_t(split)];
    for (std::size_t i = 0; i < tokens_of.size(); ++i) {
      const auto tokens = std::int64_t(tokens_of[i].size());
      ++all, too_long += tokens > room ? 1 : 0;
      if (tokens > longest) longest = tokens, example = &prompts[i % prompts.size()];
    }
  }
  if (too_long == 0) return;
  throw ConfigError(error_message(
      fmt::format("{} of {} prompts are too long: {} has {} tokens, and with {} new ones exceeds the model's {} positions", too_long, all, named(job, *example),
                  longest, job.config.sampling.max_new_tokens, positions),
      "the model cannot read past its last position",
      fmt::format("raise model.max_position_embeddings to {}, lower sampling.max_new_tokens, or leave long prompts out: task.drop_overlong = true",
                  longest + job.config.sampling.max_new_tokens)));
}

/// What neither weights nor a processor of a kind is needed for. The data hash does not know what fill_texts() leaves out.
task::ExampleSet begin_job(Job& job, const RunConfig& config, const RankShape& shape) {
  job.config = config;
  if (const auto said = task::settle_answers(job.config.task, job.config.reward); !said.empty()) log_info("{}", said);
  job.run_dir = config.run.dir;
  job.layout = layout_of(config, shape.ranks);
  job.format = std::make_shared<const text::PromptFormat>(config.text, text_source(config));
  job.tokenizer = job.format->tokenizer();
  job.config.text = job.format->section(), job.config.sampling.vocab_size = job.tokenizer->vocab_size();
  if (!config.task.forms.empty()) job.forms.clear();
  for (const auto& name : config.task.forms) job.forms.push_back(&text::find_answer_form(name));
  job.prompts = task::find_task(config.task.name).make(job.config.task, std::uint64_t(config.run.seed));
  auto examples = config.sft.file.empty() || config.sft.steps == 0 ? task::ExampleSet() : task::read_examples(config.sft);
  job.examples_hash = examples.hash;
  job.models = models_of(config, *job.tokenizer);  // by the objective's columns, so LibTorch is loaded here
  job.config.train.leaf_tokens = leaf_tokens(config, job.models.policy);
  job.workers = std::make_unique<WorkerPool>(shape.threads);
  return examples;
}

void fill_texts(Job& job, const task::ExampleSet& examples) {
  fill_prompt_tokens(job);
  if (job.config.task.drop_overlong) drop_overlong(job);
  check_lengths(job);
  fill_examples(job, examples);
}

GivenTexts longest_of(const Job& job) {
  GivenTexts longest;
  longest.train = std::int64_t(job.prompts.train.size());
  count_bytes(job, longest);
  longest.validation = std::int64_t(job.prompts.validation.size()), longest.heldout = std::int64_t(job.prompts.heldout.size());
  for (const auto& split : job.prompt_tokens)
    for (const auto& prompt : split) longest.prompt = std::max(longest.prompt, std::int64_t(prompt.size()));
  if (job.config.self_judging.share > 0.0) longest.prompt = std::max(longest.prompt, longest_judge_task(job));
  for (const auto& example : job.examples) longest.example = std::max(longest.example, std::int64_t(example.tokens.size()));
  return longest;
}

}  // namespace

std::vector<float> predictions(const std::vector<Prompt>& prompts) {
  std::vector<float> all;
  for (const auto& prompt : prompts) all.push_back(prompt.prior);
  if (std::any_of(all.begin(), all.end(), [](float p) { return std::isnan(p); })) all.clear();
  return all;
}

Job make_job(const RunConfig& config, const RankShape& shape) {
  const kernels::KernelSet& kernels = run_kernels(config.run.numerics);
  Job job;
  const task::ExampleSet examples = begin_job(job, config, shape);
  const reward::Verifier& verifier = reward::chosen_verifier(job.config.reward, task::find_task(config.task.name).verifier);
  job.judge.emplace(verifier, job.config.task, job.config.reward);
  if (config.self_judging.share > 0.0) job.verdict_judge.emplace(verdict_judge(job.config.task, verifier));
  fill_texts(job, examples);  // with all that may be wrong with them, before anything large is read
  job.identity = make_identity(job.config, data_hash(job));
  std::optional<model::AlignedFloats> weights;
  if (shape.weights) {
    weights = initial_weights(config, weights_source(config), *job.tokenizer, config.text.tokenizer != "auto" || job.config.text.tokenizer == "model");
    job.identity.weights_hash = fmt::format("{:016x}", checksum64(std::as_bytes(std::span<const float>(weights->span()))));
  }
  job.store = std::make_unique<PolicyStore>(job.models.policy, std::move(weights), kernels);
  job.leaves = std::make_unique<Leaves>(*job.workers, job.store->on_device());
  return job;
}

GivenTexts longest_given(const RunConfig& config, const RankShape& shape) {
  Job job;
  fill_texts(job, begin_job(job, config, shape));
  return longest_of(job);
}

void open_policy(Job& job, comm::Communicator& node) { job.store->open(node, PolicyVersion{0}, {job.workers->threads(), job.workers->side_by_side()}); }

void reserve_steps(const Job& job) {
  if (!model::kKeepsBlocks) return;
  try {
    model::huge_blocks().reserve(job.memory.step_bytes, {job.workers->threads(), job.workers->side_by_side()});
  } catch (const std::bad_alloc&) {
    throw EnvironmentError(error_message(fmt::format("the system refuses the {} that this rank's steps take", bytes_text(job.memory.step_bytes)),
                                         "a step would end without memory", "raise the limit (ulimit -v), use fewer ranks a node, or set run.memory_limit"));
  }
}

void fit_memory(Job& job, int rank, const std::vector<std::uint64_t>& offered) {
  const GivenTexts longest = longest_of(job);
  const std::string& given = job.config.run.memory_limit;
  std::map<std::string, std::vector<int>> alike;  // ranks by what is said of them, on rank 0: what a thousand say of themselves nobody reads
  const auto fit = [&](int r) {
    // Of what is measured a part is left for what no table has: buffers of messages and files, and others on the node.
    const std::uint64_t limit = given.empty() ? offered.at(std::size_t(r)) / 20 * 19 : parse_bytes(given, "run.memory_limit");
    const auto need = memory_need(job.config, job.models, job.layout, r, longest);
    const auto use = fit_memory(need, limit, given.empty() ? fmt::format("the node of rank {} offers it", r) : "run.memory_limit is", job.workers->threads());
    if (rank == 0)
      alike[fmt::format("up to {} of {}{} ({})", bytes_text(use.bytes), bytes_text(limit),
                        need.leaf_bytes > 0
                            ? fmt::format(", {} of {} tokens at a time", use.leaves_at_once == 1 ? "a leaf" : fmt::format("{} leaves", use.leaves_at_once),
                                          job.config.train.leaf_tokens)
                            : "",
                        items_text(need))]
          .push_back(r);
    return use;
  };
  job.memory = fit(rank);
  job.leaves->fit(job.memory.leaves_at_once, job.memory.leaf_bytes);
  if (rank != 0) return;
  for (int r = 1; r < job.layout.ranks; ++r) fit(r);
  std::size_t told = 0;
  for (const auto& [use, ranks] : alike)
    if (++told <= comm::kNamedGroups) log_info("memory of {}: {}", comm::name_ranks(ranks), use);
  const std::uint64_t least = *std::min_element(offered.begin(), offered.end());
  if (!given.empty() && parse_bytes(given, "run.memory_limit") > least)
    log_warning("run.memory_limit is {}, but a node offers a rank only {}", given, bytes_text(least));
}

}  // namespace rollcall::stages
