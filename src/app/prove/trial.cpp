// Starts, kills and resumes a run, and reads its results.
#include "app/prove/trial.hpp"

#include "app/prove/child.hpp"
#include "app/tools/install_paths.hpp"
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "base/time/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <sstream>
#include <thread>

namespace rollcall::app::prove {
namespace {

namespace fs = std::filesystem;
constexpr double kLeastShare = 0.2;  // the times of kills are halved again only while their factor
                                     // is above this
constexpr double kGrace_s = 30.0;    // time for ranks to notice that their launcher is gone
constexpr std::size_t kTail = 12;    // lines of a failed run's log that are printed

std::vector<std::string> words_of(const Starting& starting, const Place& place,
                                  const fs::path& folder, bool resume) {
  std::vector<std::string> words;
  if (place.ranks > 1) {
    std::istringstream launcher(starting.launcher);
    for (std::string word; launcher >> word;) words.push_back(word);
    words.push_back(std::to_string(place.ranks));
  }
  words.insert(words.end(), {executable().string(), "train", starting.run_file.string()});
  // The run may have been killed before it wrote its first file.
  if (resume) words.insert(words.end(), {"--resume", "--start-if-none"});
  for (const auto& assignment : starting.assignments)
    words.insert(words.end(), {"--set", assignment});
  words.insert(words.end(),
               {"--set", "run.dir=" + folder.string(), "--set", "run.layout=" + place.layout});
  return words;
}

std::string tail_of(const fs::path& log) {
  std::vector<std::string> lines;
  std::istringstream text(read_file(log));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::string tail;
  for (std::size_t i = lines.size() - std::min(kTail, lines.size()); i < lines.size(); ++i)
    tail += "\n  " + lines[i];
  return tail;
}

/// Waits for ranks on other nodes, which may live a little longer than their launcher.
void await_end(const fs::path& folder) {
  const Stopwatch clock;
  while (fs::exists(folder) && FolderLock::is_held(folder) && clock.seconds() < kGrace_s)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

/// Whether a metric is a time, or the rank that was slowest. These differ from run to run.
bool is_time(const std::string& metric) {
  return metric.starts_with("timing_s/") || metric.starts_with("perf/");
}

std::vector<std::pair<std::string, double>> without_times(const report::MetricRow& row) {
  std::vector<std::pair<std::string, double>> values;
  std::copy_if(row.values.begin(), row.values.end(), std::back_inserter(values),
               [](const auto& value) { return !is_time(value.first); });
  return values;
}

}  // namespace

Outcome run(const Trial& trial, const Starting& starting, const fs::path& folder) {
  Outcome outcome;
  double share = 1.0;  // factor on the times of the kills
  for (std::size_t start = 0; start <= trial.kills.size();) {
    const Place& place = start == 0 ? trial.begins : trial.resumes.at(start - 1);
    const bool kill = start < trial.kills.size();
    const Stopwatch clock;
    Child child(words_of(starting, place, folder, start > 0), folder.string() + ".log");
    const int code = child.wait(kill ? share * trial.kills[start] : starting.longest_s);
    if (kill && code == -1) {
      child.kill_all();
      await_end(folder);
      ++outcome.killed, ++start;
    } else {
      require<EnvironmentError>(
          code == 0,
          fmt::format("a run on {} ranks ({}) {}", place.ranks, place.layout,
                      code == -1 ? fmt::format("did not end within {:.0f} s", starting.longest_s)
                                 : fmt::format("ended with exit code {}", code)),
          "it cannot be compared",
          fmt::format("see {}.log:{}", folder.string(), tail_of(folder.string() + ".log")));
      if (kill && share > kLeastShare) {  // the run ended before the kill, so it is repeated with
                                          // earlier kills
        fs::remove_all(folder);
        share /= 2, start = 0, outcome = {};
        continue;
      }
      start = trial.kills.size() + 1;
    }
    outcome.seconds += clock.seconds();
  }
  try {
    const auto result = nlohmann::json::parse(read_file(folder / "result.json"));
    outcome.policy = result.at("policy_sha256"), outcome.archive = result.at("archive_sha256");
  } catch (const nlohmann::json::exception& fault) {
    throw StorageError(error_message(
        fmt::format("{}: {}", (folder / "result.json").string(), fault_of(fault)),
        "the hashes that are compared are read from it", "free some space, and begin again"));
  }
  outcome.metrics = report::read_metrics(folder);
  return outcome;
}

Moved moved_in(const std::vector<report::MetricRow>& metrics) {
  Moved moved;
  for (const auto& row : metrics) {
    if (row.phase != "train") continue;
    const auto value = [&](const char* name) {
      const auto found = std::find_if(row.values.begin(), row.values.end(),
                                      [&](const auto& v) { return v.first == name; });
      return found == row.values.end() ? 0.0 : found->second;
    };
    ++moved.steps;
    moved.weights += value("actor/grad_norm") > 0.0 && value("actor/lr") > 0.0;
    moved.rewards += value("critic/rewards/max") > value("critic/rewards/min");
    moved.budgets += value("rollout_alloc/max") > value("rollout_alloc/min");
  }
  return moved;
}

std::string first_difference(const std::vector<report::MetricRow>& a,
                             const std::vector<report::MetricRow>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const std::string where = fmt::format("{} step {}", a[i].phase, a[i].step);
    if (a[i].phase != b[i].phase || a[i].step != b[i].step)
      return fmt::format("row {} is of {} and of {} step {}", i + 1, where, b[i].phase, b[i].step);
    const auto x = without_times(a[i]), y = without_times(b[i]);
    for (std::size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
      if (x[k].first != y[k].first)
        return fmt::format("{}: {} stands where the other has {}", where, x[k].first, y[k].first);
      if (std::bit_cast<std::uint64_t>(x[k].second) != std::bit_cast<std::uint64_t>(y[k].second))
        return fmt::format("{}: {} is {} and {}", where, x[k].first, x[k].second, y[k].second);
    }
    if (x.size() != y.size())
      return fmt::format("{}: {} metrics and {}", where, x.size(), y.size());
  }
  return a.size() == b.size() ? "" : fmt::format("{} rows of metrics and {}", a.size(), b.size());
}

}  // namespace rollcall::app::prove
