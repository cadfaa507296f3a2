// Names of the archive's codes, and turns as lines.
#include "app/archive/conversation_text.hpp"

#include "base/errors/visible.hpp"
#include "base/numbers/hash.hpp"
#include "io/schema.hpp"

#include <fmt/format.h>

#include <vector>

namespace rollcall::app::archive {
namespace {

using nlohmann::ordered_json;

constexpr const char* kRoles[] = {"prompt", "policy", "environment"};

std::string name_of(DerivedKind kind) {
  return std::string(io::code_name(io::kKindNames, std::int64_t(kind)));
}

std::string name_of(Placement placement) {
  return std::string(io::code_name(io::kPlacementNames, std::int64_t(placement)));
}

std::vector<std::string> names_of_flags(std::int64_t flags) {
  std::vector<std::string> names;
  for (std::int64_t bit = 0; !io::code_name(io::kTurnFlagNames, bit).empty(); ++bit)
    if (((flags >> bit) & 1) != 0) names.emplace_back(io::code_name(io::kTurnFlagNames, bit));
  return names;
}

std::string text_of(const TurnFacts& facts) {
  std::string text = facts.reward == 0.0 ? "" : fmt::format(", reward {:g}", facts.reward);
  if (!facts.components.empty()) text += fmt::format(" ({:g})", fmt::join(facts.components, ", "));
  for (const std::string& flag : names_of_flags(facts.flags)) text += ", " + flag;
  if (facts.kind != 0) text += fmt::format(", kind {}", facts.kind);
  if (facts.seat != 0) text += fmt::format(", seat {}", facts.seat);
  if (facts.state != 0) text += ", state " + hex64(facts.state);
  if (!facts.reason.empty()) text += visible_format(" because {}", facts.reason);
  return text;
}

ordered_json sample_of(const Derivation& from) {
  return from.parent_sample == Derivation::kWholeGroup ? ordered_json()
                                                       : ordered_json(from.parent_sample);
}

}  // namespace

std::string name_of(FinishReason finish) {
  return std::string(io::code_name(io::kFinishNames, std::int64_t(finish)));
}

std::string origin_text(const Group& group) {
  const Derivation& from = group.from;
  std::string text;
  if (!is_plain(from)) {
    text = fmt::format("  {} of step {}, prompt {}, draw {}", name_of(from.kind), from.parent.step,
                       from.parent.prompt.value, from.parent.draw);
    if (from.parent_sample != Derivation::kWholeGroup)
      text += fmt::format(", sample {}", from.parent_sample);
    if (from.tier != 0) text += fmt::format(", tier {}", from.tier);
    text += ": " + name_of(from.placement) + "\n";
  }
  if (!group.start.empty()) text += visible_format("  begins in state  {}\n", group.start);
  return text;
}

std::string turns_text(const Rollout& rollout,
                       const std::vector<std::optional<std::string>>& texts) {
  if (rollout.facts.empty()) return {};
  constexpr const char* kBar = "      | ";
  std::string text;
  for (std::size_t t = 0; t < rollout.turns.size(); ++t) {
    const Turn& turn = rollout.turns[t];
    text += fmt::format("    turn {} {}, {} tokens{}\n", t, kRoles[std::size_t(turn.role)],
                        turn.tokens.size(), text_of(rollout.facts.at(t)));
    if (texts.at(t)) text += kBar + visible_lines(*texts[t], kBar) + "\n";
  }
  return text;
}

void add_origin(ordered_json& line, const Group& group, const Rollout& rollout) {
  const Derivation& from = group.from;
  if (!is_plain(from))
    line["from"] = {{"kind", name_of(from.kind)},
                    {"step", from.parent.step},
                    {"prompt_id", from.parent.prompt.value},
                    {"draw", from.parent.draw},
                    {"sample", sample_of(from)},
                    {"tier", from.tier},
                    {"placement", name_of(from.placement)}};
  if (!group.start.empty()) line["start"] = group.start;
  if (rollout.opening != 0) line["opening"] = rollout.opening;
  if (rollout.parent >= 0)
    line["fork"] = {{"sample", rollout.parent}, {"tokens", rollout.fork_token}};
}

void add_facts(ordered_json& turn, const TurnFacts& facts) {
  turn["reward"] = facts.reward;
  if (!facts.components.empty()) turn["components"] = facts.components;
  turn["state"] = hex64(facts.state), turn["action"] = hex64(facts.action);
  turn["flags"] = names_of_flags(facts.flags);
  turn["kind"] = facts.kind, turn["seat"] = facts.seat;
  if (!facts.reason.empty()) turn["reason"] = facts.reason;
}

}  // namespace rollcall::app::archive
