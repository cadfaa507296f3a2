// nlohmann's JSON with its parser and writer compiled once, in json.cpp. Compiling them again took
// a fifth of the build time of every file that parsed or printed a value.
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
