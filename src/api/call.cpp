// The keys of a request: those that are used, those that are ignored, and those that are refused
// unless they ask for nothing.
#include "api/call.hpp"

#include "api/messages.hpp"
#include "base/errors/error.hpp"
#include "base/errors/nearest.hpp"
#include "base/errors/visible.hpp"
#include "base/text/foreign_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rollcall::api {
namespace {

using text::Message;

constexpr std::size_t kMostStops = 16;

/// Keys that change no draw and no byte of the answer.
const std::vector<std::string> kIgnored = {"user",
                                           "metadata",
                                           "store",
                                           "service_tier",
                                           "prediction",
                                           "parallel_tool_calls",
                                           "verbosity",
                                           "reasoning_effort",
                                           "safety_identifier",
                                           "prompt_cache_key",
                                           "prompt_cache_retention"};

const std::vector<std::string> kOfBoth = {"model", "stop",           "seed",        "stream",
                                          "n",     "stream_options", "temperature", "top_p",
                                          "top_k", "max_tokens",     "logprobs"};
const std::vector<std::string> kOfChats = {"messages", "tools", "tool_choice",
                                           "max_completion_tokens"};

/// A key that is refused unless it has one of the values that ask for nothing.
struct Refused {
  const char* key;
  std::vector<Message> neutral;  ///< beside null
  const char* why;
};

const std::vector<Refused>& refused_keys() {
  static const char* const kDraws =
      "the answer is drawn from the policy as it is, as the run's other answers are";
  static const char* const kOne = "each request has one answer";
  static const char* const kForm = "no form of the answer can be enforced";
  static const char* const kTop = "only the log-probs of the drawn tokens are kept";
  static const char* const kTools = "functions are given as tools";
  static const char* const kText = "this model reads and writes text alone";
  static const std::vector<Refused> kKeys = {
      {"presence_penalty", {0}, kDraws},
      {"frequency_penalty", {0}, kDraws},
      {"repetition_penalty", {1}, kDraws},
      {"logit_bias", {Message::object()}, kDraws},
      {"min_p", {0}, kDraws},
      {"best_of", {1}, kOne},
      {"echo", {false}, "the answer is what the policy says"},
      {"suffix", {""}, "the policy writes from left to right"},
      {"response_format", {Message::object({{"type", "text"}})}, kForm},
      {"top_logprobs", {0}, kTop},
      {"functions", {Message::array()}, kTools},
      {"function_call", {}, kTools},
      {"modalities", {Message::array({"text"})}, kText},
      {"audio", {}, kText},
      {"web_search_options", {}, "nothing is searched for"}};
  return kKeys;
}

/// Reads the keys of one request. The first fault is kept, and nothing is read behind it.
class Reader {
 public:
  Reader(const Message& request, Call::Kind kind) : request_(request) { call_.kind = kind; }

  std::variant<Call, Refusal> read(const SamplingParams& sampling) {
    check_keys();
    check_sampling(sampling);
    read_plain();
    read_stops();
    if (call_.kind == Call::Kind::chat) {
      read_messages();
      read_tools();
      read_choice();
    } else {
      read_prompt();
    }
    if (refusal_) return std::move(*refusal_);
    return std::move(call_);
  }

 private:
  bool is_chat() const { return call_.kind == Call::Kind::chat; }

  void refuse(std::string key, const std::string& problem, const std::string& why,
              const std::string& suggestion) {
    if (!refusal_)
      refusal_ =
          Refusal{.message = error_message(problem, why, suggestion), .param = std::move(key)};
  }
  void refuse_type(const char* key, const char* type) {
    refuse(key, fmt::format("{} is not {}", key, type), "the request cannot be read",
           "send another value, or leave it out");
  }

  /// The value of a key; null if it is absent. Null also after a fault.
  const Message* given(const char* key) const {
    const auto at = request_.find(key);
    return refusal_ || at == request_.end() || at->is_null() ? nullptr : &*at;
  }

  void check_keys() {
    std::vector<std::string> known = kOfBoth;
    if (is_chat()) known.insert(known.end(), kOfChats.begin(), kOfChats.end());
    else known.push_back("prompt");
    known.insert(known.end(), kIgnored.begin(), kIgnored.end());
    for (const Refused& row : refused_keys()) {
      known.push_back(row.key);
      const Message* value = given(row.key);
      if (value && std::find(row.neutral.begin(), row.neutral.end(), *value) == row.neutral.end())
        refuse(row.key, fmt::format("{} is not answered here", row.key), row.why,
               fmt::format("leave {} out", row.key));
    }
    for (const auto& [key, value] : request_.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        refuse(brief(key, 60), fmt::format("there is no key \"{}\"", visible(brief(key, 60))),
               "what it asks for would be missing in the answer",
               suggest_name(key, known, "the documentation of the API"));
  }

  void check_sampling(const SamplingParams& sampling) {
    const std::pair<const char*, double> settings[] = {{"temperature", sampling.temperature},
                                                       {"top_p", sampling.top_p},
                                                       {"top_k", double(sampling.top_k)}};
    for (const auto& [key, now] : settings) {
      const Message* value = given(key);
      if (value && !value->is_number()) refuse_type(key, "a number");
      else if (value && value->get<double>() != now)
        refuse(key,
               fmt::format("{} is {}, and answers are drawn with {} now", key, value->dump(), now),
               "all answers are drawn with one setting", fmt::format("leave {} out", key));
    }
    if (const Message* n = given("n"); n && *n != 1)
      refuse("n", fmt::format("n is {}", brief(n->dump(), 40)), "each request has one answer",
             "send the request several times");
  }

  void read_plain() {
    if (const Message* model = given("model"); model && !model->is_string())
      refuse_type("model", "a text");
    else if (model) call_.model = *model;
    else
      refuse("model", "the request has no model", "the answer repeats its name", "name any model");
    read_flag(request_, "stream", call_.streams);
    if (const Message* options = given("stream_options")) {
      if (!options->is_object()) refuse_type("stream_options", "an object");
      else read_flag(*options, "include_usage", call_.usage);
    }
    if (const auto seed = whole("seed", std::numeric_limits<std::int64_t>::min()))
      call_.seed = seed;
    read_most();
    if (is_chat()) {
      read_flag(request_, "logprobs", call_.logprobs);
    } else if (const Message* logprobs = given("logprobs")) {
      call_.logprobs = *logprobs == 0;
      if (!call_.logprobs)
        refuse("logprobs", fmt::format("logprobs is {}", brief(logprobs->dump(), 40)),
               "only the log-probs of the drawn tokens are kept", "set it to 0");
    }
  }

  void read_flag(const Message& object, const char* key, bool& flag) {
    const auto at = object.find(key);
    if (refusal_ || at == object.end() || at->is_null()) return;
    if (at->is_boolean()) flag = *at;
    else refuse_type(key, "true or false");
  }

  /// A whole number of at least `least`.
  std::optional<std::int64_t> whole(const char* key, std::int64_t least) {
    const Message* value = given(key);
    if (!value) return std::nullopt;
    const bool fits =
        value->is_number_integer() &&
        (!value->is_number_unsigned() ||
         value->get<std::uint64_t>() <= std::uint64_t(std::numeric_limits<std::int64_t>::max())) &&
        value->get<std::int64_t>() >= least;
    if (fits) return value->get<std::int64_t>();
    refuse_type(key, least > 0 ? "a whole number above 0" : "a whole number of 64 bits");
    return std::nullopt;
  }

  void read_most() {
    call_.max_tokens = whole("max_tokens", 1);
    if (!is_chat()) return;
    const auto most = whole("max_completion_tokens", 1);
    if (most && call_.max_tokens && *most != *call_.max_tokens)
      refuse("max_tokens", "max_tokens and max_completion_tokens differ", "both limit the answer",
             "leave max_tokens out");
    if (most) call_.max_tokens = most;
  }

  void read_stops() {
    const Message* stop = given("stop");
    if (!stop) return;
    const Message list = stop->is_array() ? *stop : Message::array({*stop});
    for (const Message& text : list) {
      if (text.is_string() && !text.get_ref<const std::string&>().empty())
        call_.stop.push_back(text);
      else
        refuse("stop", "stop has something else than texts, or an empty one",
               "the answer ends before a text", "send texts, or leave it out");
    }
    if (list.size() > kMostStops)
      refuse("stop", fmt::format("stop has {} texts", list.size()),
             fmt::format("at most {} are looked for", kMostStops), "send fewer");
  }

  void read_prompt() {
    const Message* prompt = given("prompt");
    if (prompt && prompt->is_array() && prompt->size() == 1) prompt = &prompt->front();
    if (prompt && prompt->is_string()) call_.prompt = *prompt;
    else
      refuse("prompt", "prompt is not one text", "each request has one answer",
             "send one text, and several requests for several texts");
  }

  void read_messages() {
    static const Message kNone;
    const Message* messages = given("messages");
    const std::string fault = fault_of_messages(messages ? *messages : kNone);
    if (!fault.empty())
      refuse("messages", fault, "the policy is shown all of them", "send a list of messages");
    if (refusal_) return;
    for (const Message& message : *messages) call_.messages.push_back(normal_message(message));
  }

  void read_tools() {
    const Message* tools = given("tools");
    if (!tools) return;
    if (!tools->is_array()) return refuse_type("tools", "a list");
    std::vector<std::string> names;
    for (const Message& tool : *tools) {
      const auto function = tool.is_object() ? tool.find("function") : tool.end();
      const bool is_function = tool.is_object() && tool.value("type", Message()) == "function" &&
                               function != tool.end() && function->is_object() &&
                               function->value("name", Message()).is_string();
      if (!is_function)
        return refuse("tools", "tools has something else than functions with a name",
                      "the policy can call functions alone",
                      R"(send {"type": "function", "function": {"name": ...}})");
      names.push_back((*function)["name"]);
    }
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      return refuse("tools",
                    fmt::format("two tools have the name \"{}\"", visible(brief(*twice, 60))),
                    "a call would not say which one it means", "give them different names");
    if (!tools->empty()) call_.tools = *tools;
  }

  void read_choice() {
    const Message* choice = given("tool_choice");
    if (!choice) return;
    static const std::vector<std::string> kWords = {"auto", "none", "required"};
    if (*choice == "none") {
      call_.choice = Call::Choice::none;
    } else if (*choice == "required") {
      call_.choice = Call::Choice::required;
    } else if (choice->is_object() && choice->value("type", Message()) == "function" &&
               choice->value("function", Message()).is_object() &&
               (*choice)["function"].value("name", Message()).is_string()) {
      call_.choice = Call::Choice::named;
      call_.named = (*choice)["function"]["name"];
    } else if (*choice != "auto") {
      return refuse(
          "tool_choice", fmt::format("tool_choice is {}", visible(brief(choice->dump(), 60))),
          "it says whether the answer calls a tool",
          R"(send auto, none, required or {"type": "function", "function": {"name": ...}})");
    }
    const std::vector<std::string> names = tool_names(call_);
    if (call_.choice == Call::Choice::required && names.empty())
      refuse("tool_choice", "tool_choice is required, and there are no tools",
             "the answer cannot call any", "send tools, or leave it out");
    if (call_.choice == Call::Choice::named &&
        std::find(names.begin(), names.end(), call_.named) == names.end())
      refuse("tool_choice", fmt::format("there is no tool \"{}\"", visible(brief(call_.named, 60))),
             "the answer cannot call it", suggest_name(call_.named, names, "the list of tools"));
  }

  const Message& request_;
  Call call_;
  std::optional<Refusal> refusal_;
};

}  // namespace

std::variant<Call, Refusal> read_call(Call::Kind kind, std::string_view body,
                                      const SamplingParams& sampling) {
  std::string fault;
  const Message request = parse_foreign<Message>(body, fault);
  if (!fault.empty())
    return Refusal{.message = error_message("the body cannot be read: " + fault,
                                            "a request is a JSON object", "send one")};
  return Reader(request, kind).read(sampling);
}

std::vector<std::string> tool_names(const Call& call) {
  std::vector<std::string> names;
  for (const Message& tool : call.tools) names.push_back(tool["function"]["name"]);
  return names;
}

}  // namespace rollcall::api
