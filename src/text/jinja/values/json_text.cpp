// Python's json.dumps as transformers' tojson calls it. HTML is not escaped, and non-ASCII
// characters are escaped only with ensure_ascii.
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::text::jinja {
namespace {

struct Writer {
  Context& context;
  const JsonStyle& style;
  Builder out;

  void text(std::string_view s) {
    context.budget.look(std::int64_t(s.size()));
    out += '"';
    for (std::size_t at = 0; at < s.size();) {
      const std::size_t begin = at;
      const char32_t c = next_character(s, at);
      if (c == '"' || c == '\\') out += std::string{'\\', char(c)};
      else if (c == '\n') out += "\\n";
      else if (c == '\r') out += "\\r";
      else if (c == '\t') out += "\\t";
      else if (c == '\b') out += "\\b";
      else if (c == '\f') out += "\\f";
      else if (c < 0x20 || (style.ensure_ascii && c > 0x7E && c < 0x10000))
        out += fmt::format("\\u{:04x}", std::uint32_t(c));
      else if (style.ensure_ascii && c >= 0x10000)
        out += fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (std::uint32_t(c) >> 10),
                           0xDC00 + (c & 0x3FFU));
      else out += s.substr(begin, at - begin);
    }
    out += '"';
  }

  static std::string real_text(double value) {
    return std::isnan(value)   ? "NaN"
           : std::isinf(value) ? (value > 0 ? "Infinity" : "-Infinity")
                               : repr_real(value);
  }

  void key(const Value& value) {
    switch (value.kind) {
      case Kind::string: return text(value.text());
      case Kind::none: return text("null");
      case Kind::boolean: return text(value.boolean ? "true" : "false");
      case Kind::integer: return text(std::to_string(value.integer));
      case Kind::real: return text(real_text(value.real));
      default:
        fail(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(value)));
    }
  }

  void line(int level) {
    if (!style.indent) return;
    out += '\n';
    for (int i = 0; i < level; ++i) out += *style.indent;
  }

  void list(const std::vector<Value>& items, int level) {
    if (items.empty()) {
      out += "[]";
      return;
    }
    out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += style.between_items;
      line(level + 1);
      value(items[i], level + 1);
    }
    line(level);
    out += ']';
  }

  void dict(const Dict& dict, int level) {
    auto items = dict.items;
    if (style.sort_keys) {
      std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
        return compare(context, Operator::less, a.first, b.first);
      });
    }
    out += '{';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += style.between_items;
      line(level + 1);
      key(items[i].first);
      out += style.after_key;
      value(items[i].second, level + 1);
    }
    if (!items.empty()) line(level);
    out += '}';
  }

  void value(const Value& v, int level) {
    const Deeper deeper(context.budget);
    context.budget.step();
    switch (v.kind) {
      case Kind::none: out += "null"; return;
      case Kind::boolean: out += v.boolean ? "true" : "false"; return;
      case Kind::integer: out += std::to_string(v.integer); return;
      case Kind::real: out += real_text(v.real); return;
      case Kind::string: return text(v.text());
      case Kind::list:
      case Kind::tuple: return list(v.items(), level);
      case Kind::dict: return dict(v.dict(), level);
      default: fail(fmt::format("Object of type {} is not JSON serializable", type_name(v)));
    }
  }
};

}  // namespace

std::string json_text(Context& context, const Value& value, const JsonStyle& style) {
  Writer writer{context, style, Builder(context.budget)};
  writer.value(value, 0);
  return writer.out.take();
}

}  // namespace rollcall::text::jinja
