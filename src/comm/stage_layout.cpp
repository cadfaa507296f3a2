// The three layouts as pure functions of the rank count.
#include "comm/stage_layout.hpp"

#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/text/joined.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace rollcall::comm {
namespace {

constexpr int kStages = 5, kShared = 3;  ///< the kShared stages after the coordinator (generation,
                                         ///< scoring, update) are given ranks by kShares
constexpr int kFewestDisaggregated = 4;  ///< one rank for each stage but the judge
/// Shares of generation, scoring and update. Decoding is bound by memory and takes the most time;
/// scoring runs small verifiers on the CPU.
constexpr std::array<int, kShared> kShares{4, 1, 3};

/// Divides `total`, at least 3, in proportion to kShares by largest remainder, with at least 1 for
/// each. Ties go to the earlier stage.
std::array<int, 3> share_out(int total) {
  const int sum = std::accumulate(kShares.begin(), kShares.end(), 0);
  std::array<int, 3> count{}, order{0, 1, 2};
  for (int i = 0; i < 3; ++i) count[i] = int(std::int64_t(total) * kShares[i] / sum);
  const auto remainder = [&](int i) { return std::int64_t(total) * kShares[i] % sum; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return remainder(a) > remainder(b); });
  const int left = total - std::accumulate(count.begin(), count.end(), 0);
  for (int i = 0; i < left; ++i) ++count[order[i]];
  for (int& few : count) {
    if (few == 0) --*std::max_element(count.begin(), count.end()), ++few;
  }
  return count;
}

std::vector<int> rank_range(int first, int count) {
  std::vector<int> ranks(count);
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

struct LayoutRow {
  std::string name;
  int fewest, most;  ///< number of ranks; most = 0 means any number
  bool fits(int ranks) const { return ranks >= fewest && (most == 0 || ranks <= most); }
};
const std::vector<LayoutRow>& layouts() {
  static const std::vector<LayoutRow> rows{
      {"single", 1, 1}, {"colocated", 1, 0}, {"disaggregated", kFewestDisaggregated, 0}};
  return rows;
}

const LayoutRow& find_layout(const std::string& name) {
  const auto row = std::find_if(layouts().begin(), layouts().end(),
                                [&](const LayoutRow& r) { return r.name == name; });
  std::vector<std::string> valid{"auto"};
  for (const LayoutRow& r : layouts()) valid.push_back(r.name);
  require<ConfigError>(row != layouts().end(), fmt::format("unknown layout \"{}\"", name),
                       "run.layout says which rank hosts which stage", suggest_name(name, valid));
  return *row;
}

}  // namespace

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::coordinator: return "coordinator";
    case Stage::generation: return "generation";
    case Stage::scoring: return "scoring";
    case Stage::update: return "update";
    case Stage::judge: return "judge";
  }
  throw std::logic_error("stage_name: not a stage");
}

bool StageLayout::hosts_stage(int rank, Stage stage) const {
  return std::binary_search(of(stage).begin(), of(stage).end(), rank);
}

int StageLayout::on_node_of(int rank) const {
  return nodes.empty() ? 1 : int(std::count(nodes.begin(), nodes.end(), node_of(rank)));
}

int StageLayout::on_node_of(int rank, Stage stage) const {
  return int(std::count_if(of(stage).begin(), of(stage).end(),
                           [&](int other) { return node_of(other) == node_of(rank); }));
}

StageLayout make_layout(const std::string& name, int ranks) {
  require<EnvironmentError>(ranks >= 1, fmt::format("{} ranks", ranks),
                            "a job has at least one rank", "start it through the launcher");
  const LayoutRow& row = find_layout(name == "auto" ? (ranks == 1 ? "single" : "colocated") : name);
  const std::string counts =
      row.most == 0 ? fmt::format("{} or more", row.fewest) : fmt::format("exactly {}", row.most);
  require<EnvironmentError>(row.fits(ranks),
                            fmt::format("layout {} does not fit {} ranks", row.name, ranks),
                            fmt::format("it takes {}", counts),
                            fmt::format("start {} ranks or set run.layout to {}", counts,
                                        joined(valid_layouts(ranks), " or ")));
  StageLayout layout{row.name, ranks, std::vector<std::vector<int>>(kStages), {}};
  layout.hosts[int(Stage::coordinator)] = {0};
  if (row.name == "disaggregated") {
    const std::array<int, 3> count = share_out(ranks - 1);
    int next = 1;
    for (int i = 0; i < 3; ++i) {
      layout.hosts[1 + i] = rank_range(next, count[i]);
      next += count[i];
    }
  } else {
    for (int stage = 1; stage <= kShared; ++stage) layout.hosts[stage] = rank_range(0, ranks);
  }
  return layout;
}

StageLayout with_judges(const std::string& name, int ranks, int own) {
  require<EnvironmentError>(own < ranks,
                            fmt::format("judge.ranks is {}, and the job has {} ranks", own, ranks),
                            "nobody would be left to train",
                            "start more ranks, or set judge.ranks=0: the scoring ranks judge then");
  StageLayout layout = make_layout(name, ranks - own);
  layout.ranks = ranks;
  layout.hosts[int(Stage::judge)] =
      own == 0 ? layout.of(Stage::scoring) : rank_range(ranks - own, own);
  return layout;
}

std::vector<std::string> valid_layouts(int ranks) {
  std::vector<std::string> names;
  for (const LayoutRow& row : layouts()) {
    if (row.fits(ranks)) names.push_back(row.name);
  }
  return names;
}

}  // namespace rollcall::comm
