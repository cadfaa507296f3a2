// A step as bytes: a sequence of arrays, each after its length. A million rollouts then take a few
// dozen copies, whereas one value at a time would take a call for each of them.
#include "run/step/step_wire.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace rollcall::run {
namespace {

/// The numbers of a step as arrays, in the order of groups, rollouts, turns and tokens. `Array` is
/// a vector in a record that is sent, and a Taker in a record that is read.
template <template <class> class Array>
struct Arrays {
  // [groups]
  Array<std::uint64_t> step, prompt, stream_prompt;
  Array<std::uint32_t> draw, planned, rollouts;
  Array<std::int32_t> level, bin;
  Array<double> weight;        // this and the next are from StepBatch::training, or empty
  Array<std::uint32_t> keeps;  // number of values of `keep` that the group has
  // [rollouts]
  Array<std::uint32_t> sample, turns, answer_bytes, reason_bytes, text_bytes;
  Array<std::uint8_t> finish, correct, undecided, clock_ended;
  Array<std::uint8_t> keep;          // [sum of keeps]
  Array<double> reward, components;  // components: [rollouts][names]
  // [turns]
  Array<std::uint8_t> role;
  Array<std::uint32_t> tokens, columns, stretches;  // columns: tokens with log-prob, entropy and
                                                    // version
  Array<std::uint32_t> masses, lists;  // tokens with a kept mass, and with a list of kept ids
  // [stretches] of tokens of one policy version
  Array<std::uint32_t> stretch_tokens;
  Array<std::uint64_t> stretch_version;
  // [tokens]; [columns]
  Array<std::int32_t> token;
  Array<float> logprob, entropy;
  Array<float> kept_mass;         // [sum of masses]
  Array<std::uint64_t> kept_end;  // [sum of lists]
  Array<std::int32_t> kept_id;
  // [names], [greedy]
  Array<std::uint32_t> name_bytes;
  Array<std::uint64_t> greedy_prompt;
  Array<double> greedy_reward;
  Array<char> answers, reasons, texts, names;
  // [groups] Group::from and the length of Group::start
  Array<std::int32_t> kind, tier, placement;
  Array<std::uint64_t> parent_step, parent_prompt;
  Array<std::uint32_t> parent_draw, parent_sample, start_bytes;
  // [rollouts]
  Array<std::int64_t> opening, parent, fork_token;
  Array<std::uint32_t> facts;  // number of turns with facts: all of them, or none
  Array<std::uint8_t> placed;  // 1 if Rollout::placed is set, which is [placed]
  Array<std::uint64_t> placed_step, placed_prompt;
  Array<std::uint32_t> placed_draw;
  // [facts]
  Array<double> fact_reward, fact_component;  // the second: [sum of fact_components]
  Array<std::uint32_t> fact_components, fact_reason_bytes;
  Array<std::uint64_t> state, action;
  Array<std::int64_t> flags, action_kind, seat;
  Array<char> starts, fact_reasons;
};

template <class T>
using Vector = std::vector<T>;
using Flat = Arrays<Vector>;

/// Calls visit once for each array, in the order in which arrays travel. With several records, a
/// call gets the same array of each of them.
template <class Visit, class... Records>
void each_array(const Visit& visit, Records&... of) {
  visit(of.step...), visit(of.prompt...), visit(of.stream_prompt...), visit(of.draw...);
  visit(of.planned...), visit(of.rollouts...), visit(of.level...), visit(of.bin...);
  visit(of.weight...), visit(of.keeps...), visit(of.keep...);
  visit(of.sample...), visit(of.turns...), visit(of.answer_bytes...), visit(of.reason_bytes...);
  visit(of.text_bytes...), visit(of.finish...), visit(of.correct...), visit(of.undecided...);
  visit(of.clock_ended...), visit(of.reward...), visit(of.components...);
  visit(of.role...), visit(of.tokens...), visit(of.columns...), visit(of.stretches...);
  visit(of.stretch_tokens...), visit(of.stretch_version...);
  visit(of.token...), visit(of.logprob...), visit(of.entropy...);
  visit(of.masses...), visit(of.lists...), visit(of.kept_mass...), visit(of.kept_end...);
  visit(of.kept_id...), visit(of.name_bytes...), visit(of.greedy_prompt...);
  visit(of.greedy_reward...), visit(of.answers...), visit(of.reasons...), visit(of.texts...);
  visit(of.names...);
  visit(of.kind...), visit(of.tier...), visit(of.placement...), visit(of.parent_step...);
  visit(of.parent_prompt...), visit(of.parent_draw...), visit(of.parent_sample...);
  visit(of.start_bytes...), visit(of.opening...), visit(of.parent...), visit(of.fork_token...);
  visit(of.facts...), visit(of.placed...), visit(of.placed_step...), visit(of.placed_prompt...);
  visit(of.placed_draw...), visit(of.fact_reward...), visit(of.fact_component...);
  visit(of.fact_components...), visit(of.fact_reason_bytes...), visit(of.state...);
  visit(of.action...), visit(of.flags...), visit(of.action_kind...), visit(of.seat...);
  visit(of.starts...), visit(of.fact_reasons...);
}

template <class T, class Range>
void add(std::vector<T>& to, const Range& values) {
  to.insert(to.end(), values.begin(), values.end());
}

void flatten(const Turn& turn, Flat& flat) {
  expect(turn.columns.logprob.size() == turn.columns.entropy.size() &&
             turn.columns.logprob.size() == turn.policy_version.size(),
         "a turn's columns are of one length");
  flat.role.push_back(std::uint8_t(turn.role));
  flat.tokens.push_back(std::uint32_t(turn.tokens.size())),
      flat.columns.push_back(std::uint32_t(turn.columns.logprob.size()));
  add(flat.token, turn.tokens), add(flat.logprob, turn.columns.logprob),
      add(flat.entropy, turn.columns.entropy);
  flat.masses.push_back(std::uint32_t(turn.kept_mass.size())),
      flat.lists.push_back(std::uint32_t(turn.kept.end.size()));
  add(flat.kept_mass, turn.kept_mass), add(flat.kept_end, turn.kept.end),
      add(flat.kept_id, turn.kept.id);
  std::uint32_t stretches = 0;
  for (auto first = turn.policy_version.begin(); first != turn.policy_version.end(); ++stretches) {
    const auto last = std::find_if(first, turn.policy_version.end(),
                                   [&](std::uint64_t version) { return version != *first; });
    flat.stretch_tokens.push_back(std::uint32_t(last - first)),
        flat.stretch_version.push_back(*first);
    first = last;
  }
  flat.stretches.push_back(stretches);
}

void flatten(const TurnFacts& facts, Texts texts, Flat& flat) {
  flat.fact_reward.push_back(facts.reward);
  flat.fact_components.push_back(std::uint32_t(facts.components.size())),
      add(flat.fact_component, facts.components);
  flat.state.push_back(facts.state), flat.action.push_back(facts.action);
  flat.flags.push_back(facts.flags), flat.action_kind.push_back(facts.kind),
      flat.seat.push_back(facts.seat);
  const bool along = texts == Texts::along;
  flat.fact_reason_bytes.push_back(along ? std::uint32_t(facts.reason.size()) : 0);
  if (along) add(flat.fact_reasons, facts.reason);
}

/// The beginning of the rollout, the place where it trains, and the facts that environments gave
/// for its turns.
void flatten_conversation(const Rollout& rollout, Texts texts, Flat& flat) {
  expect(rollout.facts.empty() || rollout.facts.size() == rollout.turns.size(),
         "all turns of a rollout have facts, or none has");
  flat.opening.push_back(rollout.opening), flat.parent.push_back(rollout.parent),
      flat.fork_token.push_back(rollout.fork_token);
  flat.placed.push_back(rollout.placed ? 1 : 0);
  if (rollout.placed) {
    flat.placed_step.push_back(rollout.placed->step);
    flat.placed_prompt.push_back(rollout.placed->prompt.value);
    flat.placed_draw.push_back(rollout.placed->draw);
  }
  flat.facts.push_back(std::uint32_t(rollout.facts.size()));
  for (const TurnFacts& facts : rollout.facts) flatten(facts, texts, flat);
}

void flatten_origin(const Group& group, Flat& flat) {
  const Derivation& from = group.from;
  flat.kind.push_back(std::int32_t(from.kind)), flat.tier.push_back(from.tier),
      flat.placement.push_back(std::int32_t(from.placement));
  flat.parent_step.push_back(from.parent.step),
      flat.parent_prompt.push_back(from.parent.prompt.value),
      flat.parent_draw.push_back(from.parent.draw),
      flat.parent_sample.push_back(from.parent_sample);
  flat.start_bytes.push_back(std::uint32_t(group.start.size())), add(flat.starts, group.start);
}

void flatten(const Rollout& rollout, const Score& score, std::size_t components, Texts texts,
             Flat& flat) {
  expect(score.components.size() == components, "a score has a number for every component");
  flat.sample.push_back(rollout.sample), flat.turns.push_back(std::uint32_t(rollout.turns.size()));
  flat.finish.push_back(std::uint8_t(rollout.finish));
  flat.correct.push_back(score.correct ? 1 : 0), flat.undecided.push_back(score.undecided ? 1 : 0);
  flat.clock_ended.push_back(score.clock_ended ? 1 : 0), flat.reward.push_back(score.reward);
  add(flat.components, score.components);
  flat.answer_bytes.push_back(std::uint32_t(score.answer.size())), add(flat.answers, score.answer);
  const bool along = texts == Texts::along;
  flat.reason_bytes.push_back(along ? std::uint32_t(score.reason.size()) : 0),
      flat.text_bytes.push_back(along ? std::uint32_t(rollout.text.size()) : 0);
  if (along) add(flat.reasons, score.reason), add(flat.texts, rollout.text);
  for (const Turn& turn : rollout.turns) flatten(turn, flat);
  flatten_conversation(rollout, texts, flat);
}

Flat flatten(const StepBatch& part, Texts texts) {
  Flat flat;
  for (const auto& name : part.component_names)
    flat.name_bytes.push_back(std::uint32_t(name.size())), add(flat.names, name);
  for (const auto& [prompt, reward] : part.greedy)
    flat.greedy_prompt.push_back(prompt.value), flat.greedy_reward.push_back(reward);
  for (std::size_t g = 0; g < part.groups.size(); ++g) {
    const Group& group = part.groups[g];
    flat.step.push_back(group.id.step), flat.prompt.push_back(group.id.prompt.value),
        flat.stream_prompt.push_back(group.stream_prompt);
    flat.draw.push_back(group.id.draw), flat.planned.push_back(group.planned),
        flat.rollouts.push_back(std::uint32_t(group.rollouts.size()));
    flat.level.push_back(group.level), flat.bin.push_back(group.bin);
    flatten_origin(group, flat);
    if (!part.training.empty()) {
      const auto& training = part.training.at(g);
      flat.weight.push_back(training.weight),
          flat.keeps.push_back(std::uint32_t(training.keep.size())), add(flat.keep, training.keep);
    }
    for (std::size_t i = 0; i < group.rollouts.size(); ++i)
      flatten(group.rollouts[i], part.scores.at(g).at(i), part.component_names.size(), texts, flat);
  }
  return flat;
}

[[noreturn]] void refuse() {
  throw ProtocolError(error_message("another rank's rollouts of the step cannot be read",
                                    "ranks must run the same binary",
                                    "check that every node starts the same build"));
}

/// Takes an array's values in turn, and refuses to take one past its end.
template <class T>
class Taker {
 public:
  void begin(const std::vector<T>& values) { values_ = &values; }
  T one() { return *many(1); }
  typename std::vector<T>::const_iterator many(std::size_t count) {
    if (count > values_->size() - at_) refuse();
    at_ += count;
    return values_->begin() + std::ptrdiff_t(at_ - count);
  }
  template <class Value>
  void into(Value& to, std::size_t count) {
    const auto first = many(count);
    to.assign(first, first + std::ptrdiff_t(count));
  }
  bool done() const { return at_ == values_->size(); }

 private:
  const std::vector<T>* values_ = nullptr;
  std::size_t at_ = 0;
};

/// Makes a step out of its arrays.
class Builder {
 public:
  explicit Builder(const Flat& flat) : flat_(&flat) {
    each_array([](const auto& values, auto& taker) { taker.begin(values); }, flat, from_);
  }

  StepBatch part() {
    StepBatch part;
    for (const auto bytes : flat_->name_bytes)
      from_.names.into(part.component_names.emplace_back(), bytes);
    if (flat_->greedy_prompt.size() != flat_->greedy_reward.size()) refuse();
    for (std::size_t i = 0; i < flat_->greedy_prompt.size(); ++i)
      part.greedy[{flat_->greedy_prompt[i]}] = flat_->greedy_reward[i];
    part.groups.reserve(flat_->step.size()), part.scores.reserve(flat_->step.size());
    for (std::size_t g = 0; g < flat_->step.size(); ++g) {
      part.groups.push_back({.id = {from_.step.one(), {from_.prompt.one()}, from_.draw.one()},
                             .level = from_.level.one(),
                             .rollouts = {},
                             .planned = from_.planned.one(),
                             .bin = from_.bin.one(),
                             .stream_prompt = from_.stream_prompt.one()});
      read_origin(part.groups.back());
      if (!flat_->weight.empty()) {
        auto& training = part.training.emplace_back(
            scheduling::GroupTraining{.id = part.groups.back().id, .weight = from_.weight.one()});
        from_.keep.into(training.keep, from_.keeps.one());
      }
      auto& scores = part.scores.emplace_back();
      const std::uint32_t count = from_.rollouts.one();
      part.groups.back().rollouts.reserve(std::min<std::size_t>(count, flat_->sample.size())),
          scores.reserve(std::min<std::size_t>(count, flat_->sample.size()));
      for (std::uint32_t i = count; i > 0; --i)
        part.groups.back().rollouts.push_back(rollout(part.component_names.size(), scores));
    }
    const bool whole = from_.weight.done() && from_.keep.done() && from_.prompt.done() &&
                       from_.sample.done() && from_.finish.done() && from_.answers.done() &&
                       from_.components.done() && from_.role.done() && from_.columns.done() &&
                       from_.stretch_tokens.done() && from_.token.done() && from_.logprob.done() &&
                       from_.entropy.done() && from_.kept_mass.done() && from_.kept_end.done() &&
                       from_.kept_id.done() && from_.reasons.done() && from_.texts.done() &&
                       from_.names.done();
    if (!whole || !whole_conversations()) refuse();
    return part;
  }

 private:
  bool whole_conversations() const {
    return from_.kind.done() && from_.parent_step.done() && from_.starts.done() &&
           from_.opening.done() && from_.facts.done() && from_.placed.done() &&
           from_.placed_step.done() && from_.fact_reward.done() && from_.fact_component.done() &&
           from_.state.done() && from_.flags.done() && from_.fact_reasons.done();
  }

  void read_origin(Group& group) {
    group.from = {
        .kind = DerivedKind(from_.kind.one()),
        .parent = {from_.parent_step.one(), {from_.parent_prompt.one()}, from_.parent_draw.one()},
        .parent_sample = from_.parent_sample.one(),
        .tier = from_.tier.one(),
        .placement = Placement(from_.placement.one())};
    from_.starts.into(group.start, from_.start_bytes.one());
  }

  TurnFacts facts() {
    TurnFacts made;
    made.reward = from_.fact_reward.one();
    from_.fact_component.into(made.components, from_.fact_components.one());
    made.state = from_.state.one(), made.action = from_.action.one();
    made.flags = from_.flags.one(), made.kind = from_.action_kind.one(),
    made.seat = from_.seat.one();
    from_.fact_reasons.into(made.reason, from_.fact_reason_bytes.one());
    return made;
  }

  void read_conversation(Rollout& made) {
    made.opening = from_.opening.one(), made.parent = from_.parent.one(),
    made.fork_token = from_.fork_token.one();
    if (from_.placed.one() != 0)
      made.placed =
          GroupId{from_.placed_step.one(), {from_.placed_prompt.one()}, from_.placed_draw.one()};
    const std::uint32_t count = from_.facts.one();
    if (count != 0 && count != made.turns.size()) refuse();
    for (std::uint32_t i = count; i > 0; --i) made.facts.push_back(facts());
  }

  Rollout rollout(std::size_t components, std::vector<Score>& scores) {
    Rollout made{.sample = from_.sample.one(),
                 .finish = FinishReason(from_.finish.one()),
                 .turns = {},
                 .text = {}};
    Score& score = scores.emplace_back();
    from_.components.into(score.components, components);
    score.reward = from_.reward.one(), score.correct = from_.correct.one() != 0,
    score.undecided = from_.undecided.one() != 0;
    score.clock_ended = from_.clock_ended.one() != 0;
    from_.answers.into(score.answer, from_.answer_bytes.one()),
        from_.reasons.into(score.reason, from_.reason_bytes.one()),
        from_.texts.into(made.text, from_.text_bytes.one());
    made.turns.resize(std::min<std::size_t>(from_.turns.one(), flat_->role.size()));
    for (Turn& turn : made.turns) {
      turn.role = Role(from_.role.one());
      from_.token.into(turn.tokens, from_.tokens.one());
      const std::size_t columns = from_.columns.one();
      from_.logprob.into(turn.columns.logprob, columns),
          from_.entropy.into(turn.columns.entropy, columns);
      for (std::uint32_t i = from_.stretches.one(); i > 0; --i) {
        const std::size_t length = from_.stretch_tokens.one();
        if (length > columns - turn.policy_version.size()) refuse();
        turn.policy_version.insert(turn.policy_version.end(), length, from_.stretch_version.one());
      }
      if (turn.policy_version.size() != columns) refuse();
      from_.kept_mass.into(turn.kept_mass, from_.masses.one());
      from_.kept_end.into(turn.kept.end, from_.lists.one());
      if (!std::is_sorted(turn.kept.end.begin(), turn.kept.end.end())) refuse();
      from_.kept_id.into(turn.kept.id,
                         turn.kept.end.empty() ? 0 : std::size_t(turn.kept.end.back()));
    }
    read_conversation(made);
    return made;
  }

  const Flat* flat_;
  Arrays<Taker> from_;
};

}  // namespace

std::string to_wire(const StepBatch& part, Texts texts) {
  const Flat flat = flatten(part, texts);
  std::size_t size = 0;
  each_array(
      [&](const auto& values) {
        size += sizeof(std::uint64_t) + values.size() * sizeof(values[0]);
      },
      flat);
  std::string bytes;
  bytes.reserve(size);
  const auto append = [&](const auto& values) {
    const std::uint64_t count = values.size();
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  each_array(append, flat);
  return bytes;
}

StepBatch from_wire(const std::string& bytes) {
  Flat flat;
  std::size_t at = 0;
  const auto read = [&](auto& values) {
    std::uint64_t count = 0;
    if (bytes.size() - at < sizeof count) refuse();
    std::memcpy(&count, bytes.data() + at, sizeof count);
    at += sizeof count;
    if (count > (bytes.size() - at) / sizeof(values[0])) refuse();
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), bytes.data() + at, count * sizeof(values[0]));
    at += count * sizeof(values[0]);
  };
  each_array(read, flat);
  if (at != bytes.size()) refuse();
  return Builder(flat).part();
}

}  // namespace rollcall::run
