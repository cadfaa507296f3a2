// Verdicts are found by address and content, since a resume may have changed a prompt.
#include "run/scoring/repeated_verdicts.hpp"

#include "base/errors/log.hpp"
#include "base/numbers/hash.hpp"
#include "io/stored_verdicts.hpp"

#include <fmt/format.h>

#include <span>
#include <vector>

namespace rollcall::run {
namespace {

std::uint64_t content_hash(const std::string& prompt, const std::string& answer,
                           const std::string& response) {
  const std::string all =
      fmt::format("{} {} {}{}{}", prompt.size(), answer.size(), prompt, answer, response);
  return checksum64(std::as_bytes(std::span(all)));
}

}  // namespace

RepeatedVerdicts::RepeatedVerdicts(const std::filesystem::path& run_dir,
                                   const reward::Grader& grader, std::size_t environment) {
  if (!grader.is_command() && !reward::runs_code(reward::find_verifier(grader.name()))) return;
  std::vector<std::string> unreadable;
  for (auto& verdict : io::verdicts_to_repeat(run_dir, unreadable)) {
    if (verdict.finish == FinishReason::lost) continue;  // nothing was asked about it
    // The stored score may end with the judge model's component, which that model will add again.
    verdict.score.components.resize(grader.components().size() + environment);
    stored_.try_emplace(sample_id(verdict.purpose, verdict.group, verdict.sample),
                        content_hash(verdict.prompt, verdict.answer, verdict.response),
                        std::move(verdict.score));
  }
  for (const auto& fault : unreadable)
    log_warning("verdicts to repeat that a file set aside may hold are not known: {}", fault);
}

const Score* RepeatedVerdicts::find(Purpose purpose, const GroupId& group, const Rollout& rollout,
                                    const Prompt& prompt) const {
  if (stored_.empty()) return nullptr;
  const auto stored = stored_.find(sample_id(purpose, group, rollout.sample));
  const bool same = stored != stored_.end() &&
                    stored->second.first == content_hash(prompt.text, prompt.answer, rollout.text);
  return same ? &stored->second.second : nullptr;
}

}  // namespace rollcall::run
