// Rollouts as columns: one list per quantity, in sample order. A token is an index into the part's
// list of pieces.
#include "view/step_scripts.hpp"

#include "base/numbers/hash.hpp"
#include "core/policy_sums.hpp"
#include "io/schema.hpp"
#include "text/answer/accepted_answers.hpp"
#include "view/script_text.hpp"
#include "view/token_pieces.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>

namespace rollcall::view {
namespace {

constexpr std::uint64_t kTokensPerPart = 60'000;  // about a megabyte; a token takes 13 to 20 bytes

/// Adds `,"name":[...]` with one value per rollout of a group.
template <class Add>
void add_column(std::string& out, const char* name, const io::ArchivedGroup& g, const Add& add) {
  out += ",\"", out += name, out += "\":[";
  for (std::size_t i = 0; i < g.group.rollouts.size(); ++i) {
    if (i > 0) out += ',';
    add(g.group.rollouts[i], g.scores[i]);
  }
  out += ']';
}

/// NaN if count is 0.
double mean(double sum, std::uint64_t count) {
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / double(count);
}

void add_field(std::string& out, const char* name, std::string_view text) {
  out += ",\"", out += name, out += "\":";
  add_string(out, text);
}

void add_field(std::string& out, const char* name, std::int64_t value) {
  out += ",\"", out += name, out += "\":";
  add_integer(out, value);
}

void add_advantages(std::string& out, const io::ArchivedGroup& g,
                    const std::vector<double>& values) {
  auto at = values.begin();
  add_column(out, "advantage", g, [&](const Rollout& rollout, const Score&) {
    const auto end = at + std::ptrdiff_t(policy_sums(rollout).tokens);
    add_milli(out, mean(std::accumulate(at, end, 0.0), std::uint64_t(end - at)));
    at = end;
  });
}

/// Adds what the group was derived from, if the scheduler did not draw it.
void add_origin(std::string& out, const Group& group) {
  const Derivation& from = group.from;
  if (!is_plain(from)) {
    add_field(out, "kind", io::code_name(io::kKindNames, std::int64_t(from.kind)));
    add_field(out, "placement", io::code_name(io::kPlacementNames, std::int64_t(from.placement)));
    add_field(out, "tier", std::int64_t{from.tier});
    const std::int64_t sample =
        from.parent_sample == Derivation::kWholeGroup ? -1 : std::int64_t{from.parent_sample};
    out += ",\"parent\":";
    add_list(out,
             std::array{std::int64_t(from.parent.step), std::int64_t(from.parent.prompt.value),
                        std::int64_t{from.parent.draw}, sample},
             add_integer);
  }
  if (!group.start.empty()) add_field(out, "start", group.start);
}

/// Adds a turn as [reward, flags, kind, state, reason].
void add_fact(std::string& out, const TurnFacts& facts) {
  out += '[', add_number(out, facts.reward);
  out += ',', add_integer(out, facts.flags);
  out += ',', add_integer(out, facts.kind);
  out += ',', add_string(out, facts.state == 0 ? std::string() : hex64(facts.state));
  out += ',', add_string(out, facts.reason);
  out += ']';
}

/// Adds how rollouts began, if any has an opening or was forked, and what environments reported
/// about their turns, if anything.
void add_conversations(std::string& out, const io::ArchivedGroup& g) {
  const auto any = [&](auto has) { return std::ranges::any_of(g.group.rollouts, has); };
  if (any([](const Rollout& r) { return r.opening != 0; }))
    add_column(out, "opening", g,
               [&](const Rollout& r, const Score&) { add_integer(out, r.opening); });
  if (any([](const Rollout& r) { return r.parent >= 0; }))
    add_column(out, "fork", g, [&](const Rollout& r, const Score&) {
      add_list(out, std::array{r.parent, r.fork_token}, add_integer);
    });
  if (any([](const Rollout& r) { return !r.facts.empty(); }))
    add_column(out, "facts", g,
               [&](const Rollout& r, const Score&) { add_list(out, r.facts, add_fact); });
}

void add_group(std::string& out, const StepContent& step, std::size_t index, std::size_t part) {
  const io::ArchivedGroup& g = step.groups[index];
  out += "{\"prompt_id\":";
  add_integer(out, std::int64_t(g.group.id.prompt.value));
  add_field(out, "draw", std::int64_t(g.group.id.draw)), add_field(out, "level", g.group.level),
      add_field(out, "bin", g.group.bin);
  add_field(out, "planned", std::int64_t(g.group.planned)),
      add_field(out, "part", std::int64_t(part));
  out += ",\"temperature\":", add_number(out, double(g.temperature));
  add_field(out, "prompt", g.prompt.text),
      add_field(out, "reference", text::shown_reference(g.prompt.answer));
  // An environment's words may take its place, and tokens show which they are.
  const bool is_talk = std::any_of(g.group.rollouts.begin(), g.group.rollouts.end(),
                                   [](const Rollout& r) { return !r.facts.empty(); });
  if (!is_talk && !g.prompt.shown.empty()) add_field(out, "shown", g.prompt.shown);
  if (!g.prompt.extra.empty()) add_field(out, "extra", g.prompt.extra);
  add_origin(out, g.group);
  if (const auto& before = step.before.at(index)) {
    out += ",\"before\":";
    add_list(
        out,
        std::array{before->step, std::uint64_t(before->rollouts), std::uint64_t(before->correct)},
        [](std::string& to, auto v) { add_integer(to, std::int64_t(v)); });
  }
  add_column(out, "sample", g, [&](const Rollout& r, const Score&) { add_integer(out, r.sample); });
  add_column(out, "reward", g, [&](const Rollout&, const Score& s) { add_number(out, s.reward); });
  add_column(out, "correct", g,
             [&](const Rollout&, const Score& s) { out += s.correct ? '1' : '0'; });
  add_column(out, "cut", g, [&](const Rollout& r, const Score&) {
    out += r.finish == FinishReason::length ? '1' : '0';
  });
  add_column(out, "ended", g,
             [&](const Rollout& r, const Score&) { add_integer(out, std::int64_t(r.finish)); });
  add_conversations(out, g);
  add_column(out, "tokens", g, [&](const Rollout& r, const Score&) {
    add_integer(out, std::int64_t(policy_sums(r).tokens));
  });
  add_column(out, "logprob", g, [&](const Rollout& r, const Score&) {
    const PolicySums s = policy_sums(r);
    add_milli(out, mean(s.logprob, s.sampled));
  });
  add_column(out, "entropy", g, [&](const Rollout& r, const Score&) {
    const PolicySums s = policy_sums(r);
    add_milli(out, mean(s.entropy, s.sampled));
  });
  if (!step.advantages.empty()) add_advantages(out, g, step.advantages.at(index));
  add_column(out, "components", g, [&](const Rollout&, const Score& s) {
    add_list(out, s.components, [](std::string& to, double v) { add_number(to, v); });
  });
  add_column(out, "extracted", g,
             [&](const Rollout&, const Score& s) { add_string(out, s.answer); });
  add_column(out, "text", g, [&](const Rollout& r, const Score&) { add_string(out, r.text); });
  out += '}';
}

void add_bins(std::string& out, const StepContent& step) {
  out += ",\"bins\":{";
  for (const auto& [name, values] : step.bins) {
    if (out.back() != '{') out += ',';
    add_string(out, name), out += ":{";
    for (const auto& [bin, value] : values) {
      if (out.back() != '{') out += ',';
      add_string(out, std::to_string(bin)), out += ':', add_number(out, value);
    }
    out += '}';
  }
  out += '}';
}

/// The pieces of a part, each once.
class PieceList {
 public:
  std::size_t place(std::int32_t token, const Piece& piece) {
    auto& places = places_[token];  // places of this token's pieces, nearly always just one
    for (const std::size_t at : places)
      if (pieces_[at].second.text == piece.text) return at;
    places.push_back(pieces_.size());
    pieces_.emplace_back(token, piece);
    return places.back();
  }
  std::string json() const {
    std::string out = "\"pieces\":";
    add_list(out, pieces_,
             [](std::string& to, const auto& entry) { add_string(to, entry.second.text); });
    out += ",\"ids\":";
    add_list(out, pieces_,
             [](std::string& to, const auto& entry) { add_integer(to, entry.first); });
    out += ",\"special\":";
    add_list(out, pieces_,
             [](std::string& to, const auto& entry) { to += entry.second.special ? '1' : '0'; });
    return out;
  }

 private:
  std::unordered_map<std::int32_t, std::vector<std::size_t>> places_;
  std::vector<std::pair<std::int32_t, Piece>> pieces_;
};

class PartWriter {
 public:
  PartWriter(const StepContent& step, const std::shared_ptr<const text::Tokenizer>& tokenizer)
      : step_(&step), pieces_(tokenizer) {}

  void add_group(std::string& out, std::size_t index) {
    const io::ArchivedGroup& g = step_->groups[index];
    out += "{\"prompt\":";
    out += '[';
    const auto* const asked =
        g.group.rollouts.empty() ? nullptr : prompt_of(g.group.rollouts.front());
    if (asked != nullptr) add_tokens(out, pieces_.of(*asked), *asked);
    out += ']';
    out += ",\"rollouts\":[";
    const double* advantage = step_->advantages.empty() ? nullptr : step_->advantages[index].data();
    for (const Rollout& rollout : g.group.rollouts) {
      if (out.back() != '[') out += ',';
      add_rollout(out, rollout, asked, advantage);
    }
    out += "]}";
  }
  std::string pieces() const { return list_.json(); }

 private:
  void add_tokens(std::string& out, const std::vector<Piece>& pieces,
                  const std::vector<std::int32_t>& tokens) {
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (out.back() != '[') out += ',';
      add_integer(out, std::int64_t(list_.place(tokens[t], pieces[t])));
    }
  }

  void add_values(std::string& out, const char* name, const Rollout& rollout,
                  std::vector<float> TokenColumns::*column) {
    out += ",\"", out += name, out += "\":[";
    for (const Turn& turn : rollout.turns)
      for (const float value : turn.columns.*column) {
        if (out.back() != '[') out += ',';
        add_milli(out, double(value));
      }
    out += ']';
  }

  /// Null if the rollout does not begin with a prompt.
  static const std::vector<std::int32_t>* prompt_of(const Rollout& rollout) {
    const bool asked = !rollout.turns.empty() && rollout.turns.front().role == Role::prompt;
    return asked ? &rollout.turns.front().tokens : nullptr;
  }

  /// Adds a rollout's prompt if it differs from `asked`, the prompt of the group's first rollout.
  void add_own_prompt(std::string& out, const Rollout& rollout,
                      const std::vector<std::int32_t>* asked) {
    const auto* const own = prompt_of(rollout);
    if (own == nullptr || (asked != nullptr && *own == *asked)) return;
    out += ",\"prompt\":[";
    add_tokens(out, pieces_.of(*own), *own);
    out += ']';
  }

  /// `asked`: the prompt tokens of the group's first rollout, or null. `advantage` points to the
  /// values for the rollout's tokens and is moved past them.
  void add_rollout(std::string& out, const Rollout& rollout, const std::vector<std::int32_t>* asked,
                   const double*& advantage) {
    const auto policy_turns =
        std::count_if(rollout.turns.begin(), rollout.turns.end(),
                      [](const Turn& turn) { return turn.role == Role::policy; });
    out += "{\"turns\":[";
    std::size_t tokens = 0;
    for (std::size_t k = 0; k < rollout.turns.size(); ++k) {
      const Turn& turn = rollout.turns[k];
      if (k == 0 && turn.role == Role::prompt) continue;  // the prompt is part of the group's data
      if (out.back() != '[') out += ',';
      out += '[', add_integer(out, std::int64_t(turn.role));
      const bool whole =
          turn.role == Role::policy && policy_turns == 1 && rollout.turns.size() == 2;
      add_tokens(out, whole ? pieces_.of(turn.tokens, rollout.text) : pieces_.of(turn.tokens),
                 turn.tokens);
      out += ']';
      tokens += turn.columns.logprob.size();
    }
    out += ']';
    add_values(out, "logprob", rollout, &TokenColumns::logprob),
        add_values(out, "entropy", rollout, &TokenColumns::entropy);
    add_versions(out, rollout);
    add_own_prompt(out, rollout, asked);
    if (advantage != nullptr) {
      const std::span<const double> values(advantage, tokens);
      out += ",\"advantage\":";
      if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end())
        add_list(out, values, add_thousandths);
      else add_milli(out, values.empty() ? 0.0 : values.front());
      advantage += tokens;
    }
    out += '}';
  }

  static void add_thousandths(std::string& out, double value) { add_milli(out, value); }

  static void add_versions(std::string& out, const Rollout& rollout) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), most = 0;
    for (const Turn& turn : rollout.turns)
      for (const std::uint64_t version : turn.policy_version)
        least = std::min(least, version), most = std::max(most, version);
    if (least > most) return;
    out += ",\"versions\":[", add_integer(out, std::int64_t(least)), out += ',',
        add_integer(out, std::int64_t(most)), out += ']';
  }

  const StepContent* step_;
  TokenPieces pieces_;
  PieceList list_;
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> parts_of(const StepLine& step) {
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  std::uint64_t tokens = 0;
  for (std::size_t g = 0, first = 0; g < step.groups.size(); ++g) {
    tokens += step.groups[g].tokens;
    if (tokens < kTokensPerPart && g + 1 < step.groups.size()) continue;
    parts.emplace_back(first, g + 1);
    first = g + 1, tokens = 0;
  }
  return parts;
}

std::string step_json(const StepContent& step, const StepLine& line) {
  const auto parts = parts_of(line);
  std::string out = "{\"purpose\":";
  add_string(out, io::text_of(step.key.purpose));
  out += ",\"step\":", add_integer(out, std::int64_t(step.key.step));
  out += ",\"components\":",
      add_list(out, step.component_names,
               [](std::string& to, const std::string& name) { add_string(to, name); });
  if (!step.no_advantages.empty()) add_field(out, "no_advantages", step.no_advantages);
  add_bins(out, step);
  out += ",\"numbers\":";
  add_list(out, step.numbers, [](std::string& to, const auto& number) {
    to += '[', add_string(to, number.first), to += ',', add_number(to, number.second), to += ']';
  });
  out += ",\"groups\":[";
  for (std::size_t g = 0, part = 0; g < step.groups.size(); ++g) {
    while (part + 1 < parts.size() && g >= parts[part].second) ++part;
    if (g > 0) out += ",\n";
    add_group(out, step, g, part);
  }
  out += "]}";
  return out;
}

std::string tokens_json(const StepContent& step, std::pair<std::size_t, std::size_t> part,
                        const std::shared_ptr<const text::Tokenizer>& tokenizer) {
  PartWriter writer(step, tokenizer);
  std::string groups;
  for (std::size_t g = part.first; g < std::min(part.second, step.groups.size()); ++g) {
    if (g > part.first) groups += ",\n";
    writer.add_group(groups, g);
  }
  std::string out = "{\"first\":";
  add_integer(out, std::int64_t(part.first));
  out += ',', out += writer.pieces(), out += ",\"groups\":[", out += groups, out += "]}";
  return out;
}

}  // namespace rollcall::view
