// Chat templates: the Jinja that model folders carry, rendered as transformers does.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rollcall::text {

/// Bounds on a rendering: a template is foreign code. Far above what real templates need.
struct TemplateLimits {
  std::int64_t steps = 10'000'000;             ///< evaluated nodes
  std::int64_t bytes = std::int64_t(1) << 28;  ///< of output and of all values alive
};

/// A parsed template. Immutable, shared by threads.
class ChatTemplate {
 public:
  /// `origin` is named in messages. Throws InputError with line and column: a syntax error, or a
  /// construct that is not supported, by its name.
  ChatTemplate(std::string_view source, std::string origin);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  /// `variables`: an object (messages, tools, add_generation_prompt, bos_token, ...), each a global
  /// of the template. Rendering follows transformers'
  /// sandbox: trim_blocks and lstrip_blocks on, a tojson without HTML escapes, raise_exception,
  /// strftime_now, the loop controls break and continue. As there, messages, tools and documents
  /// are none and add_generation_prompt is false unless given, and
  /// messages are read as by template_messages(). SOURCE_DATE_EPOCH in the environment sets
  /// strftime_now's moment.
  /// Throws InputError with line and column: a wrong operation, the template's own raise_exception,
  /// or a limit reached.
  std::string render(const nlohmann::ordered_json& variables,
                     const TemplateLimits& limits = {}) const;
  /// Whether the text depends on when it is rendered: strftime_now is called.
  bool reads_clock(const nlohmann::ordered_json& variables) const;

 private:
  struct Parsed;
  struct Rendering;
  Rendering run(const nlohmann::ordered_json& variables, const TemplateLimits& limits) const;
  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace rollcall::text
