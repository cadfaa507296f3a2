// rollcall generate: completes a prompt.
#include "app/commands.hpp"
#include "app/models/interactive_model.hpp"
#include "base/files/file.hpp"
#include "base/files/lines.hpp"
#include "run/generation/generation.hpp"

#include <iostream>
#include <memory>

namespace rollcall::app {
namespace {

struct GenerateFlags {
  std::string weights, prompt, numerics;
  std::vector<std::string> assignments;
  std::int64_t samples = 1;
  bool raw = false, exact = false;
};

ExitCode generate_text(GenerateFlags flags) {
  if (flags.raw)
    flags.assignments.insert(flags.assignments.end(),
                             {"text.template=none", "text.system=\"\"", "text.user=\"{prompt}\"",
                              "text.assistant_prefix=\"\""});
  if (!flags.numerics.empty()) flags.assignments.push_back("run.numerics=" + flags.numerics);
  const InteractiveModel speaker = open_speaker(flags.weights, {}, flags.assignments);
  if (flags.prompt == "-") {
    flags.prompt = read_all(std::cin);
    require_end_of_input();
  }
  const auto prompt = speaker.format.prompt_tokens(flags.prompt);
  if (flags.samples == 1) {
    speaker.say(prompt, 0, flags.exact);
    return ExitCode::done;
  }
  const model::DecodeRequest request{.prompt = prompt,
                                     .seed = std::uint64_t(speaker.config.run.seed),
                                     .count = std::uint32_t(flags.samples)};
  const auto& sampling = speaker.config.sampling;
  const auto decoded =
      model::decode(speaker.policy, std::span(&request, 1), sampling,
                    run::stop_rules(speaker.format, sampling.stop), decode_options(speaker.config));
  for (const auto& sequence : decoded[0])
    std::cout << as_said(speaker.format.tokenizer()->decode(sequence.tokens), flags.exact) << "\n";
  std::cout.flush();
  return ExitCode::done;
}

}  // namespace

void add_generate(Command program) {
  auto flags = std::make_shared<GenerateFlags>();
  auto command = program.command("generate", "a prompt in, text out");
  command
      .option("weights", flags->weights, "RUN, RUN@STEP, or the folder of a model or of an adapter")
      .required();
  command
      .option(
          "prompt", flags->prompt,
          "the prompt, or - to read it from standard input; formatted as the run formats its own, "
          "through the chat template if any")
      .required();
  command.option("--samples", flags->samples, "how many responses").range(1, 1 << 20);
  add_numerics(command, flags->numerics);
  add_exact(command, flags->exact);
  command.flag("--raw", flags->raw, "the prompt as it is: no chat template, no words around it");
  command
      .option("--set", flags->assignments,
              "key=value, for example sampling.temperature=0; may be repeated")
      .repeated();
  command.runs([flags] { return generate_text(*flags); });
}

}  // namespace rollcall::app
