// A training file has the keys that every file has, and three more columns.
#include "io/training_file.hpp"

#include "base/errors/error.hpp"
#include "io/compact_tables.hpp"
#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/published.hpp"
#include "io/shard_name.hpp"

#include <algorithm>
#include <memory>
#include <ranges>

namespace rollcall::io {
namespace fs = std::filesystem;

void append(const Group& group, const std::vector<RolloutTraining>& rollouts, StepTraining& step) {
  expect(group.rollouts.size() == rollouts.size() && group.id.step == step.step,
         "every rollout of the step was trained on, or not");
  append(group, step.keys);
  for (const RolloutTraining& rollout : rollouts) {
    expect(!(rollout.trained && rollout.left),
           "a rollout that has left its step is not trained on");
    step.columns.trained.push_back(rollout.left      ? TrainingColumns::kLeft
                                   : rollout.trained ? std::uint8_t{1}
                                                     : std::uint8_t{0});
    step.columns.weight.push_back(rollout.weight),
        step.columns.advantage.push_back(rollout.advantage);
  }
}

std::vector<RolloutTraining> training_of(const StepTraining& step, const Group& group) {
  const KeyColumns& keys = step.keys;
  const auto id_of = [&](std::size_t row) {
    return GroupId{keys.step[row], {keys.prompt_id[row]}, keys.draw[row]};
  };
  const auto rows = std::views::iota(std::size_t{0}, keys.step.size());
  const auto row = std::ranges::lower_bound(rows, group.id, {}, id_of);
  if (row == rows.end() || id_of(*row) != group.id) return {};
  const auto first = std::lower_bound(keys.group.begin(), keys.group.end(), std::uint32_t(*row)) -
                     keys.group.begin();
  const auto begin = keys.sample.begin() + first, end = begin + keys.rollout_count[*row];
  std::vector<RolloutTraining> found;
  for (const Rollout& rollout : group.rollouts) {
    const auto at = std::lower_bound(begin, end, rollout.sample);
    if (at == end || *at != rollout.sample) return {};
    const auto r = std::size_t(at - keys.sample.begin());
    if (step.columns.trained[r] == TrainingColumns::kUnrecorded) return {};
    const std::uint8_t trained = step.columns.trained[r];
    found.push_back({.trained = trained == 1,
                     .weight = step.columns.weight[r],
                     .advantage = step.columns.advantage[r],
                     .left = trained == TrainingColumns::kLeft});
  }
  return found;
}

FileDraft draft_training(const StepTraining& step, const RunIdentity& identity) {
  const ShardName name{.purpose = Purpose::train, .step = step.step, .holds = Holds::training};
  Layout layout{
      .extents = {},
      .component_names = {},
      .attributes = identity_attributes(identity, "training", Purpose::train, kCompactMajor)};
  layout.attributes.emplace_back("step", step.step);
  auto parts = std::make_shared<std::pair<StepTraining, Layout>>(step, std::move(layout));
  return {name.path(), [parts] {
            auto& [columns, facts] = *parts;
            const auto all = views(columns.keys, columns.columns);
            facts.extents = extents_of(all, 0);
            return build_compact(all, facts);
          }};
}

StepTraining read_training(const fs::path& run_dir, const PublishedFile& file) {
  return reading(run_dir / file.path, [&] {
    check_published(run_dir, file);
    TableReader reader(run_dir / file.path);
    check_schema(reader, "training");
    StepTraining step;
    reader.read(step.keys);
    reader.read(step.columns);
    reader.check_counts();
    check_group_rows(step.keys);
    check_order(step.keys);
    step.step = reader.number<std::uint64_t>("step");
    return step;
  });
}

}  // namespace rollcall::io
