// Groups ranks in the same state into one sentence each; suspects come first.
#include "watch/explanation.hpp"

#include "base/text/joined.hpp"
#include "comm/rank_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rollcall::watch {
namespace {

enum class Kind { stopped, stuck, waiting, ended };

struct Judged {
  const WatchRecord* record;
  Kind kind;
  double age_s;  ///< age of the record [s]
  double still_s() const { return record->still_s + age_s; }
};

Judged judge(const WatchRecord& record, double now, double watch_s) {
  const double age_s = std::max(now - record.beat_unix_s, 0.0);
  const Kind kind = record.ended           ? Kind::ended
                    : age_s > watch_s / 2  ? Kind::stopped
                    : record.waits.empty() ? Kind::stuck
                                           : Kind::waiting;
  // A rank that polls is alive. A rank that waits but has stopped polling is stuck as well.
  return {&record, kind == Kind::waiting && record.still_s + age_s >= watch_s ? Kind::stuck : kind,
          age_s};
}

/// Ranks that share one sentence and the same stacks.
struct Group {
  std::vector<int> ranks;
  std::set<std::string> nodes;
  double longest_s = 0.0;
  std::vector<ThreadRecord> threads;
};

/// The states and stacks of threads as text for comparison, without thread numbers, which differ
/// between ranks in the same state.
std::string text_of(const std::vector<ThreadRecord>& threads) {
  std::string text;
  for (const auto& t : threads)
    text +=
        fmt::format("{}|{}|{}\n", t.thread == "main" ? "main" : "", t.state, joined(t.frames, ","));
  return text;
}

std::string where(const WatchRecord& r) {
  const std::string task = r.activity.empty() ? "" : "in the " + r.activity;
  return task.empty() || r.waits.empty() ? task + (r.waits.empty() ? "" : "waiting " + r.waits)
                                         : task + ", waiting " + r.waits;
}

std::string hosts(const WatchRecord& r) {
  return r.stages.empty() ? "" : fmt::format(" ({})", r.stages);
}

std::string nodes_of(const Group& group) {
  if (group.nodes.size() == 1) return " on " + *group.nodes.begin();
  return group.nodes.size() < 2 ? "" : fmt::format(" on {} nodes", group.nodes.size());
}

void add_stacks(std::vector<std::string>& lines, const std::vector<ThreadRecord>& threads) {
  std::map<std::string, int> same;
  for (const auto& t : threads) ++same[text_of({t})];
  for (const auto& t : threads) {
    const int count = std::exchange(same[text_of({t})], 0);
    if (count == 0) continue;  // counted with an equal thread before
    lines.push_back(fmt::format("    {}{}: {}{}", t.thread,
                                count > 1 ? fmt::format(" and {} more", count - 1) : "", t.state,
                                t.frames.empty() ? ", no stack" : ""));
    for (const auto& frame : t.frames) lines.push_back("      at " + frame);
  }
}

void add_suspects(std::vector<std::string>& lines, const std::vector<Judged>& all) {
  using Key = std::pair<Kind, std::string>;
  std::map<Key, Group> groups;
  for (const auto& judged : all) {
    if (judged.kind != Kind::stopped && judged.kind != Kind::stuck) continue;
    const WatchRecord& r = *judged.record;
    const bool stopped = judged.kind == Kind::stopped;  // the stacks of a stopped rank are too old
                                                        // to mean anything
    auto& group = groups[{judged.kind, fmt::format("{}|{}|{}", hosts(r), where(r),
                                                   stopped ? "" : text_of(r.threads))}];
    group.ranks.push_back(r.rank);
    if (!r.node.empty()) group.nodes.insert(r.node);
    group.longest_s = std::max(group.longest_s, stopped ? judged.age_s : judged.still_s());
    if (!stopped) group.threads = r.threads;
  }
  std::size_t named = 0;
  for (const auto& [key, group] : groups) {
    if (named++ == comm::kNamedGroups)
      return lines.push_back(fmt::format("  and {} more groups of ranks like these",
                                         groups.size() - comm::kNamedGroups));
    const auto first = std::find_if(all.begin(), all.end(), [&](const Judged& judged) {
      return judged.record->rank == group.ranks.front();
    });
    const std::string task = where(*first->record),
                      said = task.empty()
                                 ? ""
                                 : (key.first == Kind::stopped ? ", last seen " : " ") + task;
    const std::string who = comm::name_ranks(group.ranks) + nodes_of(group) + hosts(*first->record);
    if (key.first == Kind::stopped)
      lines.push_back(fmt::format(
          "  {}{}: no sign of life for {:.0f} s: stopped, dead, or its node or file system is "
          "unreachable",
          who, said, group.longest_s));
    else
      lines.push_back(fmt::format("  {}{}: nothing done for {:.0f} s: computing or stuck", who,
                                  said, group.longest_s));
    add_stacks(lines, group.threads);
  }
}

void add_waiting(std::vector<std::string>& lines, const std::vector<Judged>& all) {
  std::map<std::string, std::vector<int>> waiting;
  for (const auto& judged : all)
    if (judged.kind == Kind::waiting)
      waiting[comm::wait_within(judged.record->waits, judged.record->activity)].push_back(
          judged.record->rank);
  const auto sentences = comm::waiting_sentences(waiting);
  for (std::size_t i = 0; i < std::min(sentences.size(), comm::kNamedGroups); ++i)
    lines.push_back("  " + sentences[i]);
  if (sentences.size() > comm::kNamedGroups) lines.emplace_back("  and others");
  // A rank that waits for one of its own threads, such as the one that writes a checkpoint, has
  // recorded where its threads are.
  std::size_t named = 0;
  for (const auto& judged : all) {
    if (judged.kind != Kind::waiting || judged.record->threads.empty() ||
        named++ == comm::kNamedGroups)
      continue;
    lines.push_back(
        fmt::format("  rank {} waits, but its other threads do something:", judged.record->rank));
    add_stacks(lines, judged.record->threads);
  }
}

std::vector<int> missing(const WatchFile& file) {
  std::set<int> there;
  for (const auto& record : file.records) there.insert(record.rank);
  std::vector<int> ranks;
  for (int rank = 0; rank < file.ranks; ++rank)
    if (!there.contains(rank)) ranks.push_back(rank);
  return ranks;
}

}  // namespace

Explanation explain(const WatchFile& file, double now, double watch_s) {
  Explanation said;
  std::vector<Judged> all;
  for (const auto& record : file.records) {
    all.push_back(judge(record, now, watch_s));
    const double quiet_s = record.silent_s + all.back().age_s;
    said.quiet_s = all.size() == 1 ? quiet_s : std::min(said.quiet_s, quiet_s);
  }
  const auto count = [&](Kind kind) {
    return std::count_if(all.begin(), all.end(),
                         [&](const Judged& judged) { return judged.kind == kind; });
  };
  said.silent = !all.empty() && count(Kind::ended) < std::ptrdiff_t(all.size()) && watch_s > 0 &&
                said.quiet_s >= watch_s;
  if (!said.silent) return said;
  const auto unheard = missing(file);
  const bool nobody = count(Kind::stopped) + count(Kind::stuck) == 0 && unheard.empty();
  said.lines.push_back(fmt::format(
      "no progress for {:.0f} s{}", said.quiet_s,
      !nobody           ? ":"
      : file.ranks == 1 ? "; the only rank waits:"
                        : "; all ranks wait for each other or for threads of their own:"));
  add_suspects(said.lines, all);
  if (!unheard.empty())
    said.lines.push_back(fmt::format("  {}: nothing was ever heard of {}",
                                     comm::name_ranks(unheard),
                                     unheard.size() == 1 ? "it" : "them"));
  add_waiting(said.lines, all);
  return said;
}

double time_of(const WatchFile& file, double readers_clock, double watch_s) {
  double newest = 0.0;
  for (const auto& record : file.records) newest = std::max(newest, record.beat_unix_s);
  return readers_clock - newest > watch_s ? readers_clock : newest;
}

std::vector<std::string> last_seen(const WatchFile& file) {
  std::map<std::string, std::vector<int>> groups;
  for (const auto& record : file.records) {
    const std::string what = where(record);
    groups[record.ended   ? "ended in order"
           : what.empty() ? "between two tasks"
                          : what]
        .push_back(record.rank);
  }
  std::vector<std::string> sentences;
  for (const auto& [what, ranks] : groups) {
    if (sentences.size() == comm::kNamedGroups)
      return sentences.emplace_back("and others"), sentences;
    sentences.push_back(fmt::format("{} {}", comm::name_ranks(ranks), what));
  }
  return sentences;
}

std::vector<std::string> SilenceTeller::tell(const Explanation& now) {
  if (!now.silent) {
    const bool over = std::exchange(next_s_, 0.0) > 0.0;
    return over ? std::vector{fmt::format("the run makes progress again, after {:.0f} s without",
                                          longest_s_)}
                : std::vector<std::string>();
  }
  longest_s_ = now.quiet_s;
  if (now.quiet_s < next_s_) return {};
  next_s_ = 2.0 * now.quiet_s;
  return now.lines;
}

}  // namespace rollcall::watch
