// Gives requests to sessions as those have room.
#include "model/decode/decode.hpp"

#include "base/errors/error.hpp"
#include "model/engine/engine.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace rollcall::model {
namespace {

/// Bytes of weights that a core keeps in its own cache, or nearly so. Up to that size threads that
/// share nothing are faster than threads that meet in every operation.
constexpr std::int64_t kOwnWeights = std::int64_t(4) << 20;
/// Live rows of a session that one thread runs alone, so that activations, keys and values fit the
/// core's cache, too.
constexpr std::int64_t kOwnLiveRows = 64;

/// Samples of requests that wait, in order. Sessions take them as they have room.
class Waiting {
 public:
  explicit Waiting(std::span<const DecodeRequest> requests) : requests_(requests) {}
  struct Share {
    std::size_t request;
    std::uint32_t first, count;
  };
  /// Takes up to `limit` samples of one request. The count is 0 when no samples are left.
  Share next(std::int64_t limit) {
    const std::lock_guard lock(mutex_);
    while (request_ < requests_.size() && sample_ == requests_[request_].count)
      ++request_, sample_ = 0;
    if (request_ == requests_.size()) return {request_, 0, 0};
    const auto count =
        std::uint32_t(std::min<std::int64_t>(limit, requests_[request_].count - sample_));
    sample_ += count;
    return {request_, sample_ - count, count};
  }

 private:
  std::mutex mutex_;
  std::span<const DecodeRequest> requests_;
  std::size_t request_ = 0;
  std::uint32_t sample_ = 0;
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
  std::vector<std::vector<DecodedSequence>> results;
  std::int64_t samples = 0;
  for (const DecodeRequest& request : requests) {
    results.emplace_back(request.count);
    samples += request.count;
  }
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
  Waiting waiting(requests);
  const auto run = [&](Team& team) {
    DecodeSession session(policy, sampling, team, options.cache_bytes / sessions, live);
    std::unordered_map<DecodeSession::Id, std::pair<std::size_t, std::uint32_t>> places;
    for (;;) {
      if (options.given_up && options.given_up()) return;
      while (session.unfinished() < open) {
        const auto [request, first, count] = waiting.next(open - session.unfinished());
        if (count == 0) break;
        const DecodeSession::Id id = session.open(requests[request], first, count, stops);
        for (std::uint32_t i = 0; i < count; ++i) places[id + i] = {request, first + i};
      }
      if (session.idle()) return;
      for (const DecodeSession::Id id : session.advance(policy)) {
        const auto [request, sample] = places.extract(id).mapped();
        results[request][sample] = session.take(id);
        if (options.ended) options.ended();
      }
    }
  };
  const auto lead = [&](int members) {
    Team team(members);
    team.lead(options.side_by_side, [&] { run(team); });
  };
  sessions == 1 ? lead(max_sessions == 1 ? options.threads : 1)
                : options.side_by_side(sessions, [&](int) { lead(1); });
  return results;
}

}  // namespace rollcall::model
