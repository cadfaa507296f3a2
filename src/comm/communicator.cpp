// What all communicators share: the deadline of a wait, and the text of its error.
#include "comm/communicator.hpp"

#include "base/errors/error.hpp"
#include "comm/backoff.hpp"
#include "comm/deadline.hpp"
#include "core/serialize.hpp"

#include <fmt/format.h>

namespace rollcall::comm {

namespace {

constexpr double kAskAfter = 0.25;  // fraction of a deadline after which the giver is asked whether
                                    // it is alive; it has the rest of the time to answer, because
                                    // it computes and cannot answer at once

}  // namespace

void Communicator::wait(const std::function<bool()>& done, double deadline_s,
                        const std::string& waiting_for, const std::function<void()>& on_idle,
                        std::optional<int> giver) {
  Backoff backoff;
  Deadline deadline(deadline_s);
  bool asked = false;                   // the giver was asked whether it is alive
  std::optional<std::uint64_t> pulses;  // this rank's progress count when the wait became long
  while (!done()) {
    const double spent = deadline.spent();
    if (!pulses && spent >= kAskAfter) pulses = roll_->activity->look().pulses;
    // other threads of this rank have made progress since then, so the wait starts again
    if (spent >= 1.0 && roll_->activity->look().pulses != pulses) deadline.renew(), pulses.reset();
    if (giver && spent >= kAskAfter && roll_->hears(*giver, asked)) deadline.renew(), asked = false;
    if (spent >= 1.0 && deadline.is_over()) {
      const double waited = deadline.waited_s();
      times_.waited_s += waited;
      throw ProtocolError(error_message(
          fmt::format("rank {} waited {:.3g} s for {}", roll_->world_rank, waited, waiting_for),
          roll_->call("for " + waiting_for),
          "look at that rank's node and its last log line, or raise run.deadline_s"));
    }
    const double pause_s = backoff.pause_s();
    if (pause_s > 0) {
      if (on_idle) on_idle();
      roll_->begin_sleep("for " + waiting_for);
    }
    messages_->pause(pause_s);
  }
  times_.waited_s += backoff.waited_s();
  roll_->activity->wait_ended();
}

void Messages::send_all(std::span<const int> destinations, int tag, std::string bytes) {
  for (const int destination : destinations) send(destination, tag, bytes);
}

std::string spread(Communicator& ranks, std::string bytes, int root) {
  std::uint64_t size = bytes.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  bytes.resize(size);
  ranks.broadcast(std::as_writable_bytes(std::span(bytes)), root);
  return bytes;
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

Envelope receive(Communicator& ranks, double deadline_s, const std::string& waiting_for,
                 const std::function<void()>& on_idle, std::optional<int> giver) {
  std::optional<Envelope> envelope;
  ranks.wait([&] { return (envelope = ranks.try_receive()).has_value(); }, deadline_s, waiting_for,
             on_idle, giver);
  return std::move(*envelope);
}

void Messages::pause(double seconds) { give_way(seconds); }

}  // namespace rollcall::comm
