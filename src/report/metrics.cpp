// metrics.jsonl with one flat JSON object per row, and one TensorBoard run per phase.
#include "report/metrics.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/files/plain_file.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "report/append.hpp"
#include "report/event_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <map>

namespace rollcall::report {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;  // keeps the order in which the metrics were measured

fs::path rows_path(const fs::path& run_dir) { return run_dir / "metrics.jsonl"; }

std::string to_line(const MetricRow& row) {
  Json object = {{"phase", row.phase}, {"step", row.step}};
  for (const auto& [name, value] : row.values) {
    expect(!object.contains(name),
           "the names of a row's metrics are distinct, and none is `phase` or `step`");
    object[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

MetricRow from_line(std::string_view line) {
  const Json object = Json::parse(line);
  MetricRow row{object.at("phase").get<std::string>(), object.at("step").get<std::uint64_t>(), {}};
  for (const auto& [name, value] : object.items()) {
    if (name == "phase" || name == "step") continue;
    row.values.emplace_back(
        name, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  return row;
}

struct Rows {
  std::vector<MetricRow> rows;
  std::vector<std::uint64_t> end;  // [rows] offset after each row's newline
};

// Reads up to `limit` rows. Text without a newline at the end is a row left incomplete by a crash;
// it is ignored.
Rows parse_rows(const std::string& text, const fs::path& path, std::size_t limit) {
  Rows parsed;
  for (std::size_t start = 0; parsed.rows.size() < limit;) {
    const std::size_t newline = text.find('\n', start);
    if (newline == std::string::npos) break;
    try {
      parsed.rows.push_back(from_line(std::string_view(text).substr(start, newline - start)));
    } catch (const nlohmann::json::exception& e) {
      throw InputError(error_message(fmt::format("{}:{}: not a row of metrics: {}", path.string(),
                                                 parsed.rows.size() + 1, fault_of(e)),
                                     "every line is one JSON object with phase and step",
                                     "repair or remove the line"));
    }
    parsed.end.push_back(start = newline + 1);
  }
  return parsed;
}

}  // namespace

struct MetricsSink::Files {
  fs::path path, boards;
  int fd = -1;
  std::int64_t rows = 0;
  std::map<std::string, std::uint64_t> next_step;  // by phase: the step after the last row that was
                                                   // kept; 0 if there is none
  std::map<std::string, EventFile> board;          // by phase

  ~Files() {
    if (fd >= 0) ::close(fd);
  }
  void keep(std::int64_t wanted);
  EventFile& board_of(const std::string& phase);
};

void MetricsSink::Files::keep(std::int64_t wanted) {
  const Rows kept = parse_rows(read_file(path), path, std::size_t(wanted));
  rows = std::int64_t(kept.rows.size());
  require<StorageError>(
      rows == wanted,
      fmt::format("{} has {} whole rows, the checkpoint counts {}", path.string(), rows, wanted),
      "the resumed run's metrics would have a gap",
      "restore the file or resume from an older checkpoint");
  truncate(fd, wanted == 0 ? 0 : kept.end.back(), path);
  for (const auto& row : kept.rows) next_step[row.phase] = row.step + 1;
}

// Phases count their steps separately, and a restart hides steps by their number. With one
// TensorBoard run per phase, a restart of train does not hide the curve of sft.
EventFile& MetricsSink::Files::board_of(const std::string& phase) {
  const auto found = board.find(phase);
  if (found != board.end()) return found->second;
  return board.emplace(phase, EventFile(boards / phase, next_step[phase])).first->second;
}

MetricsSink::MetricsSink(const fs::path& run_dir, std::int64_t resume_rows)
    : files_(std::make_unique<Files>()) {
  files_->path = rows_path(run_dir);
  files_->boards = run_dir / "tensorboard";
  make_folder(files_->boards);
  files_->fd = open_append(files_->path);
  fsync_path(run_dir);  // makes the file's name as durable as its rows
  if (resume_rows < 0) {
    truncate(files_->fd, 0, files_->path);
    remove_event_files(files_->boards);
    return;
  }
  files_->keep(resume_rows);
  // Phases that were ahead of the checkpoint are restarted at once, whether or not they get more
  // rows.
  for (const auto& entry : list_folder(files_->boards)) {
    if (entry.is_directory()) files_->board_of(entry.path().filename().string());
  }
}

MetricsSink::~MetricsSink() = default;

void MetricsSink::write(const MetricRow& row) {
  expect(!row.phase.empty() && row.phase.find('/') == std::string::npos,
         "a phase is a plain word: it names a folder");
  require<StorageError>(
      is_still(files_->fd, files_->path),
      fmt::format("{} was removed or replaced while the run wrote it", files_->path.string()),
      "the rows so far are gone, and the run could not be resumed",
      "find out what cleans up there; restore the file from a copy, then resume, or resume from "
      "the start of the run");
  append(files_->fd, to_line(row), files_->path);
  make_durable(files_->fd, files_->path);  // a checkpoint relies on this row
  files_->board_of(row.phase).write(row.step, row.values);
  ++files_->rows;
}

std::int64_t MetricsSink::rows() const { return files_->rows; }

std::vector<MetricRow> read_metrics(const fs::path& run_dir) {
  return parse_rows(read_file(rows_path(run_dir)), rows_path(run_dir),
                    std::numeric_limits<std::size_t>::max())
      .rows;
}

}  // namespace rollcall::report
