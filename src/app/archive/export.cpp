// rollcall archive export: rollouts as JSON lines, for tools that read no HDF5.
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "io/schema.hpp"
#include "io/source.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace rollcall::app::archive {
namespace {

using nlohmann::ordered_json;

struct Flags {
  std::string source, out, purpose;
  std::optional<std::uint64_t> step, prompt;
  bool tokens = false;
};

constexpr const char* kRoles[] = {"prompt", "policy", "environment"};

ordered_json turns_of(const Rollout& rollout) {
  auto turns = ordered_json::array();
  for (const auto& turn : rollout.turns) {
    ordered_json line{{"role", kRoles[std::size_t(turn.role)]}, {"tokens", turn.tokens}};
    if (turn.role == Role::policy) line["logprob"] = turn.logprob, line["entropy"] = turn.entropy, line["policy_version"] = turn.policy_version;
    turns.push_back(std::move(line));
  }
  return turns;
}

std::string line_of(const io::ArchivedGroup& g, std::size_t i, const std::vector<std::string>& component_names, bool tokens) {
  const Rollout& rollout = g.group.rollouts[i];
  const Score& score = g.scores[i];
  ordered_json line{{"purpose", io::text_of(g.purpose)}, {"step", g.step}, {"prompt_id", g.group.id.prompt.value}, {"draw", g.group.id.draw}, {"sample", rollout.sample},
                    {"level", g.group.level}, {"bin", g.group.bin}, {"temperature", g.temperature}, {"prompt", g.prompt.text}, {"reference", g.prompt.answer},
                    {"completion", rollout.text}, {"finish", rollout.finish == FinishReason::stop ? "stop" : "length"}, {"reward", score.reward}, {"correct", score.correct},
                    {"extracted", score.answer}};
  for (std::size_t k = 0; k < component_names.size(); ++k) line["components"][component_names[k]] = score.components.at(k);
  if (tokens) line["turns"] = turns_of(rollout);
  // A byte-level tokenizer may cut a character in two; JSON text has to be UTF-8.
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ExitCode export_lines(const Flags& flags) {
  io::Selection selection{.purpose = {}, .prompt = flags.prompt};
  if (flags.step) selection.first_step = selection.last_step = *flags.step;
  if (!flags.purpose.empty()) selection.purpose = io::purpose_from_text(flags.purpose);
  Output out(flags.out);
  io::each_group(flags.source, selection, [&](const io::ArchivedGroup& group, const auto& component_names) {
    for (std::size_t i = 0; i < group.group.rollouts.size(); ++i) {
      if (!out.write(line_of(group, i, component_names, flags.tokens))) return false;
    }
    return true;
  });
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_export(CLI::App& command, Action& action) {
  auto flags = std::make_shared<Flags>();
  auto* verb = command.add_subcommand("export", "JSON lines, one rollout each, to standard output or a file");
  verb->add_option("run", flags->source, "RUN|FILE")->required();
  verb->add_option("--out", flags->out, "file to write");
  verb->add_option("--purpose", flags->purpose, "only these: train, validation, eval, greedy");
  verb->add_option("--step", flags->step, "only of this step");
  verb->add_option("--prompt", flags->prompt, "only of this prompt");
  verb->add_flag("--tokens", flags->tokens, "with token ids, log-probs, entropies and policy versions by turn");
  verb->callback([flags, &action] { action = [flags] { return export_lines(*flags); }; });
}

}  // namespace rollcall::app::archive
