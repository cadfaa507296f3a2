// nlohmann's JSON with its reader and writer compiled once, in json.cpp. Every file that parsed or
// printed a value used to compile a copy of its own, a fifth of its build time.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace nlohmann::detail {

extern template class serializer<json>;
extern template class lexer<json, iterator_input_adapter<std::string::const_iterator>>;
extern template class parser<json, iterator_input_adapter<std::string::const_iterator>>;
extern template class lexer<json, iterator_input_adapter<const char*>>;
extern template class parser<json, iterator_input_adapter<const char*>>;
extern template class serializer<ordered_json>;
extern template class lexer<ordered_json, iterator_input_adapter<std::string::const_iterator>>;
extern template class parser<ordered_json, iterator_input_adapter<std::string::const_iterator>>;
extern template class lexer<ordered_json, iterator_input_adapter<const char*>>;
extern template class parser<ordered_json, iterator_input_adapter<const char*>>;

}  // namespace nlohmann::detail
