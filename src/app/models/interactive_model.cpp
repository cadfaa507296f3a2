// Opens the model of a run or a folder for chat and generate, and samples answers that appear while
// they are made.
#include "app/models/interactive_model.hpp"

#include "base/errors/error.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "core/run_record.hpp"
#include "environment/chosen.hpp"
#include "model/tensors/model_folder.hpp"
#include "run/context/numerics.hpp"
#include "run/folder/run_folder.hpp"
#include "run/generation/generation.hpp"
#include "text/tokenizer/text_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

namespace rollcall::app {

InteractiveModel open_speaker(const std::string& reference,
                              const std::vector<std::string>& defaults,
                              const std::vector<std::string>& assignments) {
  const LongPhase phase("reading the model of " + reference);
  const auto run_file = run::run_of(reference) / "config.toml";
  const bool is_run = holds_record(run_file.parent_path());
  std::vector<std::string> settings =
      is_run ? run::kept_settings(run::run_of(reference)) : defaults;
  if (!is_run) settings.push_back("run.numerics=" + run::numerics_of(reference));
  settings.insert(settings.end(), assignments.begin(), assignments.end());
  RunConfig config = load_run_config(is_run ? run_file : std::filesystem::path(), settings);
  const auto folder = run::checkpoint_folder(reference);
  text::PromptFormat format(config.text, run::text_folder(reference),
                            environment::tool_schemas(config));
  config.sampling.vocab_size = format.tokenizer()->vocab_size();
  const model::ModelConfig model_config = model::read_folder_config(folder);
  require(model_config.vocab_size >= format.tokenizer()->vocab_size(),
          fmt::format("the model has {} tokens, the tokenizer \"{}\" {}", model_config.vocab_size,
                      format.tokenizer()->name(), format.tokenizer()->vocab_size()),
          "its output could not be decoded",
          "set text.tokenizer to the one the model was trained with");
  const bool fell_back = config.text.tokenizer == "auto" && format.section().tokenizer != "model";
  require<ConfigError>(
      !fell_back || model_config.vocab_size == format.tokenizer()->vocab_size(),
      fmt::format(
          "{} has no tokenizer.json, and its model's {} tokens are not those of the built-in "
          "tokenizer \"{}\"",
          reference, model_config.vocab_size, format.tokenizer()->name()),
      "ids of another tokenizer mean nothing to a model",
      "put its tokenizer.json there, or set text.tokenizer to the one it was trained with");
  if (const auto missing = format.answer_ends().missing_end(config.sampling.stop); !missing.empty())
    std::cerr << missing << "\n";
  const model::DecodeOptions all = decode_options(config);
  return {
      config, std::move(format),
      model::read_policy(folder, &run::find_kernels(config.run.numerics), {.count = all.threads})};
}

void add_numerics(Command command, std::string& numerics) {
  command
      .option(
          "--numerics", numerics,
          "fp32_fixed_order, bf16_sliced8 or cuda_bf16_sliced8; default: run.numerics of the run, "
          "of a folder bf16_sliced8 where config.json's dtype is bfloat16")
      .one_of({kernels::kFp32FixedOrder, kernels::kBf16Sliced8, kernels::kCudaBf16Sliced8});
}

model::DecodeOptions decode_options(const RunConfig& config) {
  return {.threads = config.run.threads > 0
                         ? int(config.run.threads)
                         : int(std::max(1U, std::thread::hardware_concurrency()))};
}

std::string as_said(std::string text, bool exact) { return exact ? text : visible_lines(text); }

void add_exact(Command command, bool& exact) {
  command.flag(
      "--exact", exact,
      "the answer byte for byte; without it control characters are shown as escapes (\\u001B), on "
      "a terminal and in a pipe");
}

std::string InteractiveModel::say(const std::vector<std::int32_t>& prompt, std::uint64_t turn,
                                  bool exact) const {
  SamplingParams sampling = config.sampling;
  const std::int64_t room = policy.config().max_position_embeddings - std::int64_t(prompt.size());
  require(room > 0,
          fmt::format("{} tokens leave no room for an answer in the model's {} positions",
                      prompt.size(), policy.config().max_position_embeddings),
          "the model cannot read past its last position", "shorten the prompt, or start over");
  sampling.max_new_tokens = std::min(sampling.max_new_tokens, room);
  const auto rules = run::stop_rules(format, sampling.stop);
  text::TextStream stream(*format.tokenizer(), text::Tokenizer::Special::spelt);
  const auto shown = [&]() -> model::StopRule {
    return [&, ends = rules()](std::span<const std::int32_t> tokens) {
      std::cout << as_said(stream.more(format.answer_ends().spoken(tokens)), exact) << std::flush;
      return ends(tokens);
    };
  };
  const model::DecodeRequest request{
      .prompt = prompt, .seed = std::uint64_t(config.run.seed), .step = turn};
  const auto decoded =
      model::decode(policy, std::span(&request, 1), sampling, shown, decode_options(config));
  const std::vector<std::int32_t>& tokens = decoded[0][0].tokens;
  std::cout << as_said(stream.rest(format.answer_ends().spoken(tokens)), exact) << "\n"
            << std::flush;
  return format.answer_text(tokens);
}

}  // namespace rollcall::app
