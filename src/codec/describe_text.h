#pragma once

#include <string>

#include "codec/describe.h"
#include "codec/json_append.h"

namespace pawl::codec {

namespace detail {

/// The texts of an enumeration's values, made once.
template <DescribedEnum E>
[[nodiscard]] const std::string& kept_text(E value) {
  static const std::map<E, std::string> texts = [] {
    std::map<E, std::string> all;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<E>>([&](auto d) { all.emplace(d.value, kebab(d.name)); });
    return all;
  }();
  static const std::string none = "?";
  const auto found = texts.find(value);
  return found == texts.end() ? none : found->second;
}

}  // namespace detail

/// Appends what `write_json(to_json(value), JsonForm::kCompactUtf8)` gives, without making the tree: for records that are
/// written at every step.
template <class T>
void append_described(std::string& out, const T& value) {
  if constexpr (detail::DescribedEnum<T>) {
    out += '"';
    out += detail::kept_text(value);
    out += '"';
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    fmt::format_int text(value);
    out.append(text.data(), text.size());
  } else if constexpr (std::is_same_v<T, std::string>) {
    append_json_text(out, value);
  } else if constexpr (detail::IsOptional<T>::value) {
    if (value) {
      append_described(out, *value);
    } else {
      out += "null";
    }
  } else if constexpr (detail::IsVector<T>::value) {
    out += '[';
    bool first = true;
    for (const auto& item : value) {
      if (!first) out += ',';
      first = false;
      append_described(out, item);
    }
    out += ']';
  } else if constexpr (detail::Described<T>) {
    out += '{';
    bool first = true;
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access | boost::describe::mod_inherited>>([&](auto d) {
      const auto& member = value.*d.pointer;
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (detail::IsOptional<Member>::value) {
        if (!member) return;
      } else if constexpr (std::is_floating_point_v<Member>) {
        if (!std::isfinite(member)) return;
      }
      if (!first) out += ',';
      first = false;
      out += '"';
      out += d.name;
      out += "\":";
      append_described(out, member);
    });
    out += '}';
  } else {
    append_json(out, to_json(value), JsonForm::kCompactUtf8);
  }
}

template <class T>
[[nodiscard]] std::string described_text(const T& value) {
  std::string out;
  append_described(out, value);
  return out;
}

}  // namespace pawl::codec
