// Whole requests beside the answers or events that the API's public documentation promises for them.
#include "api/said.hpp"

#include "api/address.hpp"
#include "api/stream.hpp"
#include "base/text/json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

namespace rollcall::api {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kAddress = 0xab;

/// The objects of a stream's events, which end with the word that says so.
std::vector<Json> events_of(const std::string& stream) {
  std::vector<Json> events;
  bool is_done = false;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t end = stream.find("\n\n", at);
    const std::string event = stream.substr(at, end - at);
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    EXPECT_FALSE(is_done) << event;
    is_done = event == "data: [DONE]";
    if (!is_done) events.push_back(Json::parse(event.substr(6)));
    at = end + 2;
  }
  EXPECT_TRUE(is_done);
  return events;
}

/// Ids of calls, which no documentation fixes, become "call 0", "call 1", ...
void name_calls(Json& value) {
  for (std::size_t i = 0; i < 3; ++i)
    for (auto& [key, part] : value.items())
      if (key == "id" && part == call_id(kAddress, i)) part = "call " + std::to_string(i);
  for (Json& part : value)
    if (part.is_structured()) name_calls(part);
}

class ContractTest : public testing::TestWithParam<std::string> {};

TEST_P(ContractTest, TheAnswerIsTheOneThatIsPromised) {
  const Json contract =
      Json::parse(std::ifstream(std::filesystem::path(ROLLCALL_CONTRACT) / GetParam()));
  const text::PromptFormat format = format_of(template_text(text::CallForm::hermes));
  const Template shown = template_of(format);
  const Call call = call_in(contract["kind"] == "chat" ? Call::Kind::chat : Call::Kind::completion,
                            contract["request"].dump());
  const std::string forced = forced_beginning(call, shown);
  const bool ends = contract["ends"];
  const Tokens sampled = tokens_of(shown, contract["sampled"], ends);
  const std::vector<float> logprob(sampled.size(), -0.5F);
  const Said said = said_of(shown, call, forced, sampled, contract.value("stopped", ends));
  const Numbers numbers = numbers_of(shown, call, contract["prompt_tokens"], sampled, logprob);
  if (!call.streams) {
    Json answer = Json::parse(answer_json(call, said, numbers, kAddress));
    name_calls(answer);
    EXPECT_EQ(answer, contract["answer"]) << Json::diff(contract["answer"], answer).dump(1);
    return;
  }
  Stream stream(shown, call, forced, kAddress);
  std::string all = stream.more(sampled, logprob);
  all += stream.rest(said, numbers);
  Json events = events_of(all);
  name_calls(events);
  EXPECT_EQ(events, contract["events"]) << Json::diff(contract["events"], events).dump(1);
}

std::vector<std::string> contracts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ROLLCALL_CONTRACT))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Api, ContractTest, testing::ValuesIn(contracts()),
                         [](const auto& one) { return one.param.substr(0, one.param.find('.')); });

TEST(Contract, ARefusalIsAnErrorObject) {
  const auto read = read_call(Call::Kind::chat, chat_body(R"(, "n": 2)"), {});
  const Json error = Json::parse(error_json(std::get<Refusal>(read)))["error"];
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_EQ(error["param"], "n");
  EXPECT_EQ(error["code"], nullptr);
  EXPECT_EQ(error["message"],
            "n is 2 (each request has one answer); send the request several times");
  EXPECT_EQ(error.size(), 4u);
  const Json key = Json::parse(error_json(refusal_of(401, "This is no key.")))["error"];
  EXPECT_EQ(key, Json::parse(R"({"message": "This is no key.", "type": "invalid_request_error",
                                 "param": null, "code": "invalid_api_key"})"));
  EXPECT_EQ(refusal_of(429, "").code, "rate_limit_exceeded");
  EXPECT_EQ(refusal_of(503, "").code, "server_stopped");
}

TEST(Contract, ModelsAreAList) {
  const std::vector<std::string> names = {"policy"};
  const Json model =
      Json::parse(R"({"id": "policy", "object": "model", "created": 0, "owned_by": "rollcall"})");
  EXPECT_EQ(Json::parse(models_json(names)), Json({{"object", "list"}, {"data", {model}}}));
  EXPECT_EQ(Json::parse(model_json("policy")), model);
  EXPECT_EQ(no_model("x").status, 404);
}

TEST(Contract, AddressesHaveMethods) {
  const auto kind = [](std::string_view method, std::string_view target) {
    const auto read = read_address(method, target);
    const auto* question = std::get_if<Question>(&read);
    return question ? int(question->kind) : std::get<Refusal>(read).status;
  };
  EXPECT_EQ(kind("POST", "/v1/chat/completions"), int(Question::Kind::chat));
  EXPECT_EQ(kind("POST", "/v1/completions?x=1"), int(Question::Kind::completion));
  EXPECT_EQ(kind("GET", "/v1/models"), int(Question::Kind::models));
  EXPECT_EQ(kind("HEAD", "/v1/models/a"), int(Question::Kind::model));
  EXPECT_EQ(std::get<Question>(read_address("GET", "/v1/models/org/name")).model, "org/name");
  EXPECT_EQ(kind("GET", "/v1/chat/completions"), 405);
  EXPECT_EQ(kind("POST", "/v1/models"), 405);
  for (const char* target : {"/", "", "/v1/embeddings", "/v1/models/", "/v1/modelss", "/v1"})
    EXPECT_EQ(kind("GET", target), 404) << target;
  EXPECT_EQ(std::get<Refusal>(read_address("GET", "/v1/completions")).allow, "POST");
}

}  // namespace
}  // namespace rollcall::api
