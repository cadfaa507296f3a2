// Assembly of a job from its run file.
#include "stages/job.hpp"

#include "base/error.hpp"
#include "base/hash.hpp"
#include "kernels/kernel_set.hpp"
#include "model/model_folder.hpp"
#include "stages/run_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <span>
#include <stdexcept>

namespace rollcall::stages {

PolicyStore::PolicyStore(model::ModelConfig config, std::vector<float> weights, PolicyVersion version)
    : config_(std::move(config)), layout_(model::weight_layout(config_)), weights_(std::move(weights)) {
  expect(std::int64_t(weights_.size()) == layout_.size, "the buffer has the layout's size");
  publish(version);
}

void PolicyStore::publish(PolicyVersion version) { policy_ = std::make_unique<model::Policy>(config_, weights_, version); }
std::string PolicyStore::sha256() const { return model::weights_sha256(layout_, weights_); }

std::vector<std::int32_t> prompt_tokens(const text::Tokenizer& tokenizer, const Prompt& prompt) { return tokenizer.encode_sequence(prompt.text); }

Split split_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::train:
    case Purpose::greedy: return Split::train;
    case Purpose::validation: return Split::validation;
    case Purpose::eval: return Split::heldout;
  }
  throw ProtocolError("a message names a purpose that does not exist");
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

std::unique_ptr<PolicyStore> initial_policy(const RunConfig& c, const text::Tokenizer& tokenizer) {
  const std::filesystem::path source = c.run.init_from.empty() ? std::filesystem::path(c.model.path) : checkpoint_folder(c.run.init_from);
  if (source.empty()) {
    const auto config = model::model_config(c.model, tokenizer.vocab_size(), tokenizer.eos());
    return std::make_unique<PolicyStore>(config, model::initial_weights(config, std::uint64_t(c.run.seed)), PolicyVersion{0});
  }
  auto loaded = model::read_model_folder(source);
  const auto& config = loaded.config;
  require(config.vocab_size >= tokenizer.vocab_size(),
          fmt::format("the model in {} has {} tokens, the tokenizer \"{}\" {}", source.string(), config.vocab_size, tokenizer.name(), tokenizer.vocab_size()),
          "some tokens would have no embedding", "choose the tokenizer that the model was trained with");
  return std::make_unique<PolicyStore>(config, std::move(loaded.weights), PolicyVersion{0});
}

io::RunIdentity make_identity(const RunConfig& config, const std::string& data_hash, const std::string& version) {
  io::RunIdentity identity;
  RunConfig copy = config;
  identity.config_sha256 = Sha256().add(bind(copy).to_toml()).hex();
  identity.run_id = identity.config_sha256.substr(0, 12);
  identity.data_hash = data_hash;
  identity.binary_version = version;
  identity.seed = std::uint64_t(config.run.seed);
  if (const char* id = std::getenv("SLURM_JOB_ID")) identity.slurm_job_id = id;
  return identity;
}

std::string excerpt(const std::string& text) {
  constexpr std::size_t kShown = 40;
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= kShown ? line : line.substr(0, kShown) + "...";
}

/// The kernels name no error type of ours (they depend on nothing); a wrong ROLLCALL_KERNELS is the user's to correct.
void check_kernels() {
  try {
    kernels::selected_kernels();
  } catch (const std::runtime_error& e) {
    throw EnvironmentError(e.what());
  }
}

/// Found at the start: a prompt of the last step that does not fit would end the run after hours.
void check_lengths(const Job& job) {
  const std::int64_t positions = job.store->config().max_position_embeddings, room = positions - job.config.sampling.max_new_tokens;
  for (const Split split : {Split::train, Split::validation, Split::heldout}) {
    for (const Prompt& prompt : job.prompts.of(split)) {
      const auto tokens = std::int64_t(prompt_tokens(*job.tokenizer, prompt).size());
      require<ConfigError>(tokens <= room,
                           fmt::format("the prompt \"{}\" has {} tokens, and with {} new ones exceeds the model's {} positions", excerpt(prompt.text), tokens,
                                       job.config.sampling.max_new_tokens, positions),
                           "the model has no position beyond them", "raise model.max_position_embeddings or lower sampling.max_new_tokens");
    }
  }
}

}  // namespace

Job make_job(const RunConfig& config, int ranks, int threads, const std::string& binary_version) {
  check_kernels();
  Job job;
  job.config = config;
  job.run_dir = config.run.dir;
  job.version = binary_version;
  job.layout = comm::make_layout(config.run.layout, ranks);
  job.tokenizer = text::make_tokenizer(config.text.tokenizer);
  const auto& row = task::find_task(config.task.name);
  job.prompts = row.make(config.task, std::uint64_t(config.run.seed));
  job.verifier = &reward::find_verifier(row.verifier);
  job.identity = make_identity(config, job.prompts.hash, binary_version);
  job.workers = std::make_unique<WorkerPool>(threads);
  job.store = initial_policy(config, *job.tokenizer);
  job.identity.weights_hash = fmt::format("{:016x}", checksum64(std::as_bytes(std::span<const float>(job.store->weights()))));
  check_lengths(job);
  return job;
}

}  // namespace rollcall::stages
