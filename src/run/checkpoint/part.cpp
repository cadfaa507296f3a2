// The table of parts, and names of files that hold numbers.
#include "run/checkpoint/part.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace rollcall::run {
namespace {

constexpr std::array kRows{
    PartRow{Part::coordinator, "the state of rank 0", "coordinator.json", 8, Writer::rank_zero,
            Presence::always, OnRollback::kept, OnBranch::rewritten},
    PartRow{Part::config, "the shape of the policy", "config.json", 0, Writer::update_leader,
            Presence::always, OnRollback::kept, OnBranch::taken},
    PartRow{Part::weights, "the weights", "model.safetensors", 0, Writer::update_leader,
            Presence::always, OnRollback::restored, OnBranch::taken},
    PartRow{Part::moments, "the moments of the optimizer", "optimizer-#####-of-#####.safetensors",
            2, Writer::every_update_rank, Presence::always, OnRollback::restored, OnBranch::taken},
    PartRow{Part::objective, "the state of the objective", "objective.json", 2,
            Writer::update_leader, Presence::always, OnRollback::restored_in_part, OnBranch::taken},
    PartRow{Part::reference, "the reference", "reference.safetensors", 0,
            Writer::second_update_rank, Presence::with_reference, OnRollback::restored,
            OnBranch::taken},
    PartRow{Part::value_head, "the value head", "critic.safetensors", 1, Writer::second_update_rank,
            Presence::with_value_head, OnRollback::restored, OnBranch::taken},
    PartRow{Part::scheduler, "the state of the scheduler", "scheduler.json", 4, Writer::rank_zero,
            Presence::with_scheduler, OnRollback::kept, OnBranch::taken_if_understood},
    PartRow{Part::scheduler_prompts, "the prompts that the scheduler knows", "scheduler.prompts", 0,
            Writer::rank_zero, Presence::with_scheduler, OnRollback::kept,
            OnBranch::taken_if_understood},
    PartRow{Part::scheduler_rows, "the scheduler's rows by prompt", "scheduler-######.rows", 2,
            Writer::rank_zero, Presence::with_scheduler, OnRollback::kept,
            OnBranch::taken_if_understood}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].part != Part(i)) return false;
  return true;
}
static_assert(rows_are_in_order(), "a row is found by the number of its part");

std::size_t digits_at(const std::string& text, std::size_t first) {
  std::size_t last = first;
  while (last < text.size() && text[last] >= '0' && text[last] <= '9') ++last;
  return last - first;
}

std::size_t width_at(const std::string& pattern, std::size_t first) {
  return std::min(pattern.find_first_not_of('#', first), pattern.size()) - first;
}

}  // namespace

std::span<const PartRow> part_rows() { return kRows; }

const PartRow& row_of(Part part) { return kRows.at(std::size_t(part)); }

std::string file_of(Part part, std::span<const std::int64_t> numbers) {
  const std::string pattern = row_of(part).file;
  std::string name;
  std::size_t used = 0;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::size_t width = width_at(pattern, i);
    if (width == 0) {
      name += pattern[i++];
      continue;
    }
    expect(used < numbers.size(), "a file name gets as many numbers as its pattern has places");
    name += fmt::format("{:0{}}", numbers[used++], width);
    i += width;
  }
  expect(used == numbers.size(), "a file name gets as many numbers as its pattern has places");
  return name;
}

std::size_t numbers_of(Part part) {
  const std::string_view pattern = row_of(part).file;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    numbers += pattern[i] == '#' && pattern[i - 1] != '#' ? 1 : 0;
  return numbers;
}

std::optional<std::vector<std::int64_t>> numbers_in(Part part, const std::string& file) {
  const std::string pattern = row_of(part).file;
  std::vector<std::int64_t> numbers;
  std::size_t place = 0;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::size_t width = width_at(pattern, i);
    if (width == 0) {
      if (place >= file.size() || file[place++] != pattern[i++]) return std::nullopt;
      continue;
    }
    const std::size_t digits = digits_at(file, place);
    std::int64_t number = 0;
    const char* const first = file.data() + place;
    if (digits < width || std::from_chars(first, first + digits, number).ec != std::errc())
      return std::nullopt;
    if (digits > width && *first == '0') return std::nullopt;  // file_of() pads only up to `width`
    numbers.push_back(number);
    place += digits;
    i += width;
  }
  if (place != file.size()) return std::nullopt;
  return numbers;
}

std::int64_t count_files(const io::CheckpointFacts& files, Part part) {
  return std::count_if(files.begin(), files.end(),
                       [part](const auto& file) { return numbers_in(part, file.first); });
}

bool is_written_by(Part part, int rank, int ranks) {
  switch (row_of(part).writer) {
    case Writer::rank_zero: return false;
    case Writer::update_leader: return rank == 0;
    case Writer::second_update_rank: return rank == 1 % ranks;
    case Writer::every_update_rank: return true;
  }
  return false;
}

}  // namespace rollcall::run
