// Requests are dealt to sessions as those have room.
#include "model/decoder.hpp"

#include "model/packed_policy.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace rollcall::model {
namespace {

/// Weights that a core keeps in its own cache or nearly so: then threads that share nothing are faster than threads that meet in every operation.
constexpr std::size_t kOwnWeights = std::size_t(4) << 20;

/// Samples of requests, in order, drawn by whoever has room.
class Waiting {
 public:
  explicit Waiting(std::span<const DecodeRequest> requests) : requests_(requests) {}
  struct Share {
    std::size_t request;
    std::uint32_t first, count;
  };
  /// Up to `most` samples of one request; none when all are dealt.
  Share next(std::int64_t most) {
    const std::lock_guard lock(mutex_);
    while (request_ < requests_.size() && sample_ == requests_[request_].count) ++request_, sample_ = 0;
    if (request_ == requests_.size()) return {request_, 0, 0};
    const auto count = std::uint32_t(std::min<std::int64_t>(most, requests_[request_].count - sample_));
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

bool Decoder::apart(const Policy& policy) { return policy.packed().panels.size() <= kOwnWeights; }

Decoder::Own& Decoder::session(std::size_t index, const Policy& policy, const SamplingParams& sampling, std::size_t sessions) {
  Own& own = sessions_[index];
  if (own.session) {
    own.session->sample_by(sampling);
    return own;
  }
  own.team = std::make_unique<Team>(sessions == 1 ? options_.threads : 1);
  own.session = std::make_unique<DecodeSession>(policy, sampling, *own.team, options_.cache_bytes / std::int64_t(sessions),
                                                sessions == 1 ? DecodeSession::kLiveRows : kOwnLiveRows);
  return own;
}

std::vector<std::vector<DecodedSequence>> Decoder::decode(const Policy& policy, std::span<const DecodeRequest> requests, const SamplingParams& sampling,
                                                          const StopRules& stops) {
  std::vector<std::vector<DecodedSequence>> results;
  std::int64_t samples = 0;
  for (const DecodeRequest& request : requests) {
    results.emplace_back(request.count);
    samples += request.count;
  }
  const std::size_t sessions = apart(policy) ? std::size_t(options_.threads) : 1;
  sessions_.resize(sessions);
  const std::int64_t share = (samples + std::int64_t(sessions) - 1) / std::int64_t(sessions);
  const std::int64_t live = std::clamp<std::int64_t>(share, 1, sessions == 1 ? DecodeSession::kLiveRows : kOwnLiveRows);
  Waiting waiting(requests);
  const auto run = [&](DecodeSession& session) {
    std::unordered_map<DecodeSession::Id, std::pair<std::size_t, std::uint32_t>> places;
    for (;;) {
      while (session.unfinished() < live) {
        const auto [request, first, count] = waiting.next(live - session.unfinished());
        if (count == 0) break;
        const DecodeSession::Id id = session.open(requests[request], first, count, stops);
        for (std::uint32_t i = 0; i < count; ++i) places[id + i] = {request, first + i};
      }
      if (session.idle()) return;
      for (const DecodeSession::Id id : session.advance(policy)) {
        const auto [request, sample] = places.extract(id).mapped();
        results[request][sample] = session.take(id);
      }
    }
  };
  try {
    if (sessions == 1) {
      Own& own = session(0, policy, sampling, 1);
      own.team->lead(options_.side_by_side, [&] { run(*own.session); });
    } else {
      options_.side_by_side(int(sessions), [&](int index) { run(*session(std::size_t(index), policy, sampling, sessions).session); });
    }
  } catch (...) {
    sessions_.clear();  // what they were at is in pieces
    throw;
  }
  return results;
}

std::vector<std::vector<DecodedSequence>> decode(const Policy& policy, std::span<const DecodeRequest> requests, const SamplingParams& sampling,
                                                 const StopRules& stops, const DecodeOptions& options) {
  return Decoder(options).decode(policy, requests, sampling, stops);
}

}  // namespace rollcall::model
