#include "model/image.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::model {
namespace {

/// pawl's own sources of engines: a package, and a folder of programs.
constexpr std::string_view kPackage = "pypi:", kFolder = "dir:";

}  // namespace

std::string ImageRef::text() const {
  std::string out = name;
  if (!tag.empty()) out += (name.starts_with(kPackage) ? "==" : ":") + tag;
  if (!digest.empty()) out += "@" + digest;
  return out;
}

Result<ImageRef> parse_image(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return bad_input(fmt::format("'{}' is not an image: {}", text, why), "write it as repository:tag or repository:tag@sha256:<digest>");
  };
  if (text.empty()) return wrong("it is empty");
  if (text.size() > 512) return wrong("it is longer than 512 bytes");
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7F; })) {
    return wrong("blanks and control characters do not occur in one");
  }
  ImageRef ref;
  if (text.starts_with(kFolder)) {
    if (!text.substr(kFolder.size()).starts_with('/'))
      return bad_input(fmt::format("'{}' is not an image: the folder is not absolute", text), "write it as dir:/absolute/path");
    ref.name = text;
    return ref;
  }
  if (text.starts_with(kPackage)) {
    const auto equals = text.find("==");
    if (equals == std::string_view::npos || equals == kPackage.size() || equals + 2 == text.size()) {
      return bad_input(fmt::format("'{}' is not an image: it names no exact version", text), "write it as pypi:NAME==VERSION");
    }
    ref.name = text.substr(0, equals);
    ref.tag = text.substr(equals + 2);
    return ref;
  }
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    ref.digest = text.substr(at + 1);
    text = text.substr(0, at);
    if (!ref.digest.starts_with("sha256:") || ref.digest.size() != 71 || ref.digest.find_first_not_of("0123456789abcdef", 7) != std::string::npos) {
      return wrong("the digest must be sha256: and 64 lower-case hexadecimal digits");
    }
  }
  const auto slash = text.find_last_of("/#");
  const auto colon = text.find(':', slash == std::string_view::npos ? 0 : slash);
  if (colon != std::string_view::npos) {
    ref.tag = text.substr(colon + 1);
    text = text.substr(0, colon);
    if (ref.tag.empty()) return wrong("the tag is empty");
    if (ref.tag.size() > 128 || ref.tag.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != std::string::npos) {
      return wrong("a tag has at most 128 letters, digits, '_', '.' and '-'");
    }
  }
  if (text.empty()) return wrong("the repository is empty");
  ref.name = text;
  return ref;
}

bool same_image(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x == '#' ? '/' : x) == (y == '#' ? '/' : y); });
}

}  // namespace pawl::model
