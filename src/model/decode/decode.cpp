// Gives requests to sessions as they have room, and asks what follows each turn.
#include "model/decode/decode.hpp"

#include "base/errors/error.hpp"
#include "model/engine/engine.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace rollcall::model {
namespace {

/// Bytes of weights that fit, or nearly fit, in a core's own cache. Up to this size, independent
/// threads are faster than threads that synchronise in every operation.
constexpr std::int64_t kOwnWeights = std::int64_t(4) << 20;
/// Live rows of a session that a single thread runs, so that activations, keys and values also fit
/// in the core's cache.
constexpr std::int64_t kOwnLiveRows = 64;
/// While sequences wait for replies, a session holds up to this many times its live rows: enough
/// that others advance, and few enough for the memory for keys and values.
constexpr std::int64_t kHeldTurns = 4;

/// How many samples of a request are opened. The others branch off those.
std::uint32_t opened(const DecodeRequest& request) {
  return request.unforked > 0 ? std::min(request.unforked, request.count) : request.count;
}

/// The samples that still wait, in order. Sessions take them as they have room.
class Waiting {
 public:
  explicit Waiting(std::span<const DecodeRequest> requests) : requests_(requests) {}
  struct Share {
    std::size_t request;
    std::uint32_t first, count;
  };
  /// Takes up to `limit` samples of one request, or all of its opened ones if it may branch. The
  /// count is 0 when no samples are left.
  Share next(std::int64_t limit) {
    const std::lock_guard lock(mutex_);
    while (request_ < requests_.size() && sample_ == opened(requests_[request_])) {
      ++request_;
      sample_ = 0;
    }
    if (request_ == requests_.size()) return {request_, 0, 0};
    const DecodeRequest& request = requests_[request_];
    const std::uint32_t left = opened(request) - sample_;
    const auto count =
        request.unforked > 0 ? left : std::uint32_t(std::min<std::int64_t>(limit, left));
    sample_ += count;
    return {request_, sample_ - count, count};
  }

 private:
  std::mutex mutex_;
  std::span<const DecodeRequest> requests_;
  std::size_t request_ = 0;
  std::uint32_t sample_ = 0;
};

/// What all sessions of one decode() call share.
struct Call {
  const PolicyModel& policy;
  std::span<const DecodeRequest> requests;
  const SamplingParams& sampling;
  const StopRules& stops;
  const DecodeOptions& options;
  std::int64_t cache_bytes;  ///< of each session
  std::int64_t live;         ///< sequences that advance together in each session
  std::int64_t most_opened;  ///< a session opens more up to this many unfinished sequences
  std::int64_t most_held;    ///< the same, counting sequences that wait for a reply
  Waiting waiting;
  std::vector<std::vector<DecodedSequence>> results;
};

/// One session of a call. It opens samples and acts on the replies.
class SessionRun {
 public:
  SessionRun(Call& call, Team& team)
      : call_(call),
        session_(call.policy, call.sampling, team, call.cache_bytes, call.live),
        replies_(call.options.replies ? call.options.replies() : nullptr) {}

  void run() {
    for (;;) {
      if (call_.options.given_up && call_.options.given_up()) return;
      open();
      const bool waits = session_.idle();
      if (waits && pending_.empty()) return;
      if (!waits) advance();
      if (!pending_.empty()) hear(waits);
    }
  }

 private:
  using Id = DecodeSession::Id;
  using Place = std::pair<std::size_t, std::uint32_t>;  ///< request and sample

  void open() {
    for (;;) {
      const std::int64_t room =
          std::min(call_.most_opened, call_.most_held - std::int64_t(pending_.size())) -
          session_.unfinished();
      if (room <= 0) return;
      const auto [request, first, count] = call_.waiting.next(room);
      if (count == 0) return;
      const Id id = session_.open(call_.requests[request], first, count, call_.stops);
      for (std::uint32_t i = 0; i < count; ++i) places_[id + i] = {request, first + i};
    }
  }

  void advance() {
    for (const Id id : session_.advance(call_.policy)) {
      if (!replies_) {
        finish(id);
        continue;
      }
      const auto [request, sample] = places_.at(id);
      if (const auto reply = replies_->after({request, sample}, session_.at(id), session_.turn(id)))
        follow(id, *reply);
      else pending_[{request, sample}] = id;
    }
  }

  void hear(bool waits) {
    for (const auto& [place, reply] : replies_->late(waits)) {
      const auto pending = pending_.extract(Place(place.request, place.sample));
      expect(!pending.empty(), "a late reply is to a turn that waits for one");
      follow(pending.mapped(), reply);
    }
  }

  void follow(Id id, const Reply& reply) {
    for (const Branch& branch : reply.branches) fork(id, branch);
    reply.over ? finish(id) : session_.append(id, reply.said, reply.most);
  }

  void fork(Id of, const Branch& branch) {
    const Place place(places_.at(of).first, branch.sample);
    const DecodeRequest& request = call_.requests[place.first];
    expect(branch.sample >= opened(request) && branch.sample < request.count &&
               branched_.insert(place).second,
           "a branch has a number in its request that no other sequence has");
    const Id id = session_.fork(of, branch.sampled, branch.sample, branch.said, branch.most);
    places_[id] = place;
  }

  void finish(Id id) {
    const auto [request, sample] = places_.extract(id).mapped();
    call_.results[request][sample] = session_.take(id);
    if (call_.options.ended) call_.options.ended();
  }

  Call& call_;
  DecodeSession session_;
  std::unique_ptr<Replies> replies_;
  std::unordered_map<Id, Place> places_;
  std::map<Place, Id> pending_;  ///< sequences that wait for a reply
  std::set<Place> branched_;     ///< the branches so far
};

}  // namespace

DecodeShape decode_shape(std::int64_t packed_bytes, int threads) {
  if (packed_bytes > kOwnWeights) return {1, DecodeSession::kLiveRows};
  return {threads, kOwnLiveRows};
}

std::vector<std::vector<DecodedSequence>> decode(const PolicyModel& policy,
                                                 std::span<const DecodeRequest> requests,
                                                 const SamplingParams& sampling,
                                                 const StopRules& stops,
                                                 const DecodeOptions& options) {
  expect(options.threads > 0, "decoding has a thread");
  std::int64_t samples = 0;
  for (const DecodeRequest& request : requests) samples += request.count;
  // A device serves one session at a time.
  const auto [max_sessions, rows] =
      runs_on_device(policy.packed())
          ? DecodeShape{1, DecodeSession::kLiveRows}
          : decode_shape(std::int64_t(policy.packed().panels.size()), options.threads);
  const int sessions = int(std::clamp<std::int64_t>(samples, 1, max_sessions));
  const std::int64_t share = (samples + sessions - 1) / sessions,
                     live = std::clamp<std::int64_t>(share, 1, rows);
  // A session within a core's cache opens only as many samples as advance together. Otherwise all
  // are opened at once, so that the session can order them.
  const std::int64_t open = rows == kOwnLiveRows ? live : samples;
  Call call{.policy = policy,
            .requests = requests,
            .sampling = sampling,
            .stops = stops,
            .options = options,
            .cache_bytes = options.cache_bytes / sessions,
            .live = live,
            .most_opened = open,
            .most_held = std::max(open, kHeldTurns * live),
            .waiting = Waiting(requests),
            .results = {}};
  for (const DecodeRequest& request : requests) call.results.emplace_back(request.count);
  const auto lead = [&](int members) {
    Team team(members);
    team.lead(options.side_by_side, [&] { SessionRun(call, team).run(); });
  };
  sessions == 1 ? lead(max_sessions == 1 ? options.threads : 1)
                : options.side_by_side(sessions, [&](int) { lead(1); });
  return std::move(call.results);
}

}  // namespace rollcall::model
