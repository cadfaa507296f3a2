// What a rank holds in memory, item by item, and what follows from how much of it there may be. One
// table for `rollcall plan`, for the refusal at the start and for the run itself.
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

/// The models of a run: the policy, and those beside it; and what its objective and its scheduler
/// ask of a step.
struct RunModels {
  model::ModelConfig policy;
  std::vector<model::ModelConfig> companions;  ///< a reference and a teacher, on every update rank
  std::vector<model::ModelConfig> guides;      ///< at most one, on every generation rank
  std::vector<model::ModelConfig> judges;      ///< at most one, on every judge rank
  bool state_gradients = false;    ///< the objective compares rollouts by what they would change
                                   ///< (gradient_cosine)
  bool probed = false;             ///< update ranks sample from the policy, too (probes.hpp)
  bool has_reference = false;      ///< one of the companions, which checkpoints hold
  std::int64_t most_rollouts = 0;  ///< that a step draws over all its rounds; 0: its budget
  std::int64_t most_rounds = 1;    ///< of a step
  bool answers_greedily = false;   ///< a step has one more rollout of each prompt, which nothing
                                   ///< trains on
  bool whole_steps = false;  ///< all update ranks hold the rollouts of a step, not the first of
                             ///< them alone (StepResidency)
};

/// Tokens of a forward pass of a reward model that judges, unless one sequence has more.
constexpr std::int64_t kRewardModelLeafTokens = 1024;

/// Rollouts that a step draws at most, and those that it trains on: with replayed ones and worked
/// solutions.
std::uint64_t drawn_rollouts(const RunConfig& config, const RunModels& models);
std::uint64_t held_rollouts(const RunConfig& config, const RunModels& models);
/// Bytes of the ids that stand with a token where sampling.logprob is "kept", of which top_k bounds
/// the number; 0 where nothing does.
std::uint64_t kept_id_bytes(const SamplingParams& sampling);

/// Which rank hosts what: run.layout, with the stage of a model that judges where there is one.
comm::StageLayout layout_of(const RunConfig& config, int ranks);

/// train.micro_batch_tokens, or where that is 0 the largest power of two in [64, 1024] whose
/// backward pass, with all computed again that can be, takes no more than an eighth of
/// run.memory_limit (without a limit: 1 GB). In numerics of a device the powers go from 1,024 to
/// 16,384 and the limit is 10 GB.
/// It decides how gradients round, so it follows from run file and model alone: not from ranks,
/// threads, or what a node has.
std::int64_t micro_batch_tokens(const RunConfig& config, const model::ModelConfig& policy);

struct MemoryItem {
  std::string what;
  std::uint64_t bytes = 0;
};

/// What one rank needs.
struct MemoryNeed {
  std::vector<MemoryItem> held;         ///< from beginning to end
  std::uint64_t micro_batch_bytes = 0;  ///< a micro-batch's forward and backward pass on one
                                        ///< thread, logits and blocks computed again; 0: no update
                                        ///< stage
  std::uint64_t micro_batch_thread_bytes = 0;  ///< what each further thread holds meanwhile
  std::uint64_t kept_bytes = 0;                ///< what sparing the second computation takes
  std::uint64_t decode_bytes = 0;  ///< a session's scratch while it samples; 0: no generation stage
  std::uint64_t sequence_bytes = 0;  ///< keys and values of the longest sequence and its prompt
  std::int64_t sequences = 0;        ///< most that a session holds at a time
  std::uint64_t thread_bytes = 0;    ///< what each thread of a session holds besides
  bool apart = false;  ///< each thread has a session of its own (model/decode/decode.hpp)
  std::uint64_t kept_logit_bytes = 0;  ///< of kept_bytes, what micro-batches side by side do
                                       ///< without
};
/// What a run's prompts and examples come to.
struct GivenTexts {
  std::int64_t prompt = 0;        ///< tokens of the longest
  std::int64_t example = 0;       ///< tokens of the longest of the supervised steps
  std::int64_t validation = 0;    ///< prompts
  std::int64_t heldout = 0;       ///< prompts
  std::int64_t train = 0;         ///< prompts
  std::uint64_t table_bytes = 0;  ///< of all prompts as they lie in memory, without what their
                                  ///< texts take
  std::uint64_t text_bytes = 0;   ///< of their texts and tokens in all forms, and of examples
};
/// `config.train.micro_batch_tokens` as micro_batch_tokens() gave it. `layout`: with its nodes.
MemoryNeed memory_need(const RunConfig& config, const RunModels& models,
                       const comm::StageLayout& layout, int rank, const GivenTexts& longest);

/// What the rank does with the memory it may use. Bits do not depend on it.
struct MemoryUse {
  int micro_batches_at_once = 0;       ///< one a thread where there are many micro-batches, or 1
  std::int64_t micro_batch_bytes = 0;  ///< that a micro-batch may take
  int decoding_threads = 0;            ///< that work at a time; 0: all
  std::int64_t cache_bytes = model::kMostCacheBytes;  ///< of one call of decode()
  std::uint64_t step_bytes = 0;  ///< leaves and sampling, taken before the first step
  std::uint64_t bytes = 0;       ///< in all
};
constexpr std::uint64_t kNoLimit = UINT64_MAX;
/// Throws EnvironmentError with the items when even one thread does not fit. `whose` begins what
/// the message says of the limit: "run.memory_limit is".
MemoryUse fit_memory(const MemoryNeed& need, std::uint64_t limit, const std::string& whose,
                     int threads);

/// "weights 1.1 GB, sum of gradients 1.1 GB, ..."
std::string items_text(const MemoryNeed& need);
/// The same of any list and what comes behind it; what takes nothing is left out.
std::string items_text(std::vector<MemoryItem> held, std::initializer_list<MemoryItem> more);

}  // namespace rollcall::sizing
