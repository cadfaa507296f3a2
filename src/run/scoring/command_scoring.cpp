// A rollout becomes a sample with an id, by which its verdict finds its place.
#include "run/scoring/command_scoring.hpp"

#include "base/errors/log.hpp"
#include "base/process/uninterrupted.hpp"

#include <fmt/format.h>

namespace rollcall::run {
namespace {

constexpr std::uintmax_t kMostErrors = 1U << 20U;  // bytes that are kept of the standard error of
                                                   // each process

}  // namespace

void ErrorFiles::write(std::size_t process, std::string_view bytes) {
  const auto path = folder_ / fmt::format("rank-{:04}-process-{:02}.log", rank_, process);
  std::error_code absent;
  const auto [known, first] = bytes_.try_emplace(process, 0);
  if (first) {
    std::filesystem::create_directories(folder_, absent);
    if (const auto earlier = std::filesystem::file_size(path, absent); !absent)
      known->second = earlier;
  }
  if (known->second >= kMostErrors) return;
  bytes = bytes.substr(0, kMostErrors - known->second);
  known->second += bytes.size();
  Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0644);
  if (file >= 0 && uninterrupted([&] { return ::write(file, bytes.data(), bytes.size()); }) ==
                       ssize_t(bytes.size()))
    return;
  log_warning("cannot write {}: what the verifier wrote to standard error is lost", path.string());
  known->second = kMostErrors;
}

CommandScoring::CommandScoring(const VerdictSources& sources, const RewardSection& section,
                               const WorkerPool& pool, reward::Spawner& spawner, ErrorFiles errors)
    : sources_(sources),
      errors_(std::move(errors)),
      graders_(spawner, section,
               {.errors = [this](std::size_t process,
                                 std::string_view bytes) { errors_.write(process, bytes); },
                .judged = [&pool] { pool.progressed(); }}) {}

void CommandScoring::add(const ShardNotice& notice, RolloutShard shard, double read_s) {
  PendingShard open(sources_, notice, std::move(shard), read_s);
  std::vector<reward::Sample> samples;
  for (std::size_t index = 0; index < open.size(); ++index) {
    const Prompt& prompt = open.prompt(index);
    samples.push_back({open.sample(index), prompt.text, std::string(open.response(index)),
                       prompt.answer, open.extra(index)});
  }
  open_.emplace(graders_.add(std::move(samples)), std::move(open));
}

std::optional<GradedShard> CommandScoring::take() {
  auto batch = graders_.take();
  if (!batch) return std::nullopt;
  auto entry = open_.extract(batch->first);
  PendingShard& open = entry.mapped();
  for (std::size_t index = 0; index < batch->second.size(); ++index) {
    const reward::Verdict& verdict = batch->second[index];
    Score score =
        sources_.grading->grader->score(verdict.reply, open.response(index), open.has_ended(index));
    score.clock_ended = reward::has_ended_the_judging(verdict);
    open.put(index, std::move(score), verdict.seconds);
  }
  return std::move(open).close();
}

}  // namespace rollcall::run
