// Sampler, allocator, rounds and selection in turn; their states under one format number.
#include "scheduling/composed.hpp"

#include "base/error.hpp"
#include "scheduling/allocation_metrics.hpp"
#include "scheduling/policies.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>

namespace rollcall::scheduling {
namespace {

constexpr int kFormat = 2;  // of the saved state; raise it when a key changes its meaning

std::vector<std::int32_t> distinct(std::vector<std::int32_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

template <class Family>
std::unique_ptr<Family> make(std::span<const PieceRow<Family>> table, const std::string& name, Knowledge& knowledge) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const auto& r) { return name == r.name; });
  return row->make(knowledge);  // resolve() has found it
}

void check(const StepRequest& r) {
  const char* why = "a step needs prompts, and each prompt rollouts";
  require<ConfigError>(r.prompts >= 1, fmt::format("a step of {} prompts", r.prompts), why, "set train.prompts_per_step to at least 1");
  require<ConfigError>(r.min_rollouts >= 1, fmt::format("scheduler.min_rollouts = {}", r.min_rollouts), why, "set it to at least 1");
  require<ConfigError>(r.max_rollouts <= std::numeric_limits<std::int32_t>::max(), fmt::format("scheduler.max_rollouts = {}", r.max_rollouts),
                       "a group numbers its samples with 32 bits", "set a smaller one");
  check_budget(r.prompts, r.budget, r.min_rollouts, r.max_rollouts);  // of the whole step, before a piece learns of it
}

}  // namespace

ComposedPolicy::ComposedPolicy(PolicyChoice choice, const Knobs& knobs, const PromptTable& prompts, std::uint64_t seed)
    : choice_(std::move(choice)), knowledge_(prompts, seed), levels_(distinct(prompts.level)) {
  pieces_ = {make(samplers(), choice_.sampler, knowledge_), make(allocators(), choice_.allocator, knowledge_), make(rounds(), choice_.rounds, knowledge_),
             make(selections(), choice_.selection, knowledge_)};
  knowledge_.bind(schema_);
  for (Piece* piece : std::initializer_list<Piece*>{pieces_.sampler.get(), pieces_.allocator.get(), pieces_.rounds.get(), pieces_.selection.get()})
    piece->bind(schema_);
  const auto row = std::find_if(policies().begin(), policies().end(), [&](const auto& r) { return r.name == choice_.row; });
  const auto known = schema_.keys();
  for (const auto& [key, value] : row->settings) {
    if (std::find(known.begin(), known.end(), key) != known.end()) set(key, value);  // a setting goes with the piece it belongs to
  }
  for (const auto& [key, value] : knobs) {
    require<ConfigError>(!known.empty(), fmt::format("scheduler.knobs.{} is set, but the policy {} has no knobs", key, choice_.row), "it would change nothing",
                         "remove it or choose another scheduler.policy");
    set(key, value);
  }
  knowledge_.start();
}

/// Knobs know their own names only; a message gives the run file's.
void ComposedPolicy::set(const std::string& key, const std::string& value) {
  const std::string assignment = key + "=" + value, origin = "--set " + assignment + ": ";
  try {
    schema_.set(assignment);
  } catch (const ConfigError& e) {
    const std::string text = e.what();
    throw ConfigError("scheduler.knobs." + (text.starts_with(origin) ? text.substr(origin.size()) : text));
  }
}

Decision ComposedPolicy::begin_step(const StepRequest& request) {
  check(request);
  const StepRequest first = pieces_.rounds->first(request);
  pool_.clear(), drawn_.clear();
  round_ = 0;
  Decision decision;
  for (const Draw& draw : pieces_.sampler->choose(first, {})) {
    decision.groups.push_back({.id = {request.step, draw.prompt, draw.draw}, .level = knowledge_.prompts().level.at(draw.prompt.value)});
    decision.probability.push_back(draw.probability);
  }
  if (std::any_of(decision.probability.begin(), decision.probability.end(), [](double p) { return p < 0; })) decision.probability.clear();
  const auto counts = pieces_.allocator->counts(first, decision.groups);
  for (std::size_t i = 0; i < counts.size(); ++i) decision.groups[i].count = std::uint32_t(counts[i]);
  decision.last_round = !pieces_.rounds->looks();
  complete(decision, request);
  return decision;
}

Decision ComposedPolicy::next_round(const StepRequest& request, const std::vector<GroupReport>& reports) {
  merge_reports(pool_, reports);
  Decision decision = pieces_.rounds->next(request, ++round_, pool_, *pieces_.sampler);
  decision.last_round = decision.last_round || decision.groups.empty();
  complete(decision, request);
  return decision;
}

void ComposedPolicy::complete(Decision& decision, const StepRequest& request) {
  std::map<GroupId, std::size_t> known;
  for (std::size_t i = 0; i < drawn_.size(); ++i) known[drawn_[i].id] = i;
  std::int64_t total = 0;
  for (GroupPlan& group : decision.groups) {
    group.level = knowledge_.prompts().level.at(group.id.prompt.value);
    const auto [it, fresh] = known.try_emplace(group.id, drawn_.size());
    if (fresh) drawn_.push_back(group);
    else drawn_[it->second].count += group.count;
  }
  for (const GroupPlan& group : drawn_) total += group.count;
  require<ProtocolError>(total <= hard_cap(request), fmt::format("the policy {} drew {} rollouts, its cap is {}", choice_.row, total, hard_cap(request)),
                         "budgets are kept at every step", "report this as a defect of the policy");
  metrics_ = allocation_metrics(drawn_, levels_);
}

Training ComposedPolicy::settle(const StepRequest& request, const std::vector<GroupReport>& reports) {
  Training training{.groups = pieces_.selection->select(request, reports)};
  std::map<GroupId, const GroupTraining*> chosen;
  for (const auto& group : training.groups) chosen[group.id] = &group;
  for (const auto& report : reports) {
    const auto n = std::int64_t(report.rewards.size());
    const auto it = chosen.find(report.id);
    training.drawn += n;
    training.trained += it == chosen.end() || it->second->keep.empty() ? n : std::int64_t(std::count(it->second->keep.begin(), it->second->keep.end(), 1));
  }
  metrics_.emplace_back("rollout_alloc/drawn", double(training.drawn));
  metrics_.emplace_back("rollout_alloc/trained", double(training.trained));
  return training;
}

void ComposedPolicy::end_step(const std::vector<GroupReport>& reports) {
  knowledge_.learn(reports);
  for (Piece* piece : std::initializer_list<Piece*>{pieces_.sampler.get(), pieces_.allocator.get(), pieces_.rounds.get(), pieces_.selection.get()}) {
    piece->learn(reports);
    for (auto& metric : piece->metrics()) metrics_.push_back(std::move(metric));
  }
  for (auto& metric : knowledge_.metrics()) metrics_.push_back(std::move(metric));
  pool_.clear(), drawn_.clear();
}

std::string ComposedPolicy::save() const {
  const nlohmann::json state = {{"format", kFormat},
                                {"policy", choice_.row},
                                {"pieces", {choice_.sampler, choice_.allocator, choice_.rounds, choice_.selection}},
                                {"prompts", knowledge_.size()},
                                {"knowledge", knowledge_.save()},
                                {"sampler", pieces_.sampler->save()},
                                {"allocator", pieces_.allocator->save()},
                                {"rounds", pieces_.rounds->save()},
                                {"selection", pieces_.selection->save()},
                                {"metrics", metrics_}};
  return state.dump();
}

void ComposedPolicy::load(const std::string& text) {
  const char* why = "the run could not continue where it stopped";
  try {
    const auto state = nlohmann::json::parse(text);
    const auto format = state.at("format").get<int>();
    require<StorageError>(format == kFormat, fmt::format("scheduler state of format {}, this build reads {}", format, kFormat), why,
                          "resume with the version of Rollcall that wrote it");
    const auto row = state.at("policy").get<std::string>();
    require<StorageError>(row == choice_.row, fmt::format("scheduler state of the policy {}, not {}", row, choice_.row), why,
                          "resume with the scheduler.policy it was started with");
    const auto pieces = state.at("pieces").get<std::vector<std::string>>();
    const std::vector<std::string> own = {choice_.sampler, choice_.allocator, choice_.rounds, choice_.selection};
    require<StorageError>(pieces == own, fmt::format("scheduler state of the pieces {}, not {}", fmt::join(pieces, " x "), fmt::join(own, " x ")), why,
                          "resume with the scheduler section it was started with");
    const auto size = state.at("prompts").get<std::size_t>();
    require<StorageError>(size == knowledge_.size(), fmt::format("scheduler state for {} training prompts, not {}", size, knowledge_.size()), why,
                          "resume with the task section it was started with");
    knowledge_.load(state.at("knowledge"));
    pieces_.sampler->load(state.at("sampler"));
    pieces_.allocator->load(state.at("allocator"));
    pieces_.rounds->load(state.at("rounds"));
    pieces_.selection->load(state.at("selection"));
    metrics_ = state.at("metrics").get<decltype(metrics_)>();
  } catch (const nlohmann::json::exception& e) {
    throw StorageError(error_message(fmt::format("not a scheduler state: {}", e.what()), why, "resume from an older checkpoint"));
  }
}

void merge_reports(std::vector<GroupReport>& all, const std::vector<GroupReport>& more) {
  std::map<GroupId, std::size_t> index;
  for (std::size_t i = 0; i < all.size(); ++i) index[all[i].id] = i;
  for (const auto& report : more) {
    const auto [it, fresh] = index.try_emplace(report.id, all.size());
    if (fresh) {
      all.push_back(report);
      continue;
    }
    auto& group = all[it->second];
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(group.rewards, report.rewards);
    append(group.correct, report.correct);
    append(group.lengths, report.lengths);
    append(group.answers, report.answers);
    append(group.predicted, report.predicted);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

}  // namespace rollcall::scheduling
