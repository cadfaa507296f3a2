// Begins the rollouts of a plan, decodes them, and puts them into a shard.
#include "run/generation/rollout_driver.hpp"

#include "base/errors/error.hpp"
#include "run/generation/forks/forks.hpp"
#include "run/generation/generation.hpp"
#include "run/generation/session_replies.hpp"
#include "run/messages/actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::run {
namespace {

template <class T>
std::vector<T> part_of(const std::vector<T>& all, std::size_t begin, std::size_t end) {
  if (all.empty()) return {};
  return {all.begin() + std::ptrdiff_t(begin), all.begin() + std::ptrdiff_t(end)};
}

/// The sampled tokens [begin, end) as a turn.
Turn turn_of(const model::DecodedSequence& sequence, std::size_t begin, std::size_t end) {
  Turn turn{Role::policy,
            part_of(sequence.tokens, begin, end),
            {part_of(sequence.columns.logprob, begin, end),
             part_of(sequence.columns.entropy, begin, end)},
            part_of(sequence.versions, begin, end),
            part_of(sequence.kept_mass, begin, end)};
  for (std::size_t t = begin; t < end; ++t) turn.kept.put(t - begin, sequence.kept.of(t));
  return turn;
}

/// All sampled tokens as one turn.
Turn turn_of(model::DecodedSequence&& sequence) {
  return {Role::policy,
          std::move(sequence.tokens),
          std::move(sequence.columns),
          std::move(sequence.versions),
          std::move(sequence.kept_mass),
          std::move(sequence.kept)};
}

/// Puts turns and their facts together.
class Turns {
 public:
  explicit Turns(Rollout& rollout) : rollout_(&rollout) {}
  void add(Turn turn, TurnFacts facts = {}) {
    rollout_->turns.push_back(std::move(turn));
    rollout_->facts.push_back(std::move(facts));
  }
  void add_given(const RolloutOpening& opening) {
    const std::size_t told = opening.given.size() - opening.learnt;
    if (told > 0) add({Role::environment, part_of(opening.given, 0, told)});
    if (opening.learnt == 0) return;
    const std::vector<float> unknown(opening.learnt, std::numeric_limits<float>::quiet_NaN());
    add({Role::policy,
         part_of(opening.given, told, opening.given.size()),
         {unknown, unknown},
         std::vector<std::uint64_t>(opening.learnt)},
        {.flags = turn_flag::given});
  }
  /// An environment's turn follows each turn of the policy that it answered, even if it is empty.
  void add_played(const model::DecodedSequence& sequence, const PlayedTurn& played) {
    add(turn_of(sequence, played.begin, played.end), played.facts);
    if (played.state_after != 0 || !played.said.empty())
      add({Role::environment, played.said}, {.state = played.state_after});
  }
  ~Turns() {
    auto& facts = rollout_->facts;
    if (std::all_of(facts.begin(), facts.end(), [](const auto& one) { return one == TurnFacts{}; }))
      facts.clear();
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

 private:
  Rollout* rollout_;
};

/// The turns of a sequence up to its end.
std::vector<PlayedTurn> played_in(const model::DecodedSequence& sequence, const OpenRollout& open) {
  if (open.talk) return open.talk->turns();
  auto turns = open.turns;
  if (!turns.empty()) turns.push_back({.begin = turns.back().end, .end = sequence.tokens.size()});
  return turns;
}

FinishReason finish_of(const model::DecodedSequence& sequence, const OpenRollout& open) {
  if (open.talk) return open.talk->finish();
  return sequence.stopped ? FinishReason::stop : FinishReason::length;
}

}  // namespace

Rollout to_rollout(const text::PromptFormat& format, model::DecodedSequence&& sequence,
                   const std::vector<std::int32_t>& prompt, const OpenRollout& open) {
  for (const float logprob : sequence.columns.logprob) {
    require<NumericsError>(std::isfinite(logprob),
                           "the policy yields log-probs that are not finite",
                           "its weights have diverged, and nothing sampled from it is usable",
                           "lower the learning rate and resume from an earlier checkpoint");
  }
  Rollout rollout{.sample = open.sample,
                  .finish = finish_of(sequence, open),
                  .turns = {},
                  .text = {},
                  .opening = open.opening.number,
                  .parent = open.parent,
                  .fork_token = open.fork_token};
  {
    Turns turns(rollout);
    const bool is_lost = open.talk && open.talk->lost_start();
    turns.add({Role::prompt, prompt}, is_lost ? *open.talk->lost_start() : TurnFacts{});
    if (!sequence.tokens.empty()) turns.add_given(open.opening);
    const auto played = played_in(sequence, open);
    for (const PlayedTurn& one : played) turns.add_played(sequence, one);
    if (played.empty() && !sequence.tokens.empty()) turns.add(turn_of(std::move(sequence)));
  }
  rollout.text = rollout_text(format, rollout);
  return rollout;
}

RolloutDriver::RolloutDriver(RunContext& context, std::unique_ptr<environment::Partner> partner)
    : context_(&context),
      partner_(std::move(partner)),
      openings_(make_openings(context)),
      forks_(make_fork_rule(context.config)),
      losses_(context) {
  expect(!partner_ || context.texts.turns,
         "a run with an environment knows what stands between turns");
  const std::string& exit = context.config.openings.exit;
  if (!exit.empty()) exit_ = context.texts.tokenizer->encode(exit);
}

RolloutShard RolloutDriver::run(const StepPlan& plan, int producer,
                                const model::PolicyModel* other) {
  const model::PolicyModel& policy = other != nullptr ? *other : context_->store->policy();
  require<ProtocolError>(
      plan.policy == policy.version(),
      fmt::format("step {} was planned for policy version {}, but this rank holds {}", plan.step,
                  plan.policy.value, policy.version().value),
      "rollouts would silently be off-policy", "resume from the last checkpoint");
  RolloutShard shard{plan.purpose,
                     plan.step,
                     plan.round,
                     std::uint32_t(producer),
                     policy.version(),
                     float(plan.sampling.temperature == 0.0 ? 1.0 : plan.sampling.temperature),
                     {}};
  const PromptBook book(context_->texts, plan.derived);
  OpenRollouts open({context_, partner_.get(), &losses_, forks_.get(), exit_}, plan, book,
                    openings_->of(plan, book));
  open.begin();
  const auto requests = open.requests();
  const auto stops =
      [&, rules = stop_rules(*context_->texts.format, plan.sampling.stop)]() -> model::StopRule {
    return [&, ends = rules()](std::span<const std::int32_t> sampled) {
      // Progress is reported after every token, because a batch of long answers takes long.
      context_->threads.pool->progressed();
      context_->threads.drawn->tokens.fetch_add(1, std::memory_order_relaxed);
      return ends(sampled);
    };
  };
  SamplingParams sampling = plan.sampling;
  // Only the update reads the lists of kept ids, and only those of training rollouts.
  if (plan.purpose != Purpose::train) sampling.logprob = "full";
  auto options = step_decode_options(*context_);
  options.ended = [drawn = context_->threads.drawn] {
    drawn->rollouts.fetch_add(1, std::memory_order_relaxed);
  };
  if (partner_ || open.may_branch())
    options.replies = [&open] { return std::make_unique<SessionReplies>(open); };
  auto decoded = model::decode(policy, requests, sampling, stops, options);
  if (context_->threads.cut->wanted()) return shard;

  // Rollouts that no request holds were over before they began, or were never forked.
  std::vector<std::vector<model::DecodedSequence>> sequences;
  for (const OpenGroup& group : open.groups()) sequences.emplace_back(group.rollouts.size());
  for (std::size_t r = 0; r < decoded.size(); ++r) {
    for (std::size_t s = 0; s < decoded[r].size(); ++s) {
      if (decoded[r][s].tokens.empty()) continue;
      const auto [g, i] = open.in_shard({r, std::uint32_t(s)});
      sequences[g][i] = std::move(decoded[r][s]);
    }
  }
  for (std::size_t g = 0; g < open.groups().size(); ++g) {
    OpenGroup& group = open.groups()[g];
    const GroupPlan& asked = *group.plan;
    Group& made = shard.groups.emplace_back(Group{
        asked.id, asked.level, {}, asked.count, asked.bin, group.address, asked.from, asked.start});
    for (std::size_t i = 0; i < group.rollouts.size(); ++i) {
      if (i >= group.unforked && sequences[g][i].tokens.empty()) continue;
      finish(group, group.rollouts[i], std::move(sequences[g][i]), made);
    }
  }
  figures_.waited_s += open.waited_s();
  if (partner_) figures_.restarted += partner_->take_restarts();
  return shard;
}

void RolloutDriver::finish(OpenGroup& group, OpenRollout& rollout,
                           model::DecodedSequence&& sequence, Group& to) {
  const std::int64_t shared =
      rollout.parent < 0 ? 0 : rollout.fork_token - std::int64_t(rollout.opening.learnt);
  figures_.sampled_tokens += std::int64_t(sequence.tokens.size()) - shared;
  const std::vector<PlayedTurn>& turns = rollout.talk ? rollout.talk->turns() : rollout.turns;
  for (const PlayedTurn& turn : turns) figures_.told_tokens += std::int64_t(turn.said.size());
  figures_.turns += rollout.talk ? std::int64_t(turns.size()) : sequence.tokens.empty() ? 0 : 1;
  to.rollouts.push_back(to_rollout(*context_->texts.format, std::move(sequence),
                                   group.questions[rollout.question], rollout));
  const FinishReason how = to.rollouts.back().finish;
  figures_.lost += how == FinishReason::lost ? 1 : 0;
  figures_.cut_by_turns += how == FinishReason::turns ? 1 : 0;
  figures_.conversations += rollout.talk ? 1 : 0;
  const bool is_unasked = rollout.talk && how == FinishReason::length && turns.size() == 1 &&
                          turns.front().state_after == 0;
  figures_.unasked += is_unasked ? 1 : 0;
  figures_.no_room += rollout.talk && lacked_room(to.rollouts.back()) ? 1 : 0;
  figures_.forks_unmade += rollout.unmade;
  figures_.answered_s += rollout.answered_s;
}

}  // namespace rollcall::run
