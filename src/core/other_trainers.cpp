// The table of names: those of verl 0.6, TRL 0.24 (GRPOConfig, TrainingArguments), OpenRLHF 0.8 and
// NeMo-RL 0.4 (examples/configs). docs/reference/other_trainers.md shows all of them, and a test
// compares the two.
#include "core/other_trainers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace rollcall {
namespace {

struct Row {
  std::string_view theirs;  ///< the key in the other trainer, or its last parts
  const char* ours;
};

constexpr Row kRows[] = {
    // model and data
    {"model_name_or_path", "model.path"},
    {"model_name", "model.path"},
    {"pretrain", "model.path"},
    {"actor_rollout_ref.model.path", "model.path"},
    {"reward_pretrain", "judge.model"},
    {"reward_model.model.path", "judge.model"},
    {"ref_model", "reference.model"},
    {"train_files", "task.file"},
    {"train_file", "task.file"},
    {"train_data_path", "task.file"},
    {"val_data_path", "task.heldout_file"},
    {"dataset_name", "task.file, a file of JSON lines (scripts/to_jsonl makes one)"},
    {"dataset", "task.file, a file of JSON lines (scripts/to_jsonl makes one)"},
    {"prompt_data", "task.file"},
    {"val_files", "task.heldout_file"},
    {"test_files", "task.heldout_file"},
    {"eval_dataset", "task.heldout_file"},
    {"prompt_key", "task.fields.prompt"},
    {"input_key", "task.fields.prompt"},
    {"label_key", "task.fields.answer"},
    {"train_max_samples", "task.train_prompts"},
    {"max_samples", "task.train_prompts"},
    {"val_max_samples", "task.heldout_prompts"},
    {"max_val_samples", "task.validation_prompts"},
    {"filter_overlong_prompts", "task.drop_overlong"},
    {"max_prompt_length",
     "task.drop_overlong, which leaves out prompts without room for an answer"},
    {"prompt_max_len", "task.drop_overlong, which leaves out prompts without room for an answer"},
    {"apply_chat_template", "text.template"},
    {"chat_template_path", "text.template"},
    {"input_template", "text.user, with {prompt} for the question"},
    {"prompt_file", "text.user, with {prompt} for the question"},
    {"system_prompt", "text.system"},
    {"system_prompt_file", "text.system"},
    {"chat_template_kwargs", "[text.variables]"},
    // sampling
    {"num_generations", "train.rollouts_per_prompt"},
    {"n_samples_per_prompt", "train.rollouts_per_prompt"},
    {"rollout.n", "train.rollouts_per_prompt"},
    {"num_generations_per_prompt", "train.rollouts_per_prompt"},
    {"num_prompts_per_step", "train.prompts_per_step"},
    {"rollout.temperature", "sampling.temperature"},
    {"generation.temperature", "sampling.temperature"},
    {"rollout.top_p", "sampling.top_p"},
    {"generation.top_p", "sampling.top_p"},
    {"stop_strings", "sampling.stop"},
    {"max_completion_length", "sampling.max_new_tokens"},
    {"max_response_length", "sampling.max_new_tokens"},
    {"generate_max_len", "sampling.max_new_tokens"},
    {"max_tokens", "sampling.max_new_tokens"},
    {"response_length", "sampling.max_new_tokens"},
    {"max_new_tokens", "sampling.max_new_tokens"},
    {"generation_batch_size", "train.prompts_per_step times train.rollouts_per_prompt"},
    {"train_batch_size", "train.prompts_per_step"},
    {"rollout_batch_size", "train.prompts_per_step"},
    {"per_device_train_batch_size", "train.prompts_per_step, of all ranks together"},
    {"batch_size", "train.prompts_per_step"},
    {"gradient_accumulation_steps",
     "train.micro_batch_tokens; gradients of a whole step are always summed"},
    {"micro_train_batch_size", "train.micro_batch_tokens, in tokens"},
    {"train_micro_batch_size", "train.micro_batch_tokens, in tokens"},
    {"ppo_micro_batch_size_per_gpu", "train.micro_batch_tokens, in tokens"},
    {"ppo_max_token_len_per_gpu", "train.micro_batch_tokens"},
    {"ppo_mini_batch_size", "train.mini_batches, their number"},
    {"train_global_batch_size", "train.mini_batches, their number"},
    {"steps_per_generation", "train.mini_batches"},
    {"num_iterations", "train.epochs"},
    {"ppo_epochs", "train.epochs"},
    {"max_epochs", "train.epochs"},
    // conversations
    {"max_assistant_turns", "environment.max_turns"},
    {"max_user_turns", "environment.max_turns, which counts the policy's turns"},
    {"max_rollout_turns", "environment.max_turns"},
    {"max_turns", "environment.max_turns"},
    {"max_tool_calling_iterations", "environment.max_turns, which counts the last answer, too"},
    {"tool_config_path", "environment.tools, with environment.name = \"tools\""},
    {"interaction_config_path", "environment.command, a program that answers"},
    {"agent_func_path", "environment.command, a program that answers"},
    // optimizer
    {"learning_rate", "train.lr"},
    {"actor_learning_rate", "train.lr"},
    {"optim.lr", "train.lr"},
    {"optimizer.kwargs.lr", "train.lr"},
    {"optimizer.lr", "train.lr"},
    {"critic_learning_rate", "critic.lr"},
    {"critic.optim.lr", "critic.lr"},
    {"weight_decay", "train.weight_decay"},
    {"l2", "train.weight_decay"},
    {"adam_beta1", "train.beta1"},
    {"adam_beta2", "train.beta2"},
    {"adam_betas", "train.beta1 and train.beta2"},
    {"betas", "train.beta1 and train.beta2"},
    {"adam_epsilon", "train.eps"},
    {"optimizer.kwargs.eps", "train.eps"},
    {"max_grad_norm", "train.max_grad_norm"},
    {"grad_clip", "train.max_grad_norm"},
    {"max_norm", "train.max_grad_norm"},
    {"warmup_steps", "train.warmup_steps"},
    {"lr_warmup_steps", "train.warmup_steps"},
    {"lr_warmup_iters", "train.warmup_steps"},
    {"warmup_ratio", "train.warmup_steps, in steps"},
    {"lr_warmup_ratio", "train.warmup_steps, in steps"},
    {"lr_scheduler_type", "train.lr_schedule"},
    {"lr_scheduler", "train.lr_schedule"},
    {"warmup_style", "train.lr_schedule"},
    {"lr_decay_style", "train.lr_schedule"},
    {"min_lr_ratio", "train.min_lr_ratio"},
    {"min_lr_rate", "train.min_lr_ratio"},
    {"max_steps", "train.steps"},
    {"max_num_steps", "train.steps"},
    {"total_training_steps", "train.steps"},
    {"num_train_epochs", "train.steps, in steps"},
    {"max_num_epochs", "train.steps, in steps"},
    {"total_epochs", "train.steps, in steps"},
    {"num_episodes", "train.steps, in steps"},
    // objective
    {"adv_estimator", "objective.recipe (rollcall recipes lists them)"},
    {"advantage_estimator", "objective.recipe (rollcall recipes lists them)"},
    {"loss_type", "objective.recipe (rollcall recipes lists them)"},
    {"loss_agg_mode", "objective.pieces.aggregate"},
    {"token_level_loss", "objective.pieces.aggregate"},
    {"beta", "objective.knobs.kl_coef, with the recipe grpo_kl"},
    {"kl_coef", "objective.knobs.kl_coef, with the recipe grpo_kl"},
    {"init_kl_coef", "objective.knobs.kl_coef, with the recipe grpo_kl"},
    {"kl_loss_coef", "objective.knobs.kl_coef, with the recipe grpo_kl"},
    {"epsilon", "objective.knobs.clip_low and objective.knobs.clip_high"},
    {"reference_policy_kl_penalty", "objective.knobs.kl_coef, with the recipe grpo_kl"},
    {"ratio_clip_min", "objective.knobs.clip_low"},
    {"ratio_clip_max", "objective.knobs.clip_high"},
    {"epsilon_high", "objective.knobs.clip_high"},
    {"clip_ratio", "objective.knobs.clip_low and objective.knobs.clip_high"},
    {"clip_ratio_low", "objective.knobs.clip_low"},
    {"clip_ratio_high", "objective.knobs.clip_high"},
    {"eps_clip", "objective.knobs.clip_low and objective.knobs.clip_high"},
    {"reward_funcs", "reward.verifier, or reward.command for a program of your own"},
    {"reward_weights",
     "objective.knobs.component_weights, with objective.pieces.reward = \"components\""},
    {"custom_reward_function.path",
     "reward.command (jobs/verifiers/compute_score.py calls such a function)"},
    {"remote_rm_url", "reward.command (jobs/verifiers/http_judge.py asks a server)"},
    // run
    {"output_dir", "run.dir"},
    {"save_path", "run.dir"},
    {"ckpt_path", "run.dir"},
    {"default_local_dir", "run.dir"},
    {"checkpoint_dir", "run.dir"},
    {"metric_name", "checkpoint.keep_best"},
    {"metric_for_best_model", "checkpoint.keep_best"},
    {"save_period", "checkpoint.every"},
    {"keep_top_k", "checkpoint.keep_last"},
    {"val_period", "eval.every"},
    {"val_at_start", "eval.before"},
    {"save_steps", "checkpoint.every"},
    {"save_freq", "checkpoint.every"},
    {"save_total_limit", "checkpoint.keep_last"},
    {"early_stopping_patience", "checkpoint.patience"},
    {"max_ckpt_num", "checkpoint.keep_last"},
    {"eval_steps", "eval.every"},
    {"test_freq", "eval.every"},
    {"val_before_train", "eval.before"},
    {"data_seed", "run.seed"},
    {"seed", "run.seed"},
    {"precision", "run.numerics"},
    {"bf16", "run.numerics = \"bf16_sliced8\""},
    {"resume_mode", "the flag --resume"},
    {"resume_from_checkpoint", "the flag --resume"},
    {"load_checkpoint", "the flag --resume"},
    {"n_gpus_per_node", "rollcall submit --gpus-per-node"},
    {"gpus_per_node", "rollcall submit --gpus-per-node"},
    {"nnodes", "rollcall submit --nodes"},
    {"num_nodes", "rollcall submit --nodes"},
};

}  // namespace

std::string hint_for_key(std::string_view key) {
  std::string plain(key);
  std::transform(plain.begin(), plain.end(), plain.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : char(std::tolower(c)); });
  if (plain.starts_with("scheduler.knobs.")) return {};  // each scheduler names its own knobs
  const Row* best = nullptr;
  for (const Row& row : kRows) {
    const bool fits = plain == row.theirs || (plain.ends_with(row.theirs) &&
                                              plain[plain.size() - row.theirs.size() - 1] == '.');
    if (fits && (best == nullptr || row.theirs.size() > best->theirs.size())) best = &row;
  }
  return best == nullptr ? std::string() : fmt::format("here it is {}", best->ours);
}

}  // namespace rollcall
