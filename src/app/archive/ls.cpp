// rollcall archive ls: every HDF5 file of a run, what it holds and what is known of it.
#include "app/archive/committed.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"

#include <fmt/format.h>

#include <memory>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

struct Line {
  std::string path, kind, purpose = "-", steps = "-", state;
  std::optional<io::Rows> rows;
  std::uint64_t bytes = 0;
};

std::string range_text(std::uint64_t first, std::uint64_t last) { return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last); }

Line line_of(const io::ArchiveEntry& entry, const std::string& state) {
  return {entry.file.path, "archive", entry.purpose, range_text(entry.first_step, entry.last_step), state, io::Rows{entry.groups, entry.rollouts}, entry.file.bytes};
}

Line line_of(const fs::path& run_dir, const io::RunFile& file, const std::map<std::string, io::PublishedFile>& committed) {
  Line line{.path = file.path, .kind = fs::path(file.path).extension() == ".partial" ? "partial" : "archive", .state = text_of(file.state), .rows = {}, .bytes = file.bytes};
  if (const auto name = io::ShardName::parse(file.path)) {
    line.kind = name->scores ? "scores" : "shard", line.purpose = io::text_of(name->purpose), line.steps = range_text(name->step, name->step);
  }
  if (file.state == io::FileState::shard && !committed.contains(file.path)) line.state = "no checkpoint yet";
  if (line.kind != "partial") line.rows = io::count_rows(run_dir / file.path);
  if (line.kind != "partial" && !line.rows) line.state += ", unreadable";
  return line;
}

std::vector<Line> lines_of_run(const fs::path& run_dir) {
  std::vector<std::string> warnings;  // of checkpoints: verify says them
  std::map<std::string, io::PublishedFile> committed;
  if (const auto newest = newest_committed(run_dir, warnings)) committed = newest->files;
  const auto manifest = io::read_manifest(run_dir);
  std::vector<Line> lines;
  for (const auto& entry : manifest) lines.push_back(line_of(entry, fs::exists(run_dir / entry.file.path) ? "packed" : "missing"));
  for (const auto& file : io::list_files(run_dir)) {
    if (file.state != io::FileState::packed) lines.push_back(line_of(run_dir, file, committed));
  }
  return lines;
}

ExitCode list(const fs::path& path) {
  std::vector<Line> lines;
  const auto source = io::open_source(path);
  if (source.is_run) lines = lines_of_run(path);
  else if (!source.packed.empty()) lines = {line_of(source.packed.front(), "one file")};
  else {
    for (const auto& file : {source.loose.front(), io::scores_path(source.loose.front())})
      lines.push_back(line_of(source.root, {file, io::FileState::shard, fs::file_size(source.root / file)}, {{file, {}}}));
  }
  Output out;
  std::size_t width = 4;
  io::Rows all;
  std::uint64_t bytes = 0;
  for (const auto& line : lines) width = std::max(width, line.path.size());
  out.write(fmt::format("{:<{}}  {:<8} {:<10} {:>11} {:>9} {:>9} {:>12}  {}\n", "file", width, "kind", "purpose", "steps", "groups", "rollouts", "bytes", "state"));
  for (const auto& l : lines) {
    const auto count = [&](std::uint64_t io::Rows::*member) { return l.rows ? fmt::format("{}", (*l.rows).*member) : "-"; };
    out.write(fmt::format("{:<{}}  {:<8} {:<10} {:>11} {:>9} {:>9} {:>12}  {}\n", l.path, width, l.kind, l.purpose, l.steps, count(&io::Rows::groups), count(&io::Rows::rollouts), l.bytes,
                          l.state));
    bytes += l.bytes;
    if (l.rows && l.kind != "scores" && !l.path.starts_with("set_aside/")) all.groups += l.rows->groups, all.rollouts += l.rows->rollouts;
  }
  out.write(fmt::format("{} files, {} groups, {} rollouts, {} bytes\n", lines.size(), all.groups, all.rollouts, bytes));
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_ls(CLI::App& command, Action& action) {
  auto path = std::make_shared<std::string>();
  auto* verb = command.add_subcommand("ls", "every file: kind, steps, groups, rollouts, bytes, state");
  verb->add_option("run", *path, "RUN|FILE")->required();
  verb->callback([path, &action] { action = [path] { return list(*path); }; });
}

}  // namespace rollcall::app::archive
