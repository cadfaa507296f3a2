// Renders the chat templates of a model's folder, which are written in Jinja, in the same way as
// transformers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rollcall::text {

/// Limits on rendering, since a template is foreign code. Real templates need far less.
struct TemplateLimits {
  std::int64_t steps = 10'000'000;             ///< nodes that are evaluated
  std::int64_t bytes = std::int64_t(1) << 28;  ///< of the output and of all values at one time
};

/// A parsed template. It does not change, so that threads may share it.
class ChatTemplate {
 public:
  /// `origin` is named in messages. Throws InputError with line and column for a syntax error or
  /// for an unsupported construct, which the message names.
  ChatTemplate(std::string_view source, std::string origin);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  /// The text that the template produces. `variables` is an object whose members (messages, tools,
  /// add_generation_prompt, bos_token, ...) are the template's global variables. Rendering follows
  /// transformers' sandbox: trim_blocks and lstrip_blocks are on, tojson does not escape HTML, and
  /// there are raise_exception, strftime_now, break and continue. As in transformers, messages,
  /// tools and documents are none and add_generation_prompt is false unless they are given, and
  /// messages are read as template_messages() describes. The environment variable
  /// SOURCE_DATE_EPOCH, in seconds since 1970, sets the time of strftime_now. Throws InputError
  /// with line and column for an invalid operation, for the template's own raise_exception, or if a
  /// limit is reached.
  std::string render(const nlohmann::ordered_json& variables,
                     const TemplateLimits& limits = {}) const;
  /// Whether the text depends on the time, because the template calls strftime_now.
  bool reads_clock(const nlohmann::ordered_json& variables) const;

 private:
  struct Parsed;
  struct Rendered;
  Rendered run(const nlohmann::ordered_json& variables, const TemplateLimits& limits) const;
  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace rollcall::text
