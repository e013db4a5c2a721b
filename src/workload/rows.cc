#include "workload/rows.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "workload/split_mix.h"

namespace pawl::workload {
namespace {

constexpr std::size_t kMaxRows = 50'000'000;

Error too_many(const std::string& name) { return bad_input(fmt::format("{}: more than {} rows", name, kMaxRows)); }

/// Elements of an array, by counting brackets outside of texts.
Result<std::vector<std::string_view>> elements(std::string_view text, const std::string& name) {
  std::vector<std::string_view> out;
  std::size_t depth = 0, begin = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_text = false;
      }
      continue;
    }
    if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth == 1) begin = i + 1;
    } else if ((c == ',' && depth == 1) || ((c == ']' || c == '}') && depth == 1)) {
      if (const std::string_view row = trim(text.substr(begin, i - begin)); !row.empty()) out.push_back(row);
      if (out.size() > kMaxRows) return too_many(name);
      begin = i + 1;
      if (c != ',') return out;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return bad_input(name + ": the array does not end", "the file may be cut off");
}

}  // namespace

Result<std::vector<std::string_view>> split_rows(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::string_view whole = trim(text);
  std::vector<std::string_view> rows;
  if (whole.starts_with('[')) {
    PAWL_ASSIGN(rows, elements(whole, name));
  } else {
    for (std::size_t begin = 0; begin < whole.size();) {
      const std::size_t end = std::min(whole.find('\n', begin), whole.size());
      if (const std::string_view row = trim(whole.substr(begin, end - begin)); !row.empty()) rows.push_back(row);
      if (rows.size() > kMaxRows) return too_many(name);
      begin = end + 1;
    }
  }
  if (rows.empty()) return bad_input(name + ": no rows", "expected a JSON array or one JSON object a line");
  return rows;
}

Result<std::string> unpacked(std::string bytes, const std::string& name, std::uint64_t max_bytes) {
  if (!bytes.starts_with("\x1F\x8B")) return bytes;
  if (bytes.size() > UINT32_MAX) return bad_input(fmt::format("{}: {} bytes of gzip, at most {} are read", name, bytes.size(), UINT32_MAX), "unpack it first");
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return internal_error("zlib does not start");
  std::string out;
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  int rc = Z_OK;
  std::string block(1 << 20, '\0');
  while (rc == Z_OK || (rc == Z_STREAM_END && stream.avail_in > 0)) {
    // Several members one after the other are one file.
    if (rc == Z_STREAM_END && inflateReset(&stream) != Z_OK) break;
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    rc = inflate(&stream, Z_NO_FLUSH);
    out.append(block, 0, block.size() - stream.avail_out);
    if (out.size() > max_bytes) break;
  }
  inflateEnd(&stream);
  if (out.size() > max_bytes) return bad_input(fmt::format("{}: more than {} bytes when unpacked", name, max_bytes));
  if (rc != Z_STREAM_END) return bad_input(name + ": a broken gzip file");
  return out;
}

std::vector<std::uint32_t> shuffled(std::size_t n, std::int64_t seed) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  SplitMix64 random = generator_at(static_cast<std::uint64_t>(seed), 0x53485546464C4531ull, 0);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i) - 1))]);
  return order;
}

}  // namespace pawl::workload
