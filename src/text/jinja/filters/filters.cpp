// The table of filters, gathered; names that Jinja knows and this interpreter leaves out.
#include "text/jinja/filter_rows.hpp"

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

// random has no reproducible answer; pprint, urlize and wordwrap are libraries of their own which
// no chat template was seen to use; lipsum is random text.
constexpr std::string_view kLeftOut[] = {"lipsum", "pprint", "random", "urlize", "wordwrap"};

std::vector<Row> all_filters() {
  std::vector<Row> rows;
  for (const auto part : {text_filters(), number_filters(), sequence_filters(), lazy_filters()})
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace

std::span<const Row> filters() {
  static const std::vector<Row> kRows = all_filters();
  return kRows;
}

bool is_known_to_jinja(std::string_view name) {
  return std::find(std::begin(kLeftOut), std::end(kLeftOut), name) != std::end(kLeftOut);
}

}  // namespace rollcall::text::jinja
