// Checks of the sections for conversations, help, second passes and openings, which need nothing
// but the settings.
#include "core/conversation_checks.hpp"

#include "core/second_pass_bounds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {
namespace {

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Requires that a string has each of these places, such as {prompt}. Reports all that are missing.
void need_places(const char* key, const std::string& text, std::vector<std::string> places,
                 const char* why, Faults& faults) {
  std::erase_if(places, [&](const std::string& place) { return holds(text, place); });
  faults.need({key}, places.empty(),
              fmt::format("{} is \"{}\", without {}", key, text, fmt::join(places, " and ")), why,
              fmt::format("put {} where it belongs", fmt::join(places, " and ")));
}

void check_tools(const EnvironmentSection& e, Faults& faults) {
  if (e.name != "tools") return;
  faults.need({"environment.tools", "environment.name"}, !e.tools.empty(),
              "environment.name is tools, and environment.tools is empty",
              "there would be nothing to call",
              "name some, for example environment.tools = [\"calculator\"]");
  const std::set<std::string> once(e.tools.begin(), e.tools.end());
  faults.need({"environment.tools"}, once.size() == e.tools.size(),
              fmt::format("environment.tools has a name twice: {}", fmt::join(e.tools, ", ")),
              "a call names one tool", "name each tool once");
  faults.need({"environment.index", "environment.tools", "environment.name"},
              !lists(e.tools, "search") || !e.index.empty(),
              "environment.tools has search, and environment.index is empty",
              "there are no lines to look through", "set environment.index to a file of lines");
}

void check_environment(const RunConfig& c, Faults& faults) {
  const EnvironmentSection& e = c.environment;
  faults.need({"environment.name", "environment.command"}, e.name.empty() || e.command.empty(),
              fmt::format("environment.name is {}, and environment.command is set", e.name),
              "the policy talks with one of them, not both", "leave one of them out");
  faults.need({"environment.command"}, e.command.empty() || !e.command.front().empty(),
              "the first word of environment.command is empty", "there is no program to start",
              "name the program, for example environment.command = [\"./my_env\"]");
  // The verifier's components come before the environment's, and the judge's comes after them.
  std::vector<std::string> taken = c.reward.components;
  if (!c.judge.model.empty()) taken.push_back(c.judge.component);
  check_components("environment.components", e.components, taken, faults);
  const std::set<std::string> kinds(e.kinds.begin(), e.kinds.end());
  faults.need({"environment.kinds"}, kinds.size() == e.kinds.size() && !kinds.contains(""),
              fmt::format("environment.kinds is [\"{}\"]", fmt::join(e.kinds, "\", \"")),
              "an action is of one kind, which is told by its name",
              "give each kind a name of its own");
  check_tools(e, faults);
  const std::int64_t answer = c.sampling.max_new_tokens;
  faults.need({"environment.max_tokens", "sampling.max_new_tokens"},
              e.max_tokens == 0 || answer <= e.max_tokens,
              fmt::format("sampling.max_new_tokens {} exceeds environment.max_tokens {}", answer,
                          e.max_tokens),
              "what is sampled and what is told share the latter",
              "lower sampling.max_new_tokens, or raise environment.max_tokens");
  faults.need({"sampling.turn_tokens", "sampling.max_new_tokens"}, c.sampling.turn_tokens <= answer,
              fmt::format("sampling.turn_tokens {} exceeds sampling.max_new_tokens {}",
                          c.sampling.turn_tokens, answer),
              "the latter holds for all turns of a rollout together",
              "lower sampling.turn_tokens, or set it to 0");
  faults.need({"environment.unforked", "train.rollouts_per_prompt"},
              e.unforked < c.train.rollouts_per_prompt,
              fmt::format("environment.unforked is {} of train.rollouts_per_prompt {}", e.unforked,
                          c.train.rollouts_per_prompt),
              "no rollout of a group would be left to fork",
              "lower environment.unforked; 0 is half of them");
}

void check_hints(const RunConfig& c, Faults& faults) {
  const HintSection& h = c.hints;
  const bool between = std::all_of(h.shares.begin(), h.shares.end(),
                                   [](double share) { return share > 0.0 && share < 1.0; });
  const bool rising = std::adjacent_find(h.shares.begin(), h.shares.end(), [](double a, double b) {
                        return a >= b;
                      }) == h.shares.end();
  faults.need({"hints.shares"}, !h.shares.empty() && between && rising,
              fmt::format("hints.shares is [{}]", fmt::join(h.shares, ", ")),
              "each tier gives more of the solution than the one before, and none gives all of it",
              "list rising numbers between 0 and 1, for example hints.shares = [0.25, 0.5, 0.75]");
  need_places("hints.text", h.text, {"{prompt}", "{hint}"},
              "the question or its help would not be shown", faults);
  faults.need({"hints.hint_key", "hints.source"}, h.source != "row" || !h.hint_key.empty(),
              "hints.source is row, and hints.hint_key is empty", "no field of a row would be read",
              "name the field that lists the help");
  faults.need({"hints.source", "task.name", "task.file"},
              h.source != "row" || c.task.name == "file",
              fmt::format("hints.source is row, and task.name is {}", c.task.name),
              "a made task has no rows", "set hints.source=solution, or task.name=file");
}

/// Exits branch off the first rollout of a group, so the whole group must be sampled in one go.
void check_exits(const RunConfig& c, Faults& faults) {
  if (c.openings.exit.empty()) return;
  const auto excludes = [&](const char* key, bool is_on, const char* why) {
    faults.need({"openings.exit", key}, !is_on,
                fmt::format("openings.exit is set, and so is {}", key), why,
                "leave one of them out");
  };
  excludes("environment.name", !c.environment.name.empty(),
           "an exit leaves an answer of one turn, and no conversation");
  excludes("environment.command", !c.environment.command.empty(),
           "an exit leaves an answer of one turn, and no conversation");
  excludes("environment.forks", !c.environment.forks.empty(),
           "both say which rollouts of a group begin as others did");
  faults.need(
      {"openings.exit", "second_pass.kind"}, c.second_pass.kind != "pool",
      "openings.exit is set, and second_pass.kind is pool",
      "the rollouts of a pool are chosen one by one, so that none would leave another's way",
      "leave one of them out");
  faults.need({"openings.exit", "train.rollouts_per_prompt"}, c.train.rollouts_per_prompt > 1,
              "openings.exit is set, and train.rollouts_per_prompt is 1",
              "no rollout of a group would leave the first one's way",
              "raise train.rollouts_per_prompt, or leave openings.exit out");
}

void check_second_pass_sizes(const RunConfig& c, Faults& faults) {
  const SecondPassSection& p = c.second_pass;
  const auto prompts = double(c.train.prompts_per_step);
  const std::int64_t steps = c.train.steps;
  const auto has_numbers = [&](const char* key, double share, double asked) {
    faults.need({key, "train.prompts_per_step", "train.steps"},
                asked <= double(kDerivedOfAStep) && steps < std::int64_t(kDerivedSteps),
                fmt::format("{} {} of train.prompts_per_step {} over train.steps {}", key, share,
                            c.train.prompts_per_step, steps),
                fmt::format("that may make {} prompts a step, and they have no numbers beyond {} "
                            "a step and {} steps",
                            std::int64_t(asked), kDerivedOfAStep, kDerivedSteps - 1),
                fmt::format("lower {}, or train.prompts_per_step", key));
  };
  if (p.kind == "refinement" || p.kind == "error") {
    const SecondPassBounds bounds = second_pass_bounds(c);
    faults.need({"second_pass.share", "train.prompts_per_step"}, bounds.parents >= 1,
                fmt::format("second_pass.share is {} of train.prompts_per_step {}", p.share,
                            c.train.prompts_per_step),
                "no group of a step would be asked again",
                "raise it, or leave second_pass.kind out");
    has_numbers("second_pass.share", p.share, double(bounds.prompts));
  }
  if (p.buffer == 0.0) return;
  faults.need({"second_pass.buffer", "train.prompts_per_step"}, p.buffer * prompts >= 1.0,
              fmt::format("second_pass.buffer is {} of train.prompts_per_step {}", p.buffer,
                          c.train.prompts_per_step),
              "that is less than one prompt per step", "raise it, or set second_pass.buffer=0");
  has_numbers("second_pass.buffer", p.buffer, p.buffer * prompts);
  const double made = p.buffer + c.self_judging.share;
  faults.need({"second_pass.buffer", "self_judging.share"}, made <= 0.9,
              fmt::format("second_pass.buffer is {}, and self_judging.share is {}", p.buffer,
                          c.self_judging.share),
              "less than a tenth of a step's prompts would be the task's", "lower one of them");
}

void check_second_pass_texts(const SecondPassSection& p, Faults& faults) {
  const char* const unseen = "what is asked about would not be shown";
  const bool refines = p.kind == "refinement", critique = refines && p.feedback == "critique";
  if (refines || p.buffer > 0.0)
    need_places("second_pass.refinement", p.refinement, {"{response}"}, unseen, faults);
  if (p.kind == "error" || critique)
    need_places("second_pass.error", p.error, {"{response}"}, unseen, faults);
  faults.need(
      {"second_pass.refinement", "second_pass.feedback"},
      !refines || p.feedback == "verdict" || holds(p.refinement, "{feedback}"),
      fmt::format("second_pass.feedback is {}, and second_pass.refinement has no {{feedback}}",
                  p.feedback),
      "the feedback would not be shown",
      "put {feedback} where it belongs, or leave second_pass.feedback out");
}

void check_second_pass(const RunConfig& c, Faults& faults) {
  const SecondPassSection& p = c.second_pass;
  check_second_pass_sizes(c, faults);
  check_second_pass_texts(p, faults);
  faults.need({"second_pass.kind", "reference.refresh_every"},
              p.kind != "counterpart" || c.reference.refresh_every > 0,
              "second_pass.kind is counterpart, and reference.refresh_every is 0",
              "no earlier policy would be kept to sample from",
              "set reference.refresh_every to a number of steps");
  const auto on_device = [](const std::string& numerics) { return numerics.starts_with("cuda_"); };
  faults.need(
      {"second_pass.numerics", "run.numerics", "second_pass.kind"},
      p.kind != "pool" || p.numerics.empty() || on_device(p.numerics) == on_device(c.run.numerics),
      fmt::format("second_pass.numerics is {}, and run.numerics is {}", p.numerics, c.run.numerics),
      "a rank samples on its host or on its device, not on both", "choose two of the same kind");
}

}  // namespace

void check_components(const char* key, const std::vector<std::string>& names,
                      const std::vector<std::string>& taken, Faults& faults) {
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto here = names.begin() + std::ptrdiff_t(i);
    const bool again = names[i] == "correct" || lists(taken, names[i]) ||
                       std::find(names.begin(), here, names[i]) != here;
    if (names[i].empty()) wrong.emplace_back("an empty name");
    else if (again) wrong.push_back(names[i] + " twice");
  }
  if (!wrong.empty())
    faults.tell(
        key, error_message(fmt::format("{} has {}", key, fmt::join(wrong, ", ")),
                           "each component is a column of its own, and \"correct\" is always the "
                           "first",
                           "give each a name of its own"));
}

void check_conversations(const RunConfig& c, Faults& faults) {
  check_environment(c, faults);
  check_hints(c, faults);
  check_second_pass(c, faults);
  check_exits(c, faults);
}

}  // namespace rollcall
