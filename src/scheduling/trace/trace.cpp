// Reads a line strictly, ends the step before, decides the line's own step and writes the decision.
#include "scheduling/trace/trace.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "scheduling/composed.hpp"
#include "scheduling/trace/trace_json.hpp"
#include "scheduling/trace/trace_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace rollcall::scheduling {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

bool is_id(const json& value) {
  return value.is_string() || (value.is_number_integer() && value >= 0);
}

void sort_by_group(std::vector<GroupReport>& reports) {
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

/// The reports of the groups that a round drew, with the next rewards of each prompt. Empty if
/// `reports` does not hold all of them. A log does not say which results had help, so it holds no
/// such results.
std::optional<std::vector<GroupReport>> part_of(const std::vector<GroupPlan>& round,
                                                const std::vector<GroupReport>& reports) {
  std::vector<GroupReport> parts;
  for (const GroupPlan& group : round) {
    if (!is_plain(group.from)) return std::nullopt;
    const auto found = std::find_if(reports.begin(), reports.end(),
                                    [&](const GroupReport& r) { return r.id == group.id; });
    const std::size_t first = group.first_sample, last = first + group.count;
    if (found == reports.end() || found->rewards.size() < last) return std::nullopt;
    GroupReport part = *found;
    const auto cut = [&](auto& values) {
      values = {values.begin() + std::ptrdiff_t(first), values.begin() + std::ptrdiff_t(last)};
    };
    cut(part.rewards), cut(part.correct), cut(part.lengths);
    if (!part.predicted.empty()) cut(part.predicted);
    parts.push_back(std::move(part));
  }
  sort_by_group(parts);
  return parts;
}

/// Adds the groups of a round to those of earlier rounds, with one entry for each group.
void add_round(std::vector<GroupPlan>& drawn, const std::vector<GroupPlan>& round) {
  for (const GroupPlan& group : round) {
    const auto same = std::find_if(drawn.begin(), drawn.end(),
                                   [&](const GroupPlan& g) { return g.id == group.id; });
    if (same == drawn.end()) drawn.push_back(group);
    else same->count += group.count;
  }
}

/// The training of every group of the step, with `keep` if not all of its rollouts train. Groups of
/// the same prompt are in the order in which they were returned, `places`.
json training_of(const Training& training, const std::vector<GroupReport>& reports,
                 const TracePrompts& prompts, const std::map<GroupId, std::size_t>& places) {
  std::map<GroupId, const GroupTraining*> chosen;
  for (const GroupTraining& group : training.groups) chosen[group.id] = &group;
  std::vector<GroupId> returned;
  for (const GroupReport& report : reports) returned.push_back(report.id);
  std::sort(returned.begin(), returned.end(), [&](const GroupId& a, const GroupId& b) {
    return std::tuple(a.prompt, places.at(a), a) < std::tuple(b.prompt, places.at(b), b);
  });
  json groups = json::array();
  for (const GroupId& id : returned) {
    const auto found = chosen.find(id);
    json group = {{"prompt", prompts.id_of(id.prompt)},
                  {"weight", found == chosen.end() ? 1.0 : found->second->weight}};
    if (found != chosen.end() && !found->second->keep.empty()) group["keep"] = found->second->keep;
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

struct Trace::Line {
  std::optional<StepRequest> request;                // empty: the line has only results
  std::optional<std::vector<GroupReport>> returned;  // of the step before, or of its latest round;
                                                     // ascending GroupId
  std::map<GroupId, std::size_t> places{};           // place of each returned group in its list
  std::optional<std::vector<GroupReport>> report;    // of this step; ascending GroupId
};

Trace::Trace(SchedulerChoice choice, Knobs knobs, std::uint64_t seed,
             std::optional<std::uint64_t> prompts, bool hears_shaped)
    : choice_(std::move(choice)),
      knobs_(std::move(knobs)),
      seed_(seed),
      prompts_(prompts),
      columns_{.shaped = hears_shaped} {
  // Wrong names are reported before the first line is read.
  const auto policy = make_scheduler(choice_, knobs_, PromptTable{.level = {0}}, seed_);
  for (const Need& need : policy->traits().needs) {
    columns_.predicted |= need.field == "predicted";
    columns_.diversity |= need.field == "diversity";
  }
}

Trace::~Trace() = default;

std::vector<std::string> Trace::warnings() const {
  return make_scheduler(choice_, knobs_, PromptTable{.level = {0}}, seed_)->traits().warnings;
}

std::vector<GroupReport> Trace::read_report(const json& entries, std::uint64_t step) const {
  std::vector<GroupReport> reports;
  for (TraceResult& result : read_results(entries, "report", prompts_, columns_)) {
    // a prompt that was drawn several times has several reports
    const bool again = !reports.empty() && reports.back().id.prompt == result.prompt;
    result.report.id = {step, result.prompt, again ? reports.back().id.draw + 1 : 0};
    result.report.level = prompts_.table().level[result.prompt.value];
    reports.push_back(std::move(result.report));
  }
  return reports;
}

void Trace::read_returned(const json& entries, Line& line) const {
  check_line(open_.has_value(), "\"returned\" is given, but no step waits for results",
             "give it after an answer, once a step", "it holds the results of a decision");
  std::vector<GroupPlan> waiting = open_->round.groups;  // among a prompt's draws the larger ones
                                                         // come first, in the order of their
                                                         // results
  std::stable_sort(waiting.begin(), waiting.end(), [](const GroupPlan& a, const GroupPlan& b) {
    return std::tuple(a.id.prompt, b.count, a.id) < std::tuple(b.id.prompt, a.count, b.id);
  });
  auto& reports = line.returned.emplace();
  auto group = waiting.begin();
  for (TraceResult& result : read_results(entries, "returned", prompts_, columns_)) {
    const std::string id = prompts_.id_of(result.prompt).dump();
    while (group != waiting.end() && group->id.prompt < result.prompt) ++group;
    check_line(group != waiting.end() && group->id.prompt == result.prompt,
               fmt::format("\"returned\" names prompt {} more often than it was selected", id),
               "return what was selected", "it holds the results of the previous decision");
    GroupReport& r = result.report;
    check_line(r.rewards.size() <= group->count,
               fmt::format("\"returned\" has {} rewards of prompt {}, which got {} rollouts",
                           r.rewards.size(), id, group->count),
               "return what was drawn", "it holds the results of the previous decision");
    r.id = group->id, r.level = group->level, r.from = group->from;
    line.places[r.id] = result.place;
    reports.push_back(std::move(r));
    ++group;
  }
  sort_by_group(reports);
}

StepRequest Trace::parse_request(const json& object, std::size_t number_of_line) {
  check_keys(object,
             {"prompts", "budget", "select", "min_rollouts", "max_rollouts", "levels", "priors",
              "domains", "returned", "report", "step", "progress"},
             "a step");
  const json& prompts = list(member(object, "prompts"), "prompts");
  check_line(!prompts.empty() && std::all_of(prompts.begin(), prompts.end(), is_id),
             "\"prompts\" is not a list of ids", "write integers of at least 0, or text");
  StepRequest r;
  r.budget = whole(member(object, "budget"), "budget", 1);
  r.prompts = whole(member(object, "select"), "select", 1);
  check_line(r.prompts <= std::int64_t(prompts.size()),
             fmt::format("{} prompts to select from {} candidates", r.prompts, prompts.size()),
             "select fewer or name more");
  r.min_rollouts =
      object.contains("min_rollouts") ? whole(object.at("min_rollouts"), "min_rollouts", 1) : 1;
  r.max_rollouts = object.contains("max_rollouts")
                       ? whole(object.at("max_rollouts"), "max_rollouts", 1)
                       : r.budget;
  // before this line ends the step that is open
  check_budget(r.prompts, r.budget, r.min_rollouts, r.max_rollouts);
  r.step = object.contains("step")
               ? std::uint64_t(whole(object.at("step"), "step", 0))
               : std::max<std::uint64_t>(number_of_line - answers_, last_step_ + 1);
  check_line(!policy_ || r.step > last_step_,
             fmt::format("step {} after step {}", r.step, last_step_),
             "number steps in ascending order", "what a policy knows fades with the steps");
  if (object.contains("progress")) r.progress = number(object.at("progress"), "progress");
  check_line(r.progress >= 0 && r.progress <= 1, fmt::format("\"progress\" is {}", r.progress),
             "write the share of the run that is done, 0 to 1");
  if (!policy_) prompts_.make(object);
  for (const json& id : prompts) r.candidates.push_back(prompts_.at(id));
  std::sort(r.candidates.begin(), r.candidates.end());
  check_line(std::adjacent_find(r.candidates.begin(), r.candidates.end()) == r.candidates.end(),
             "\"prompts\" names a prompt twice", "name each once");
  if (policy_) prompts_.compare(object);
  return r;
}

Trace::Line Trace::parse(std::string_view text, std::size_t number_of_line) {
  const json object = json::parse(text, nullptr, false);
  check_line(object.is_object(), "not a JSON object", "write one JSON object a line");
  Line line;
  if (object.size() != 1 || !object.contains("returned"))
    line.request = parse_request(object, number_of_line);
  if (object.contains("returned")) read_returned(object.at("returned"), line);
  if (object.contains("report")) line.report = read_report(object.at("report"), line.request->step);
  return line;
}

void Trace::hear(const Line& line) {
  merge_reports(open_->reports, *line.returned);
  open_->places.insert(line.places.begin(), line.places.end());
  for (const GroupReport& part : *line.returned) {  // values of later rounds replace earlier ones
    const auto whole = std::lower_bound(open_->reports.begin(), open_->reports.end(), part,
                                        [](const auto& a, const auto& b) { return a.id < b.id; });
    if (!std::isnan(part.loss)) whole->loss = part.loss;
    if (!std::isnan(part.drift)) whole->drift = part.drift;
    if (!std::isnan(part.mean_abs_advantage)) whole->mean_abs_advantage = part.mean_abs_advantage;
  }
}

/// Decides the next round of the open step, and returns false if there is none.
bool Trace::go_on(const std::vector<GroupReport>& returned, ordered_json& out) {
  if (open_->round.last_round) return false;
  open_->round = policy_->next_round(open_->request, returned);
  if (open_->round.groups.empty()) return false;
  tell(open_->round.groups, open_->round.probability, out);
  if (!open_->round.last_round) out["more"] = true;
  return true;
}

/// Settles and learns the open step. Writes the way it trains to `out` if given.
void Trace::end(ordered_json* out) {
  const Training training = policy_->settle(open_->request, open_->reports);
  if (out != nullptr)
    (*out)["train"] = training_of(training, open_->reports, prompts_, open_->places);
  policy_->end_step(open_->reports);
  open_.reset();
}

/// Plays a whole step. The results in the report decide the number of rounds.
void Trace::replay(const StepRequest& request, const std::vector<GroupReport>& report,
                   ordered_json& out) {
  Decision decision = policy_->begin_step(request);
  const auto probability = decision.probability;
  std::vector<GroupPlan> drawn = decision.groups;
  while (!decision.last_round) {
    const auto reports = part_of(decision.groups, report);
    if (!reports) break;
    decision = policy_->next_round(request, *reports);
    add_round(drawn, decision.groups);
  }
  tell(drawn, probability, out);
  policy_->settle(request, report);
  policy_->end_step(report);
}

void Trace::tell(const std::vector<GroupPlan>& groups, const std::vector<double>& probability,
                 ordered_json& out) const {
  json selected, counts, bins, weights, tiers;
  bool help = false;
  for (const GroupPlan& group : groups) {
    selected.push_back(prompts_.id_of(group.id.prompt));
    counts.push_back(group.count);
    bins.push_back(policy_->bin(group.id.prompt));
    weights.push_back(policy_->weight(group.id.prompt));
    tiers.push_back(group.from.tier);
    help = help || !is_plain(group.from);
  }
  out["selected"] = selected, out["counts"] = counts, out["bins"] = bins, out["weights"] = weights;
  if (help) out["tiers"] = tiers;
  if (probability.size() == groups.size()) out["probabilities"] = probability;
}

std::string Trace::play(const Line& line) {
  ordered_json out;
  if (line.returned) hear(line);
  // there is no state between the rounds of a step
  if (!line.request && go_on(*line.returned, out)) return out.dump();
  ordered_json trained;
  if (open_) end(line.returned || !open_->reports.empty() ? &trained : nullptr);
  std::string state;
  const auto hash = [&] { return Sha256().add(policy_->save()).hex(); };
  if (!line.report) state = hash();
  if (line.request && line.report) replay(*line.request, *line.report, out), state = hash();
  if (line.request && !line.report) {
    open_ = Open{.request = *line.request, .round = policy_->begin_step(*line.request)};
    tell(open_->round.groups, open_->round.probability, out);
    if (!open_->round.last_round) out["more"] = true;
  }
  if (!trained.is_null()) out["train"] = trained.at("train");
  out["state_sha256"] = state;
  return out.dump();
}

std::string Trace::step(std::string_view text, std::size_t number_of_line) {
  try {
    const Line line = parse(text, number_of_line);
    if (!policy_) {
      auto policy = make_scheduler(choice_, knobs_, prompts_.table(), seed_);
      prompts_.check_needs(*policy, json::parse(text));
      policy_ = std::move(policy);
    }
    std::string answer = play(line);
    if (line.request) last_step_ = line.request->step;
    else ++answers_;
    return answer;
  } catch (const Error& e) {
    throw InputError(fmt::format("line {}: {}", number_of_line, e.what()));
  }
}

}  // namespace rollcall::scheduling
