// The contents of a rank's memory, item by item, and the use of the memory that it is allowed.
// `rollcall plan`, the check at the start and the run itself use the same table.
#pragma once

#include "comm/stage_layout.hpp"
#include "core/run_config.hpp"
#include "model/decode/decode.hpp"
#include "model/tensors/weights.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace rollcall::sizing {

/// The models of a run, and the requirements of its objective and its scheduler for a step.
struct RunModels {
  model::ModelConfig policy;
  std::vector<model::ModelConfig> companions;  ///< reference and teacher, on every update rank
  std::vector<model::ModelConfig> guides;      ///< at most one, on every generation rank
  std::vector<model::ModelConfig> judges;      ///< at most one, on every judge rank
  bool state_gradients = false;                ///< the objective compares the gradients of rollouts
                                               ///< (gradient_cosine)
  bool probed = false;             ///< update ranks sample from the policy as well (probes.hpp)
  bool has_reference = false;      ///< one of the companions is a reference, which checkpoints hold
  std::int64_t most_rollouts = 0;  ///< most rollouts in a step over all its rounds; 0: the step's
                                   ///< budget
  std::int64_t most_rounds = 1;    ///< most rounds in a step
  bool answers_greedily = false;   ///< a step has one extra rollout per prompt, which is not
                                   ///< trained on
  bool whole_steps = false;  ///< all update ranks hold all rollouts of a step, not only the first
                             ///< one (StepResidency)
};

/// The largest number of tokens in a forward pass of a reward model. A single sequence may have
/// more.
constexpr std::int64_t kRewardModelMicroBatchTokens = 1024;

/// The largest number of rollouts that a step draws, and the largest number that it trains on,
/// including replayed rollouts and worked solutions.
std::uint64_t drawn_rollouts(const RunConfig& config, const RunModels& models);
std::uint64_t held_rollouts(const RunConfig& config, const RunModels& models);
/// Bytes of the ids that are stored with a token if sampling.logprob is "kept". top_k limits their
/// number; the result is 0 if it does not.
std::uint64_t kept_id_bytes(const SamplingParams& sampling);

/// The stages of each rank: run.layout, plus ranks for a judge model if there is one.
comm::StageLayout layout_of(const RunConfig& config, int ranks);

/// train.micro_batch_tokens. If that is 0, the largest power of two in [64, 1024] whose backward
/// pass, recomputing everything that can be recomputed, takes at most an eighth of
/// run.memory_limit, or 1 GB without a limit. On a device the powers range from 1,024 to 16,384,
/// and the limit is 10 GB. The number decides how gradients are rounded. So it depends only on run
/// file and model, and not on ranks, threads or the memory of a node.
std::int64_t micro_batch_tokens(const RunConfig& config, const model::ModelConfig& policy);

struct MemoryItem {
  std::string what;
  std::uint64_t bytes = 0;
};

/// The memory that one rank needs.
struct MemoryNeed {
  std::vector<MemoryItem> held;         ///< items that the rank holds for the whole run
  std::uint64_t micro_batch_bytes = 0;  ///< forward and backward pass of a micro-batch on one
                                        ///< thread, with logits and blocks recomputed; 0 without an
                                        ///< update stage
  std::uint64_t micro_batch_thread_bytes = 0;  ///< bytes that each further thread adds to
                                               ///< micro_batch_bytes
  std::uint64_t kept_bytes = 0;    ///< additional memory that a micro-batch uses to recompute less,
                                   ///< if there is room
  std::uint64_t decode_bytes = 0;  ///< memory of a session without keys, values and
                                   ///< thread_bytes; 0 without a generation stage
  std::uint64_t sequence_bytes = 0;  ///< keys and values of the longest sequence and of its prompt
  std::int64_t sequences = 0;        ///< most sequences that a session holds at a time
  std::uint64_t thread_bytes = 0;    ///< memory of each thread of a session
  bool apart = false;  ///< whether each thread has its own session (model/decode/decode.hpp)
  std::uint64_t kept_logit_bytes = 0;  ///< the part of kept_bytes that micro-batches running side
                                       ///< by side can do without
};
/// Sizes of a run's prompts and examples.
struct GivenTexts {
  std::int64_t prompt = 0;        ///< tokens of the longest prompt
  std::int64_t example = 0;       ///< tokens of the longest example of the supervised steps
  std::int64_t validation = 0;    ///< number of validation prompts
  std::int64_t heldout = 0;       ///< number of held-out prompts
  std::int64_t train = 0;         ///< number of training prompts
  std::uint64_t table_bytes = 0;  ///< the table of all prompts in memory, without their texts
  std::uint64_t text_bytes = 0;   ///< text and tokens of the prompts in all their forms, and of the
                                  ///< examples
};
/// `config.train.micro_batch_tokens` must be the value that micro_batch_tokens() returns.
/// `layout.nodes` must be filled.
MemoryNeed memory_need(const RunConfig& config, const RunModels& models,
                       const comm::StageLayout& layout, int rank, const GivenTexts& longest);

/// The rank's use of the memory that it is allowed. The results of a run do not depend on it.
struct MemoryUse {
  int micro_batches_at_once = 0;  ///< one per thread if a step has many micro-batches, otherwise 1
  std::int64_t micro_batch_bytes = 0;  ///< the largest memory that a micro-batch may take
  int decoding_threads = 0;            ///< threads that decode at a time; 0 means all
  std::int64_t cache_bytes = model::kMostCacheBytes;  ///< keys and values of one call of decode()
  std::uint64_t step_bytes = 0;  ///< memory of micro-batches and sampling, reserved before the
                                 ///< first step
  std::uint64_t bytes = 0;       ///< all memory of the rank
};
constexpr std::uint64_t kNoLimit = UINT64_MAX;
/// Throws EnvironmentError, with the items, if not even one thread fits. `whose` begins the
/// statement about the limit: "run.memory_limit is".
MemoryUse fit_memory(const MemoryNeed& need, std::uint64_t limit, const std::string& whose,
                     int threads);

/// "weights 1.1 GB, sum of gradients 1.1 GB, ..."
std::string items_text(const MemoryNeed& need);
/// items_text() for the items of `held` and `more`. Items of 0 bytes are left out.
std::string items_text(std::vector<MemoryItem> held, std::initializer_list<MemoryItem> more);

}  // namespace rollcall::sizing
