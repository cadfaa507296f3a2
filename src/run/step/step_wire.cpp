// One array after the other, each behind its length: a million rollouts are a few dozen copies,
// where a value at a time they are as many calls.
#include "run/step/step_wire.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace rollcall::run {
namespace {

struct Flat {
  // [groups]
  std::vector<std::uint64_t> step, prompt, stream_prompt;
  std::vector<std::uint32_t> draw, planned, rollouts;
  std::vector<std::int32_t> level, bin;
  std::vector<double> weight;  // of StepBatch::training, as is what follows; empty where that is
  std::vector<std::uint32_t> keeps;  // values of `keep`
  // [rollouts]
  std::vector<std::uint32_t> sample, turns, answer_bytes, reason_bytes, text_bytes;
  std::vector<std::uint8_t> finish, correct, undecided, clock_ended;
  std::vector<std::uint8_t> keep;          // [sum of keeps]
  std::vector<double> reward, components;  // components: [rollouts][names]
  // [turns]
  std::vector<std::uint8_t> role;
  std::vector<std::uint32_t> tokens, columns, stretches;  // columns: of tokens with log-prob,
                                                          // entropy and version
  std::vector<std::uint32_t> masses, lists;  // of tokens with a kept mass, and with a list of kept
                                             // ids
  // [stretches]
  std::vector<std::uint32_t> stretch_tokens;
  std::vector<std::uint64_t> stretch_version;
  // [tokens]; [columns]
  std::vector<std::int32_t> token;
  std::vector<float> logprob, entropy;
  std::vector<float> kept_mass;         // [sum of masses]
  std::vector<std::uint64_t> kept_end;  // [sum of lists]
  std::vector<std::int32_t> kept_id;
  // [names], [greedy]
  std::vector<std::uint32_t> name_bytes;
  std::vector<std::uint64_t> greedy_prompt;
  std::vector<double> greedy_reward;
  std::vector<char> answers, reasons, texts, names;

  template <class Self, class Visit>
  static void each(Self& f, const Visit& visit) {
    visit(f.step), visit(f.prompt), visit(f.stream_prompt), visit(f.draw), visit(f.planned),
        visit(f.rollouts), visit(f.level), visit(f.bin);
    visit(f.weight), visit(f.keeps), visit(f.keep);
    visit(f.sample), visit(f.turns), visit(f.answer_bytes), visit(f.reason_bytes),
        visit(f.text_bytes);
    visit(f.finish), visit(f.correct), visit(f.undecided), visit(f.clock_ended), visit(f.reward),
        visit(f.components);
    visit(f.role), visit(f.tokens), visit(f.columns), visit(f.stretches), visit(f.stretch_tokens),
        visit(f.stretch_version);
    visit(f.token), visit(f.logprob), visit(f.entropy);
    visit(f.masses), visit(f.lists), visit(f.kept_mass), visit(f.kept_end), visit(f.kept_id);
    visit(f.name_bytes), visit(f.greedy_prompt), visit(f.greedy_reward), visit(f.answers),
        visit(f.reasons), visit(f.texts), visit(f.names);
  }
};

template <class T, class Range>
void add(std::vector<T>& to, const Range& values) {
  to.insert(to.end(), values.begin(), values.end());
}

void flatten(const Turn& turn, Flat& flat) {
  expect(turn.logprob.size() == turn.entropy.size() &&
             turn.logprob.size() == turn.policy_version.size(),
         "a turn's columns are of one length");
  flat.role.push_back(std::uint8_t(turn.role));
  flat.tokens.push_back(std::uint32_t(turn.tokens.size())),
      flat.columns.push_back(std::uint32_t(turn.logprob.size()));
  add(flat.token, turn.tokens), add(flat.logprob, turn.logprob), add(flat.entropy, turn.entropy);
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

/// Takes an array's values in turn; past its end are none.
template <class T>
class Taker {
 public:
  explicit Taker(const std::vector<T>& values) : values_(&values) {}
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
  const std::vector<T>* values_;
  std::size_t at_ = 0;
};

class Builder {
 public:
  explicit Builder(const Flat& flat) : f_(flat) {}

  StepBatch part() {
    StepBatch part;
    for (const auto bytes : f_.name_bytes) names_.into(part.component_names.emplace_back(), bytes);
    if (f_.greedy_prompt.size() != f_.greedy_reward.size()) refuse();
    for (std::size_t i = 0; i < f_.greedy_prompt.size(); ++i)
      part.greedy[{f_.greedy_prompt[i]}] = f_.greedy_reward[i];
    part.groups.reserve(f_.step.size()), part.scores.reserve(f_.step.size());
    for (std::size_t g = 0; g < f_.step.size(); ++g) {
      part.groups.push_back({.id = {step_.one(), {prompt_.one()}, draw_.one()},
                             .level = level_.one(),
                             .rollouts = {},
                             .planned = planned_.one(),
                             .bin = bin_.one(),
                             .stream_prompt = stream_prompt_.one()});
      if (!f_.weight.empty()) {
        auto& training = part.training.emplace_back(
            scheduling::GroupTraining{.id = part.groups.back().id, .weight = weight_.one()});
        keep_.into(training.keep, keeps_.one());
      }
      auto& scores = part.scores.emplace_back();
      const std::uint32_t count = rollouts_.one();
      part.groups.back().rollouts.reserve(std::min<std::size_t>(count, f_.sample.size())),
          scores.reserve(std::min<std::size_t>(count, f_.sample.size()));
      for (std::uint32_t i = count; i > 0; --i)
        part.groups.back().rollouts.push_back(rollout(part.component_names.size(), scores));
    }
    const bool whole = weight_.done() && keep_.done() && prompt_.done() && sample_.done() &&
                       finish_.done() && answer_.done() && components_.done() && role_.done() &&
                       columns_.done() && stretch_tokens_.done() && token_.done() &&
                       logprob_.done() && entropy_.done() && kept_mass_.done() &&
                       kept_end_.done() && kept_id_.done() && reason_.done() && text_.done() &&
                       names_.done();
    if (!whole) refuse();
    return part;
  }

 private:
  Rollout rollout(std::size_t components, std::vector<Score>& scores) {
    Rollout made{
        .sample = sample_.one(), .finish = FinishReason(finish_.one()), .turns = {}, .text = {}};
    Score& score = scores.emplace_back();
    components_.into(score.components, components);
    score.reward = reward_.one(), score.correct = correct_.one() != 0,
    score.undecided = undecided_.one() != 0;
    score.clock_ended = clock_ended_.one() != 0;
    answer_.into(score.answer, answer_bytes_.one()),
        reason_.into(score.reason, reason_bytes_.one()), text_.into(made.text, text_bytes_.one());
    made.turns.resize(std::min<std::size_t>(turns_.one(), f_.role.size()));
    for (Turn& turn : made.turns) {
      turn.role = Role(role_.one());
      token_.into(turn.tokens, tokens_.one());
      const std::size_t columns = columns_.one();
      logprob_.into(turn.logprob, columns), entropy_.into(turn.entropy, columns);
      for (std::uint32_t i = stretches_.one(); i > 0; --i) {
        const std::size_t length = stretch_tokens_.one();
        if (length > columns - turn.policy_version.size()) refuse();
        turn.policy_version.insert(turn.policy_version.end(), length, stretch_version_.one());
      }
      if (turn.policy_version.size() != columns) refuse();
      kept_mass_.into(turn.kept_mass, masses_.one());
      kept_end_.into(turn.kept.end, lists_.one());
      if (!std::is_sorted(turn.kept.end.begin(), turn.kept.end.end())) refuse();
      kept_id_.into(turn.kept.id, turn.kept.end.empty() ? 0 : std::size_t(turn.kept.end.back()));
    }
    return made;
  }

  const Flat& f_;
  Taker<std::uint64_t> step_{f_.step}, prompt_{f_.prompt}, stream_prompt_{f_.stream_prompt},
      stretch_version_{f_.stretch_version};
  Taker<std::uint32_t> draw_{f_.draw}, planned_{f_.planned}, rollouts_{f_.rollouts},
      sample_{f_.sample}, turns_{f_.turns}, answer_bytes_{f_.answer_bytes},
      reason_bytes_{f_.reason_bytes}, text_bytes_{f_.text_bytes}, keeps_{f_.keeps},
      tokens_{f_.tokens}, columns_{f_.columns}, stretches_{f_.stretches},
      stretch_tokens_{f_.stretch_tokens}, masses_{f_.masses}, lists_{f_.lists};
  Taker<std::uint64_t> kept_end_{f_.kept_end};
  Taker<std::int32_t> kept_id_{f_.kept_id};
  Taker<std::int32_t> level_{f_.level}, bin_{f_.bin}, token_{f_.token};
  Taker<std::uint8_t> finish_{f_.finish}, correct_{f_.correct}, undecided_{f_.undecided},
      clock_ended_{f_.clock_ended}, role_{f_.role}, keep_{f_.keep};
  Taker<double> reward_{f_.reward}, components_{f_.components}, weight_{f_.weight};
  Taker<float> logprob_{f_.logprob}, entropy_{f_.entropy}, kept_mass_{f_.kept_mass};
  Taker<char> answer_{f_.answers}, reason_{f_.reasons}, text_{f_.texts}, names_{f_.names};
};

}  // namespace

std::string to_wire(const StepBatch& part, Texts texts) {
  const Flat flat = flatten(part, texts);
  std::size_t size = 0;
  Flat::each(flat, [&](const auto& values) {
    size += sizeof(std::uint64_t) + values.size() * sizeof(values[0]);
  });
  std::string bytes;
  bytes.reserve(size);
  Flat::each(flat, [&](const auto& values) {
    const std::uint64_t count = values.size();
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  });
  return bytes;
}

StepBatch from_wire(const std::string& bytes) {
  Flat flat;
  std::size_t at = 0;
  Flat::each(flat, [&](auto& values) {
    std::uint64_t count = 0;
    if (bytes.size() - at < sizeof count) refuse();
    std::memcpy(&count, bytes.data() + at, sizeof count);
    at += sizeof count;
    if (count > (bytes.size() - at) / sizeof(values[0])) refuse();
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), bytes.data() + at, count * sizeof(values[0]));
    at += count * sizeof(values[0]);
  });
  if (at != bytes.size()) refuse();
  return Builder(flat).part();
}

}  // namespace rollcall::run
