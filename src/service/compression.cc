#include "service/compression.h"

#include <zlib.h>
#include <zstd.h>

#include "base/assert.h"
#include "base/text.h"

namespace pawl::service {

Encoding encoding_for(std::string_view accept) {
  bool gzip = false, zstd = false;
  for (const std::string_view part : split(accept, ',')) {
    const std::string_view word = trim(part.substr(0, part.find(';')));
    const auto q = part.find("q=");
    if (q != std::string_view::npos && trim(part.substr(q + 2)).find_first_not_of("0.") == std::string_view::npos) continue;
    gzip = gzip || word == "gzip" || word == "*";
    zstd = zstd || word == "zstd";
  }
  return zstd ? Encoding::kZstd : gzip ? Encoding::kGzip : Encoding::kIdentity;
}

const char* encoding_name(Encoding encoding) { return encoding == Encoding::kZstd ? "zstd" : encoding == Encoding::kGzip ? "gzip" : "identity"; }

std::string compress(std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::kIdentity) return std::string(bytes);
  if (encoding == Encoding::kZstd) {
    std::string out(ZSTD_compressBound(bytes.size()), '\0');
    const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 6);
    PAWL_ASSERT(ZSTD_isError(size) == 0);
    out.resize(size);
    return out;
  }
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  PAWL_ASSERT(deflateInit2(&stream, 6, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT: zlib reads it only
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int rc = deflate(&stream, Z_FINISH);
  deflateEnd(&stream);
  PAWL_ASSERT(rc == Z_STREAM_END);
  out.resize(stream.total_out);
  return out;
}

}  // namespace pawl::service
