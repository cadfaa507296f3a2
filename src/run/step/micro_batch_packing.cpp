// Packs micro-batches, in which rollouts that begin with the same tokens form a tree.
#include "run/step/micro_batch_packing.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace rollcall::run {

bool MicroBatchPacker::shares_prompt(const std::vector<std::int32_t>& prompt) const {
  if (prompt_ < 0) return false;
  const auto first = micro_batch_->tokens.begin() + micro_batch_->offsets[std::size_t(prompt_)],
             last = micro_batch_->tokens.begin() + micro_batch_->offsets[std::size_t(prompt_) + 1];
  return std::equal(first, last, prompt.begin(), prompt.end());
}

void MicroBatchPacker::append(const Rollout& rollout) {
  const auto end_sequence = [&](std::int64_t parent) {
    micro_batch_->offsets.push_back(std::int64_t(micro_batch_->tokens.size()));
    micro_batch_->parents.push_back(parent);
  };
  if (micro_batch_->offsets.empty()) micro_batch_->offsets.push_back(0);
  const auto& prompt = rollout.turns.front().tokens;
  expect(rollout.turns.front().role == Role::prompt && !prompt.empty(),
         "a rollout begins with its prompt");
  if (!shares_prompt(prompt)) {
    prompt_ = std::int64_t(micro_batch_->parents.size());
    micro_batch_->tokens.insert(micro_batch_->tokens.end(), prompt.begin(), prompt.end());
    end_sequence(-1);
  }
  for (auto turn = rollout.turns.begin() + 1; turn != rollout.turns.end(); ++turn) {
    const auto first = std::int64_t(micro_batch_->tokens.size()),
               count = std::int64_t(turn->tokens.size());
    for (std::int64_t t = 0; turn->role == Role::policy && t < count; ++t) {
      micro_batch_->kept.put(micro_batch_->targets.size(), turn->kept.of(std::size_t(t)));
      micro_batch_->missed.put(micro_batch_->targets.size(), turn->missed.of(std::size_t(t)));
      micro_batch_->targets.push_back(first + t);
    }
    micro_batch_->tokens.insert(micro_batch_->tokens.end(), turn->tokens.begin(),
                                turn->tokens.end());
  }
  end_sequence(prompt_);
}

namespace {

/// At most one token in this many may be repeated by an even cut. Beyond that, a prompt that every
/// micro-batch has costs more than even sizes gain.
constexpr std::int64_t kMostRepeated = 16;

/// A token of a rollout, with its columns if the policy drew it.
struct Place {
  std::int32_t token;
  bool learnt = false;
  float logprob = 0.0F;
  double dlogprob = 0.0, dentropy = 0.0;  ///< derivatives of the loss by log-prob and entropy,
                                          ///< summed over the rollouts that share the place
  std::span<const std::int32_t> kept{};   ///< tokens that sampling kept; empty: all tokens
  MissedTokens::List missed{};            ///< tokens drawn in place of this one that differ from it
  double dmiss_logprob = 0.0;

  /// Whether this place and `other` become one place of the tree, given that the places before them
  /// did. The forward pass is compared with each log-prob, so places with different log-probs are
  /// kept apart, and so are places with a different softmax or with their own draws.
  bool same_as(const Place& other) const {
    return token == other.token && learnt == other.learnt &&
           std::bit_cast<std::uint32_t>(logprob) == std::bit_cast<std::uint32_t>(other.logprob) &&
           std::ranges::equal(kept, other.kept) && missed.empty() && other.missed.empty();
  }
};
using Path = std::vector<Place>;

/// A tree of rollouts, in which tokens that several rollouts begin with are present once. A node is
/// a run of places up to the point at which rollouts diverge.
class Tree {
 public:
  std::int64_t tokens() const { return std::int64_t(places_.size()); }
  /// The number of the path's first places that the tree has.
  std::int64_t known(const Path& path) const {
    return std::int64_t(follow(path, [](std::size_t, const Place&) {}).along);
  }
  void add(const Path& path);
  BackwardMicroBatch micro_batch() const;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Node {
    std::size_t first = 0, last = 0;  ///< the node's places in places_: [first, last)
    /// The youngest child and the next older sibling. No two children begin with the same place.
    std::size_t child = kNone, sibling = kNone;
  };
  struct Point {
    std::size_t node, place;  ///< a node, and its next place; its `last` if the node has no more
    std::size_t along;        ///< number of places of the path that the tree has up to this point
  };
  template <class Pass>
  Point follow(const Path& path, const Pass& pass) const;
  void write(std::size_t node, std::int64_t parent, BackwardMicroBatch& to) const;
  void write_children(std::size_t node, std::int64_t parent, BackwardMicroBatch& to) const;

  Path places_;                                     ///< places of all nodes
  std::vector<Node> nodes_ = std::vector<Node>(1);  ///< the first is the root, without places
};

/// Follows the path up to the point that the tree has, and calls pass(place of the tree, place of
/// the path).
template <class Pass>
Tree::Point Tree::follow(const Path& path, const Pass& pass) const {
  Point at{0, 0, 0};
  for (; at.along < path.size(); ++at.along) {
    if (at.place == nodes_[at.node].last) {
      std::size_t next = nodes_[at.node].child;  // the youngest first, since rollouts of a prompt
                                                 // follow each other
      while (next != kNone && !places_[nodes_[next].first].same_as(path[at.along]))
        next = nodes_[next].sibling;
      if (next == kNone) break;
      at.node = next, at.place = nodes_[next].first;
    }
    if (!places_[at.place].same_as(path[at.along])) break;
    pass(at.place++, path[at.along]);
  }
  return at;
}

void Tree::add(const Path& path) {
  const Point end = follow(path, [&](std::size_t place, const Place& own) {
    places_[place].dlogprob += own.dlogprob, places_[place].dentropy += own.dentropy;
  });
  if (end.along == path.size()) return;
  // The node ends here, and its remaining places become its first child.
  if (Node& node = nodes_[end.node]; end.place < node.last) {
    const Node rest{end.place, node.last, node.child, kNone};
    node.last = end.place, node.child = nodes_.size();
    nodes_.push_back(rest);
  }
  const std::size_t own = nodes_.size();
  nodes_.push_back(
      {places_.size(), places_.size() + path.size() - end.along, kNone, nodes_[end.node].child});
  nodes_[end.node].child = own;
  places_.insert(places_.end(), path.begin() + std::ptrdiff_t(end.along), path.end());
}

/// Writes a node and then its children, each as a sequence.
void Tree::write(std::size_t node, std::int64_t parent, BackwardMicroBatch& to) const {
  model::MicroBatch& micro_batch = to.micro_batch;
  for (std::size_t i = nodes_[node].first; i < nodes_[node].last; ++i) {
    const Place& place = places_[i];
    if (place.learnt) {
      micro_batch.kept.put(micro_batch.targets.size(), place.kept);
      micro_batch.missed.put(micro_batch.targets.size(), place.missed);
      if (!place.missed.empty())
        to.derivative.by.miss_logprob.resize(micro_batch.targets.size()),
            to.derivative.by.miss_logprob.push_back(float(place.dmiss_logprob));
      micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()));
      to.derivative.by.logprob.push_back(float(place.dlogprob)),
          to.derivative.by.entropy.push_back(float(place.dentropy));
      to.derivative.at_logprob.push_back(place.logprob);
    }
    micro_batch.tokens.push_back(place.token);
  }
  micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  micro_batch.parents.push_back(parent);
  write_children(node, std::int64_t(micro_batch.parents.size()) - 1, to);
}

void Tree::write_children(std::size_t node, std::int64_t parent, BackwardMicroBatch& to) const {
  std::vector<std::size_t> children;
  for (std::size_t child = nodes_[node].child; child != kNone; child = nodes_[child].sibling)
    children.push_back(child);
  for (auto child = children.rbegin(); child != children.rend(); ++child) write(*child, parent, to);
}

BackwardMicroBatch Tree::micro_batch() const {
  BackwardMicroBatch made;
  made.micro_batch.offsets.push_back(0);
  write_children(0, -1, made);
  if (!made.derivative.by.miss_logprob.empty())
    made.derivative.by.miss_logprob.resize(made.micro_batch.targets.size());
  return made;
}

/// Whether any derivative of the columns [first, last) is not zero.
bool trains(const model::ColumnGradient& derivative, std::size_t first, std::size_t last) {
  const auto any = [&](const std::vector<float>& values) {
    return std::any_of(values.begin() + std::ptrdiff_t(first),
                       values.begin() + std::ptrdiff_t(last),
                       [](float value) { return value != 0.0F; });
  };
  return any(derivative.logprob) || any(derivative.entropy) ||
         (!derivative.miss_logprob.empty() && any(derivative.miss_logprob));
}

/// Fills `path` with the places of a rollout, whose columns begin at `column`.
void take_path(const Rollout& rollout, const LossDerivative& derivative, std::size_t column,
               Path& path) {
  expect(rollout.turns.front().role == Role::prompt && !rollout.turns.front().tokens.empty(),
         "a rollout begins with its prompt");
  const model::ColumnGradient& by = derivative.by;
  path.clear();
  for (const auto& turn : rollout.turns)
    for (std::size_t t = 0; t < turn.tokens.size(); ++t) {
      if (turn.role != Role::policy) {
        path.push_back({turn.tokens[t]});
        continue;
      }
      path.push_back({turn.tokens[t], true, derivative.at_logprob[column], by.logprob[column],
                      by.entropy[column], turn.kept.of(t), turn.missed.of(t),
                      by.miss_logprob.empty() ? 0.0 : double(by.miss_logprob[column])});
      ++column;
    }
}

}  // namespace

std::vector<BackwardMicroBatch> backward_micro_batches(const StepBatch& batch,
                                                       const std::vector<std::size_t>& groups,
                                                       const LossDerivative& derivative,
                                                       std::int64_t micro_batch_tokens) {
  std::vector<BackwardMicroBatch> micro_batches;
  Tree tree, before;  // the trees of the current micro-batch and of the one before
  std::int64_t repeated = 0;
  const auto end_micro_batch = [&] {
    if (tree.tokens() == 0) return;
    micro_batches.push_back(tree.micro_batch());
    micro_batches.back().repeated = std::exchange(repeated, 0);
    before = std::exchange(tree, Tree());
  };
  Path path;
  std::size_t column = 0;
  for (const std::size_t g : groups)
    for (const Rollout& rollout : batch.groups[g].rollouts) {
      const auto first = std::exchange(column, column + std::size_t(policy_tokens(rollout)));
      expect(column <= derivative.at_logprob.size() && column <= derivative.by.logprob.size(),
             "every policy token has a derivative");
      if (!trains(derivative.by, first, column)) continue;
      take_path(rollout, derivative, first, path);
      std::int64_t known = tree.known(path);
      const std::int64_t growth = std::int64_t(path.size()) - known;
      if (growth > 0 && tree.tokens() > 0 && tree.tokens() + growth > micro_batch_tokens)
        end_micro_batch(), known = 0;
      repeated += std::max<std::int64_t>(before.known(path) - known, 0);
      tree.add(path);
    }
  expect(column == derivative.by.logprob.size() && column == derivative.at_logprob.size(),
         "every policy token has a derivative");
  end_micro_batch();
  return micro_batches;
}

std::vector<BackwardMicroBatch> even_micro_batches(
    std::int64_t micro_batch_tokens,
    const std::function<std::vector<BackwardMicroBatch>(std::int64_t limit)>& cut) {
  const auto tokens_of = [](const std::vector<BackwardMicroBatch>& micro_batches) {
    return std::accumulate(micro_batches.begin(), micro_batches.end(), std::int64_t(0),
                           [](auto sum, const auto& each) {
                             return sum + std::int64_t(each.micro_batch.tokens.size());
                           });
  };
  auto full = cut(micro_batch_tokens);
  const std::int64_t tokens = tokens_of(full), least = std::int64_t(full.size());
  const std::int64_t wanted = sizing::micro_batch_count(least, tokens);
  for (const std::int64_t count :
       wanted > least ? std::vector{wanted, least} : std::vector{least}) {
    if (count <= 1 || count > sizing::kFewMicroBatches) continue;
    // Rollouts cannot be cut at every point, and each micro-batch has its own copy of shared
    // tokens. So the search for the smallest sufficient limit goes in steps of a sixteenth of an
    // even share.
    const std::int64_t share = (tokens + count - 1) / count;
    for (std::int64_t limit = share; limit < micro_batch_tokens; limit += (share + 15) / 16) {
      auto even = cut(limit);
      if (std::int64_t(even.size()) > count) continue;
      if (tokens_of(even) <= tokens + tokens / kMostRepeated) return even;
      break;
    }
  }
  return full;
}

}  // namespace rollcall::run
