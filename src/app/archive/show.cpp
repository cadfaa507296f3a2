// rollcall archive show: the groups of a prompt as people read them.
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "io/schema.hpp"
#include "io/source.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace rollcall::app::archive {
namespace {

struct Flags {
  std::string source, purpose;
  std::uint64_t prompt = 0;
  std::optional<std::uint64_t> step;
};

/// Every line of a text behind a bar, so that what the policy wrote is never mistaken for ours.
std::string barred(const std::string& text) {
  std::string lines = "      | ";
  for (const char c : text) {
    lines += c;
    if (c == '\n') lines += "      | ";
  }
  return lines + "\n";
}

struct Tokens {
  std::uint64_t count = 0;
  double logprob = 0.0, entropy = 0.0;
};

Tokens tokens_of(const Rollout& rollout) {
  Tokens t;
  for (const auto& turn : rollout.turns) {
    t.count += turn.logprob.size();
    for (const float value : turn.logprob) t.logprob += double(value);
    for (const float value : turn.entropy) t.entropy += double(value);
  }
  return t;
}

std::string text_of(const Rollout& rollout, const Score& score, const std::vector<std::string>& component_names) {
  const Tokens t = tokens_of(rollout);
  std::string parts;
  for (std::size_t k = 0; k < component_names.size(); ++k) parts += fmt::format("{}{} {:g}", k == 0 ? "" : ", ", component_names[k], score.components.at(k));
  std::string text = fmt::format("  sample {}: reward {:g} ({}), {}, {} tokens{}, log-prob {:.3f}, mean entropy {:.3f}, {}\n", rollout.sample, score.reward, parts,
                                 score.correct ? "correct" : "wrong", t.count, rollout.finish == FinishReason::length ? " (cut at the limit)" : "", t.logprob,
                                 t.count == 0 ? 0.0 : t.entropy / double(t.count), score.answer.empty() ? "no answer found" : fmt::format("extracted \"{}\"", score.answer));
  return text + barred(rollout.text);
}

std::string text_of(const io::ArchivedGroup& g, const std::vector<std::string>& component_names) {
  const auto& group = g.group;
  std::string text = fmt::format("{} step {}, prompt {}, draw {}: level {}, {} rollouts", io::text_of(g.purpose), g.step, group.id.prompt.value, group.id.draw, group.level,
                                 group.rollouts.size());
  if (group.planned > 0) text += fmt::format(" ({} planned)", group.planned);
  if (group.bin >= 0) text += fmt::format(", bin {}", group.bin);
  text += fmt::format(", temperature {:g}\n  prompt\n{}  reference\n{}", g.temperature, barred(g.prompt.text), barred(g.prompt.answer));
  for (std::size_t i = 0; i < group.rollouts.size(); ++i) text += text_of(group.rollouts[i], g.scores[i], component_names);
  return text + "\n";
}

ExitCode show(const Flags& flags) {
  io::Selection selection{.purpose = {}, .prompt = flags.prompt};
  if (flags.step) selection.first_step = selection.last_step = *flags.step;
  if (!flags.purpose.empty()) selection.purpose = io::purpose_from_text(flags.purpose);
  Output out;
  bool found = false;
  io::each_group(flags.source, selection, [&](const io::ArchivedGroup& group, const auto& component_names) {
    found = true;
    return out.write(text_of(group, component_names));
  });
  require(found, fmt::format("{} holds no rollouts of prompt {}{}", flags.source, flags.prompt, flags.step ? fmt::format(" in step {}", *flags.step) : ""),
          "it was not drawn, or its shards are not scored yet", "rollcall archive ls shows the steps there are; leave out --step for all of them");
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_show(CLI::App& command, Action& action) {
  auto flags = std::make_shared<Flags>();
  auto* verb = command.add_subcommand("show", "the groups of a prompt: prompt, completions, rewards by component, extracted answers");
  verb->add_option("run", flags->source, "RUN|FILE")->required();
  verb->add_option("--prompt", flags->prompt, "its position in its split")->required();
  verb->add_option("--step", flags->step, "only of this step");
  verb->add_option("--purpose", flags->purpose, "only these: train, validation, eval, greedy");
  verb->callback([flags, &action] { action = [flags] { return show(*flags); }; });
}

}  // namespace rollcall::app::archive
