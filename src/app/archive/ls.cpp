// rollcall archive ls: lists every HDF5 file of a run, with its content and its state.
#include "app/archive/committed.hpp"
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/visible.hpp"
#include "io/run_files.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMissing = "missing";

struct Line {
  std::string path, kind, purpose = "-", steps = "-", state;
  std::optional<io::Rows> rows;
  std::uint64_t bytes = 0;
  bool counts = false;  ///< whether its rollouts are in no other line
};

std::string range_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

Line line_of(const io::ArchiveEntry& entry, const std::string& state) {
  return {entry.file.path,
          "archive",
          entry.purpose,
          range_text(entry.first_step, entry.last_step),
          state,
          io::Rows{entry.groups, entry.rollouts},
          entry.file.bytes,
          state != kMissing};
}

Line line_of(const fs::path& run_dir, const io::RunFile& file,
             const std::map<std::string, io::PublishedFile>& committed) {
  Line line{.path = file.path,
            .kind = fs::path(file.path).extension() == ".partial" ? "partial" : "archive",
            .state = text_of(file.state),
            .rows = {},
            .bytes = file.bytes};
  if (const auto name = io::ShardName::parse(file.path)) {
    line.kind = io::kKinds[std::size_t(name->holds)], line.purpose = io::text_of(name->purpose),
    line.steps = range_text(name->step, name->step);
  }
  if (file.state == io::FileState::shard && !committed.contains(file.path))
    line.state = "no checkpoint yet";
  if (line.kind == "partial") return line;
  line.rows = io::count_rows(run_dir / file.path);
  if (!line.rows) line.state += ", unreadable";
  line.counts = line.rows && line.kind != "scores" && line.kind != "training" &&
                file.state == io::FileState::shard;
  return line;
}

struct Listing {
  std::vector<Line> lines;
  std::string numerics;  ///< numerics of the run up to its newest checkpoint; empty if there is
                         ///< none
};

/// Returns nothing if a file has disappeared meanwhile, because the run has packed it.
std::optional<Listing> try_lines(const fs::path& run_dir) {
  std::vector<std::string> faults;  // of checkpoints; only `verify` prints them
  std::map<std::string, io::PublishedFile> committed;
  Listing listing;
  if (const auto newest = newest_committed(run_dir, Depth::state, faults))
    committed = newest->files, listing.numerics = run::text_of(newest->state.numerics);
  const auto files = io::list_files(run_dir);
  auto& lines = listing.lines;
  for (const auto& entry : files.packed)
    lines.push_back(line_of(entry, fs::exists(run_dir / entry.file.path) ? "packed" : kMissing));
  for (const auto& file : files.others) {
    lines.push_back(line_of(run_dir, file, committed));
    if (lines.back().kind != "partial" && !fs::exists(run_dir / file.path)) return std::nullopt;
  }
  return listing;
}

Listing lines_of_run(const fs::path& run_dir) {
  for (;;) {
    if (auto listing = try_lines(run_dir)) return std::move(*listing);
  }
}

ExitCode list(const fs::path& path) {
  Listing listing;
  auto& lines = listing.lines;
  const auto source = io::open_source(path);
  if (source.is_run) listing = lines_of_run(path);
  else if (!source.packed.empty()) lines = {line_of(source.packed.front(), "one file")};
  else {
    for (const auto& file : io::files_of_shard(source.loose.front()))
      lines.push_back(line_of(source.root,
                              {file, io::FileState::shard, fs::file_size(source.root / file)},
                              {{file, {}}}));
  }
  Output out;
  std::size_t width = 4;
  std::uint64_t rollouts = 0, bytes = 0;
  for (const auto& line : lines) width = std::max(width, visible(line.path).size());
  out.write(fmt::format("{:<{}}  {:<8} {:<10} {:>11} {:>9} {:>9} {:>12}  {}\n", "file", width,
                        "kind", "purpose", "steps", "groups", "rollouts", "bytes", "state"));
  for (const auto& l : lines) {
    const auto count = [&](std::uint64_t io::Rows::*member) {
      return l.rows ? fmt::format("{}", (*l.rows).*member) : "-";
    };
    out.write(visible_format("{:<{}}  {:<8} {:<10} {:>11} {:>9} {:>9} {:>12}  {}\n", l.path, width,
                             l.kind, l.purpose, l.steps, count(&io::Rows::groups),
                             count(&io::Rows::rollouts), l.bytes, l.state));
    bytes += l.bytes;
    if (l.counts) rollouts += l.rows->rollouts;
  }
  if (!listing.numerics.empty()) out.write(visible_format("computed in {}\n", listing.numerics));
  out.write(fmt::format("{} files, {} rollouts, {} bytes\n", lines.size(), rollouts, bytes));
  out.finish();
  return ExitCode::done;
}

}  // namespace

void add_ls(Command command) {
  auto path = std::make_shared<std::string>();
  auto verb = command.command("ls", "every file: kind, steps, groups, rollouts, bytes, state");
  verb.option("run", *path, "RUN|FILE").required();
  verb.runs([path] { return list(*path); });
}

}  // namespace rollcall::app::archive
