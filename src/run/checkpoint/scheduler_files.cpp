// Writes the scheduler's rows as a base and changes to it, or as a new base if that is cheaper.
#include "run/checkpoint/scheduler_files.hpp"

#include "base/errors/error.hpp"
#include "run/checkpoint/part.hpp"
#include "scheduling/prompts/prompt_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace rollcall::run {
namespace {

constexpr std::size_t kMostFiles = 64;      // each is a directory entry of every checkpoint, and a
                                            // resume reads all of them
constexpr std::uint64_t kLeastBase = 4096;  // rows, about 100 KB: a smaller base costs about the
                                            // same as one more file

std::string rows_name(std::size_t number) {
  const std::array numbers{std::int64_t(number)};
  return file_of(Part::scheduler_rows, numbers);
}

std::string bytes_of(const std::vector<std::uint64_t>& content) {
  return {reinterpret_cast<const char*>(content.data()), content.size() * sizeof(std::uint64_t)};
}

std::vector<std::uint64_t> content_from(const std::string& bytes) {
  require<StorageError>(bytes.size() % sizeof(std::uint64_t) == 0,
                        fmt::format("{} has {} bytes, not 8 a prompt",
                                    file_of(Part::scheduler_prompts), bytes.size()),
                        "the scheduler could not identify its prompts",
                        "resume from an older checkpoint");
  std::vector<std::uint64_t> content(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(content.data(), bytes.data(), bytes.size());
  return content;
}

}  // namespace

bool SchedulerFiles::base_due() const {
  return rows_.size() >= kMostFiles ||
         std::accumulate(rows_.begin() + 1, rows_.end(), std::uint64_t{0}) >=
             std::max(rows_.front(), kLeastBase);
}

void SchedulerFiles::add_to(io::CheckpointShare& share, scheduling::Scheduler& policy) {
  const bool known = !rows_.empty() && !share.earlier.empty(), base = !known || base_due();
  auto parts = policy.save_parts(base ? scheduling::Rows::all : scheduling::Rows::changed);
  if (base) rows_.clear();
  for (std::size_t number = 1; number <= rows_.size(); ++number)
    share.unchanged.push_back(rows_name(number));
  if (base || parts.rows.size() > 0) {
    rows_.push_back(parts.rows.size());
    share.files[rows_name(rows_.size())] = [rows = std::move(parts.rows)] {
      return scheduling::to_bytes(rows);
    };
  }
  share.files[file_of(Part::scheduler)] = [head = std::move(parts.head)] { return head; };
  const std::string prompts = file_of(Part::scheduler_prompts);
  if (known) share.unchanged.push_back(prompts);
  else share.files[prompts] = [content = policy.content()] { return bytes_of(content); };
}

bool SchedulerFiles::are_in(const io::StoredCheckpoint& checkpoint) {
  return checkpoint.files().contains(file_of(Part::scheduler));
}

scheduling::LoadReport SchedulerFiles::load(scheduling::Scheduler& policy,
                                            const io::StoredCheckpoint& checkpoint) {
  scheduling::PolicyParts parts{checkpoint.read(file_of(Part::scheduler)),
                                scheduling::rows_from_bytes(checkpoint.read(rows_name(1)))};
  rows_ = {parts.rows.size()};
  const auto files = std::size_t(count_files(checkpoint.files(), Part::scheduler_rows));
  while (rows_.size() < files) {
    const auto newer = scheduling::rows_from_bytes(checkpoint.read(rows_name(rows_.size() + 1)));
    update(parts.rows, newer);
    rows_.push_back(newer.size());
  }
  const auto report =
      policy.load_parts(parts, content_from(checkpoint.read(file_of(Part::scheduler_prompts))));
  if (!report.same_prompts) rows_.clear();
  return report;
}

}  // namespace rollcall::run
