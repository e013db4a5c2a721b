#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// What the stamping server, the bare loop and the twin share: clocks and the file of stamps (bench/clients/README.md describes the format).
namespace pawl::stamps {

enum class Kind : std::uint16_t {
  kArrival = 1,    ///< server: the last byte of the request reached the host (kernel receive stamp)
  kEvent = 2,      ///< server: a token event, right before its send()
  kDone = 3,       ///< server: the last bytes of the response, right before their send()
  kName = 4,       ///< server: the request's x-request-id; `value` bytes of text follow, padded to whole records
  kSend = 16,      ///< client: right before the write of the request
  kReceived = 17,  ///< client: a token event, as the client stamps it
  kFinished = 18,  ///< client: the response is complete
};

/// Bits of Record::flags.
constexpr std::uint16_t kUserStamp = 1;  ///< the kernel gave no stamp: read from the clock after the call instead
constexpr std::uint16_t kQueued = 2;     ///< the socket was full: the bytes left later than the stamp says

struct Record {
  std::int64_t at_ns = 0;     ///< CLOCK_MONOTONIC
  std::uint32_t request = 0;  ///< number of the request, in order of arrival (server) or of sending (client)
  std::uint32_t event = 0;    ///< kEvent, kReceived: number of the token event within its request, from 0
  Kind kind = Kind::kArrival;
  std::uint16_t flags = 0;
  std::uint32_t value = 0;  ///< kArrival, kSend: number of the connection; kName: length of the text
};
static_assert(sizeof(Record) == 24);

inline std::int64_t clock_ns(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}
inline std::int64_t mono_ns() { return clock_ns(CLOCK_MONOTONIC); }

/// Maps the kernel's wall-clock stamps to CLOCK_MONOTONIC: the offset is that of the narrowest of eight readings.
class WallToMono {
 public:
  /// Reads the offset afresh when the last reading is older than 50 ms.
  void refresh(std::int64_t now) {
    if (now - read_at_ < 50'000'000) return;
    read_at_ = now;
    std::int64_t narrowest = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 8; ++i) {
      const std::int64_t before = mono_ns();
      const std::int64_t wall = clock_ns(CLOCK_REALTIME);
      const std::int64_t after = mono_ns();
      if (after - before >= narrowest) continue;
      narrowest = after - before;
      offset_ = before + (after - before) / 2 - wall;
    }
  }
  [[nodiscard]] std::int64_t operator()(const timespec& wall) const { return static_cast<std::int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec + offset_; }

 private:
  std::int64_t read_at_ = std::numeric_limits<std::int64_t>::min() / 2, offset_ = 0;
};

/// Records of a run, in memory until `write`.
class Log {
 public:
  explicit Log(std::size_t expected) { records_.reserve(expected); }
  void add(Record record) { records_.push_back(record); }
  void add_name(std::uint32_t request, std::string_view text) {
    records_.push_back({.request = request, .kind = Kind::kName, .value = static_cast<std::uint32_t>(text.size())});
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), sizeof(Record)))) {
      Record raw{};
      std::memcpy(static_cast<void*>(&raw), text.data(), std::min(text.size(), sizeof(Record)));
      records_.push_back(raw);
    }
  }
  /// "PAWLSTMP", version, length of the JSON text that describes the run, that text, records to the end of the file.
  [[nodiscard]] std::string bytes(std::string meta) const {
    meta.resize((meta.size() + 7) / 8 * 8, ' ');
    const std::uint32_t head[2] = {1, static_cast<std::uint32_t>(meta.size())};
    std::string out = "PAWLSTMP";
    out.append(reinterpret_cast<const char*>(head), sizeof head);
    out += meta;
    out.append(reinterpret_cast<const char*>(records_.data()), records_.size() * sizeof(Record));
    return out;
  }
  [[nodiscard]] bool write(const std::string& path, const std::string& meta) const {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return false;
    const std::string all = bytes(meta);
    const bool ok = std::fwrite(all.data(), 1, all.size(), file) == all.size();
    return std::fclose(file) == 0 && ok;
  }

 private:
  std::vector<Record> records_;
};

}  // namespace pawl::stamps
