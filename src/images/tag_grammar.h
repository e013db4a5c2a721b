#pragma once

#include <boost/describe.hpp>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/pattern.h"
#include "images/version.h"

namespace pawl::images {

/// One part of the key by which tags of a family are ordered.
enum class OrderPart { kVersion, kDate, kMonthday, kStamp, kSerial, kPush };
BOOST_DESCRIBE_ENUM(OrderPart, kVersion, kDate, kMonthday, kStamp, kSerial, kPush)

/// What a tag says about itself.
struct TagReading {
  std::string tag;
  std::string grammar;                         ///< name of the grammar that matched, "other" when none did
  std::string family;                          ///< tags of one family are comparable; empty: of none
  std::map<std::string, std::string> variant;  ///< what an update must not change; groups that the tag does not have are absent
  Channel channel = Channel::kNone;
  std::vector<OrderPart> order;  ///< empty: the tag has no order
  std::optional<Version> version;
  std::string date, monthday, stamp;  ///< digits, empty when absent
  std::int64_t serial = -1;
  std::string commit;                              ///< hexadecimal digits as written, lower case
  bool calendar = false;                           ///< the version counts days, not releases
  bool floating = false;                           ///< moves with every build: never something to write
  [[nodiscard]] std::string variant_text() const;  ///< "cu130 amd64", "plain" when there is nothing
};

/// The grammars of data/images/grammars.yaml. Thread-safe.
class TagGrammars {
 public:
  struct Grammar {
    std::string name, what, family;
  };

  /// Errors: YAML, unknown keys, a pattern that does not compile, an order part without its group. `name`: of the file.
  [[nodiscard]] static Result<TagGrammars> parse(const std::string& text, const std::string& name);
  /// Any text is read; over 128 characters or without a match it is of the grammar "other", which has no order.
  [[nodiscard]] TagReading read(std::string_view tag) const;
  [[nodiscard]] std::vector<Grammar> grammars() const;

 private:
  struct Rule {
    Grammar grammar;
    codec::Pattern pattern;
    std::vector<std::string> variant;
    std::string channel;
    std::vector<OrderPart> order;
  };
  std::vector<Rule> rules_;
};

/// The order of two readings of one family by what their tags say. Nothing: only the push time or the ancestry of the
/// commits can tell. Needs equal `family`.
[[nodiscard]] std::optional<std::strong_ordering> compare_tags(const TagReading& a, const TagReading& b);

}  // namespace pawl::images
