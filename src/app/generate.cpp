// rollcall generate: a prompt in, text out.
#include "app/commands.hpp"
#include "base/file.hpp"
#include "model/model_folder.hpp"
#include "stages/generation.hpp"
#include "stages/job.hpp"
#include "stages/run_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>

namespace rollcall::app {
namespace {

struct GenerateFlags {
  std::string weights, prompt;
  std::vector<std::string> assignments;
  std::int64_t samples = 1;
};

RunConfig settings(const GenerateFlags& flags) {
  const auto config = stages::run_of(flags.weights) / "config.toml";
  return load_run_config(std::filesystem::exists(config) ? config : std::filesystem::path(), flags.assignments);
}

ExitCode generate_text(const GenerateFlags& flags) {
  const RunConfig config = settings(flags);
  const auto [model_config, weights] = model::read_model_folder(stages::checkpoint_folder(flags.weights));
  const auto tokenizer = text::make_tokenizer(config.text.tokenizer);
  require(model_config.vocab_size >= tokenizer->vocab_size(),
          fmt::format("the model has {} tokens, the tokenizer \"{}\" {}", model_config.vocab_size, tokenizer->name(), tokenizer->vocab_size()),
          "its output could not be read", "set text.tokenizer to the one the model was trained with");
  std::string prompt = flags.prompt;
  if (prompt == "-") {
    prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
    require_end_of_input();
  }
  Prompt asked;
  asked.text = prompt;
  const model::Policy policy(model_config, weights, PolicyVersion{0});
  const model::DecodeRequest request{stages::prompt_tokens(*tokenizer, asked), std::uint64_t(config.run.seed), 0, 0, 0, std::uint32_t(flags.samples)};
  const auto decoded = model::decode(policy, std::span(&request, 1), config.sampling, stages::stop_rule(*tokenizer, config.sampling.stop));
  for (const auto& sequence : decoded[0]) std::cout << tokenizer->decode(sequence.tokens) << "\n";
  std::cout.flush();
  return ExitCode::done;
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  auto flags = std::make_shared<GenerateFlags>();
  auto* command = app.add_subcommand("generate", "a prompt in, text out");
  command->add_option("weights", flags->weights, "RUN, RUN@STEP or a folder with config.json and model.safetensors")->required();
  command->add_option("prompt", flags->prompt, "the prompt, or - to read it from standard input")->required();
  command->add_option("--samples", flags->samples, "how many responses")->check(CLI::Range(1, 1 << 20));
  command->add_option("--set", flags->assignments, "key=value, for example sampling.temperature=0; may be repeated")->allow_extra_args(false)->take_all();
  command->callback([flags, &action] { action = [flags] { return generate_text(*flags); }; });
}

}  // namespace rollcall::app
