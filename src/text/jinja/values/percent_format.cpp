// Python's operator % on a string and values, as in "%d of %s" % (1, "two").
#include "text/jinja/values/characters.hpp"
#include "text/jinja/values/number_format.hpp"
#include "text/jinja/values/operators.hpp"
#include "text/jinja/values/python_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

class Percent {
 public:
  Percent(Context& context, std::string_view format, const Value& arguments)
      : context_(context), rest_(format), arguments_(arguments), out_(context.budget) {}

  std::string run() {
    while (!rest_.empty()) {
      const std::size_t percent = std::min(rest_.find('%'), rest_.size());
      out_ += rest_.substr(0, percent);
      rest_.remove_prefix(percent);
      if (!rest_.empty()) directive();
    }
    const bool leftover = arguments_.is(Kind::tuple) ? next_ < arguments_.items().size()
                                                     : next_ == 0 && !is_mapping();
    if (leftover) fail("not all arguments converted during string formatting");
    return out_.take();
  }

 private:
  /// Whether Python treats the arguments as a mapping, as it does with anything that has items
  /// except tuples and strings.
  bool is_mapping() const {
    return arguments_.is(Kind::dict) || arguments_.is(Kind::list) || arguments_.is(Kind::range);
  }

  char front() const {
    if (rest_.empty()) fail("incomplete format");
    return rest_.front();
  }
  char take() {
    const char c = front();
    rest_.remove_prefix(1);
    return c;
  }

  const Value& argument() {
    if (arguments_.is(Kind::tuple)) {
      if (next_ >= arguments_.items().size()) fail("not enough arguments for format string");
      return arguments_.items()[next_++];
    }
    if (next_++ > 0) fail("not enough arguments for format string");
    return arguments_;
  }

  std::int64_t number() {
    std::int64_t n = 0;
    if (front() == '*') {
      take();
      n = whole_argument(argument());
    } else {
      while (front() >= '0' && front() <= '9' && n <= INT32_MAX) n = n * 10 + (take() - '0');
    }
    if (n > INT32_MAX || n < -INT32_MAX) fail("width too big");
    return n;
  }

  const Value& named() {
    take();
    if (!arguments_.is(Kind::dict)) fail("format requires a mapping");
    std::size_t end = 0;
    for (int open = 1;; ++end) {
      if (end == rest_.size()) fail("incomplete format key");
      open += rest_[end] == '(' ? 1 : rest_[end] == ')' ? -1 : 0;
      if (open == 0) break;
    }
    const Value* value = arguments_.dict().find(rest_.substr(0, end));
    if (!value) fail(fmt::format("KeyError: '{}'", rest_.substr(0, end)));
    rest_.remove_prefix(end + 1);
    next_ = 1;
    return *value;
  }

  void directive() {
    take();
    context_.budget.step();
    const Value* value = front() == '(' ? &named() : nullptr;
    FormatSpec spec;
    bool left = false, zero = false;
    for (; std::string_view("-+ #0").find(front()) != std::string_view::npos; take()) {
      if (front() == '-') left = true;
      if (front() == '+') spec.sign = '+';
      if (front() == ' ' && spec.sign != '+') spec.sign = ' ';
      if (front() == '#') spec.alternate = true;
      if (front() == '0') zero = true;
    }
    spec.width = number();
    if (spec.width < 0) left = true, spec.width = -spec.width;
    if (front() == '.') {
      take();
      spec.precision = std::max<std::int64_t>(number(), 0);
    }
    if (front() == 'h' || front() == 'l' || front() == 'L') take();
    const char type = take();
    spec.align = left ? '<' : '>';
    if (type == '%') {
      out_ += '%';
      return;
    }
    if (!value) value = &argument();
    if (zero && !left && std::string_view("diouxXeEfFgG").find(type) != std::string_view::npos)
      spec.fill.assign(1, '0'), spec.align = '=';
    out_ += converted(type, *value, spec);
  }

  std::string converted(char type, const Value& value, FormatSpec spec) {
    if (type == 's') return format_text(context_.budget, str(context_, value), spec);
    if (type == 'r') return format_text(context_.budget, repr(context_, value), spec);
    if (type == 'a') fail_unsupported("the format %a");
    if (type == 'c') return character(value, spec);
    if (std::string_view("diuoxX").find(type) != std::string_view::npos)
      return whole(type, value, spec);
    if (std::string_view("eEfFgG").find(type) == std::string_view::npos)
      fail(fmt::format("unsupported format character '{}'", type));
    if (!value.is_number()) fail(fmt::format("must be real number, not {}", type_name(value)));
    spec.type = type;
    return format_real(context_.budget, value.is(Kind::real) ? value.real : double(value.whole()),
                       spec);
  }

  std::string character(const Value& value, FormatSpec spec) {
    spec.precision = -1;
    if (value.is_whole()) {
      spec.type = 'c';
      return format_whole(context_.budget, value.whole(), spec);
    }
    if (!value.is(Kind::string) || value.as<Text>().length != 1) fail("%c requires int or char");
    return format_text(context_.budget, value.text(), spec);
  }

  std::string whole(char type, const Value& value, FormatSpec spec) {
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (!value.is_whole() && !(decimal && value.is(Kind::real)))
      fail(fmt::format("%{} format: a number is required, not {}", type, type_name(value)));
    if (spec.precision >= 0) fail_unsupported("a precision of a whole number in %");
    spec.type = decimal ? 'd' : type;
    return format_whole(context_.budget,
                        value.is(Kind::real) ? to_whole(value.real) : value.whole(), spec);
  }

  Context& context_;
  std::string_view rest_;
  const Value& arguments_;
  Builder out_;
  std::size_t next_ = 0;
};

}  // namespace

std::string percent_format(Context& context, const Value& format, const Value& arguments) {
  if (format.safe) fail_unsupported("% on a string marked safe");
  context.budget.look(std::int64_t(format.text().size()));
  return Percent(context, format.text(), arguments).run();
}

}  // namespace rollcall::text::jinja
