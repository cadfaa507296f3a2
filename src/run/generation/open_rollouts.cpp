// Begins the rollouts of a plan, and makes requests of them.
#include "run/generation/open_rollouts.hpp"

#include "run/generation/conversation_seeds.hpp"
#include "run/generation/generation.hpp"
#include "run/messages/purposes.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::run {
namespace {

constexpr double kLook_s = 0.1;  // time between two checks whether the step is cut

std::uint32_t sample_of(const GroupPlan& plan, std::uint32_t index) {
  return plan.samples.empty() ? plan.first_sample + index : plan.samples[index];
}

/// The user's last message, which is the whole text of the prompt if it is a single question.
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

/// Decides which rollouts are sampled from their beginning, and which others may be forked from
/// each of them.
void share_out(const DriverParts& parts, Purpose purpose, OpenGroup& group) {
  const GroupPlan& plan = *group.plan;
  group.unforked = plan.count;
  if (!plan.samples.empty() || plan.count < 2) return;
  if (!parts.exit.empty()) {
    group.exits = purpose == Purpose::train && is_plain(plan.id, plan.from);
    if (group.exits) group.unforked = 1;
  } else if (parts.forks != nullptr && plan.unforked > 0) {
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

}  // namespace

environment::Seeds seeds_of(const DriverParts& parts, Split split, const OpenGroup& group,
                            std::uint32_t sample) {
  return conversation_seeds(std::uint64_t(parts.context->config.run.seed),
                            {split, group.plan->id, group.plan->from, group.address}, sample);
}

OpenRollouts::OpenRollouts(const DriverParts& parts, const StepPlan& plan, const PromptBook& book,
                           std::vector<std::vector<RolloutOpening>> openings)
    : parts_(parts), plan_(&plan), book_(&book) {
  groups_.reserve(plan.groups.size());  // conversations point at prompts
  for (std::size_t g = 0; g < plan.groups.size(); ++g)
    add_group(plan.groups[g], std::move(openings[g]));
}

OpenRollouts::~OpenRollouts() {
  if (is_told_) parts_.context->threads.pool->held_up("");
  for (OpenGroup& group : groups_)
    for (OpenRollout& rollout : group.rollouts) close(rollout);
}

void OpenRollouts::add_group(const GroupPlan& plan, std::vector<RolloutOpening> openings) {
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
  share_out(parts_, plan_->purpose, group);
}

bool OpenRollouts::may_branch() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const OpenGroup& group) { return group.unforked < group.rollouts.size(); });
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
      talk.seeds = seeds_of(parts_, plan_->split, group, rollout.sample);
      rollout.talk.emplace(std::move(talk), TurnLimits{}, rollout.opening.given);
      if (auto start = ask(rollout, number_of(g, i), queue))
        begin(group, rollout, std::move(*start));
      else ++waiting;
    }
  }
  const Stopwatch waited;
  while (waiting > 0 && !parts_.context->threads.cut->wanted()) {
    auto starts = queue.take(kLook_s);
    heard(starts.size());
    for (auto& [number, start] : starts) {
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

/// Finds the tokens of a rollout's question, and its room after them. `question` takes the place of
/// the prompt's own text; empty: the prompt's text.
void OpenRollouts::ask_question(OpenGroup& group, OpenRollout& rollout, std::string question) {
  const RolloutOpening& opening = rollout.opening;
  const bool is_told = !question.empty();
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
    // Only a rollout's own question may be longer than the length that the run has checked.
    rollout.most = plan_->sampling.max_new_tokens - given;
    if (rollout.question > 0) rollout.most = std::min(rollout.most, positions - prompt - given);
    return;
  }
  if (is_told && positions - prompt - given < 1) {
    rollout.talk->lose_start(
        environment::Loss::malformed,
        fmt::format("with its first text the prompt has {} tokens, and the model {} positions",
                    prompt, positions));
    rollout.question = 0;  // as other rollouts that never began
    return close(rollout);
  }
  TurnLimits limits = turn_limits(context.config, plan_->sampling, positions, prompt);
  limits.turns = most_turns(context.config.environment, *plan_);
  rollout.talk->limit(limits);
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
  ++awaited_;  // before the answer may come
  auto answer = parts_.partner->ask(talk, conversation, queue);
  if (answer) --awaited_;
  return answer;
}

void OpenRollouts::heard(std::size_t answers) {
  awaited_ -= answers;
  const WorkerPool& pool = *parts_.context->threads.pool;
  if (answers == 0) {
    is_told_ = true;
    const std::size_t count = awaited_;
    pool.held_up(fmt::format("waiting for the environment: {} conversation{}", count,
                             count == 1 ? "" : "s"));
  } else if (is_told_.exchange(false)) {
    pool.held_up("");
  }
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

}  // namespace rollcall::run
