// Reading a line strictly, playing its step, writing what was decided.
#include "scheduling/trace.hpp"

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/nearest.hpp"
#include "scheduling/composed.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace rollcall::scheduling {
namespace {

using nlohmann::json;

const char* kShape = "a line is a step: prompts, budget, select, and what they returned";

void check(bool ok, const std::string& problem, const std::string& suggestion = "see rollcall schedule --help", const char* why = kShape) {
  require<InputError>(ok, problem, why, suggestion);
}

void check_keys(const json& object, const std::vector<std::string>& valid, const char* what) {
  for (const auto& [key, value] : object.items()) {
    check(std::find(valid.begin(), valid.end(), key) != valid.end(), fmt::format("{} has no key \"{}\"", what, key), suggest_name(key, valid));
  }
}

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  check(found != object.end(), fmt::format("\"{}\" is missing", key), fmt::format("give \"{}\"", key));
  return *found;
}

std::int64_t whole(const json& value, const std::string& name, std::int64_t least) {
  check(value.is_number_integer() && value >= least && value <= std::int64_t{1} << 53, fmt::format("\"{}\" is {}", name, value.dump()),
        fmt::format("write an integer from {} on", least));
  return value.get<std::int64_t>();
}

double number(const json& value, const std::string& name) {
  check(value.is_number(), fmt::format("\"{}\" is {}", name, value.dump()), "write a number");
  return value.get<double>();
}

const json& list(const json& value, const std::string& name, std::optional<std::size_t> size = std::nullopt) {
  check(value.is_array(), fmt::format("\"{}\" is not a list", name), "write it in brackets");
  check(!size || value.size() == *size, fmt::format("\"{}\" has {} entries, not {}", name, value.size(), size.value_or(0)), "write one for each");
  return value;
}

bool is_id(const json& value) { return value.is_string() || (value.is_number_integer() && value >= 0); }

std::vector<double> numbers(const json& value, const std::string& name, std::optional<std::size_t> size = std::nullopt) {
  std::vector<double> all;
  for (const auto& entry : list(value, name, size)) all.push_back(number(entry, name));
  return all;
}

/// The reports of the groups a round drew: as many of each prompt's rewards as are its turn. Nothing where the line does not hold them all.
std::optional<std::vector<GroupReport>> returned(const std::vector<GroupPlan>& round, const std::vector<GroupReport>& reports) {
  std::vector<GroupReport> parts;
  for (const GroupPlan& group : round) {
    const auto found = std::find_if(reports.begin(), reports.end(), [&](const GroupReport& r) { return r.id == group.id; });
    const std::size_t first = group.first_sample, last = first + group.count;
    if (found == reports.end() || found->rewards.size() < last) return std::nullopt;
    GroupReport part = *found;
    const auto cut = [&](auto& values) { values = {values.begin() + std::ptrdiff_t(first), values.begin() + std::ptrdiff_t(last)}; };
    cut(part.rewards), cut(part.correct), cut(part.lengths);
    parts.push_back(std::move(part));
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return parts;
}

/// What all rounds drew, one entry a group.
void add_round(std::vector<GroupPlan>& drawn, const std::vector<GroupPlan>& round) {
  for (const GroupPlan& group : round) {
    const auto same = std::find_if(drawn.begin(), drawn.end(), [&](const GroupPlan& g) { return g.id == group.id; });
    if (same == drawn.end()) drawn.push_back(group);
    else same->count += group.count;
  }
}

}  // namespace

struct Trace::Line {
  StepRequest request;
  std::vector<GroupReport> report;  // ascending GroupId
};

Trace::Trace(PolicyChoice choice, Knobs knobs, std::uint64_t seed, std::optional<std::uint64_t> prompts)
    : choice_(std::move(choice)), knobs_(std::move(knobs)), seed_(seed), dense_(prompts) {
  make_policy(choice_, knobs_, PromptTable{.level = {0}}, seed_);  // wrong names are told before the first line is waited for
}

Trace::~Trace() = default;

std::vector<std::string> Trace::warnings() const { return make_policy(choice_, knobs_, PromptTable{.level = {0}}, seed_)->warnings(); }

std::uint64_t Trace::index_of(const json& id) const {
  if (dense_) {
    check(id.is_number_integer() && id >= 0 && id < *dense_, fmt::format("prompt {} is none of 0 .. {}", id.dump(), *dense_ - 1), "raise --prompts",
          "the policy keeps a table of all prompts");
    return id.get<std::uint64_t>();
  }
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  check(found != ids_.end() && *found == id, fmt::format("prompt {} is not among the first line's candidates", id.dump()),
        "name it there, or give --prompts N for the prompts 0 .. N-1", "the policy's table of prompts is made of them");
  return std::uint64_t(found - ids_.begin());
}

json Trace::id_of(PromptId prompt) const { return dense_ ? json(prompt.value) : ids_.at(prompt.value); }

void Trace::make_table(const json& object) {
  const json& prompts = object.at("prompts");
  if (!dense_) {
    ids_.assign(prompts.begin(), prompts.end());
    std::sort(ids_.begin(), ids_.end());
  }
  const std::size_t size = dense_ ? *dense_ : ids_.size();
  table_.level.assign(size, 0);
  if (object.contains("levels")) {
    const json& levels = list(object.at("levels"), "levels", prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) table_.level[index_of(prompts[i])] = std::int32_t(whole(levels[i], "levels", 0));
  }
  if (!object.contains("priors")) return;
  table_.prior.assign(size, 0.5F);
  const auto priors = numbers(object.at("priors"), "priors", prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    check(priors[i] >= 0 && priors[i] <= 1, fmt::format("a prior of {}", priors[i]), "write success rates from 0 to 1");
    table_.prior[index_of(prompts[i])] = float(priors[i]);
  }
}

void Trace::compare_with_table(const json& object) const {
  const json& prompts = object.at("prompts");
  const auto same = [&](const char* key, const auto& known) {
    if (!object.contains(key)) return true;
    const auto values = numbers(object.at(key), key, prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::uint64_t p = index_of(prompts[i]);
      if (p >= known.size() || double(known[p]) != double(typename std::decay_t<decltype(known)>::value_type(values[i]))) return false;
    }
    return true;
  };
  check(same("levels", table_.level) && same("priors", table_.prior), "\"levels\" or \"priors\" say something else than the first line did",
        "tell them there, for every prompt that has one", "the policy's table of prompts is made of the first line");
}

std::vector<GroupReport> Trace::read_report(const json& entries, std::uint64_t step) const {
  std::map<GroupId, GroupReport> reports;
  for (const json& entry : list(entries, "report")) {
    check(entry.is_object(), "an entry of \"report\" is not an object", "write {\"prompt\": ID, \"rewards\": [...]}");
    check_keys(entry, {"prompt", "rewards", "correct", "lengths", "loss", "mean_abs_advantage"}, "a report");
    GroupReport r;
    r.id = {step, {index_of(member(entry, "prompt"))}, 0};
    while (reports.contains(r.id)) ++r.id.draw;  // a prompt that was drawn several times reports several times
    r.level = table_.level[r.id.prompt.value];
    r.rewards = numbers(member(entry, "rewards"), "rewards");
    check(!r.rewards.empty(), fmt::format("prompt {} reports no rewards", entry.at("prompt").dump()), "leave the entry out");
    for (const double reward : r.rewards) r.correct.push_back(reward > 0.5);
    if (entry.contains("correct")) {
      const json& correct = list(entry.at("correct"), "correct", r.rewards.size());
      for (std::size_t i = 0; i < correct.size(); ++i) r.correct[i] = correct[i].is_boolean() ? correct[i].get<bool>() : number(correct[i], "correct") > 0.5;
    }
    r.lengths.assign(r.rewards.size(), 1);
    if (entry.contains("lengths")) {
      const json& lengths = list(entry.at("lengths"), "lengths", r.rewards.size());
      for (std::size_t i = 0; i < lengths.size(); ++i) r.lengths[i] = std::int32_t(whole(lengths[i], "lengths", 0));
    }
    if (entry.contains("loss")) r.loss = number(entry.at("loss"), "loss");
    if (entry.contains("mean_abs_advantage")) r.mean_abs_advantage = number(entry.at("mean_abs_advantage"), "mean_abs_advantage");
    reports.emplace(r.id, std::move(r));
  }
  std::vector<GroupReport> ascending;
  for (auto& [id, report] : reports) ascending.push_back(std::move(report));
  return ascending;
}

Trace::Line Trace::parse(std::string_view text, std::size_t number_of_line) {
  const json object = json::parse(text, nullptr, false);
  check(object.is_object(), "not a JSON object", "write one JSON object a line");
  check_keys(object, {"prompts", "budget", "select", "min_rollouts", "max_rollouts", "levels", "priors", "report", "step", "progress"}, "a step");
  const json& prompts = list(member(object, "prompts"), "prompts");
  check(!prompts.empty() && std::all_of(prompts.begin(), prompts.end(), is_id), "\"prompts\" is not a list of ids", "write integers from 0 on, or text");
  Line line;
  StepRequest& r = line.request;
  r.budget = whole(member(object, "budget"), "budget", 1);
  r.prompts = whole(member(object, "select"), "select", 1);
  check(r.prompts <= std::int64_t(prompts.size()), fmt::format("{} prompts to select of {} candidates", r.prompts, prompts.size()),
        "select fewer or name more");
  r.min_rollouts = object.contains("min_rollouts") ? whole(object.at("min_rollouts"), "min_rollouts", 1) : 1;
  r.max_rollouts = object.contains("max_rollouts") ? whole(object.at("max_rollouts"), "max_rollouts", 1) : r.budget;
  r.step = object.contains("step") ? std::uint64_t(whole(object.at("step"), "step", 0)) : std::max<std::uint64_t>(number_of_line, last_step_ + 1);
  check(!policy_ || r.step > last_step_, fmt::format("step {} after step {}", r.step, last_step_), "number steps upwards",
        "what a policy knows fades with the steps");
  if (object.contains("progress")) r.progress = number(object.at("progress"), "progress");
  check(r.progress >= 0 && r.progress <= 1, fmt::format("\"progress\" is {}", r.progress), "write the share of the run that is done, 0 to 1");
  if (!policy_) make_table(object);
  for (const json& id : prompts) r.candidates.push_back({index_of(id)});
  std::sort(r.candidates.begin(), r.candidates.end());
  check(std::adjacent_find(r.candidates.begin(), r.candidates.end()) == r.candidates.end(), "\"prompts\" names a prompt twice", "name each once");
  if (policy_) compare_with_table(object);
  if (object.contains("report")) line.report = read_report(object.at("report"), r.step);
  return line;
}

std::string Trace::play(const Line& line) {
  Decision decision = policy_->begin_step(line.request);
  const auto probability = decision.probability;
  std::vector<GroupPlan> drawn = decision.groups;
  while (!decision.last_round) {
    const auto reports = returned(decision.groups, line.report);
    if (!reports) break;
    decision = policy_->next_round(line.request, *reports);
    add_round(drawn, decision.groups);
  }
  json selected, counts, bins, weights;
  for (const GroupPlan& group : drawn) {
    selected.push_back(id_of(group.id.prompt));
    counts.push_back(group.count);
    bins.push_back(policy_->bin(group.id.prompt));
    weights.push_back(policy_->weight(group.id.prompt));
  }
  nlohmann::ordered_json out = {{"selected", selected}, {"counts", counts}, {"bins", bins}, {"weights", weights}};
  if (probability.size() == drawn.size()) out["probabilities"] = probability;
  policy_->settle(line.request, line.report);
  policy_->end_step(line.report);
  out["state_sha256"] = Sha256().add(policy_->save()).hex();
  return out.dump();
}

std::string Trace::step(std::string_view text, std::size_t number_of_line) {
  try {
    const Line line = parse(text, number_of_line);
    if (!policy_) policy_ = make_policy(choice_, knobs_, table_, seed_);
    std::string decided = play(line);
    last_step_ = line.request.step;
    return decided;
  } catch (const Error& e) {
    throw InputError(fmt::format("line {}: {}", number_of_line, e.what()));
  }
}

}  // namespace rollcall::scheduling
