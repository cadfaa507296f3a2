// The one copy of nlohmann's reader and writer (json.hpp).
#include <nlohmann/json.hpp>

#include <string>

namespace nlohmann::detail {

template class serializer<json>;
template class lexer<json, iterator_input_adapter<std::string::const_iterator>>;
template class parser<json, iterator_input_adapter<std::string::const_iterator>>;
template class lexer<json, iterator_input_adapter<const char*>>;
template class parser<json, iterator_input_adapter<const char*>>;
template class serializer<ordered_json>;
template class lexer<ordered_json, iterator_input_adapter<std::string::const_iterator>>;
template class parser<ordered_json, iterator_input_adapter<std::string::const_iterator>>;
template class lexer<ordered_json, iterator_input_adapter<const char*>>;
template class parser<ordered_json, iterator_input_adapter<const char*>>;

}  // namespace nlohmann::detail
