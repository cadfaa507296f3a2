// Real processes that fail in every way: each costs its own verdict, nothing outlives it, and
// nothing hangs.
#include "reward/command/graders.hpp"
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/time/clock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

namespace rollcall::reward {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("rollcall_graders_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

RewardSection section(std::vector<std::string> more = {}) {
  RewardSection reward;
  reward.command = {ROLLCALL_GRADER};
  reward.command.insert(reward.command.end(), more.begin(), more.end());
  reward.processes = 3, reward.timeout_s = 1.0;
  return reward;
}

std::vector<Sample> samples(const std::vector<std::string>& responses) {
  std::vector<Sample> all;
  for (const auto& response : responses)
    all.push_back({"train/1/0/0/" + std::to_string(all.size()), "?", response, "right"});
  return all;
}

std::vector<Verdict> judge(Spawner& spawner, const RewardSection& reward,
                           const std::vector<std::string>& responses,
                           GraderListener listener = {}) {
  Graders graders(spawner, reward, std::move(listener));
  graders.add(samples(responses));
  return graders.await().second;
}

std::vector<Verdict> judge(const RewardSection& reward, const std::vector<std::string>& responses,
                           GraderListener listener = {}) {
  Spawner spawner;
  return judge(spawner, reward, responses, std::move(listener));
}

/// Whether the process whose number a file holds ends within two seconds.
bool ends(const fs::path& file) {
  for (int i = 0; i < 200; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    std::error_code ec;
    if (!fs::exists(file) || fs::file_size(file, ec) == 0) continue;
    if (::kill(std::atoi(read_file(file).c_str()), 0) != 0) return true;
  }
  return false;
}

TEST(Graders, VerdictsComeBackByTheirSamples) {
  const auto verdicts = judge(section(), {"right", "wrong", "sleep 50", "right"});
  ASSERT_EQ(verdicts.size(), 4U);
  for (const auto& verdict : verdicts) EXPECT_EQ(verdict.cause, Cause::replied);
  EXPECT_TRUE(verdicts[0].reply.correct && !verdicts[1].reply.correct && verdicts[3].reply.correct);
  EXPECT_EQ(verdicts[0].reply.score, 1.0);
  EXPECT_EQ(verdicts[1].reply.reason, "compared");
  EXPECT_GE(verdicts[2].seconds, 0.05);
}

TEST(Graders, EachFailureCostsItsOwnVerdict) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"die", "the command was ended by signal 6"},
      {"exit 7", "the command ended with status 7"},
      {"hang", "no verdict after 1 s"},
      {"silent", "no verdict after 1 s"},
      {"close", "the command closed its output"},
      {"garbage hello", "not a JSON object: \"hello\""},
      {"garbage {\"id\":1}", "has no \"id\""},
      {"flood", "longer than 1048576 bytes"},
      {"other", "which it was not asked about"},
      {"undecided", "the judge is asleep"}};
  std::vector<std::string> responses;
  for (const auto& [response, reason] : bad)
    responses.insert(responses.end(), {"right", response, "wrong"});
  Spawner of_one, of_four;  // which fork, before there are threads
  const auto judged_by = [&](Spawner* spawner, std::int64_t processes) {
    auto reward = section();
    reward.processes = processes;
    return judge(*spawner, reward, responses);
  };
  // they mostly wait
  auto by_one = std::async(std::launch::async, judged_by, &of_one, 1),
       by_four = std::async(std::launch::async, judged_by, &of_four, 4);
  for (const auto& verdicts : {by_one.get(), by_four.get()})
    for (std::size_t i = 0; i < bad.size(); ++i) {
      EXPECT_TRUE(verdicts[3 * i].reply.correct && !verdicts[3 * i + 2].reply.undecided)
          << bad[i].first;
      EXPECT_TRUE(verdicts[3 * i + 1].reply.undecided) << bad[i].first;
      EXPECT_NE(verdicts[3 * i + 1].reply.reason.find(bad[i].second), std::string::npos)
          << bad[i].first << ": " << verdicts[3 * i + 1].reply.reason;
      EXPECT_EQ(verdicts[3 * i + 1].cause == Cause::clock, bad[i].second.starts_with("no verdict"))
          << bad[i].first;
    }
}

TEST(Graders, WhatIsNoFaultOfTheSampleCostsNothing) {
  std::vector<std::string> responses;
  for (int i = 0; i < 12; ++i)
    responses.insert(responses.end(), {"old 2", "twice", "once", "right"});
  auto reward = section();
  reward.timeout_s = 20;
  for (const auto& verdict : judge(reward, responses))
    EXPECT_EQ(verdict.cause, Cause::replied) << verdict.reply.reason;
}

TEST(Graders, NothingOutlivesItsGrader) {
  const Folder folder;
  const auto file = [&](const char* name) { return (folder.path / name).string(); };
  judge(section(), {"child-die " + file("a"), "child-hang " + file("b"), "child " + file("c"),
                    "daemon " + file("d")});
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(ends(file(name))) << name;
}

/// As when a rank is killed: nobody can tell the processes to end.
TEST(Graders, NothingOutlivesTheJob) {
  const Folder folder;
  const std::string file = (folder.path / "hangs").string();
  const pid_t job = ::fork();
  if (job == 0) {
    judge(section(), {"child " + file, "right"});
    auto reward = section();
    reward.timeout_s = 60;
    judge(reward, {"child-hang " + file + "-on"});
    std::_Exit(0);
  }
  for (int i = 0; i < 300 && !fs::exists(file + "-on"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(job, SIGKILL);
  EXPECT_TRUE(ends(file + "-on"));
  EXPECT_EQ(::waitpid(job, nullptr, 0), job);
}

TEST(Graders, StandardErrorIsHeard) {
  std::mutex mutex;
  std::size_t bytes = 0;
  auto reward = section();
  reward.timeout_s = 20;
  const auto verdicts =
      judge(reward, {"chatter", "right"}, {.errors = [&](std::size_t, std::string_view text) {
              const std::lock_guard lock(mutex);
              bytes += text.size();
            }});
  EXPECT_EQ(verdicts[0].cause, Cause::replied);
  EXPECT_EQ(bytes, 20'000 * std::string("nobody will read all of this\n").size());
}

TEST(Graders, BatchesComeBackAsTheyAreDone) {
  Spawner spawner;
  auto reward = section();
  reward.timeout_s = 20;
  Graders graders(spawner, reward);
  const auto slow = graders.add(samples({"sleep 400"})), fast = graders.add(samples({"right"})),
             none = graders.add({});
  EXPECT_EQ(graders.await().first, none);
  EXPECT_EQ(graders.await().first, fast);
  EXPECT_EQ(graders.await().first, slow);
}

TEST(Graders, ACommandThatCannotWorkIsToldAtOnce) {
  Spawner spawner;
  const auto message = [&](const RewardSection& reward) -> std::string {
    try {
      try_command(spawner, reward, samples({"right"})[0]);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::misconfigured);
      return e.what();
    }
    return "";
  };
  RewardSection missing = section();
  missing.command = {"./no-such-grader"};
  EXPECT_NE(message(missing).find("./no-such-grader: No such file or directory"), std::string::npos)
      << message(missing);
  missing.command = {"/etc/passwd"};
  EXPECT_NE(message(missing).find("Permission denied"), std::string::npos) << message(missing);
  EXPECT_NE(message(section({"dead"})).find("ended with status 3"), std::string::npos);
  missing.command = {"/bin/sh", "-c", "read line; seq 900 >&2; echo the last line >&2; exit 1"};
  EXPECT_NE(message(missing).find("ended with status 1: the last line"), std::string::npos)
      << message(missing);
  missing.command[2] = "read line; echo '{\"id\":\"" + samples({"right"})[0].id +
                       "\",\"undecided\":true,\"failed\":true,\"reason\":\"no table\"}'; sleep 9";
  EXPECT_NE(message(missing).find("gives no verdict: no table"), std::string::npos)
      << message(missing);
  RewardSection named = section();
  named.components = {"style"};
  EXPECT_NE(message(named).find("lacks the component \"style\""), std::string::npos)
      << message(named);
  EXPECT_EQ(message(section()), "");
  RewardSection measured = section({"components"});
  measured.components = {"length"};
  EXPECT_EQ(message(measured), "");
}

/// Verdicts that wait, on four processes against one.
TEST(Graders, VerdictsThatSleepSpeedUp) {
  const auto seconds = [](std::int64_t processes) {
    Spawner spawner;
    auto reward = section();
    reward.processes = processes, reward.timeout_s = 20;
    Graders graders(spawner, reward);
    // all are started
    graders.add(samples(std::vector<std::string>(std::size_t(processes), "sleep 20")));
    graders.await();
    const Stopwatch clock;
    graders.add(samples(std::vector<std::string>(32, "sleep 30")));
    graders.await();
    return clock.seconds();
  };
  double best = 0.0;
  for (int i = 0; i < 3 && best < 3.6; ++i) best = std::max(best, seconds(1) / seconds(4));
  RecordProperty("speedup", std::to_string(best));
  EXPECT_GE(best, 3.6);
}

}  // namespace
}  // namespace rollcall::reward
