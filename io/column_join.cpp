// The order is computed from the small columns. Every column is then a list of stretches of the
// shards' columns.
#include "io/column_join.hpp"

#include "io/fault.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <limits>
#include <map>
#include <span>
#include <tuple>

namespace rollcall::io {
namespace {

/// [rows + 1] the sum of the counts before each row, then the sum of all.
template <std::integral T>
std::vector<std::size_t> offsets(const std::vector<T>& counts) {
  std::vector<std::size_t> at(counts.size() + 1, 0);
  for (std::size_t i = 0; i < counts.size(); ++i) at[i + 1] = at[i] + std::size_t(counts[i]);
  return at;
}

std::vector<std::size_t> one_each(std::size_t rows) {
  return offsets(std::vector<std::uint32_t>(rows, 1));
}

/// For each dimension, where the rows of a shard's groups and rollouts begin.
struct Offsets {
  /// [dimension][groups + 1] and [dimension][rollouts + 1]: the first row of each group or rollout
  /// in the dimension. A dimension has offsets in one of the two arrays and is empty in the other.
  std::array<std::vector<std::size_t>, kDims> by_group{}, by_rollout{};

  explicit Offsets(const MappedShard& s) {
    const auto group = [&](Dim dim) -> auto& { return by_group[index(dim)]; };
    const auto rollout = [&](Dim dim) -> auto& { return by_rollout[index(dim)]; };
    group(Dim::group) = one_each(s.keys.step.size());
    group(Dim::prompt_byte) = offsets(s.rollouts.prompt_bytes),
    group(Dim::reference_byte) = offsets(s.rollouts.reference_bytes);
    group(Dim::shown_byte) = offsets(s.rollouts.shown_bytes),
    group(Dim::extra_byte) = offsets(s.rollouts.extra_bytes);
    const ConversationColumns& c = s.rollouts.conversation;
    group(Dim::start_byte) = offsets(c.start_bytes);
    rollout(Dim::rollout) = one_each(s.keys.sample.size());
    rollout(Dim::turn) = offsets(s.rollouts.turn_count);
    rollout(Dim::completion_byte) = offsets(s.rollouts.completion_bytes),
    rollout(Dim::extracted_byte) = offsets(s.scores.extracted_bytes);
    rollout(Dim::reason_byte) = offsets(s.scores.reason_bytes);
    const auto by_turn = offsets(s.rollouts.token_count);
    const auto kept_by_turn = offsets(s.rollouts.kept_count),
               ids_by_kept = offsets(s.rollouts.id_count);
    for (const std::size_t t : rollout(Dim::turn)) {
      rollout(Dim::token).push_back(by_turn[t]), rollout(Dim::kept).push_back(kept_by_turn[t]);
      rollout(Dim::kept_id).push_back(ids_by_kept[kept_by_turn[t]]);
    }
    rollout(Dim::fact) = offsets(c.fact_count);
    const auto components = offsets(c.component_count), reasons = offsets(c.reason_bytes);
    for (const std::size_t f : rollout(Dim::fact)) {
      rollout(Dim::fact_component).push_back(components[f]);
      rollout(Dim::fact_reason_byte).push_back(reasons[f]);
    }
    first_rollout = offsets(s.keys.rollout_count);
  }
  std::vector<std::size_t> first_rollout{};  ///< [groups + 1] the first rollout of each group
};

/// The rows [first, last) of a shard.
struct Run {
  std::size_t shard, first, last;
};

void extend(std::vector<Run>& runs, std::size_t shard, std::size_t row) {
  if (!runs.empty() && runs.back().shard == shard && runs.back().last == row) ++runs.back().last;
  else runs.push_back({shard, row, row + 1});
}

class Join {
 public:
  Join(const std::vector<MappedShard>& shards, const std::vector<StepTraining>& training)
      : shards_(shards), training_(training) {
    for (const auto& shard : shards) at_.emplace_back(shard);
    if (!shards.empty()) joined_.component_names = shards.front().component_names;
  }
  JoinedColumns run();

 private:
  struct GroupRow {
    std::size_t shard, row;
  };
  auto key(GroupRow g) const {
    const KeyColumns& keys = shards_[g.shard].keys;
    return std::tuple(keys.step[g.row], keys.prompt_id[g.row], keys.draw[g.row]);
  }
  std::string_view text(GroupRow g, const char* name, Dim dim) const;
  [[noreturn]] void contradiction(GroupRow g, const std::string& problem) const;
  void check_alike(GroupRow whole, GroupRow fragment) const;
  void add_group(std::span<const GroupRow> fragments);
  void add_rollouts(std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>>& rollouts,
                    GroupRow group);
  void cut(ColumnPieces& column, std::size_t number) const;
  void take_training();
  void make_columns();

  const std::vector<MappedShard>& shards_;
  const std::vector<StepTraining>& training_;
  std::vector<Offsets> at_;
  std::vector<Run> groups_, rollouts_;  ///< in the archive's order
  JoinedColumns joined_;
};

void Join::contradiction(GroupRow g, const std::string& problem) const {
  const auto [step, prompt, draw] = key(g);
  throw StorageError(error_message(
      fmt::format("group (step {}, prompt {}, draw {}) {}", step, prompt, draw, problem),
      "the shards of one step contradict each other, and packing would hide it",
      "inspect the step's files in shards/"));
}

std::string_view Join::text(GroupRow g, const char* name, Dim dim) const {
  const auto& columns = shards_[g.shard].columns;
  const auto view = std::find_if(columns.begin(), columns.end(), [&](const ColumnView& v) {
    return v.column.rows == dim && std::string_view(v.column.name) == name;
  });
  const auto& offsets = at_[g.shard].by_group[index(dim)];
  return {reinterpret_cast<const char*>(view->bytes.data()) + offsets[g.row],
          offsets[g.row + 1] - offsets[g.row]};
}

void Join::check_alike(GroupRow a, GroupRow b) const {
  const RolloutColumns &x = shards_[a.shard].rollouts, &y = shards_[b.shard].rollouts;
  const auto same = [&](std::vector<std::int64_t> ConversationColumns::*column) {
    return (x.conversation.*column)[a.row] == (y.conversation.*column)[b.row];
  };
  using C = ConversationColumns;
  const bool same_origin = same(&C::kind) && same(&C::parent_step) && same(&C::parent_prompt) &&
                           same(&C::parent_draw) && same(&C::parent_sample) && same(&C::tier) &&
                           same(&C::placement);
  const bool alike =
      x.level[a.row] == y.level[b.row] &&
      std::bit_cast<std::uint32_t>(x.temperature[a.row]) ==
          std::bit_cast<std::uint32_t>(y.temperature[b.row]) &&
      x.bin[a.row] == y.bin[b.row] && x.stream_prompt[a.row] == y.stream_prompt[b.row] &&
      same_origin && text(a, "start", Dim::start_byte) == text(b, "start", Dim::start_byte) &&
      text(a, "prompt", Dim::prompt_byte) == text(b, "prompt", Dim::prompt_byte) &&
      text(a, "reference", Dim::reference_byte) == text(b, "reference", Dim::reference_byte);
  if (!alike)
    contradiction(a,
                  "differs between fragments in prompt, level, bin, stream, origin, start or "
                  "temperature");
}

void Join::add_group(std::span<const GroupRow> fragments) {
  const GroupRow first = fragments.front();
  std::uint32_t planned = 0;
  std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>> rollouts;  // sample, shard, row
  for (const GroupRow fragment : fragments) {
    if (&fragment != &fragments.front()) check_alike(first, fragment);
    const auto& shard = shards_[fragment.shard];
    planned += shard.rollouts.planned[fragment.row];
    const auto& offsets = at_[fragment.shard].first_rollout;
    for (std::size_t r = offsets[fragment.row]; r < offsets[fragment.row + 1]; ++r)
      rollouts.emplace_back(shard.keys.sample[r], fragment.shard, r);
  }
  const auto [step, prompt, draw] = key(first);
  auto& keys = joined_.keys;
  keys.step.push_back(step), keys.prompt_id.push_back(prompt), keys.draw.push_back(draw),
      keys.rollout_count.push_back(std::uint32_t(rollouts.size()));
  joined_.planned.push_back(planned);
  extend(groups_, first.shard, first.row);
  add_rollouts(rollouts, first);
}

void Join::add_rollouts(std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>>& rollouts,
                        GroupRow group) {
  std::sort(rollouts.begin(), rollouts.end());
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    const auto [sample, shard, row] = rollouts[i];
    if (i > 0 && std::get<0>(rollouts[i - 1]) == sample)
      contradiction(group, fmt::format("has sample {} twice", sample));
    joined_.keys.group.push_back(std::uint32_t(joined_.keys.step.size() - 1));
    joined_.keys.sample.push_back(sample);
    extend(rollouts_, shard, row);
  }
}

/// Fills joined column `number` with pieces of the shards' columns.
void Join::cut(ColumnPieces& column, std::size_t number) const {
  const std::size_t dim = index(column.column.rows);
  const bool by_group = at_.empty() || !at_.front().by_group[dim].empty();
  for (const Run& run : by_group ? groups_ : rollouts_) {
    const auto& offsets = (by_group ? at_[run.shard].by_group : at_[run.shard].by_rollout)[dim];
    const std::size_t row_bytes =
        column.width * (column.column.by_component ? joined_.component_names.size() : 1);
    column.add(shards_[run.shard].columns[number].bytes.subspan(
        offsets[run.first] * row_bytes, (offsets[run.last] - offsets[run.first]) * row_bytes));
  }
}

/// The columns of training files; their rows are the joined rows of their step.
void Join::take_training() {
  const KeyColumns& keys = joined_.keys;
  TrainingColumns& own = joined_.training;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  own.trained.assign(keys.sample.size(), TrainingColumns::kUnrecorded);
  own.weight.assign(keys.sample.size(), kNone), own.advantage.assign(keys.sample.size(), kNone);
  for (const StepTraining& step : training_) {
    const auto [first, last] = std::equal_range(keys.step.begin(), keys.step.end(), step.step);
    const auto group = std::size_t(first - keys.step.begin()), groups = std::size_t(last - first);
    const auto row =
        std::size_t(std::lower_bound(keys.group.begin(), keys.group.end(), std::uint32_t(group)) -
                    keys.group.begin());
    const auto same = [](const auto& all, std::size_t from, std::size_t count, const auto& part) {
      return part.size() == count &&
             std::equal(part.begin(), part.end(), all.begin() + std::ptrdiff_t(from));
    };
    const std::size_t rollouts = step.keys.sample.size();
    const bool alike = same(keys.prompt_id, group, groups, step.keys.prompt_id) &&
                       same(keys.draw, group, groups, step.keys.draw) &&
                       same(keys.rollout_count, group, groups, step.keys.rollout_count) &&
                       row + rollouts <= keys.sample.size() &&
                       same(keys.sample, row, rollouts, step.keys.sample);
    if (!alike)
      throw StorageError(error_message(
          fmt::format("what step {} trained on speaks of other rollouts than its shards hold",
                      step.step),
          "packing would hide it", "inspect the step's files in shards/"));
    std::copy(step.columns.trained.begin(), step.columns.trained.end(),
              own.trained.begin() + std::ptrdiff_t(row));
    std::copy(step.columns.weight.begin(), step.columns.weight.end(),
              own.weight.begin() + std::ptrdiff_t(row));
    std::copy(step.columns.advantage.begin(), step.columns.advantage.end(),
              own.advantage.begin() + std::ptrdiff_t(row));
  }
}

void Join::make_columns() {
  std::map<std::string, std::span<const std::byte>> made{
      {"groups/planned", std::as_bytes(std::span(joined_.planned))}};
  for (const ColumnView& view : views(joined_.keys, joined_.training))
    made[path_of(view.column)] = view.bytes;
  std::size_t number = 0;
  for (const ColumnView& view :
       views(KeyColumns{}, RolloutColumns{}, ScoreColumns{}, TrainingColumns{})) {
    ColumnPieces column{.column = view.column, .type = view.type, .width = width_of(view.type)};
    if (const auto joined = made.find(path_of(view.column)); joined != made.end())
      column.add(joined->second);
    else cut(column, number);
    joined_.columns.push_back(std::move(column));
    ++number;
  }
}

JoinedColumns Join::run() {
  std::vector<GroupRow> groups;
  for (std::size_t s = 0; s < shards_.size(); ++s)
    for (std::size_t g = 0; g < shards_[s].keys.step.size(); ++g) groups.push_back({s, g});
  std::stable_sort(groups.begin(), groups.end(),
                   [&](GroupRow a, GroupRow b) { return key(a) < key(b); });
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end =
        std::find_if(begin, groups.end(), [&](GroupRow g) { return key(g) != key(*begin); });
    add_group(std::span<const GroupRow>(begin, end));
    begin = end;
  }
  take_training();
  make_columns();
  return std::move(joined_);
}

}  // namespace

JoinedColumns join(const std::vector<MappedShard>& shards,
                   const std::vector<StepTraining>& training) {
  return Join(shards, training).run();
}

}  // namespace rollcall::io
