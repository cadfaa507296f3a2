// Begins the rollouts of a plan, and makes requests of them.
#include "run/generation/open_rollouts.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "run/generation/conversation_seeds.hpp"
#include "run/generation/generation.hpp"
#include "run/scoring/repeated_verdicts.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::run {
namespace {

constexpr double kLook_s = 0.1;  // between two looks whether the step is cut

std::uint32_t sample_of(const GroupPlan& plan, std::uint32_t index) {
  return plan.samples.empty() ? plan.first_sample + index : plan.samples[index];
}

/// What the user says last, which is all of the prompt's text where it is one question.
std::string last_question(const Prompt& prompt) {
  std::string question = prompt.text;
  if (!prompt.conversation.empty())
    (void)text::asked_last(prompt.conversation,
                           [&](std::string_view said) { return question = std::string(said); });
  return question;
}

/// The number by which the partner and its queue know a conversation.
std::uint64_t number_of(std::size_t group, std::size_t rollout) {
  constexpr unsigned kRollouts = 32;
  return std::uint64_t(group) << kRollouts | std::uint64_t(rollout);
}

}  // namespace

OpenRollouts::OpenRollouts(const DriverParts& parts, const StepPlan& plan, const PromptBook& book,
                           std::vector<std::vector<Opening>> openings)
    : parts_(parts), plan_(&plan), book_(&book) {
  groups_.reserve(plan.groups.size());  // conversations point at prompts
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    add_group(plan.groups[g], std::move(openings[g]));
}

OpenRollouts::~OpenRollouts() {
  for (OpenGroup& group : groups_)
    for (OpenRollout& rollout : group.rollouts) close(rollout);
}

void OpenRollouts::add_group(const GroupPlan& plan, std::vector<Opening> openings) {
  OpenGroup& group = groups_.emplace_back();
  group.plan = &plan;
  group.address = prompt_address(*plan_, plan);
  group.questions.push_back(book_->tokens(plan_->purpose, plan.id, plan.from));
  group.prompt = book_->asked(plan_->purpose, plan.id, plan.from);
  if (parts_.partner != nullptr) group.info = book_->extra(plan_->purpose, plan.id);
  for (std::uint32_t i = 0; i < plan.count; ++i) {
    OpenRollout& rollout = group.rollouts.emplace_back();
    rollout.sample = sample_of(plan, i);
    if (!openings.empty()) rollout.opening = std::move(openings[i]);
  }
  share_out(group);
}

/// Which rollouts are sampled from their beginning, and which of the others may be forked from each
/// of them.
void OpenRollouts::share_out(OpenGroup& group) const {
  const GroupPlan& plan = *group.plan;
  group.unforked = plan.count;
  if (!plan.samples.empty() || plan.count < 2) return;
  if (!parts_.exit.empty()) {
    group.exits = plan_->purpose == Purpose::train && is_plain(plan.id, plan.from);
    if (group.exits) group.unforked = 1;
  } else if (parts_.forks != nullptr && plan.unforked > 0) {
    group.unforked = std::min(plan.unforked, plan.count);
  }
  const std::uint32_t spare = plan.count - group.unforked;
  std::uint32_t leaf = group.unforked;
  for (std::uint32_t i = 0; i < group.unforked; ++i) {
    OpenRollout& rollout = group.rollouts[i];
    rollout.leaf = leaf;
    rollout.leaves = spare / group.unforked + (i < spare % group.unforked ? 1 : 0);
    leaf += rollout.leaves;
  }
}

bool OpenRollouts::may_branch() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const OpenGroup& group) { return group.unforked < group.rollouts.size(); });
}

environment::Seeds OpenRollouts::seeds_of(const OpenGroup& group, std::uint32_t sample) const {
  const Group made{.id = group.plan->id, .stream_prompt = group.address, .from = group.plan->from};
  return conversation_seeds(std::uint64_t(parts_.context->config.run.seed), plan_->split, made,
                            sample);
}

void OpenRollouts::begin() {
  if (parts_.partner == nullptr) {
    for (OpenGroup& group : groups_)
      for (OpenRollout& rollout : group.rollouts) ask_question(group, rollout, {});
    return;
  }
  environment::AnswerQueue& queue = new_queue();
  std::size_t waiting = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    OpenGroup& group = groups_[g];
    for (std::size_t i = 0; i < group.unforked; ++i) {
      OpenRollout& rollout = group.rollouts[i];
      environment::Talk talk;
      talk.id = sample_id(plan_->purpose, group.plan->id, rollout.sample);
      talk.prompt = &group.prompt, talk.info = group.info, talk.start = group.plan->start;
      talk.seeds = seeds_of(group, rollout.sample);
      rollout.talk.emplace(std::move(talk), TurnLimits{}, rollout.opening.given);
      if (auto start = ask(rollout, number_of(g, i), queue))
        begin(group, rollout, std::move(*start));
      else ++waiting;
    }
  }
  const Stopwatch waited;
  while (waiting > 0 && !parts_.context->threads.cut->wanted()) {
    for (auto& [number, start] : queue.take(kLook_s)) {
      OpenGroup& group = groups_.at(number >> 32U);
      parts_.context->threads.pool->progressed();
      begin(group, group.rollouts.at(number & 0xFFFF'FFFFU), std::move(start));
      --waiting;
    }
  }
  add_wait(waited.seconds());
}

void OpenRollouts::begin(OpenGroup& group, OpenRollout& rollout, environment::Answer start) {
  rollout.answered_s += rollout.asked.seconds();
  std::string shown = rollout.talk->begin(std::move(start));
  if (rollout.talk->over()) return close(rollout);
  ask_question(group, rollout, std::move(shown));
}

/// Finds the tokens of what a rollout is asked, and its room after them. `question`: in place of
/// the prompt's own text; empty: that text.
void OpenRollouts::ask_question(OpenGroup& group, OpenRollout& rollout, std::string question) {
  const Opening& opening = rollout.opening;
  if (!opening.words.empty()) {
    if (question.empty()) question = last_question(group.prompt);
    question += kBeforeWords + opening.words;
  }
  if (!question.empty()) {
    const auto [known, is_new] = group.question_of.try_emplace(question, group.questions.size());
    if (is_new)
      group.questions.push_back(
          book_->tokens(plan_->purpose, group.plan->id, group.plan->from, question));
    rollout.question = known->second;
  }
  const RunContext& context = *parts_.context;
  const auto prompt = std::int64_t(group.questions[rollout.question].size()),
             given = std::int64_t(opening.given.size()),
             positions = context.store->config().max_position_embeddings;
  if (!rollout.talk) {
    // Only a question of its own may be longer than the run has made sure of.
    rollout.most = plan_->sampling.max_new_tokens - given;
    if (rollout.question > 0) rollout.most = std::min(rollout.most, positions - prompt - given);
    return;
  }
  rollout.talk->limit(turn_limits(context.config, plan_->sampling, positions, prompt));
  rollout.most = rollout.talk->over() ? 0 : rollout.talk->room();
  if (rollout.talk->over()) close(rollout);
}

std::vector<model::DecodeRequest> OpenRollouts::requests() {
  std::vector<model::DecodeRequest> requests;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const OpenGroup& group = groups_[g];
    std::uint32_t opened = 0;  // rollouts of the last request; 0: the next one begins another
    for (std::uint32_t i = 0; i < group.unforked; ++i) {
      const OpenRollout& rollout = group.rollouts[i];
      if (rollout.most < 1) {
        opened = 0;
        continue;
      }
      const OpenRollout& first = group.rollouts[opened > 0 ? opened_.back().before : i];
      const bool follows = opened > 0 && rollout.sample == first.sample + opened &&
                           rollout.question == first.question &&
                           rollout.opening.given == first.opening.given;
      if (!follows) {
        model::DecodeRequest request{group.questions[rollout.question],
                                     std::uint64_t(parts_.context->config.run.seed),
                                     plan_->step,
                                     group.address,
                                     rollout.sample,
                                     0,
                                     std::int64_t(rollout.opening.given.size()),
                                     rollout.most};
        request.prompt.insert(request.prompt.end(), rollout.opening.given.begin(),
                              rollout.opening.given.end());
        requests.push_back(std::move(request));
        opened_.push_back({g, i});
        opened = 0;
      }
      ++opened;
      // Numbers between the last rollout that is opened and its forks belong to other requests.
      model::DecodeRequest& request = requests.back();
      const bool forks = request.unforked > 0 || rollout.leaves > 0;
      request.count =
          forks ? rollout.leaf + rollout.leaves - opened_.back().before : request.count + 1;
      if (forks) request.unforked = opened;
    }
  }
  return requests;
}

std::pair<std::size_t, std::size_t> OpenRollouts::in_shard(
    const model::SequencePlace& place) const {
  const Opened& opened = opened_.at(place.request);
  return {opened.group, std::size_t(opened.before) + place.sample};
}

OpenRollout& OpenRollouts::at(const model::SequencePlace& place) {
  const auto [group, rollout] = in_shard(place);
  return groups_[group].rollouts.at(rollout);
}

std::optional<environment::Answer> OpenRollouts::ask(OpenRollout& rollout,
                                                     std::uint64_t conversation,
                                                     environment::AnswerQueue& queue) {
  rollout.asked.restart();
  const environment::Talk& talk = rollout.talk->talk();
  if (auto lost = parts_.losses->find(talk)) return lost;
  rollout.is_asked = true;
  return parts_.partner->ask(talk, conversation, queue);
}

void OpenRollouts::close(OpenRollout& rollout) {
  if (std::exchange(rollout.is_asked, false)) parts_.partner->close(rollout.talk->talk());
}

environment::AnswerQueue& OpenRollouts::new_queue() {
  const std::lock_guard lock(mutex_);
  return queues_.emplace_back();
}

void OpenRollouts::add_wait(double seconds) {
  const std::lock_guard lock(mutex_);
  waited_s_ += seconds;
}

std::vector<std::size_t> OpenRollouts::places(const OpenGroup& group, const OpenRollout& rollout,
                                              const model::DecodedSequence& so_far,
                                              std::size_t turn) const {
  const std::size_t sampled = so_far.tokens.size();
  if (group.exits) {
    std::vector<std::size_t> ways;
    for (std::size_t j = 1; j <= rollout.leaves; ++j)
      ways.push_back(j * sampled / group.rollouts.size());
    return ways;
  }
  const RandomStream stream(std::uint64_t(parts_.context->config.run.seed), RandomPurpose::forks,
                            plan_->step, group.address, rollout.sample);
  return parts_.forks->places(so_far, turn, sampled, rollout.leaves, stream.bits(turn));
}

std::vector<model::Branch> OpenRollouts::branches(const model::SequencePlace& place,
                                                  const model::DecodedSequence& so_far,
                                                  std::size_t turn) {
  OpenRollout& from = at(place);
  if (from.leaves == 0) return {};
  const Opened& opened = opened_.at(place.request);
  OpenGroup& group = groups_[opened.group];
  const auto where = places(group, from, so_far, turn);
  expect(where.size() <= from.leaves, "a rollout has as many forks as it may have");
  std::vector<model::Branch> all;
  std::size_t last = turn;
  for (const std::size_t at : where) {
    expect(group.exits || (at >= last && at < so_far.tokens.size()),
           "a fork begins in the turn that has ended, and they ascend");
    last = at;
    all.push_back(branch(group, from, at));
    all.back().sample -= opened.before;
  }
  return all;
}

/// A rollout of the group that shares the first `place` sampled tokens of `from`.
model::Branch OpenRollouts::branch(OpenGroup& group, OpenRollout& from, std::size_t place) {
  const std::uint32_t number = from.leaf++;
  --from.leaves;
  OpenRollout& leaf = group.rollouts.at(number);
  leaf.opening = from.opening, leaf.question = from.question, leaf.most = from.most;
  model::Branch branch{.sample = number};
  if (group.exits) {
    const std::int64_t room = from.most - std::int64_t(place + parts_.exit.size());
    // Where the way is too short, or leaves no room behind the words, the rollout is a plain one.
    if (room < 1) place = 0;
    branch.most = place > 0 ? room : from.most;
    if (place > 0) {
      branch.said.assign(parts_.exit.begin(), parts_.exit.end());
      leaf.turns.push_back({.end = place, .said = branch.said});
    }
  } else if (from.talk) {
    const std::string id = sample_id(plan_->purpose, group.plan->id, leaf.sample);
    leaf.talk.emplace(from.talk->forked(place, id, seeds_of(group, leaf.sample)));
    branch.most = leaf.talk->room();
    const auto& turns = leaf.talk->turns();
    if (!turns.empty() && turns.back().end == place) branch.said = turns.back().said;
  } else {
    branch.most = from.most - std::int64_t(place);
  }
  branch.sampled = place;
  if (place > 0) {
    leaf.parent = from.sample;
    leaf.fork_token = std::int64_t(from.opening.learnt + place);
  }
  return branch;
}

}  // namespace rollcall::run
