// Python's str() and repr() for every kind of value.
#include "text/jinja/values/python_text.hpp"

#include "text/jinja/renderer_objects.hpp"
#include "text/jinja/values/characters.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace rollcall::text::jinja {
namespace {

void append_repr(Builder& out, Context& context, const Value& value);

void append_sequence(Builder& out, Context& context, const std::vector<Value>& items,
                     const char* opening, const char* closing) {
  out += opening;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, context, items[i]);
  }
  out += closing;
}

void append_dict(Builder& out, Context& context, const Dict& dict) {
  out += '{';
  for (std::size_t i = 0; i < dict.items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, context, dict.items[i].first);
    out += ": ";
    append_repr(out, context, dict.items[i].second);
  }
  out += '}';
}

void append_view(Builder& out, Context& context, const Value& value) {
  out += type_name(value);
  out += '(';
  append_sequence(out, context, collect(context, value), "[", "]");
  out += ')';
}

std::string range_text(const Range& r) {
  return r.step == 1 ? fmt::format("range({}, {})", r.start, r.stop)
                     : fmt::format("range({}, {}, {})", r.start, r.stop, r.step);
}

void append_repr(Builder& out, Context& context, const Value& value) {
  const Deeper deeper(context.budget);
  context.budget.step();
  switch (value.kind) {
    case Kind::undefined: out += "Undefined"; return;
    case Kind::none: out += "None"; return;
    case Kind::boolean: out += value.boolean ? "True" : "False"; return;
    case Kind::integer: out += std::to_string(value.integer); return;
    case Kind::real: out += repr_real(value.real); return;
    case Kind::string:
      context.budget.look(std::int64_t(value.text().size()));
      // A control character becomes four characters.
      context.budget.check(4 * std::int64_t(value.text().size()));
      out += value.safe ? "Markup(" + repr_text(value.text()) + ")" : repr_text(value.text());
      return;
    case Kind::list: append_sequence(out, context, value.items(), "[", "]"); return;
    case Kind::tuple:
      append_sequence(out, context, value.items(), "(", value.items().size() == 1 ? ",)" : ")");
      return;
    case Kind::dict: append_dict(out, context, value.dict()); return;
    case Kind::range: out += range_text(value.range()); return;
    case Kind::view: append_view(out, context, value); return;
    case Kind::name_space:
      out += "<Namespace ";
      append_dict(out, context, value.as<Namespace>().attributes);
      out += '>';
      return;
    case Kind::macro:
      out += "<Macro " +
             (value.as<Macro>().name().empty() ? std::string("anonymous")
                                               : repr_text(value.as<Macro>().name())) +
             ">";
      return;
    case Kind::loop:
      out += fmt::format("<LoopContext {}/{}>", value.as<Loop>().index0 + 1,
                         loop_length(context, value.as<Loop>()));
      return;
    default:
      fail_unsupported(fmt::format(
          "printing a {} (Python prints its address; a generator becomes a list by |list)",
          type_name(value)));
  }
}

bool has_quote_only(std::string_view text) {
  return text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
}

}  // namespace

std::string str(Context& context, const Value& value) {
  if (value.is(Kind::string)) {
    context.budget.work(std::int64_t(value.text().size()));
    return value.text();
  }
  if (value.is(Kind::undefined)) return "";
  return repr(context, value);
}

std::string repr(Context& context, const Value& value) {
  Builder out(context.budget);
  append_repr(out, context, value);
  return out.take();
}

std::string repr_text(std::string_view text) {
  const char quote = has_quote_only(text) ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == '\\' || c == char32_t(quote)) out += {'\\', char(c)};
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (has_flag(c, kPrintable)) append_character(out, c);
    else if (c < 0x100) out += fmt::format("\\x{:02x}", std::uint32_t(c));
    else if (c < 0x10000) out += fmt::format("\\u{:04x}", std::uint32_t(c));
    else out += fmt::format("\\U{:08x}", std::uint32_t(c));
  }
  return out + quote;
}

/// Follows CPython's float_repr_style "short": as few digits as possible, and an exponent below
/// 1e-4 and from 1e16 on.
std::string repr_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr;
  const std::string_view text(digits, std::size_t(end - digits));
  const int exponent = std::atoi(std::string(text.substr(text.find('e') + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(text);
  char plain[64];
  const auto plain_end =
      std::to_chars(plain, plain + sizeof plain, value, std::chars_format::fixed).ptr;
  std::string out(plain, plain_end);
  return out.find('.') == std::string::npos ? out + ".0" : out;
}

std::string escape_html(Budget& budget, std::string_view text) {
  budget.look(std::int64_t(text.size()));
  Builder out(budget);
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '\'') out += "&#39;";
    else if (c == '"') out += "&#34;";
    else out += c;
  }
  return out.take();
}

}  // namespace rollcall::text::jinja
