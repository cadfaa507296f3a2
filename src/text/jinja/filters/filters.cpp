// Puts the tables of filters together, and names the Jinja filters that this interpreter lacks.
#include "text/jinja/filter_rows.hpp"

#include <algorithm>

namespace rollcall::text::jinja {
namespace {

// The results of random and lipsum cannot be reproduced. No known chat template uses pprint, urlize
// or wordwrap, which are large.
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
