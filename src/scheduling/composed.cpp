// Calls sampler, allocator, rounds and selection in turn, and saves their states under one format
// number.
#include "scheduling/composed.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/joined.hpp"
#include "base/text/json.hpp"
#include "scheduling/allocation_metrics.hpp"
#include "scheduling/prompts/candidates.hpp"
#include "scheduling/prompts/outcomes.hpp"
#include "scheduling/schedulers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace rollcall::scheduling {
namespace {

constexpr int kFormat = 4;  // of the saved state, raised when a key changes its meaning
constexpr const char* kWhy = "the run could not continue where it stopped";

/// The distinct values, ascending. They are few, so a set is better than sorting a copy.
std::vector<std::int32_t> distinct(const std::vector<std::int32_t>& values) {
  const std::set<std::int32_t> few(values.begin(), values.end());
  return {few.begin(), few.end()};
}

template <class Family>
std::unique_ptr<Family> make(std::span<const PieceRow<Family>> table, const std::string& name,
                             Knowledge& knowledge) {
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const auto& r) { return name == r.name; });
  return row->make(knowledge);  // resolve() has found it
}

void add_fragments(std::vector<GroupPlan>& groups, const std::vector<GroupPlan>& fragments) {
  std::map<GroupId, std::size_t> known;
  for (std::size_t i = 0; i < groups.size(); ++i) known[groups[i].id] = i;
  std::set<GroupId> round;
  for (const GroupPlan& fragment : fragments) {
    expect(
        round.insert(fragment.id).second,
        "a round continues a group once: two fragments could come back in any order, and `keep` goes by the order of samples");
    const auto [it, fresh] = known.try_emplace(fragment.id, groups.size());
    if (fresh) groups.push_back(fragment);
    else groups[it->second].count += fragment.count;
  }
}

/// Adds rollouts that were drawn but have no result as dropped ones, because a group whose rank was
/// killed also counts as drawn.
std::vector<GroupReport> with_missing(std::vector<GroupReport> reports,
                                      const std::vector<GroupPlan>& drawn) {
  std::map<GroupId, std::int64_t> missing;
  for (const GroupPlan& plan : drawn) missing[plan.id] = plan.count;
  for (GroupReport& report : reports) {
    const auto plan = missing.extract(report.id);
    if (!plan.empty())
      report.dropped +=
          std::uint32_t(std::max<std::int64_t>(0, plan.mapped() - rollcall::drawn(report)));
  }
  for (const GroupPlan& plan : drawn) {
    if (missing.contains(plan.id))
      reports.push_back(
          {.id = plan.id, .level = plan.level, .dropped = plan.count, .from = plan.from});
  }
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return reports;
}

/// The diversity of a group from its two rounds: their mean, weighted by rollouts, because texts of
/// different rounds were not compared.
double merged_diversity(const GroupReport& a, const GroupReport& b) {
  if (std::isnan(a.diversity)) return b.diversity;
  if (std::isnan(b.diversity)) return a.diversity;
  const auto x = double(a.rewards.size()), y = double(b.rewards.size());
  return (x * a.diversity + y * b.diversity) / (x + y);
}

void check(const std::vector<GroupReport>& reports) {
  for (const GroupReport& report : reports) {
    for (const double reward : report.rewards)
      require<NumericsError>(
          std::abs(reward) <= kLargestHeard,
          fmt::format("a reward of {} for a rollout of prompt {}", reward, report.id.prompt.value),
          "chances and budgets are made of squares of rewards, which must be finite numbers",
          "scale what the verifier or the recipe pays");
  }
}

void check(const StepRequest& r) {
  const char* why = "a step needs prompts, and each prompt rollouts";
  require<ConfigError>(r.prompts >= 1, fmt::format("a step of {} prompts", r.prompts), why,
                       "set train.prompts_per_step to at least 1");
  require<ConfigError>(r.min_rollouts >= 1,
                       fmt::format("scheduler.min_rollouts = {}", r.min_rollouts), why,
                       "set it to at least 1");
  require<ConfigError>(r.max_rollouts <= std::numeric_limits<std::int32_t>::max(),
                       fmt::format("scheduler.max_rollouts = {}", r.max_rollouts),
                       "a group numbers its samples with 32 bits", "set a smaller one");
  // The budget of the whole step is checked before a piece sees a part of it.
  check_budget(r.prompts, r.budget, r.min_rollouts, r.max_rollouts);
}

using NamedPieces = std::vector<std::pair<const char*, Piece*>>;

NamedPieces named(const Pieces& pieces) {
  return {{"sampler", pieces.sampler.get()},
          {"allocator", pieces.allocator.get()},
          {"rounds", pieces.rounds.get()},
          {"selection", pieces.selection.get()}};
}

/// The schema knows the knobs by their own names, but a message must give the names of the run
/// file.
void set(ConfigSchema& schema, const std::string& key, const std::string& value) {
  const std::string assignment = key + "=" + value, origin = "--set " + assignment + ": ";
  try {
    schema.set(assignment);
  } catch (const ConfigError& e) {
    const std::string text = e.what();
    throw ConfigError("scheduler.knobs." +
                      (text.starts_with(origin) ? text.substr(origin.size()) : text));
  }
}

PolicyTraits traits_of(const Knowledge& knowledge, const Pieces& pieces) {
  PolicyTraits traits{.exact_total = pieces.rounds->exact_total(),
                      .most_rounds = pieces.rounds->most_rounds(),
                      .tiers = pieces.rounds->tiers(),
                      .hears_rewards = false,
                      .weighs = pieces.selection->weighs(),
                      .needs = knowledge.needs(),
                      .warnings = knowledge.signals.warnings()};
  for (const auto& [name, piece] : named(pieces)) {
    for (Need& need : piece->needs()) traits.needs.push_back(std::move(need));
    traits.hears_rewards = traits.hears_rewards || piece->hears_rewards();
  }
  return traits;
}

/// The state without the prompts' contents.
nlohmann::json state_of(const SchedulerChoice& choice, const Pieces& pieces, std::uint64_t prompts,
                        nlohmann::json knowledge,
                        const std::vector<std::pair<std::string, double>>& metrics) {
  nlohmann::json state = {
      {"format", kFormat},
      {"policy", choice.row},
      {"pieces", {choice.sampler, choice.allocator, choice.rounds, choice.selection}},
      {"prompts", prompts},
      {"knowledge", std::move(knowledge)},
      {"metrics", metrics}};
  for (const auto& [name, piece] : named(pieces)) state[name] = piece->save();
  return state;
}

/// Throws StorageError if the state was saved with a different format, row or choice of pieces.
void check_origin(const nlohmann::json& state, const SchedulerChoice& choice) {
  const auto format = state.at("format").get<int>();
  require<StorageError>(
      format == kFormat,
      fmt::format("scheduler state of format {}, this build reads {}", format, kFormat), kWhy,
      "resume with the version of Rollcall that wrote it");
  const auto row = state.at("policy").get<std::string>();
  require<StorageError>(row == choice.row,
                        fmt::format("scheduler state of the policy {}, not {}", row, choice.row),
                        kWhy, "resume with the scheduler.policy it was started with");
  const auto pieces = state.at("pieces").get<std::vector<std::string>>();
  const std::vector<std::string> own = {choice.sampler, choice.allocator, choice.rounds,
                                        choice.selection};
  require<StorageError>(pieces == own,
                        fmt::format("scheduler state of the pieces {}, not {}",
                                    joined(pieces, " x "), joined(own, " x ")),
                        kWhy, "resume with the scheduler section it was started with");
}

}  // namespace

ComposedPolicy::ComposedPolicy(SchedulerChoice choice, const Knobs& knobs, PromptTable prompts,
                               std::uint64_t seed)
    : choice_(std::move(choice)),
      knowledge_(std::move(prompts), seed),
      levels_(distinct(knowledge_.prompts.level)) {
  pieces_ = {make(samplers(), choice_.sampler, knowledge_),
             make(allocators(), choice_.allocator, knowledge_),
             make(rounds(), choice_.rounds, knowledge_),
             make(selections(), choice_.selection, knowledge_)};
  knowledge_.bind(schema_);
  for (const auto& [name, piece] : named(pieces_)) piece->bind(schema_);
  const auto row = std::find_if(schedulers().begin(), schedulers().end(),
                                [&](const auto& r) { return r.name == choice_.row; });
  const auto known = schema_.keys();
  for (const auto& [key, value] : row->settings) {
    // A setting is dropped if its piece was replaced.
    if (std::find(known.begin(), known.end(), key) != known.end()) set(schema_, key, value);
  }
  Faults faults;
  for (const auto& knob : knobs) {
    const std::string key = "scheduler.knobs." + knob.first;
    const bool has_some =
        faults.need({key}, !known.empty(),
                    fmt::format("{} is set, but the policy {} has no knobs", key, choice_.row),
                    "it would change nothing", "remove it or choose another scheduler.policy");
    if (has_some) faults.check({key}, [&] { set(schema_, knob.first, knob.second); });
  }
  faults.require_none();
  knowledge_.start();
  traits_ = traits_of(knowledge_, pieces_);
}

Decision ComposedPolicy::begin_step(const StepRequest& request) {
  check(request);
  const StepRequest first = pieces_.rounds->first(request);
  pool_.clear(), drawn_.clear();
  round_ = 0;
  begun_ = true;
  Decision decision;
  const auto draws = CandidateSampler(*pieces_.sampler, knowledge_.size()).choose(first, {});
  for (const PromptDraw& draw : draws) knowledge_.prefetch(draw.prompt);
  for (const PromptDraw& draw : draws) {
    decision.groups.push_back({.id = {request.step, draw.prompt, draw.draw},
                               .level = knowledge_.prompts.level.at(draw.prompt.value)});
    decision.probability.push_back(draw.probability);
  }
  if (std::any_of(decision.probability.begin(), decision.probability.end(),
                  [](double p) { return p < 0; }))
    decision.probability.clear();
  const auto counts = pieces_.allocator->counts(first, decision.groups);
  for (std::size_t i = 0; i < counts.size(); ++i)
    decision.groups[i].count = std::uint32_t(counts[i]);
  decision.last_round = !pieces_.rounds->looks();
  complete(decision, request);
  return decision;
}

void ComposedPolicy::hear_again(std::vector<GroupReport> reports) {
  check(reports);
  pool_ = std::move(reports);
}

Decision ComposedPolicy::next_round(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) {
  check(reports);
  merge_reports(pool_, reports);
  pool_ = with_missing(std::move(pool_), drawn_);
  CandidateSampler sampler(*pieces_.sampler, knowledge_.size());
  Decision decision = pieces_.rounds->next(request, ++round_, pool_, sampler);
  decision.last_round = decision.last_round || decision.groups.empty();
  complete(decision, request);
  return decision;
}

void ComposedPolicy::complete(Decision& decision, const StepRequest& request) {
  for (GroupPlan& group : decision.groups)
    group.level = knowledge_.prompts.level.at(group.id.prompt.value);
  if (drawn_.empty()) drawn_ = decision.groups;
  else add_fragments(drawn_, decision.groups);
  std::int64_t total = 0;
  for (const GroupPlan& group : drawn_) total += group.count;
  require<ProtocolError>(total <= hard_cap(request),
                         fmt::format("the policy {} drew {} rollouts, but its cap is {}",
                                     choice_.row, total, hard_cap(request)),
                         "every step must keep its budget", "report this as a bug in the policy");
  metrics_ = allocation_metrics(drawn_, levels_);
}

Training ComposedPolicy::settle(const StepRequest& request,
                                const std::vector<GroupReport>& reports) {
  check(reports);
  Training training{.groups =
                        pieces_.selection->select(request, with_verdicts(plain_reports(reports)))};
  std::sort(training.groups.begin(), training.groups.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  auto chosen = training.groups.begin();  // training.groups and reports ascend by GroupId
  for (const auto& report : reports) {
    training.drawn += rollcall::drawn(report);
    training.trained += std::int64_t(report.rewards.size());
    while (chosen != training.groups.end() && chosen->id < report.id) ++chosen;
    if (chosen == training.groups.end() || chosen->id != report.id || chosen->keep.empty())
      continue;
    training.trained -= std::int64_t(std::count(chosen->keep.begin(), chosen->keep.end(), 0));
  }
  metrics_.emplace_back("rollout_alloc/drawn", double(training.drawn));
  metrics_.emplace_back("rollout_alloc/trained", double(training.trained));
  return training;
}

void ComposedPolicy::end_step(const std::vector<GroupReport>& reports) {
  check(reports);
  const std::vector<GroupReport> known = with_verdicts(plain_reports(reports));
  knowledge_.learn(known);
  const std::vector<GroupReport>& learned = knowledge_.learned(known);
  for (const auto& [name, piece] : named(pieces_)) {
    piece->learn(learned);
    for (auto& metric : piece->metrics()) {
      // Two pieces may play the same game, with the same knobs and results.
      const auto same = [&](const auto& other) { return other.first == metric.first; };
      if (std::none_of(metrics_.begin(), metrics_.end(), same))
        metrics_.push_back(std::move(metric));
    }
  }
  for (auto& metric : bin_metrics(knowledge_)) metrics_.push_back(std::move(metric));
  pool_.clear(), drawn_.clear();
}

std::optional<Shortage> ComposedPolicy::shortage(const StepRequest& request) const {
  const auto prompts = std::int64_t(knowledge_.size());
  if (pieces_.sampler->needs_more_prompts() && prompts > 1 && request.prompts >= prompts)
    return Shortage{
        fmt::format("prefers some prompts, but train.prompts_per_step is {} and there are {}",
                    request.prompts, prompts),
        fmt::format("set train.prompts_per_step below {}", prompts)};
  for (const auto& [name, piece] : named(pieces_)) {
    if (auto found = piece->shortage(request)) return found;
  }
  return std::nullopt;
}

std::string ComposedPolicy::save() const {
  nlohmann::json state = state_of(choice_, pieces_, knowledge_.size(), knowledge_.save(), metrics_);
  state["content"] = knowledge_.prompts.content;
  return state.dump();
}

PolicyParts ComposedPolicy::save_parts(Rows which) {
  return {state_of(choice_, pieces_, knowledge_.size(), knowledge_.head(), metrics_).dump(),
          knowledge_.take_rows(which)};
}

LoadReport ComposedPolicy::load_state(const nlohmann::json& state,
                                      const std::vector<std::uint64_t>& then,
                                      const PromptRows& rows) {
  const auto size = state.at("prompts").get<std::uint64_t>();
  const auto& now = knowledge_.prompts.content;
  metrics_ = state.at("metrics").get<decltype(metrics_)>();
  if (then == now || then.empty() || now.empty()) {
    require<StorageError>(
        size == knowledge_.size(),
        fmt::format("scheduler state for {} training prompts, not {}", size, knowledge_.size()),
        kWhy, "resume with the task section it was started with");
    knowledge_.load(state.at("knowledge"), rows);
    for (const auto& [name, piece] : named(pieces_)) piece->load(state.at(name));
    return {.kept = size};
  }
  expect(!begun_, "a state of other prompts is loaded before the first step");
  const PromptMap map(then, now);
  LoadReport report{.same_prompts = false,
                    .kept = map.kept(),
                    .fresh = now.size() - map.kept(),
                    .gone = then.size() - map.kept()};
  knowledge_.load_changed(state.at("knowledge"), rows, map);
  for (const auto& [name, piece] : named(pieces_)) {
    if (!piece->load_changed(state.at(name), map)) report.restarted.emplace_back(name);
  }
  return report;
}

LoadReport ComposedPolicy::load(const std::string& text) {
  try {
    const auto state = nlohmann::json::parse(text);
    check_origin(state, choice_);
    return load_state(state, state.at("content").get<std::vector<std::uint64_t>>(),
                      rows_of(state.at("knowledge")));
  } catch (const nlohmann::json::exception& e) {
    throw StorageError(error_message(fmt::format("not a scheduler state: {}", fault_of(e)), kWhy,
                                     "resume from an older checkpoint"));
  }
}

LoadReport ComposedPolicy::load_parts(const PolicyParts& parts,
                                      const std::vector<std::uint64_t>& content) {
  try {
    const auto state = nlohmann::json::parse(parts.head);
    check_origin(state, choice_);
    return load_state(state, content, parts.rows);
  } catch (const nlohmann::json::exception& e) {
    throw StorageError(error_message(fmt::format("not a scheduler state: {}", fault_of(e)), kWhy,
                                     "resume from an older checkpoint"));
  }
}

std::vector<GroupReport> with_verdicts(const std::vector<GroupReport>& reports) {
  std::vector<GroupReport> known;
  std::copy_if(
      reports.begin(), reports.end(), std::back_inserter(known),
      [](const GroupReport& report) { return report.dropped == 0 || !report.rewards.empty(); });
  return known;
}

std::vector<GroupReport> plain_reports(const std::vector<GroupReport>& reports) {
  std::vector<GroupReport> plain;
  std::copy_if(reports.begin(), reports.end(), std::back_inserter(plain),
               [](const GroupReport& report) { return is_plain(report.from); });
  return plain;
}

namespace {

void append(GroupReport& group, GroupReport part) {
  const auto add = [](auto& to, auto& from) {
    to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
  };
  group.diversity = merged_diversity(group, part);
  add(group.rewards, part.rewards);
  add(group.correct, part.correct);
  add(group.lengths, part.lengths);
  add(group.answers, part.answers);
  add(group.predicted, part.predicted);
  group.dropped += part.dropped;
}

}  // namespace

void merge_reports(std::vector<GroupReport>& all, std::vector<GroupReport> more) {
  all.insert(all.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  const auto by_id = [](const GroupReport& a, const GroupReport& b) { return a.id < b.id; };
  if (!std::is_sorted(all.begin(), all.end(), by_id))
    std::stable_sort(all.begin(), all.end(), by_id);
  auto end = all.begin();
  for (auto next = all.begin(); next != all.end(); ++next) {
    if (end != all.begin() && std::prev(end)->id == next->id) {
      append(*std::prev(end), std::move(*next));
      continue;
    }
    if (end != next) *end = std::move(*next);
    ++end;
  }
  all.erase(end, all.end());
}

}  // namespace rollcall::scheduling
