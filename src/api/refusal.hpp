// Why a request is not answered, as servers of this kind say it.
#pragma once

#include <string>

namespace rollcall::api {

/// The status is 400 also where a limit of the server is reached, since clients send again what had
/// status 429 or 5xx.
struct Refusal {
  int status = 400;
  std::string type = "invalid_request_error";
  std::string code{};   ///< a name for programs, such as "model_not_found"; empty if there is none
  std::string message;  ///< what is wrong, why it matters, what to do
  std::string param{};  ///< the key of the request that is wrong; empty if it is none alone
  std::string allow{};  ///< with status 405: the method that is answered
};

/// The body that tells a client: {"error": {"message", "type", "param", "code"}}.
std::string error_json(const Refusal& refusal);

/// The refusal of what the server itself cannot take (http::Service::refusal): type and code follow
/// from the status.
Refusal refusal_of(int status, const std::string& why);

}  // namespace rollcall::api
