// Compares digests first, because they are small, then the two groups whose digests differ.
#include "io/difference.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "io/canonical.hpp"
#include "io/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

struct Held {
  std::map<GroupPlace, std::string> digests;
  std::vector<std::string> component_names;
  std::uint64_t rollouts = 0;
  std::string content;
};

GroupPlace place_of(const ArchivedGroup& g) { return {g.purpose, g.step, g.group.id}; }

Held hold(const fs::path& source) {
  Held held;
  each_group(source, {}, [&](const ArchivedGroup& group, const std::vector<std::string>& names) {
    held.digests[place_of(group)] = group_digest(group, names);
    held.component_names = names;
    held.rollouts += group.group.rollouts.size();
    return true;
  });
  Sha256 all;
  for (const auto& [place, digest] : held.digests) all.add(digest);
  held.content = all.hex();
  return held;
}

ArchivedGroup find(const fs::path& source, const GroupPlace& place) {
  std::optional<ArchivedGroup> found;
  each_group(source,
             {.purpose = place.purpose,
              .first_step = place.step,
              .last_step = place.step,
              .prompt = place.id.prompt.value},
             [&](const ArchivedGroup& group, const auto&) {
               if (place_of(group) == place) found = group;
               return !found;
             });
  expect(found.has_value(), "a group that was there a moment ago is still there");
  return *found;
}

/// Compares bits instead of values: NaN equals NaN, and -0 differs from 0.
bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
template <class T>
bool same_bits(const T& a, const T& b) {
  return a == b;
}

template <class T>
std::string scalar(const char* field, const T& a, const T& b) {
  return same_bits(a, b) ? "" : fmt::format("{} is {} and {}", field, a, b);
}

std::string quoted(const char* field, const std::string& a, const std::string& b) {
  return a == b ? "" : fmt::format("{} is \"{}\" and \"{}\"", field, a, b);
}

template <class T>
std::string list(const char* field, const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size())
    return fmt::format("{} has {} and {} values", field, a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return fmt::format("{}[{}] is {} and {}", field, i, a[i], b[i]);
  }
  return {};
}

/// The first string that is not empty, prefixed with `where`.
std::string first_of(const std::string& where, std::initializer_list<std::string> differences) {
  for (const std::string& difference : differences)
    if (!difference.empty()) return where + difference;
  return {};
}

std::string difference(const Turn& a, const Turn& b) {
  return first_of("", {scalar("role", int(a.role), int(b.role)), list("tokens", a.tokens, b.tokens),
                       list("logprob", a.columns.logprob, b.columns.logprob),
                       list("entropy", a.columns.entropy, b.columns.entropy),
                       list("policy_version", a.policy_version, b.policy_version),
                       list("kept mass", a.kept_mass, b.kept_mass),
                       list("ends of kept ids", a.kept.end, b.kept.end),
                       list("kept ids", a.kept.id, b.kept.id)});
}

std::string difference(const TurnFacts& a, const TurnFacts& b) {
  return first_of(
      "", {scalar("reward", a.reward, b.reward), list("components", a.components, b.components),
           scalar("state", a.state, b.state), scalar("action", a.action, b.action),
           scalar("flags", a.flags, b.flags), scalar("kind", a.kind, b.kind),
           scalar("seat", a.seat, b.seat)});
}

std::string difference(const Rollout& a, const Rollout& b) {
  if (const auto part = first_of(
          "",
          {scalar("sample", a.sample, b.sample), scalar("finish", int(a.finish), int(b.finish)),
           scalar("opening", a.opening, b.opening), scalar("parent", a.parent, b.parent),
           scalar("fork_token", a.fork_token, b.fork_token), quoted("completion", a.text, b.text),
           scalar("number of turns", a.turns.size(), b.turns.size()),
           scalar("number of turns with facts", a.facts.size(), b.facts.size())});
      !part.empty())
    return part;
  for (std::size_t t = 0; t < a.turns.size(); ++t) {
    auto inside = difference(a.turns[t], b.turns[t]);
    if (inside.empty() && t < a.facts.size()) inside = difference(a.facts[t], b.facts[t]);
    if (!inside.empty()) return fmt::format("turn {}: {}", t, inside);
  }
  return {};
}

std::string difference(const Derivation& a, const Derivation& b) {
  return first_of("", {scalar("kind", int(a.kind), int(b.kind)),
                       scalar("parent step", a.parent.step, b.parent.step),
                       scalar("parent prompt", a.parent.prompt.value, b.parent.prompt.value),
                       scalar("parent draw", a.parent.draw, b.parent.draw),
                       scalar("parent sample", a.parent_sample, b.parent_sample),
                       scalar("tier", a.tier, b.tier),
                       scalar("placement", int(a.placement), int(b.placement))});
}

std::string difference(const Score& a, const Score& b) {
  return first_of(
      "", {list("components", a.components, b.components), scalar("reward", a.reward, b.reward),
           scalar("correct", a.correct, b.correct), quoted("extracted", a.answer, b.answer),
           scalar("undecided", a.undecided, b.undecided),
           scalar("clock_ended", a.clock_ended, b.clock_ended)});
}

}  // namespace

std::string text_of(const GroupPlace& p) {
  return fmt::format("{} step {}, prompt {}, draw {}", text_of(p.purpose), p.step,
                     p.id.prompt.value, p.id.draw);
}

std::string first_difference(const ArchivedGroup& a, const ArchivedGroup& b) {
  if (const auto part = first_of("", {scalar("level", a.group.level, b.group.level),
                                      scalar("temperature", a.temperature, b.temperature),
                                      quoted("prompt", a.prompt.text, b.prompt.text),
                                      quoted("reference", a.prompt.answer, b.prompt.answer),
                                      difference(a.group.from, b.group.from),
                                      quoted("start", a.group.start, b.group.start)});
      !part.empty())
    return part;
  for (std::size_t i = 0; i < std::min(a.group.rollouts.size(), b.group.rollouts.size()); ++i) {
    const std::string where = fmt::format("sample {}: ", a.group.rollouts[i].sample);
    if (const auto inside = first_of(where, {difference(a.group.rollouts[i], b.group.rollouts[i]),
                                             difference(a.scores[i], b.scores[i])});
        !inside.empty())
      return inside;
  }
  return scalar("number of rollouts", a.group.rollouts.size(), b.group.rollouts.size());
}

Difference compare(const fs::path& a, const fs::path& b) {
  const Held in_a = hold(a), in_b = hold(b);
  Difference d{.content_a = in_a.content,
               .content_b = in_b.content,
               .groups_a = in_a.digests.size(),
               .groups_b = in_b.digests.size(),
               .rollouts_a = in_a.rollouts,
               .rollouts_b = in_b.rollouts};
  std::optional<GroupPlace> first;
  const auto note = [&](const GroupPlace& place) {
    first = first ? std::min(*first, place) : place;
  };
  for (const auto& [place, digest] : in_a.digests) {
    const auto other = in_b.digests.find(place);
    if (other != in_b.digests.end() && other->second == digest) continue;
    (other == in_b.digests.end() ? d.only_a : d.groups_differing) += 1;
    note(place);
  }
  for (const auto& [place, digest] : in_b.digests) {
    if (in_a.digests.contains(place)) continue;
    ++d.only_b;
    note(place);
  }
  if (!first) return d;
  d.first = text_of(*first) + ": ";
  if (!in_a.digests.contains(*first) || !in_b.digests.contains(*first))
    d.first += in_a.digests.contains(*first) ? "only in A" : "only in B";
  else if (const auto value = first_difference(find(a, *first), find(b, *first)); !value.empty())
    d.first += value;
  else d.first += "the reward components have different names";
  return d;
}

}  // namespace rollcall::io
