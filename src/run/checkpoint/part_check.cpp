// Finds the parts that a checkpoint must hold, from the settings and the progress of the run.
#include "run/checkpoint/part_check.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "method/columns.hpp"
#include "method/method.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

constexpr const char* kIncomplete = "the run cannot go on from it";
constexpr const char* kOther = "use an older checkpoint, or restore the file from a copy";

/// The origin of a branch.
struct Origin {
  std::string checkpoint{};      ///< the parent's checkpoint; empty: the run is not a branch
  std::int64_t train_steps = 0;  ///< training steps that the parent had done
};

Origin origin_of(const CoordinatorState& state) {
  if (state.parent.empty()) return {};
  const auto parent = nlohmann::json::parse(state.parent);
  return {parent.value("checkpoint", ""), parent.value("train_steps", std::int64_t{0})};
}

bool is_needed(Presence presence, const PartNeeds& needs) {
  switch (presence) {
    case Presence::always: return true;
    case Presence::with_reference: return needs.reference;
    case Presence::with_value_head: return needs.value_head;
    case Presence::with_scheduler: return needs.scheduler;
  }
  return true;
}

/// The names that the files of a part have if none is missing. If they are numbered, the last
/// number in the name of the last file gives their number.
std::vector<std::string> whole_part(const io::CheckpointFacts& files, Part part) {
  std::vector<std::int64_t> last(numbers_of(part), 1);
  if (last.empty()) return {file_of(part)};
  for (const auto& [file, facts] : files)
    if (const auto numbers = numbers_in(part, file)) last = std::max(last, *numbers);
  // One name more than the number of files is enough to find a missing one.
  const std::int64_t count = std::min(last.back(), std::int64_t(files.size()) + 1);
  std::vector<std::string> names;
  for (std::int64_t number = 1; number <= count; ++number) {
    std::vector<std::int64_t> numbers = last;
    numbers.front() = number;
    names.push_back(file_of(part, numbers));
  }
  return names;
}

void check_part(const io::CheckpointFacts& files, const PartRow& row, bool needed,
                const std::string& name) {
  const std::int64_t count = count_files(files, row.part);
  if (count == 0 && !needed) return;
  const auto names = whole_part(files, row.part);
  for (const std::string& file : names)
    require<StorageError>(
        files.contains(file),
        fmt::format("checkpoint {} lacks {}: {} is missing", name, row.what, file), kIncomplete,
        kOther);
  require<StorageError>(count == std::int64_t(names.size()),
                        fmt::format("checkpoint {} has {} files of {}, of which {} belong together",
                                    name, count, row.what, names.size()),
                        kIncomplete, kOther);
}

}  // namespace

PartNeeds part_needs(const RunConfig& config, const CoordinatorState& state,
                     const std::string& name) {
  const Origin origin = origin_of(state);
  if (origin.checkpoint == name) return {.scheduler = false};
  namespace column = method::column;
  const auto& chosen = config.objective;
  const auto objective = method::make_objective(chosen.recipe, chosen.pieces, chosen.knobs);
  const auto columns = objective->columns();
  const auto reads = [&](const char* wanted) {
    return std::find(columns.begin(), columns.end(), wanted) != columns.end();
  };
  // The first training step makes the policy its reference. In a branch this is the branch's own
  // first step, because the parent may have had none. A rollback to a checkpoint from before that
  // step leaves the run without a reference until the next step, and counts as a bad step.
  const bool has_begun = state.train_steps > origin.train_steps && state.bad_steps == 0;
  return {.reference =
              reads(column::reference_logprob) && (!config.reference.model.empty() || has_begun),
          .value_head = objective->needs_value() || reads(column::value)};
}

void check_parts(const io::CheckpointFacts& files, const PartNeeds& needs,
                 const std::string& name) {
  for (const PartRow& row : part_rows())
    check_part(files, row, is_needed(row.presence, needs), name);
  for (const auto& [file, facts] : files) {
    const auto rows = part_rows();
    require<StorageError>(
        std::any_of(rows.begin(), rows.end(),
                    [&](const PartRow& row) { return numbers_in(row.part, file).has_value(); }),
        fmt::format("checkpoint {}: {} is no part of a run that this build knows", name, file),
        "nothing would read it back, and a resumed run would lack it",
        "resume with the build that wrote it");
  }
}

}  // namespace rollcall::run
