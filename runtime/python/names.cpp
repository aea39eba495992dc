#include "runtime/python/names.h"

#include <functional>
#include <map>

namespace tunedgemm::python {
namespace {

// The value that "FIELD=NAME" gives to the member of a problem. Its names are the library's alone.
template <class Value>
Value parsed(const std::string& field, std::string_view name, Value tunedgemm_problem::*member) {
  // Parsing takes a microsecond.
  thread_local std::map<std::string, Value, std::less<>> known;
  if (const auto found = known.find(name); found != known.end()) {
    return found->second;
  }
  if (name.find_first_of(" \t\n") != name.npos) {
    refuse(field + " is '" + std::string(name) + "', but the name has no spaces");
  }
  tunedgemm_problem problem;
  const std::string text = field + "=" + std::string(name);
  if (tunedgemm_problem_parse(text.c_str(), &problem) != TUNEDGEMM_STATUS_OK) {
    refuse(tunedgemm_error_message());
  }
  return known.emplace(name, problem.*member).first->second;
}

}  // namespace

tunedgemm_activation activation_of(std::string_view name) {
  return name == "none" ? TUNEDGEMM_ACTIVATION_NONE
                        : parsed("activation", name, &tunedgemm_problem::activation);
}

tunedgemm_numerics numerics_of(std::string_view name) {
  return name == "default" ? TUNEDGEMM_NUMERICS_DEFAULT
                           : parsed("numerics", name, &tunedgemm_problem::numerics);
}

}  // namespace tunedgemm::python
