// Steps are functions of their number, so that every run has the same and a state says by itself
// whether it is right.
#include "faults/small_run.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/json.hpp"
#include "faults/interpose.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "io/sample_run.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace rollcall::faults {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr int kCheckpointEvery = 2;

struct Progress {
  int steps = 0, packed = 0;
  std::vector<io::PackInput> unpacked;
  std::string state = "start";  ///< of model and optimizer: a chain over the steps' scores
};

json to_json(const io::PublishedFile& f) { return {f.path, f.bytes, f.checksum}; }
io::PublishedFile file_from(const json& j) {
  return {j.at(0).get<std::string>(), j.at(1).get<std::uint64_t>(), j.at(2).get<std::uint64_t>()};
}

std::string to_text(const Progress& p) {
  json j{{"steps", p.steps}, {"packed", p.packed}, {"unpacked", json::array()}};
  for (const auto& input : p.unpacked)
    j["unpacked"].push_back({to_json(input.shard), to_json(input.scores)});
  return j.dump();
}

Progress progress_from(const io::StoredCheckpoint& checkpoint) {
  const json j = json::parse(checkpoint.read("coordinator.json"));
  Progress p{j.at("steps").get<int>(),
             j.at("packed").get<int>(),
             {},
             checkpoint.read("model.safetensors").substr(0, 64)};
  for (const auto& input : j.at("unpacked"))
    p.unpacked.push_back({file_from(input.at(0)), file_from(input.at(1))});
  return p;
}

io::test::Sample content_of(int step) { return io::test::sample(7, std::uint64_t(step), 2); }

std::string after(const std::string& state, int step) {
  return Sha256().add(state).add(std::to_string(step)).hex();
}

/// The start as src/run/rank.cpp does it, in its order.
std::optional<io::StoredCheckpoint> start(const fs::path& run_dir) {
  std::vector<std::string> warnings;
  auto checkpoint = io::newest_checkpoint(run_dir, &warnings);
  std::vector<io::PublishedFile> keep;
  if (checkpoint) {
    for (const auto& input : progress_from(*checkpoint).unpacked)
      keep.push_back(input.shard), keep.push_back(input.scores);
  }
  write_file_atomic(run_dir / "config.toml", "# settings\n");
  io::remove_leftovers(run_dir);
  io::set_aside_unfinished(run_dir, keep);
  return checkpoint;
}

/// What the archive holds already is not packed again: a stop between packing and the next
/// checkpoint.
void forget_archived(const fs::path& run_dir, Progress& p) {
  const auto entries = io::read_manifest(run_dir);
  const auto archived = [&](int step) {
    return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
      return int(entry.first_step) <= step && step <= int(entry.last_step);
    });
  };
  std::vector<io::PackInput> left;
  for (const auto& input : p.unpacked) {
    const int step = std::stoi(
        fs::path(input.shard.path).filename().string().substr(std::string("train-").size()));
    if (!archived(step)) left.push_back(input);
  }
  if (left.size() == p.unpacked.size()) return;
  p.unpacked = std::move(left);
  std::vector<io::PublishedFile> keep;
  for (const auto& input : p.unpacked) keep.push_back(input.shard), keep.push_back(input.scores);
  io::set_aside_unfinished(run_dir, keep);
}

void pack(const fs::path& run_dir, Progress& p) {
  forget_archived(run_dir, p);
  if (!p.unpacked.empty())
    io::pack(*comm::alone(), run_dir, fmt::format("train_{:06}-{:06}", p.packed + 1, p.steps),
             p.unpacked, io::test::identity());
  p.unpacked.clear();
  p.packed = p.steps;
}

void save(const fs::path& run_dir, const Progress& p, std::string& earlier) {
  const std::string name = fmt::format("train_{:06}", p.steps);
  io::CheckpointShare share{.files = {}, .earlier = earlier, .unchanged = {}};
  share.files["coordinator.json"] = [&] { return to_text(p); };
  // longer than a page: it can be torn
  share.files["model.safetensors"] = [&] { return p.state + std::string(9000, 'm'); };
  if (earlier.empty()) share.files["scheduler.prompts"] = [] { return std::string(600, 'p'); };
  else share.unchanged.emplace_back("scheduler.prompts");
  io::end_checkpoint(run_dir, name, io::write_share(run_dir, name, share));
  mark(fmt::format("checkpoint {}", p.steps));
  io::prune_checkpoints(run_dir, 2, {});
  earlier = name;
}

}  // namespace

void run_to_end(const fs::path& run_dir, const Extent& extent) {
  make_folder(run_dir);
  const FolderLock lock(run_dir, "a small run");
  const auto checkpoint = start(run_dir);
  Progress p = checkpoint ? progress_from(*checkpoint) : Progress{};
  std::string earlier = checkpoint ? checkpoint->name() : "";
  while (p.steps < extent.steps) {
    ++p.steps;
    p.unpacked.push_back((p.steps % 2 == 0 ? io::test::write : io::test::write_in_one)(
        run_dir, content_of(p.steps), io::test::identity()));
    p.unpacked.push_back(io::test::write_training(run_dir, {content_of(p.steps)}));
    p.state = after(p.state, p.steps);
    if (p.steps % kCheckpointEvery != 0 && p.steps != extent.steps) continue;
    save(run_dir, p, earlier);
    if (p.steps - p.packed >= extent.pack_every) pack(run_dir, p);
  }
  if (p.packed != p.steps) pack(run_dir, p);
}

std::string outcome(const fs::path& run_dir) {
  const auto checkpoint = io::newest_checkpoint(run_dir, nullptr);
  require<StorageError>(checkpoint.has_value(), "the run ended without a checkpoint",
                        "there is no outcome", "look at the run");
  return io::archive_sha256(run_dir) + " " + progress_from(*checkpoint).state;
}

int recovered_steps(const fs::path& run_dir) {
  static std::map<int, std::string> archives;  // content hash of the first n steps, undisturbed
  const auto checkpoint = start(run_dir);
  const Progress p = checkpoint ? progress_from(*checkpoint) : Progress{};
  std::string state = "start";
  for (int step = 1; step <= p.steps; ++step) state = after(state, step);
  require<StorageError>(state == p.state,
                        fmt::format("the state after {} steps is not theirs", p.steps),
                        "a checkpoint recovered wrongly", "this is a defect");
  if (!archives.contains(p.steps)) {
    const io::test::RunFolder undisturbed;
    for (int step = 1; step <= p.steps; ++step) io::test::write(undisturbed, content_of(step));
    archives[p.steps] = io::archive_sha256(undisturbed);
  }
  require<StorageError>(
      io::archive_sha256(run_dir) == archives[p.steps],
      fmt::format("the rollouts of {} steps are not all there, or not theirs alone", p.steps),
      "committed rollouts are lost or doubled", "this is a defect");
  return p.steps;
}

}  // namespace rollcall::faults
