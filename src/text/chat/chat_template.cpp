// Parses and renders templates, and reports their faults with line and column.
#include "text/chat/chat_template.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "text/chat/template_messages.hpp"
#include "text/jinja/execution.hpp"
#include "text/jinja/values/characters.hpp"

#include <fmt/format.h>

namespace rollcall::text {
namespace {

using namespace jinja;

const char* why_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::syntax: return "the template cannot be read as Jinja";
    case FaultKind::unsupported:
      return "Rollcall's interpreter of chat templates does not support it";
    case FaultKind::wrong: return "Python's Jinja stops there too";
    case FaultKind::refused: return "the template itself refuses this conversation";
    case FaultKind::limit: return "a template is untrusted code, so its work is bounded";
  }
  return "";
}

const char* suggestion_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::syntax: return "correct the template";
    case FaultKind::unsupported: return "rewrite that place of the template";
    case FaultKind::wrong: return "check the variables that it was given there";
    case FaultKind::refused: return "change the messages, or choose another template";
    case FaultKind::limit: return "shorten the conversation, or look for an endless loop";
  }
  return "";
}

[[noreturn]] void tell(const Fault& fault, const std::string& origin) {
  throw InputError(error_message(fmt::format("{}, line {}, column {}: {}", origin, fault.place.line,
                                             fault.place.column, fault.problem),
                                 why_of(fault.kind), suggestion_of(fault.kind)));
}

Value utf8(Context& context, const std::string& text) {
  if (!is_utf8(text)) throw Fault{FaultKind::wrong, "a string among the variables is not UTF-8"};
  return string(context.budget, text);
}

Value value_of(Context& context, const nlohmann::ordered_json& json, int depth) {
  using Type = nlohmann::ordered_json::value_t;
  if (depth > kValueDepth) throw Fault{FaultKind::limit, "variables nested too deeply"};
  switch (json.type()) {
    case Type::boolean: return boolean(json.get<bool>());
    case Type::number_integer: return integer(json.get<std::int64_t>());
    case Type::number_unsigned:
      if (json.get<std::uint64_t>() > std::uint64_t(INT64_MAX))
        fail_unsupported("a whole number beyond 64 bits among the variables");
      return integer(json.get<std::int64_t>());
    case Type::number_float: return real(json.get<double>());
    case Type::string: return utf8(context, json.get_ref<const std::string&>());
    case Type::array: {
      std::vector<Value> items;
      for (const auto& item : json) items.push_back(value_of(context, item, depth + 1));
      return list(context.budget, std::move(items));
    }
    case Type::object: {
      auto made = std::make_shared<Dict>(&context.budget);
      for (const auto& [key, item] : json.items())
        made->set(utf8(context, key), value_of(context, item, depth + 1));
      return dict(std::move(made));
    }
    default: return none();
  }
}

}  // namespace

struct ChatTemplate::Parsed {
  Template tree;
  std::string origin;
};

struct ChatTemplate::Rendered {
  std::string text;
  bool clock_read;
};

ChatTemplate::ChatTemplate(std::string_view source, std::string origin) {
  try {
    parsed_ = std::make_unique<Parsed>(Parsed{parse(source), origin});
  } catch (const Fault& fault) {
    tell(fault, origin);
  }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(const nlohmann::ordered_json& variables,
                                 const TemplateLimits& limits) const {
  return run(variables, limits).text;
}

bool ChatTemplate::reads_clock(const nlohmann::ordered_json& variables) const {
  return run(variables, {}).clock_read;
}

ChatTemplate::Rendered ChatTemplate::run(const nlohmann::ordered_json& variables,
                                         const TemplateLimits& limits) const {
  require(variables.is_object(), "the variables of a chat template are not a JSON object",
          "each of them needs a name", "pass {\"messages\": [...], ...}");
  Rendering rendering(parsed_->tree, Budget{limits.steps, limits.bytes});
  try {
    for (const char* name : {"messages", "tools", "documents"}) rendering.set(name, none());
    rendering.set("add_generation_prompt", boolean(false));
    for (const auto& [name, value] : variables.items()) {
      if (rendering.mentions(name))
        rendering.set(name, value_of(rendering.context,
                                     name == "messages" ? template_messages(value) : value, 1));
    }
    std::string text = jinja::render(rendering);
    return {std::move(text), rendering.context.clock_read};
  } catch (Fault& fault) {
    if (fault.place.line == 0) fault.place = {1, 1};
    tell(fault, parsed_->origin);
  }
}

}  // namespace rollcall::text
