// What every communicator shares: the deadline of a wait and what its error says.
#include "comm/communicator.hpp"

#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "core/serialize.hpp"

#include <fmt/format.h>

namespace rollcall::comm {

namespace {

constexpr double kAskAfter = 0.25;  // of a deadline: the rest is for the giver, which computes and cannot answer at once

}  // namespace

void Communicator::wait(const std::function<bool()>& done, double deadline_s, const std::string& waiting_for, const std::function<void()>& on_idle,
                        std::optional<int> giver) {
  Backoff backoff;
  double heard_s = 0.0;  // when the giver last said that it is there
  bool asked = false;
  std::optional<std::uint64_t> pulses;  // once the wait is long
  while (!done()) {
    const double waited = backoff.waited_s();
    if (!pulses && waited - heard_s >= kAskAfter * deadline_s) pulses = activity_->look().pulses;
    if (waited - heard_s >= deadline_s && activity_->look().pulses != pulses) heard_s = waited, pulses.reset();  // this rank's own threads get on
    if (giver && waited - heard_s >= kAskAfter * deadline_s && hears(*giver, asked)) heard_s = waited, asked = false;
    if (waited - heard_s >= deadline_s) {
      waited_s_ += waited;
      throw ProtocolError(error_message(fmt::format("rank {} waited {:.3g} s for {}", world_rank(), waited, waiting_for), call_the_roll("for " + waiting_for),
                                        "look at that rank's node and its last log line, or raise run.deadline_s"));
    }
    const double pause_s = backoff.pause_s();
    if (pause_s > 0) {
      if (on_idle) on_idle();
      say_waiting("for " + waiting_for);
    }
    pause(pause_s);
  }
  waited_s_ += backoff.waited_s();
  activity_->wait_ended();
}

void Communicator::broadcast_together(std::span<const GroupBroadcast> broadcasts) {
  for (const auto& one : broadcasts) one.ranks->broadcast(one.bytes, one.root);
}

std::vector<std::string> Communicator::gather(const std::string& bytes, int root) {
  auto all = gather_all(bytes);
  if (rank() != root) all.clear();
  return all;
}

std::string Communicator::scatter(const std::vector<std::string>& parts, int root) {
  const auto all = gather_all(rank() == root ? to_bytes(parts) : std::string());
  return from_bytes<std::vector<std::string>>(all.at(std::size_t(root))).at(std::size_t(rank()));
}

Envelope Communicator::receive(double deadline_s, const std::string& waiting_for, const std::function<void()>& on_idle, std::optional<int> giver) {
  std::optional<Envelope> envelope;
  wait([&] { return (envelope = try_receive()).has_value(); }, deadline_s, waiting_for, on_idle, giver);
  return std::move(*envelope);
}

void Communicator::pause(double seconds) { give_way(seconds); }

}  // namespace rollcall::comm
