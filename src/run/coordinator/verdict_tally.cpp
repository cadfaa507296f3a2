// Describes undecided verdicts and lost conversations for the status and for the end of a run.
#include "base/files/file.hpp"
#include "run/coordinator/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string_view>

namespace rollcall::run {
namespace fs = std::filesystem;
namespace {

/// The innermost place and the error of the last Python traceback in a text: "grade.py:12:
/// KeyError: 'x'". Empty if the text has none. Other languages print other forms, and for them the
/// message only names the file.
std::string end_of_traceback(std::string_view text) {
  const std::size_t begin = text.rfind("Traceback (most recent call last):");
  if (begin == std::string_view::npos) return {};
  std::string place;
  for (std::size_t at = text.find('\n', begin);
       at != std::string_view::npos && at + 1 < text.size(); at = text.find('\n', at + 1)) {
    const std::string line(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
    static const std::regex frame("  File \"(.*)\", line ([0-9]+).*");
    std::smatch found;
    if (std::regex_match(line, found, frame))
      place = fmt::format("{}:{}", fs::path(found[1].str()).filename().string(), found[2].str());
    else if (!line.empty() && !line.starts_with(' ')) return fmt::format("{}: {}", place, line);
  }
  return place;
}

/// Names the log in a folder that was written last, and the end of its last traceback.
std::string told_in(const fs::path& folder) {
  constexpr std::size_t kMostRead = 1U << 16U;  // bytes that are read from the end of the log
  fs::path newest;
  fs::file_time_type written{};
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder, ignored))
    if (const auto at = file.last_write_time(ignored); newest.empty() || at > written)
      newest = file.path(), written = at;
  if (newest.empty()) return {};
  const std::string text = read_file(newest);
  const std::string place = end_of_traceback(
      std::string_view(text).substr(text.size() - std::min(text.size(), kMostRead)));
  return fmt::format("; {}{}", place.empty() ? "standard error is in " : place + " in ",
                     newest.string());
}

}  // namespace

void add(VerdictTally& tally, const VerdictFacts& facts) {
  add(tally.slowest, facts.slowest);
  tally.verdicts += count_of(facts), tally.undecided += facts.undecided;
  if (tally.reason.empty()) tally.reason = facts.reason;
  tally.lost += facts.lost;
  if (tally.lost_reason.empty()) tally.lost_reason = facts.lost_reason;
}

std::string undecided_text(const fs::path& run_dir, std::uint64_t undecided, std::uint64_t verdicts,
                           const std::string& reason, std::uint64_t lost) {
  if (undecided == 0) return {};
  const char* const folder = lost == undecided ? "environment" : "verifier";
  return fmt::format("{} of {} verdicts since the last start; the first: {}{}", undecided, verdicts,
                     reason.empty() ? "no reason is given" : reason, told_in(run_dir / folder));
}

std::string lost_text(const fs::path& run_dir, std::uint64_t lost, const std::string& reason) {
  if (lost == 0) return {};
  return fmt::format("{} conversation{} since the last start; the first: {}{}", lost,
                     lost == 1 ? "" : "s", reason, told_in(run_dir / "environment"));
}

}  // namespace rollcall::run
