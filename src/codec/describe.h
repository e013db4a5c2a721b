#pragma once

#include <fmt/format.h>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/text.h"
#include "codec/json.h"

/// Structs and enums to JSON and back, from their Boost.Describe description. A member has the key of its own name; an
/// absent optional is left out; an enumerator kSmokeGate is the text "smoke-gate".
namespace pawl::codec {

namespace detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

/// kSmokeGate, CSmokeGate → smoke-gate
inline std::string kebab(std::string_view name) {
  if (name.size() > 1 && name[0] == 'k' && name[1] >= 'A' && name[1] <= 'Z') name.remove_prefix(1);
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c >= 'A' && c <= 'Z') {
      if (i > 0) out += '-';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c == '_' ? '-' : c;
    }
  }
  return out;
}

template <class T>
concept Described = boost::describe::has_describe_members<T>::value;
template <class E>
concept DescribedEnum = boost::describe::has_describe_enumerators<E>::value;

}  // namespace detail

/// The text of an enumerator. Total: a value without a name gives "?".
template <detail::DescribedEnum E>
[[nodiscard]] std::string enum_text(E value) {
  std::string text = "?";
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (d.value == value) text = detail::kebab(d.name);
  });
  return text;
}

template <detail::DescribedEnum E>
[[nodiscard]] std::vector<std::string> enum_texts() {
  std::vector<std::string> all;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) { all.push_back(detail::kebab(d.name)); });
  return all;
}

template <detail::DescribedEnum E>
[[nodiscard]] std::optional<E> enum_value(std::string_view text) {
  std::optional<E> found;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) {
    if (detail::kebab(d.name) == text) found = d.value;
  });
  return found;
}

template <class T>
[[nodiscard]] Json to_json(const T& value) {
  if constexpr (std::is_same_v<T, Json>) {
    return value;
  } else if constexpr (detail::DescribedEnum<T>) {
    return enum_text(value);
  } else if constexpr (detail::IsOptional<T>::value) {
    return value ? to_json(*value) : Json(nullptr);
  } else if constexpr (detail::IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(to_json(item));
    return array;
  } else if constexpr (detail::IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, item] : value) object[key] = to_json(item);
    return object;
  } else if constexpr (detail::Described<T>) {
    Json object = Json::object();
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access | boost::describe::mod_inherited>>([&](auto d) {
      const auto& member = value.*d.pointer;
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (detail::IsOptional<Member>::value) {
        if (member) object[d.name] = to_json(*member);
      } else if constexpr (std::is_floating_point_v<Member>) {
        if (std::isfinite(member)) object[d.name] = member;  // an unknown number is absent, never a word
      } else {
        object[d.name] = to_json(member);
      }
    });
    return object;
  } else {
    return Json(value);
  }
}

/// What to do with a key that the struct does not have.
enum class UnknownKeys { kRefuse, kIgnore };

template <class T>
[[nodiscard]] Status from_json_at(const Json& json, const std::string& path, UnknownKeys unknown, T& out) {
  const auto wrong = [&](const char* wanted) {
    return bad_input(fmt::format("{}: expected {}, found {}", path, wanted, write_json(json, JsonForm::kCompactUtf8).substr(0, 80)));
  };
  if constexpr (std::is_same_v<T, Json>) {
    out = json;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return wrong("true or false");
    out = json.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    if (!json.is_number_integer()) return wrong("an integer");
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return wrong("a smaller integer");
    if (!json.is_number_unsigned() && (json.get<std::int64_t>() < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
                                       json.get<std::int64_t>() > static_cast<std::int64_t>(std::numeric_limits<T>::max()))) {
      return wrong("an integer in range");
    }
    out = json.get<T>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) return wrong("a number");
    out = json.get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) return wrong("a text");
    out = json.get<std::string>();
  } else if constexpr (detail::DescribedEnum<T>) {
    if (!json.is_string()) return wrong("a text");
    const auto value = enum_value<T>(json.get_ref<const std::string&>());
    if (!value) return wrong(("one of " + join(enum_texts<T>(), ", ")).c_str());
    out = *value;
  } else if constexpr (detail::IsOptional<T>::value) {
    if (json.is_null()) {
      out.reset();
    } else {
      typename T::value_type inner{};
      PAWL_TRY(from_json_at(json, path, unknown, inner));
      out = std::move(inner);
    }
  } else if constexpr (detail::IsVector<T>::value) {
    if (!json.is_array()) return wrong("a list");
    out.clear();
    out.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) {
      typename T::value_type item{};
      PAWL_TRY(from_json_at(json[i], fmt::format("{}[{}]", path, i), unknown, item));
      out.push_back(std::move(item));
    }
  } else if constexpr (detail::IsMap<T>::value) {
    if (!json.is_object()) return wrong("an object");
    out.clear();
    for (auto it = json.begin(); it != json.end(); ++it) {
      typename T::mapped_type item{};
      PAWL_TRY(from_json_at(it.value(), path + "." + it.key(), unknown, item));
      out.emplace(it.key(), std::move(item));
    }
  } else {
    static_assert(detail::Described<T>, "describe this type with BOOST_DESCRIBE_STRUCT");
    if (!json.is_object()) return wrong("an object");
    Status status;
    std::vector<std::string> known;
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access | boost::describe::mod_inherited>>([&](auto d) {
      known.emplace_back(d.name);
      if (!status) return;
      auto& member = out.*d.pointer;
      using Member = std::remove_cvref_t<decltype(member)>;
      const auto found = json.find(d.name);
      const std::string here = path.empty() ? std::string(d.name) : path + "." + d.name;
      if (found != json.end()) {
        status = from_json_at(found.value(), here, unknown, member);
      } else if constexpr (!detail::IsOptional<Member>::value && !std::is_floating_point_v<Member>) {
        status = bad_input(fmt::format("{}: missing", here));
      } else if constexpr (std::is_floating_point_v<Member>) {
        member = std::numeric_limits<Member>::quiet_NaN();
      }
    });
    if (!status) return status;
    if (unknown == UnknownKeys::kRefuse) {
      for (auto it = json.begin(); it != json.end(); ++it) {
        if (std::find(known.begin(), known.end(), it.key()) != known.end()) continue;
        const auto guess = nearest(it.key(), known);
        return bad_input(fmt::format("{}{}{}: unknown key", path, path.empty() ? "" : ".", it.key()),
                         guess ? fmt::format("did you mean {}?", *guess) : "known keys: " + join(known, ", "));
      }
    }
  }
  return {};
}

/// Reads a described struct. `name` starts every error path. A double that is absent reads as NaN, the in-memory form
/// of "not known"; every other member that is not optional must be there.
template <class T>
[[nodiscard]] Result<T> from_json(const Json& json, const std::string& name, UnknownKeys unknown = UnknownKeys::kRefuse) {
  T out{};
  PAWL_TRY(from_json_at(json, name, unknown, out));
  return out;
}

}  // namespace pawl::codec
