#include "changelog/same_data.h"

#include "plan/typing.h"

namespace pawl::changelog {
namespace {

using codec::Json;

/// Booleans and integral floats as integers, keys sorted by the writer: one spelling for one value.
Json plain(const Json& value) {
  if (const auto number = plan::number_of(value)) return number->value;
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) out.push_back(plain(item));
    return out;
  }
  if (value.is_object()) {
    Json out = Json::object();
    for (auto it = value.begin(); it != value.end(); ++it) out[it.key()] = plain(it.value());
    return out;
  }
  return value;
}

}  // namespace

std::string data_key(const Json& value) { return codec::write_json_sorted(plain(value)); }
bool same_data(const Json& a, const Json& b) { return data_key(a) == data_key(b); }

}  // namespace pawl::changelog
