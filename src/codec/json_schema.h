#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "codec/describe.h"
#include "codec/json.h"

/// JSON Schema (2020-12) of what `to_json` writes, from the same Boost.Describe description. A described struct becomes
/// an object that knows no other keys. Required are the members that `to_json` always writes: an absent optional is left
/// out, and so is a number that is not known. A text member called `schema` is the constant of a fresh object. A member
/// of type Json may hold anything.
namespace pawl::codec {

namespace detail {

/// The head that every schema document has, then `body`.
[[nodiscard]] Json schema_document(const std::string& title, Json body);
[[nodiscard]] Json object_schema(Json properties, const std::vector<std::string>& required);
[[nodiscard]] Json enum_schema(const std::vector<std::string>& texts);

}  // namespace detail

/// The schema of a type as part of another one.
template <class T>
[[nodiscard]] Json schema_part() {
  if constexpr (std::is_same_v<T, Json>) {
    return Json(true);
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {{"type", "number"}};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (detail::DescribedEnum<T>) {
    return detail::enum_schema(enum_texts<T>());
  } else if constexpr (detail::IsOptional<T>::value) {
    return schema_part<typename T::value_type>();
  } else if constexpr (detail::IsVector<T>::value) {
    // A list keeps a place for what is absent: null.
    Json items = schema_part<typename T::value_type>();
    if constexpr (detail::IsOptional<typename T::value_type>::value) items = {{"anyOf", Json::array({std::move(items), {{"type", "null"}}})}};
    return {{"type", "array"}, {"items", std::move(items)}};
  } else if constexpr (detail::IsMap<T>::value) {
    return {{"type", "object"}, {"additionalProperties", schema_part<typename T::mapped_type>()}};
  } else {
    static_assert(detail::Described<T>, "describe this type with BOOST_DESCRIBE_STRUCT");
    Json properties = Json::object();
    std::vector<std::string> required;
    const T fresh{};
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access | boost::describe::mod_inherited>>([&](auto d) {
      const auto& member = fresh.*d.pointer;
      using Member = std::remove_cvref_t<decltype(member)>;
      properties[d.name] = schema_part<Member>();
      if constexpr (std::is_same_v<Member, std::string>) {
        if (std::string_view(d.name) == "schema" && !member.empty()) properties[d.name] = {{"const", member}};
      }
      if constexpr (!detail::IsOptional<Member>::value && !std::is_floating_point_v<Member>) required.emplace_back(d.name);
    });
    return detail::object_schema(std::move(properties), required);
  }
}

/// The whole schema document of a described struct.
template <detail::Described T>
[[nodiscard]] Json schema_of(const std::string& title) {
  return detail::schema_document(title, schema_part<T>());
}

}  // namespace pawl::codec
