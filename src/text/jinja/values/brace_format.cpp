// Python's str.format in the sandbox's version, in which attributes follow the template's rules.
#include "text/jinja/values/access.hpp"
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/number_format.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rollcall::text::jinja {
namespace {

bool is_digits(std::string_view s) {
  return !s.empty() && s.size() < 10 &&
         std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::int64_t take_number(std::string_view& s) {
  std::int64_t n = 0;
  while (!s.empty() && s.front() >= '0' && s.front() <= '9') {
    n = n * 10 + (s.front() - '0');
    if (n > INT32_MAX) fail("Too many decimal digits in format string");
    s.remove_prefix(1);
  }
  return n;
}

char take_one_of(std::string_view& s, std::string_view wanted) {
  if (s.empty() || wanted.find(s.front()) == std::string_view::npos) return 0;
  const char c = s.front();
  s.remove_prefix(1);
  return c;
}

/// Reads [[fill]align][sign][z][#][0][width][grouping][.precision][type].
FormatSpec spec_of(std::string_view s) {
  FormatSpec spec;
  std::size_t after = 0;
  if (!s.empty()) next_character(s, after);
  if (after > 0 && after < s.size() &&
      std::string_view("<>=^").find(s[after]) != std::string_view::npos) {
    spec.fill = s.substr(0, after);
    spec.align = s[after];
    s.remove_prefix(after + 1);
  } else {
    spec.align = take_one_of(s, "<>=^");
  }
  if (const char sign = take_one_of(s, "+- ")) spec.sign = sign;
  if (take_one_of(s, "z")) fail_unsupported("the format option z");
  spec.alternate = take_one_of(s, "#") != 0;
  if (take_one_of(s, "0") && spec.align == 0) spec.fill.assign(1, '0'), spec.align = '=';
  spec.width = take_number(s);
  spec.grouping = take_one_of(s, ",_");
  if (take_one_of(s, ",_")) fail("Cannot specify both ',' and '_'.");
  if (take_one_of(s, ".")) {
    if (s.empty() || s.front() < '0' || s.front() > '9') fail("Format specifier missing precision");
    spec.precision = take_number(s);
  }
  spec.type = s.empty() ? 0 : s.front();
  if (s.size() > 1) fail("Invalid format specifier");
  return spec;
}

std::string formatted(Context& context, const Value& value, std::string_view text) {
  if (text.empty()) return str(context, value);
  if (!value.is_number() && !value.is(Kind::string))
    fail(fmt::format("unsupported format string passed to {}.__format__", type_name(value)));
  FormatSpec spec = spec_of(text);
  const auto fits = [&](std::string_view types) {
    return spec.type == 0 || types.find(spec.type) != std::string_view::npos;
  };
  if (spec.type == 'n') fail_unsupported("the format type n");
  if (value.is(Kind::string)) {
    if (!fits("s") || spec.sign != '-' || spec.alternate || spec.grouping || spec.align == '=') {
      if (spec.align == '=' && spec.fill == "0" && fits("s"))
        fail_unsupported("a format of a string with zeros");
      fail("a format of numbers for a string");
    }
    return format_text(context.budget, value.text(), spec);
  }
  if (value.is(Kind::boolean) && spec.type == 0)
    fail_unsupported("a format of a truth value without a type");
  if (value.is_whole() && fits("bcdoxX")) {
    if (spec.grouping == ',' && spec.type != 0 && spec.type != 'd')
      fail("Cannot specify ',' with this type.");
    if (spec.type == 'c' && (spec.sign != '-' || spec.alternate))
      fail("Sign or alternate form not allowed with integer format specifier 'c'");
    if (spec.type == 'c') fail_unsupported("the format type c");
    return format_whole(context.budget, value.whole(), spec);
  }
  if (!fits("eEfFgG%"))
    fail(fmt::format("Unknown format code '{}' for object of type '{}'", spec.type,
                     type_name(value)));
  if (spec.type == 0 && spec.alternate) fail_unsupported("the format option # without a type");
  return format_real(context.budget, value.is(Kind::real) ? value.real : double(value.whole()),
                     spec);
}

class Braces {
 public:
  Braces(Context& context, const Arguments& arguments) : context_(context), arguments_(arguments) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 2) fail("Max string recursion exceeded");
    context_.budget.look(std::int64_t(format.size()));
    Builder out(context_.budget);
    for (std::size_t i = 0; i < format.size(); ++i) {
      const char c = format[i];
      if (c != '{' && c != '}') {
        out += c;
      } else if (i + 1 < format.size() && format[i + 1] == c) {
        out += c;
        ++i;
      } else if (c == '}') {
        fail("Single '}' encountered in format string");
      } else {
        const std::size_t end = closing(format, i + 1);
        out += field(format.substr(i + 1, end - i - 1), depth);
        i = end;
      }
    }
    return out.take();
  }

 private:
  static std::size_t closing(std::string_view format, std::size_t begin) {
    int open = 1;
    bool in_brackets = false;
    for (std::size_t i = begin; i < format.size(); ++i) {
      if (format[i] == '[' && open == 1) in_brackets = true;
      if (format[i] == ']') in_brackets = false;
      if (in_brackets) continue;
      open += format[i] == '{' ? 1 : format[i] == '}' ? -1 : 0;
      if (open == 0) return i;
    }
    fail("expected '}' before end of string");
  }

  std::string field(std::string_view text, int depth) {
    context_.budget.step();
    std::size_t name_end = 0;
    for (bool in_brackets = false; name_end < text.size(); ++name_end) {
      if (text[name_end] == '[') in_brackets = true;
      if (text[name_end] == ']') in_brackets = false;
      if (!in_brackets && (text[name_end] == ':' || text[name_end] == '!')) break;
    }
    const std::string_view name = text.substr(0, name_end);
    std::string_view rest = text.substr(name_end);
    char conversion = 0;
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        fail("expected ':' after conversion specifier");
      conversion = rest[1];
      rest.remove_prefix(2);
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    if (name.find_first_of("{}") != std::string_view::npos) fail("unexpected '{' in field name");
    const Value value = converted(found(name), conversion);
    return formatted(context_, value, run(rest, depth + 1));
  }

  Value converted(Value value, char conversion) {
    if (conversion == 0) return value;
    if (conversion == 's') return string(context_.budget, str(context_, value));
    if (conversion == 'r') return string(context_.budget, repr(context_, value));
    if (conversion == 'a') fail_unsupported("the conversion !a");
    fail(fmt::format("Unknown conversion specifier '{}'", conversion));
  }

  /// The value of a field such as "name.attribute[key]".
  Value found(std::string_view name) {
    const std::size_t first_end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(name.substr(0, first_end));
    for (std::string_view rest = name.substr(first_end); !rest.empty();) {
      const bool is_attribute = rest.front() == '.';
      if (!is_attribute && rest.front() != '[')
        fail("Only '.' or '[' may follow ']' in format field specifier");
      const std::size_t end =
          is_attribute ? std::min(rest.find_first_of(".[", 1), rest.size()) : rest.find(']');
      if (end == std::string_view::npos) fail("Missing ']' in format string");
      const std::string_view key = rest.substr(1, end - 1);
      if (key.empty()) fail("Empty attribute in format string");
      if (is_attribute) value = attribute(context_, value, std::string(key));
      else
        value = item(context_, value,
                     is_digits(key) ? integer(std::stoll(std::string(key)))
                                    : string(context_.budget, std::string(key)));
      rest.remove_prefix(is_attribute ? end : end + 1);
    }
    return value;
  }

  Value argument(std::string_view name) {
    std::size_t index = 0;
    if (name.empty()) {
      if (numbered_ == 1)
        fail("cannot switch from manual field specification to automatic field numbering");
      numbered_ = 2;
      index = next_++;
    } else if (is_digits(name)) {
      if (numbered_ == 2)
        fail("cannot switch from automatic field numbering to manual field specification");
      numbered_ = 1;
      index = std::stoul(std::string(name));
    } else {
      context_.budget.pass_names(arguments_.named.size());
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      fail(fmt::format("KeyError: '{}'", name));
    }
    if (index >= arguments_.positional.size())
      fail(fmt::format("Replacement index {} out of range for positional args tuple", index));
    return arguments_.positional[index];
  }

  Context& context_;
  const Arguments& arguments_;
  std::size_t next_ = 0;
  // The numbering of the fields so far: 1 by the format itself, 2 automatically, 0 not yet.
  int numbered_ = 0;
};

}  // namespace

std::string brace_format(Context& context, std::string_view format, const Arguments& arguments) {
  return Braces(context, arguments).run(format, 0);
}

}  // namespace rollcall::text::jinja
