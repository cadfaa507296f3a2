// Asks and answers without ever waiting for a particular rank.
#include "comm/roll_call.hpp"

#include "comm/backoff.hpp"
#include "comm/mpi_communicator.hpp"
#include "comm/rank_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace rollcall::comm {
namespace {

constexpr int kQuestion = 0, kAnswer = 1;
constexpr double kPatience_s = 2.0;    // time for answers; a waiting rank answers within
                                       // kLookEvery_s, unless its node is busy
constexpr double kLookEvery_s = 0.02;  // time between two looks for questions, each of which costs
                                       // as much as a poll

}  // namespace

std::string describe_roll(const std::vector<std::optional<std::string>>& answers, int caller,
                          const std::function<std::string(int)>& role) {
  std::map<std::string, std::vector<int>> silent, waiting;
  for (int rank = 0; rank < int(answers.size()); ++rank) {
    const auto& answer = answers[std::size_t(rank)];
    if (rank != caller)
      (answer ? waiting[*answer] : silent[role ? role(rank) : ""]).push_back(rank);
  }
  std::vector<std::string> sentences;
  for (const auto& [hosted, ranks] : silent) {
    sentences.push_back(fmt::format(
        "{}{} {} not answer: stopped, dead or computing", name_ranks(ranks),
        hosted.empty() ? "" : fmt::format(" ({})", hosted), ranks.size() == 1 ? "does" : "do"));
  }
  for (auto& sentence : waiting_sentences(waiting)) sentences.push_back(std::move(sentence));
  std::string text;
  for (std::size_t i = 0; i < std::min(sentences.size(), kNamedGroups); ++i)
    text += (text.empty() ? "" : "; ") + sentences[i];
  return sentences.size() > kNamedGroups ? text + "; and others" : text;
}

RollCall::RollCall(MPI_Comm world) {
  check_mpi(MPI_Comm_dup(world, &comm_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_, &world_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

RollCall::~RollCall() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  drop_sent();
  if (replies_.empty()) MPI_Comm_free(&comm_);
  // Some rank asked and ended before it got the answer. The job is about to end, and MPI may still
  // read the reply, so the replies are never freed.
  if (!replies_.empty()) new std::list<Reply>(std::move(replies_));
}

void RollCall::drop_sent() {
  std::erase_if(replies_, [](Reply& reply) {
    int done = 0;
    return MPI_Test(&reply.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
  });
}

void RollCall::answer(std::string_view waiting_for) {
  if (looked_.seconds() < kLookEvery_s) return;
  looked_.restart();
  drop_sent();
  for (;;) {
    int asked = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kQuestion, comm_, &asked, &status), "MPI_Iprobe");
    if (!asked) return;
    // The message is here already, so MPI_Recv does not wait.
    check_mpi(
        MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, kQuestion, comm_, MPI_STATUS_IGNORE),
        "MPI_Recv of a question");
    Reply& reply =
        replies_.emplace_back(Reply{wait_within(std::string(waiting_for), activity->what())});
    check_mpi(MPI_Isend(reply.text.data(), int(reply.text.size()), MPI_BYTE, status.MPI_SOURCE,
                        kAnswer, comm_, &reply.request),
              "MPI_Isend of an answer");
  }
}

void RollCall::ask(int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, rank, kQuestion, comm_, &request),
            "MPI_Isend of a question");
  check_mpi(MPI_Request_free(&request), "MPI_Request_free");  // the question to a silent rank never
                                                              // ends
}

std::optional<std::pair<int, std::string>> RollCall::take_answer() {
  int here = 0, count = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, kAnswer, comm_, &here, &status), "MPI_Iprobe");
  if (!here) return std::nullopt;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  std::string text(std::size_t(count), '\0');
  check_mpi(
      MPI_Recv(text.data(), count, MPI_BYTE, status.MPI_SOURCE, kAnswer, comm_, MPI_STATUS_IGNORE),
      "MPI_Recv of an answer");
  return std::pair(status.MPI_SOURCE, std::move(text));
}

bool RollCall::hears(int rank, bool& asked) {
  if (!std::exchange(asked, true)) ask(rank), ++owed_;
  while (const auto answer = take_answer()) owed_ -= answer->first == rank ? 1 : 0;
  return owed_ <= 0;
}

std::string RollCall::call(std::string_view waiting_for) {
  const std::string doing = activity->what(),
                    own = doing.empty() ? "" : fmt::format("it is in the {}; ", doing);
  if (size_ == 1) return own + "there is no other rank";
  std::vector<std::optional<std::string>> answers(static_cast<std::size_t>(size_));
  answers[std::size_t(world_rank)] = waiting_for;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != world_rank) ask(rank);
  const Stopwatch clock;
  while (clock.seconds() < kPatience_s &&
         std::count(answers.begin(), answers.end(), std::nullopt) > 0) {
    answer(waiting_for);  // another rank may also be calling the roll
    while (auto come = take_answer()) answers[std::size_t(come->first)] = std::move(come->second);
    give_way(1e-3);
  }
  return own + describe_roll(answers, world_rank, role);
}

}  // namespace rollcall::comm
