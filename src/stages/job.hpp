// What every stage of a rank shares: the run file, the prompts, the tokenizer, the layout and the policy of the moment.
#pragma once

#include "comm/carrier.hpp"
#include "comm/stage_layout.hpp"
#include "comm/weight_transfer.hpp"
#include "core/run_config.hpp"
#include "io/shard_file.hpp"
#include "model/optimizer.hpp"
#include "model/policy.hpp"
#include "reward/verifier.hpp"
#include "stages/grader_files.hpp"
#include "stages/leaves.hpp"
#include "stages/memory.hpp"
#include "stages/numerics.hpp"
#include "stages/step_cut.hpp"
#include "stages/worker_pool.hpp"
#include "task/task.hpp"
#include "text/answer_form.hpp"
#include "text/prompt_format.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::stages {

class LockFile;

/// Weights of the moment and the packed policy made of them, for the kernels of the run: once a node. AdamW writes what generation reads, so nothing may run
/// the policy while it works.
class PolicyStore {
 public:
  /// `weights`: the first ones, on the rank that open() takes them from.
  PolicyStore(model::ModelConfig config, std::optional<model::AlignedFloats> weights, const kernels::KernelSet& kernels);
  /// From then on the store is usable: weights and their packed copy, of which the ranks of `node` share one; its rank 0 brings the weights. Collective.
  void open(comm::Communicator& node, PolicyVersion version, model::Threads threads);
  const model::ModelConfig& config() const { return config_; }
  const model::WeightLayout& layout() const { return layout_; }
  std::span<float> weights() { return weights_->span(); }  ///< for what is written into them
  std::span<const float> weights() const { return shared_weights()->span(); }
  std::shared_ptr<const model::AlignedFloats> shared_weights() const;
  /// Whether passes read the weights on a device, where an optimizer may have newer ones than the host.
  bool on_device() const { return kernels_->numerics == std::string_view(kernels::kCudaBf16Sliced8); }
  const kernels::KernelSet& kernels() const { return *kernels_; }
  PolicyVersion version() const { return policy_->version(); }
  const model::Policy& policy() const { return *policy_; }
  /// What AdamW writes of [begin, end) of the weights is packed at once.
  struct Stretch {
    std::int64_t begin = 0, end = 0;
  };
  model::AdamWParts parts();
  /// The weights as they are now under this version, for all ranks of the node: those of `node`, who wrote them, pack what is not packed, which is all but the
  /// parts inside `packed`. Returns the seconds since all had written. Collective over `node`.
  double publish(PolicyVersion version, comm::Communicator& node, std::span<const Stretch> packed = {});
  void take(PolicyVersion version);  ///< what others of the node have published
  /// This version is on the device. The host's weights stay what they were, and may not be read, until fetched().
  void publish_on_device(PolicyVersion version);
  bool is_fetched() const { return fetched_ == version(); }
  void fetched() { fetched_ = version(); }  ///< the host's weights are those of the version
  std::string sha256() const;

 private:
  model::ModelConfig config_;
  model::WeightLayout layout_;
  const kernels::KernelSet* kernels_;
  std::optional<model::AlignedFloats> first_;      ///< until open()
  std::shared_ptr<model::AlignedFloats> weights_;  ///< shared with the policy, which reads them where they are
  std::unique_ptr<model::Policy> policy_;
  PolicyVersion fetched_{};  ///< of the host's weights
  model::Threads threads_;
};

/// Built alike on every rank from the run file; immutable but for `store`.
struct Job {
  RunConfig config;
  std::filesystem::path run_dir;
  comm::StageLayout layout;
  std::shared_ptr<const text::PromptFormat> format;
  std::shared_ptr<const text::Tokenizer> tokenizer;  ///< the format's
  task::PromptSet prompts;
  std::vector<const text::AnswerForm*> forms{&text::find_answer_form("plain")};  ///< of task.forms; plain where it names none
  std::array<std::vector<std::vector<std::int32_t>>, 3> prompt_tokens;  ///< [split][form, prompt id] as the policy sees it; all forms of training prompts
  std::vector<text::Supervised> examples;                               ///< what supervised steps draw from; only where there are such steps
  std::string examples_hash;                                            ///< of sft.file; empty where nothing is learnt from one
  std::optional<reward::Judge> judge;
  std::optional<reward::Judge> verdict_judge;  ///< of the policy's verdicts on its own answers; only where it is asked for them
  std::string judge_digest;                    ///< of the model that judges beside it (JudgeIdentity), on rank 0; empty where none does
  std::vector<NumericsRecord> numerics;        ///< of the run so far and from here on, on rank 0
  std::vector<GraderFile> graders;             ///< of reward.command, on rank 0: hashed once a start
  std::shared_ptr<const LockFile> lock;        ///< of the run folder, on rank 0
  io::RunIdentity identity;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<Leaves> leaves;                              ///< on these workers
  std::shared_ptr<StepCut> cut = std::make_shared<StepCut>();  ///< of the work at hand
  std::unique_ptr<PolicyStore> store;
  std::shared_ptr<comm::Carrier> carrier;  ///< of sums and weights between ranks
  RunModels models;
  bool sends_rollouts = false;  ///< scoring sends them along (heard_rewards.hpp)
  MemoryUse memory;             ///< of this rank, once fit_memory(job, ...) has set it
};

/// Tokens of one of the job's prompts as the policy sees it in a form (stages/question_forms.hpp says in which).
const std::vector<std::int32_t>& prompt_tokens(const Job& job, const Prompt& prompt, std::size_t form);
/// Digest of the held-out prompts in their order: evaluations of two starts are compared prompt by prompt.
std::string heldout_digest(const Job& job);
/// Digest of what makes tokens of the task's texts: format and forms. Empty where they are the texts themselves in a built-in tokenizer.
std::string text_fingerprint(const Job& job);
Split split_of(Purpose purpose);
const char* purpose_name(Purpose purpose);
/// The update sees these: greedy answers are baselines.
inline bool is_trained_on(Purpose purpose) { return purpose == Purpose::train || purpose == Purpose::greedy; }

std::string excerpt(const std::string& text);  ///< the beginning of its first line, for messages

/// Prompt::prior of all of them; empty when one has none.
std::vector<float> predictions(const std::vector<Prompt>& prompts);

struct RankShape {
  int ranks = 1, threads = 1;
  bool weights = true;  ///< the rank that reads them for its node
};

/// Prompts, tokenizer, layout, identity and initial weights: from model.path, run.init_from, or the initializer. The job's settings are those given with
/// what text.tokenizer, text.template and train.leaf_tokens came to; its identity names no binary yet. Throws ConfigError, InputError, EnvironmentError.
Job make_job(const RunConfig& config, const RankShape& shape);
/// The longest of what the run's task and examples come to, read and cut into tokens as make_job() does it, with its errors.
GivenTexts longest_given(const RunConfig& config, const RankShape& shape);
/// The policy, once a node: what make_job() leaves open. Collective.
void open_policy(Job& job, comm::Communicator& node);

/// Takes now what leaves and sampling take and give back, MemoryUse::step_bytes: what a node has not got ends a job in its first seconds, not in its tenth hour,
/// and what `plan` says is taken however long the answers are. Throws EnvironmentError.
void reserve_steps(const Job& job);

/// Shares this rank's memory out: run.memory_limit, or what its node offers (`offered`: [ranks]). Throws EnvironmentError where the run does not fit; rank 0,
/// which asks before anything is written, where it does not fit any rank.
void fit_memory(Job& job, int rank, const std::vector<std::uint64_t>& offered);

}  // namespace rollcall::stages
