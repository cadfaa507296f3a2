// A verifier's command that does what the response asks for: right, wrong, or any of the ways in
// which a real one fails.
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

using nlohmann::json;

namespace {

/// A process that must not outlive its grader: it writes its number and waits.
void leave_child(const std::string& file, bool escapes) {
  if (::fork() != 0) return;
  if (escapes) ::setsid();
  std::ofstream(file) << ::getpid() << std::flush;
  ::pause();
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "dead") return 3;
  int judged = 0;
  for (std::string line; std::getline(std::cin, line); ++judged) {
    const json asked = json::parse(line);
    const std::string response = asked.at("response"),
                      verb = response.substr(0, response.find(' '));
    const std::string rest = response.size() > verb.size() ? response.substr(verb.size() + 1) : "";
    json reply{{"id", asked.at("id")},
               {"score", response == asked.at("answer") ? 1.0 : 0.25},
               {"correct", response == asked.at("answer")},
               {"reason", "compared"}};
    if (argc > 1 && std::string(argv[1]) == "components")
      reply["components"] = {{"length", double(response.size())}};
    if (verb == "die") std::abort();
    if (verb == "exit") return std::atoi(rest.c_str());
    if (verb == "old" && judged >= std::atoi(rest.c_str())) return 0;  // dies of old age
    if (verb == "hang") ::pause();
    if (verb == "close") ::close(1), ::pause();
    if (verb == "sleep") ::usleep(useconds_t(std::atoi(rest.c_str()) * 1000));
    if (verb == "child" || verb == "daemon") leave_child(rest, verb == "daemon");
    if (verb == "child-die") leave_child(rest, false), ::usleep(50'000), std::abort();
    if (verb == "child-hang") leave_child(rest, false), ::pause();
    if (verb == "garbage") std::cout << rest << std::endl;
    else if (verb == "flood")
      for (;;) std::cout << "no end of it ";
    else if (verb == "chatter")
      for (int i = 0; i < 20'000; ++i) std::cerr << "nobody will read all of this\n";
    else if (verb == "silent") continue;
    if (verb == "undecided")
      reply = {{"id", asked.at("id")}, {"undecided", true}, {"reason", "the judge is asleep"}};
    if (verb == "other") reply["id"] = "another/1/2/3/4";
    if (verb == "garbage" || verb == "flood") continue;
    std::cout << reply.dump() << std::endl;
    if (verb == "twice") std::cout << reply.dump() << std::endl;
    if (verb == "once") return 0;
  }
}
