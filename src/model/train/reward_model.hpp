// A reward model: the blocks of a language model with one linear score in place of the head over
// the vocabulary.
#pragma once

#include "model/engine/policy.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace rollcall::model {

/// What transformers calls LlamaForSequenceClassification, and so on for every row of the
/// architectures, with one label:
///   score = w . h_t,  h_t [hidden_size] after the final norm at the last token that is not
///   config.json's pad_token_id (at the last where it names none).
/// Source: transformers 5.23, modeling_layers.py, GenericForSequenceClassification.
struct RewardModel {
  PolicyModel policy;        ///< the blocks; its head over the vocabulary is not asked
  std::vector<float> score;  ///< w [hidden_size]
};

/// Whether config.json names a sequence classifier, of any architecture. Throws InputError where it
/// cannot be read.
bool is_sequence_classifier(const std::filesystem::path& folder);

/// config.json of a reward model as that of the language model under it. Throws InputError: it
/// names no sequence classifier, or one of another architecture.
ModelConfig read_reward_config(const std::filesystem::path& folder);

/// Packed from the files as they stand. Throws InputError as read_policy() does, and where
/// score.weight is not [1, hidden_size].
RewardModel read_reward_model(const std::filesystem::path& folder,
                              const kernels::KernelSet* kernels = nullptr,
                              const Threads& threads = {});

/// One score a sequence [S]: unbounded numbers, higher is better. Micro-batches hold up to
/// `micro_batch_tokens` tokens and at least one sequence; a score depends on its sequence alone.
/// Sequences are not empty and shorter than max_position_embeddings.
std::vector<double> scores(const RewardModel& model, MicroBatchRunner& runner,
                           std::span<const std::vector<std::int32_t>> sequences,
                           std::int64_t micro_batch_tokens);

}  // namespace rollcall::model
