// Real processes, shells of a few lines, that fail in every way: each failure costs its own
// conversation, and nothing hangs.
#include "environment/command/processes.hpp"
#include "base/errors/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace rollcall::environment {
namespace {

/// A shell that reads the protocol's lines: `id` is that of the line, and `$1` the state that it
/// hands out. The action says what it does.
const char* const kShell = R"(
while read -r line; do
  id=${line#*'"id":"'}; id=${id%%'"'*}
  case $line in
    *'"op":"close"'*) echo "closed $id" >&2; continue ;;
    *'"op":"reset"'*) echo "reset $id" >&2 ;;
  esac
  case $line in
    *'"action":"die"'*) kill -9 $$ ;;
    *'"action":"hang"'*) sleep 100 ;;
    *'"action":"lie"'*) printf '{"id":"%s","state":%s,"text":"","reward":"much"}\n' "$id" "$1" ;;
    *'"action":"flood"'*) head -c 3000000 /dev/zero | tr '\0' x ;;
    *'"action":"error"'*) printf '{"id":"%s","error":"no more"}\n' "$id" ;;
    *'"action":"twice"'*) a=$(printf '{"id":"%s","state":%s,"text":"heard"}' "$id" "$1")
      printf '%s\n%s\n' "$a" "$a" ;;
    *'"action":"other"'*) printf '{"id":"train/9/9/9/9","state":%s,"text":"heard"}\n' "$1" ;;
    *'"action":"first"'*) printf '{"id":"%s","turn":0,"state":%s,"text":"heard"}\n' "$id" "$1" ;;
    *'"action":"end"'*) printf '{"id":"%s","done":true}\n' "$id" ;;
    *'"action":"number"'*) printf '{"id":"%s","state":%s,"text":"%s"}\n' "$id" "$1" $$ ;;
    *) printf '{"id":"%s","state":%s,"text":"heard","reward":1}\n' "$id" "$1" ;;
  esac
done
)";

RunConfig config(const char* state, std::int64_t processes, double timeout_s = 2.0) {
  RunConfig made;
  made.environment.command = {"/bin/sh", "-c", kShell, "sh", state};
  made.environment.processes = processes, made.environment.timeout_s = timeout_s;
  return made;
}

/// Conversations with one partner, by their numbers.
struct Table {
  Prompt prompt{};
  AnswerQueue queue{};
  std::map<std::uint64_t, Talk> talks{};
  std::unique_ptr<Partner> partner;

  explicit Table(std::unique_ptr<Partner> of) : partner(std::move(of)) {}
  void ask(std::uint64_t number) {
    auto [entry, first] = talks.try_emplace(number);
    if (first) {
      entry->second.id = "train/1/0/0/" + std::to_string(number);
      entry->second.prompt = &prompt, entry->second.seeds = {1, number};
    }
    EXPECT_FALSE(partner->ask(entry->second, number, queue));
  }
  void say(std::uint64_t number, const std::string& action) {
    talks.at(number).actions.push_back(action);
    ask(number);
  }
  /// The next `count` answers, which also go into the talks.
  std::map<std::uint64_t, Answer> hear(std::size_t count) {
    std::map<std::uint64_t, Answer> heard;
    for (int looks = 0; heard.size() < count && looks < 600; ++looks)
      for (auto& [number, answer] : queue.take(0.1)) {
        auto& talk = talks.at(number);
        talk.said.push_back(answer.text), talk.state = answer.state;
        EXPECT_TRUE(heard.emplace(number, std::move(answer)).second);
      }
    EXPECT_EQ(heard.size(), count);
    return heard;
  }
};

TEST(Processes, EachFailureCostsItsOwnConversation) {
  reward::Spawner spawner("environment.command");
  const std::map<std::uint64_t, std::pair<std::string, Loss>> bad{{3, {"die", Loss::died}},
                                                                  {9, {"hang", Loss::clock}},
                                                                  {11, {"lie", Loss::malformed}},
                                                                  {20, {"flood", Loss::malformed}},
                                                                  {25, {"error", Loss::told}}};
  Table table(make_processes(spawner, config("0", 3)));
  for (std::uint64_t i = 0; i < 32; ++i) table.ask(i);
  for (const auto& [number, answer] : table.hear(32)) EXPECT_EQ(answer.loss, Loss::none) << number;
  for (std::uint64_t i = 0; i < 32; ++i) table.say(i, bad.contains(i) ? bad.at(i).first : "go");
  for (const auto& [number, answer] : table.hear(32)) {
    EXPECT_EQ(answer.loss, bad.contains(number) ? bad.at(number).second : Loss::none)
        << number << ": " << answer.reason;
    EXPECT_EQ(answer.reward, answer.loss == Loss::none ? 1.0 : 0.0) << number;
    EXPECT_EQ(answer.reason.empty(), answer.loss == Loss::none) << number;
    EXPECT_EQ(answer.reason.ends_with(" s alone in a process"), answer.loss == Loss::clock)
        << answer.reason;
  }
}

TEST(Processes, TwoHundredFiftySixLoseNothing) {
  reward::Spawner spawner("environment.command");
  Table table(make_processes(spawner, config("0", 256, 60.0)));
  for (std::uint64_t i = 0; i < 512; ++i) table.ask(i);
  (void)table.hear(512);
  for (int turn = 0; turn < 2; ++turn) {
    for (std::uint64_t i = 0; i < 512; ++i) table.say(i, "go");
    for (const auto& [number, answer] : table.hear(512))
      EXPECT_EQ(answer.loss, Loss::none) << number << ": " << answer.reason;
  }
}

/// A process that writes an answer which nobody awaits is ended, since the next answer of that
/// conversation might be taken for another one.
TEST(Processes, AnAnswerThatNobodyAwaitsEndsTheProcess) {
  reward::Spawner spawner("environment.command");
  Table table(make_processes(spawner, config("0", 1, 60.0)));
  table.ask(1), table.ask(2);
  (void)table.hear(2);
  table.say(1, "twice");
  EXPECT_EQ(table.hear(1).at(1).loss, Loss::none);
  table.say(1, "go");
  EXPECT_EQ(table.hear(1).at(1).reward, 1.0);
  EXPECT_EQ(table.partner->take_restarts(), 1) << "after the second line";
  table.say(2, "other");
  const auto other = table.hear(1).at(2);
  EXPECT_EQ(other.loss, Loss::malformed);
  EXPECT_NE(other.reason.find("answers \"train/9/9/9/9\", which waits for no"), std::string::npos)
      << other.reason;
  table.ask(3);
  (void)table.hear(1);
  table.say(3, "first");
  EXPECT_EQ(table.hear(1).at(3).loss, Loss::none) << "it names the turn that it answers";
  table.say(3, "first");
  const auto late = table.hear(1).at(3);
  EXPECT_EQ(late.loss, Loss::malformed);
  EXPECT_NE(late.reason.find("answers turn 0 of \"train/1/0/0/3\", where turn 1 waits"),
            std::string::npos)
      << late.reason;
}

/// What a shell wrote to standard error, which says what it was asked.
struct Told {
  std::mutex mutex{};
  std::string text{};
  CommandListener listener() {
    return {.errors = [this](std::size_t, std::string_view bytes) {
      const std::lock_guard lock(mutex);
      text += bytes;
    }};
  }
  std::size_t count(const std::string& word) {
    const std::lock_guard lock(mutex);
    std::size_t times = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
    return times;
  }
};

/// A conversation whose state stays in its process is told again to another process where its own
/// has died, and goes on if the other says the same.
TEST(Processes, StatesThatAreKeptAreMadeAgain) {
  reward::Spawner spawner("environment.command");
  Told told;
  Table table(make_processes(spawner, config("null", 1), told.listener()));
  table.ask(1), table.ask(2), table.ask(3);
  (void)table.hear(3);
  table.say(1, "go"), table.say(3, "number");
  (void)table.hear(2);
  table.say(2, "die");
  EXPECT_EQ(table.hear(1).at(2).loss, Loss::died);
  table.say(1, "go");
  EXPECT_EQ(table.hear(1).at(1).loss, Loss::none);
  table.say(3, "go");  // it said the number of a process that is gone
  EXPECT_EQ(table.hear(1).at(3).loss, Loss::changed);
  table.say(1, "go");
  EXPECT_EQ(table.hear(1).at(1).text, "heard");
  table.partner->close(table.talks.at(1));
  table.ask(4);
  (void)table.hear(1);
  table.say(4, "go");
  (void)table.hear(1);  // by then the line about the end, before that of the reset, has come
  EXPECT_EQ(told.count("reset train/1/0/0/1\n"), 2U) << "once for each process";
  EXPECT_EQ(told.count("closed train/1/0/0/1\n"), 1U);
}

/// The process is told that a conversation ended, also where that was closed while it waited, and
/// where another process made its state again.
TEST(Processes, EveryStateThatIsKeptIsClosed) {
  reward::Spawner spawner("environment.command");
  Told told;
  Table table(make_processes(spawner, config("null", 1), told.listener()));
  table.ask(1), table.ask(2), table.ask(3);
  (void)table.hear(3);
  table.say(1, "end");
  table.partner->close(table.talks.at(1));  // before the answer
  table.say(2, "go");
  (void)table.hear(1);
  table.say(2, "die");
  EXPECT_EQ(table.hear(1).at(2).loss, Loss::died);
  table.say(3, "error");
  EXPECT_EQ(table.hear(1).at(3).loss, Loss::told);
  table.partner->close(table.talks.at(3));
  table.ask(4);
  (void)table.hear(1);
  table.say(4, "go");
  (void)table.hear(1);  // by then what was written before has come
  EXPECT_EQ(told.count("closed train/1/0/0/1\n"), 1U);
  EXPECT_EQ(told.count("closed train/1/0/0/3\n"), 1U);
}

TEST(Processes, NoAnswerComesAfterTheEnd) {
  reward::Spawner spawner("environment.command");
  Table table(make_processes(spawner, config("0", 1)));
  table.ask(1), table.ask(2);
  (void)table.hear(2);
  table.say(1, "go");
  table.partner->close(table.talks.at(1));
  (void)table.queue.take();  // what came before the end
  table.say(2, "go");
  const auto heard = table.hear(1);
  EXPECT_TRUE(heard.contains(2));
}

TEST(Processes, ACommandIsTriedBeforeTheRun) {
  reward::Spawner spawner("environment.command");
  EXPECT_NO_THROW(try_command(spawner, config("0", 2), {}));
  RunConfig missing = config("0", 1);
  missing.environment.command = {"./not-there"};
  EXPECT_THROW(try_command(spawner, missing, {}), EnvironmentError);
  RunConfig wrong = config("0", 1);
  wrong.environment.command = {"/bin/sh", "-c", "echo cannot import it >&2; exit 3"};
  try {
    try_command(spawner, wrong, {});
    FAIL() << "it gives no answer";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("cannot import it"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("ended with status 3"), std::string::npos)
        << error.what();
  }
  for (const std::string more :
       {R"("done":true)", R"("reward":5)", R"("correct":true)", R"("rewards":0)"}) {
    RunConfig early = config("0", 1);
    early.environment.command = {"/bin/sh", "-c",
                                 R"(read -r line; id=${line#*'"id":"'}; id=${id%%'"'*}
printf '{"id":"%s","state":0,"text":"Go.",%s}\n' "$id" "$1"; cat > /dev/null)",
                                 "sh", more};
    EXPECT_THROW(try_command(spawner, early, {}), ConfigError) << "in the reset: " << more;
  }
  RunConfig forks = config("null", 1);
  forks.environment.forks = "tree";
  EXPECT_THROW(try_command(spawner, forks, {}), ConfigError) << "nothing to fork in";
}

/// Help in the prompt reaches the policy only where the program shows the prompt it was given.
TEST(Processes, ACommandThatHidesHelpIsRefused) {
  reward::Spawner spawner("environment.command");
  const auto said = [&](const char* text) {
    RunConfig made;
    made.environment.command = {"/bin/sh", "-c", R"(
while read -r line; do
  id=${line#*'"id":"'}; id=${id%%'"'*}; prompt=${line#*'"prompt":"'}; prompt=${prompt%%'"'*}
  case $line in *'"op":"close"'*) continue ;; esac
  case $1 in prompt) text=$prompt ;; *) text=$1 ;; esac
  printf '{"id":"%s","state":0,"text":"%s"}\n' "$id" "$text"
done
)",
                                "sh", text};
    made.environment.processes = 1, made.environment.timeout_s = 20;
    Prompt plain, helped;
    plain.text = "Count.", helped.text = "Count. Hint: 1";
    try {
      try_command(spawner, made, plain, &helped);
      return std::string();
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(said("prompt"), "");
  EXPECT_EQ(said(""), "") << "an empty text leaves the prompt as it is";
  EXPECT_NE(said("Say a number.").find("begins a prompt with help as it does without: \"Say a"),
            std::string::npos)
      << said("Say a number.");
}

}  // namespace
}  // namespace rollcall::environment
