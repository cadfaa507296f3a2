// A reward model: the blocks of a language model, with one linear score instead of the head over
// the vocabulary.
#pragma once

#include "model/engine/policy.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace rollcall::model {

/// The model that transformers calls LlamaForSequenceClassification with one label, and its
/// equivalent for each architecture:
///   score = w . h_t,  h_t [hidden_size] after the final norm at the last token that is not
///   config.json's pad_token_id (at the last token if it has no such key).
/// Source: transformers 5.23, modeling_layers.py, GenericForSequenceClassification.
struct RewardModel {
  PolicyModel policy;        ///< its head over the vocabulary is not used
  std::vector<float> score;  ///< w [hidden_size]
};

/// Whether config.json, of an adapter that of its base, names a sequence classifier of any
/// architecture. Throws InputError if the file cannot be read.
bool is_sequence_classifier(const std::filesystem::path& folder);

/// The config of the language model that a reward model consists of. Throws InputError if
/// config.json names no sequence classifier of an architecture that the engine runs, and for an
/// adapter.
ModelConfig read_reward_config(const std::filesystem::path& folder);

/// Reads and packs a reward model. Throws InputError as read_policy() does, and if score.weight
/// is not [1, hidden_size].
RewardModel read_reward_model(const std::filesystem::path& folder,
                              const kernels::KernelSet* kernels = nullptr,
                              const Threads& threads = {});

/// One score per sequence, [S]. Scores are unbounded, and higher is better. Micro-batches hold at
/// most `micro_batch_tokens` tokens, but at least one sequence. A score depends on its sequence
/// only. Sequences must not be empty, and must be shorter than max_position_embeddings.
std::vector<double> scores(const RewardModel& model, MicroBatchRunner& runner,
                           std::span<const std::vector<std::int32_t>> sequences,
                           std::int64_t micro_batch_tokens);

}  // namespace rollcall::model
