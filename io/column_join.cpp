// The order is found from the small columns; the large ones are then copied in runs of neighbouring rollouts.
#include "io/column_join.hpp"

#include "io/canonical.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/published.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace rollcall::io {
namespace fs = std::filesystem;
namespace {

using Address = std::tuple<Purpose, std::uint64_t, std::uint64_t, std::uint64_t>;

/// Reads `sets` of one file of `kind`.
template <class... Sets>
std::pair<Address, std::vector<std::string>> read_columns(const fs::path& run_dir, const PublishedFile& file, const char* kind, Sets&... sets) {
  return reading(run_dir / file.path, [&] {
    check_published(run_dir, file);
    TableReader reader(run_dir / file.path);
    check_schema(reader, kind);
    (reader.read(sets), ...);
    reader.check_counts();
    const Address address(purpose_of(reader), reader.number<std::uint64_t>("step"), reader.number<std::uint64_t>("round"), reader.number<std::uint64_t>("producer"));
    return std::pair(address, (std::is_same_v<Sets, ScoreColumns> || ...) ? reader.component_names() : std::vector<std::string>());
  });
}

bool same_keys(const KeyColumns& a, const KeyColumns& b) {
  return a.step == b.step && a.prompt_id == b.prompt_id && a.draw == b.draw && a.rollout_count == b.rollout_count && a.group == b.group && a.sample == b.sample;
}

/// Sums before each row, and the sum of all behind the last.
std::vector<std::size_t> offsets(const std::vector<std::uint32_t>& counts) {
  std::vector<std::size_t> at(counts.size() + 1, 0);
  for (std::size_t i = 0; i < counts.size(); ++i) at[i + 1] = at[i] + counts[i];
  return at;
}

/// Where the rows of a shard begin in the tables below.
struct Offsets {
  std::vector<std::size_t> rollout, prompt, reference;       // [group + 1]
  std::vector<std::size_t> turn, token, completion, extracted;  // [rollout + 1]
  explicit Offsets(const ScoredColumns& c)
      : rollout(offsets(c.keys.rollout_count)), prompt(offsets(c.rollouts.prompt_bytes)), reference(offsets(c.rollouts.reference_bytes)), turn(offsets(c.rollouts.turn_count)),
        completion(offsets(c.rollouts.completion_bytes)), extracted(offsets(c.scores.extracted_bytes)) {
    const auto by_turn = offsets(c.rollouts.token_count);
    for (const std::size_t t : turn) token.push_back(by_turn[t]);
  }
};

struct GroupRow {
  std::size_t shard, row;
};
/// Neighbouring rollouts of a shard.
struct Run {
  std::size_t shard, first, last;
};

class Join {
 public:
  explicit Join(const std::vector<ScoredColumns>& shards) : shards_(shards) {
    for (const auto& shard : shards) at_.emplace_back(shard);
    if (!shards.empty()) joined_.component_names = shards.front().component_names;
  }
  ScoredColumns run();

 private:
  auto key(GroupRow g) const {
    const KeyColumns& keys = shards_[g.shard].keys;
    return std::tuple(keys.step[g.row], keys.prompt_id[g.row], keys.draw[g.row]);
  }
  std::string_view text(const std::vector<std::uint8_t>& bytes, const std::vector<std::size_t>& at, std::size_t row) const {
    return {reinterpret_cast<const char*>(bytes.data()) + at[row], at[row + 1] - at[row]};
  }
  [[noreturn]] void contradiction(GroupRow g, const std::string& problem) const;
  void check_alike(GroupRow whole, GroupRow fragment) const;
  void add_group(std::span<const GroupRow> fragments);
  void add_runs(std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>>& rollouts, GroupRow group);
  void copy_runs();
  template <class T, class Select, class At>
  void copy(std::vector<T>& out, const Select& select, const At& at, std::size_t scale = 1) const;

  const std::vector<ScoredColumns>& shards_;
  std::vector<Offsets> at_;
  std::vector<Run> runs_;
  ScoredColumns joined_;
};

void Join::contradiction(GroupRow g, const std::string& problem) const {
  const auto [step, prompt, draw] = key(g);
  throw StorageError(error_message(fmt::format("group (step {}, prompt {}, draw {}) {}", step, prompt, draw, problem),
                                   "the shards of one step contradict each other, and packing would hide it", "inspect the step's files in shards/"));
}

void Join::check_alike(GroupRow a, GroupRow b) const {
  const RolloutColumns &x = shards_[a.shard].rollouts, &y = shards_[b.shard].rollouts;
  const bool alike = x.level[a.row] == y.level[b.row] && std::bit_cast<std::uint32_t>(x.temperature[a.row]) == std::bit_cast<std::uint32_t>(y.temperature[b.row]) &&
                     x.bin[a.row] == y.bin[b.row] && x.stream_prompt[a.row] == y.stream_prompt[b.row] &&
                     text(x.prompt, at_[a.shard].prompt, a.row) == text(y.prompt, at_[b.shard].prompt, b.row) &&
                     text(x.reference, at_[a.shard].reference, a.row) == text(y.reference, at_[b.shard].reference, b.row);
  if (!alike) contradiction(a, "differs between fragments in prompt, level, bin, stream or temperature");
}

void Join::add_group(std::span<const GroupRow> fragments) {
  const GroupRow first = fragments.front();
  std::uint32_t planned = 0;
  std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>> rollouts;  // sample, shard, row
  for (const GroupRow fragment : fragments) {
    check_alike(first, fragment);
    planned += shards_[fragment.shard].rollouts.planned[fragment.row];
    const auto& at = at_[fragment.shard].rollout;
    for (std::size_t r = at[fragment.row]; r < at[fragment.row + 1]; ++r) rollouts.emplace_back(shards_[fragment.shard].keys.sample[r], fragment.shard, r);
  }
  const auto [step, prompt, draw] = key(first);
  const RolloutColumns& from = shards_[first.shard].rollouts;
  auto& [keys, to, scores, names] = joined_;
  keys.step.push_back(step), keys.prompt_id.push_back(prompt), keys.draw.push_back(draw), keys.rollout_count.push_back(std::uint32_t(rollouts.size()));
  to.level.push_back(from.level[first.row]), to.temperature.push_back(from.temperature[first.row]), to.planned.push_back(planned);
  to.bin.push_back(from.bin[first.row]), to.stream_prompt.push_back(from.stream_prompt[first.row]);
  const auto shown = text(from.prompt, at_[first.shard].prompt, first.row), wanted = text(from.reference, at_[first.shard].reference, first.row);
  to.prompt_bytes.push_back(std::uint32_t(shown.size())), to.prompt.insert(to.prompt.end(), shown.begin(), shown.end());
  to.reference_bytes.push_back(std::uint32_t(wanted.size())), to.reference.insert(to.reference.end(), wanted.begin(), wanted.end());
  add_runs(rollouts, first);
}

void Join::add_runs(std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>>& rollouts, GroupRow group) {
  std::sort(rollouts.begin(), rollouts.end());
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    const auto [sample, shard, row] = rollouts[i];
    if (i > 0 && std::get<0>(rollouts[i - 1]) == sample) contradiction(group, fmt::format("has sample {} twice", sample));
    joined_.keys.group.push_back(std::uint32_t(joined_.keys.step.size() - 1));
    joined_.keys.sample.push_back(sample);
    if (!runs_.empty() && runs_.back().shard == shard && runs_.back().last == row) ++runs_.back().last;
    else runs_.push_back({shard, row, row + 1});
  }
}

/// `select`: the column of a shard; `at`: where its rows for rollout r begin.
template <class T, class Select, class At>
void Join::copy(std::vector<T>& out, const Select& select, const At& at, std::size_t scale) const {
  std::size_t total = 0;
  for (const Run& run : runs_) total += (at(run.shard, run.last) - at(run.shard, run.first)) * scale;
  out.reserve(total);
  for (const Run& run : runs_) {
    const auto begin = select(shards_[run.shard]).begin();
    out.insert(out.end(), begin + std::ptrdiff_t(at(run.shard, run.first) * scale), begin + std::ptrdiff_t(at(run.shard, run.last) * scale));
  }
}

void Join::copy_runs() {
  const auto by_rollout = [](std::size_t, std::size_t r) { return r; };
  const auto by_turn = [&](std::size_t s, std::size_t r) { return at_[s].turn[r]; };
  const auto by_token = [&](std::size_t s, std::size_t r) { return at_[s].token[r]; };
  const auto rollouts = [&](auto RolloutColumns::*column, const auto& at) { copy(joined_.rollouts.*column, [=](const ScoredColumns& c) -> auto& { return c.rollouts.*column; }, at); };
  const auto scores = [&](auto ScoreColumns::*column, const auto& at, std::size_t scale = 1) {
    copy(joined_.scores.*column, [=](const ScoredColumns& c) -> auto& { return c.scores.*column; }, at, scale);
  };
  rollouts(&RolloutColumns::finish, by_rollout), rollouts(&RolloutColumns::turn_count, by_rollout), rollouts(&RolloutColumns::completion_bytes, by_rollout);
  rollouts(&RolloutColumns::role, by_turn), rollouts(&RolloutColumns::token_count, by_turn);
  rollouts(&RolloutColumns::id, by_token), rollouts(&RolloutColumns::logprob, by_token), rollouts(&RolloutColumns::entropy, by_token);
  rollouts(&RolloutColumns::policy_version, by_token);
  rollouts(&RolloutColumns::completion, [&](std::size_t s, std::size_t r) { return at_[s].completion[r]; });
  scores(&ScoreColumns::reward, by_rollout), scores(&ScoreColumns::correct, by_rollout), scores(&ScoreColumns::extracted_bytes, by_rollout);
  scores(&ScoreColumns::components, by_rollout, joined_.component_names.size());
  scores(&ScoreColumns::extracted, [&](std::size_t s, std::size_t r) { return at_[s].extracted[r]; });
}

ScoredColumns Join::run() {
  std::vector<GroupRow> groups;
  for (std::size_t s = 0; s < shards_.size(); ++s)
    for (std::size_t g = 0; g < shards_[s].keys.step.size(); ++g) groups.push_back({s, g});
  std::stable_sort(groups.begin(), groups.end(), [&](GroupRow a, GroupRow b) { return key(a) < key(b); });
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end = std::find_if(begin, groups.end(), [&](GroupRow g) { return key(g) != key(*begin); });
    add_group(std::span<const GroupRow>(begin, end));
    begin = end;
  }
  copy_runs();
  return std::move(joined_);
}

}  // namespace

ScoredColumns read_scored_columns(const fs::path& run_dir, const PackInput& input) {
  ScoredColumns columns;
  KeyColumns scored;
  const auto [address, none] = read_columns(run_dir, input.shard, "shard", columns.keys, columns.rollouts);
  auto [scores_address, names] = read_columns(run_dir, input.scores, "scores", scored, columns.scores);
  const fs::path path = run_dir / input.scores.path;
  if (address != scores_address) refuse(path, fmt::format("it does not belong to {}", input.shard.path));
  if (!same_keys(columns.keys, scored)) refuse(path, fmt::format("it has other groups or rollouts than {}", input.shard.path));
  columns.component_names = std::move(names);
  reading(run_dir / input.shard.path, [&] { check_group_rows(columns.keys); });
  return columns;
}

ScoredColumns join(const std::vector<ScoredColumns>& shards) { return Join(shards).run(); }

}  // namespace rollcall::io
