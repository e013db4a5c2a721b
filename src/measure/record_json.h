#pragma once

#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/record.h"

namespace pawl::measure {

/// The first line of a file of records: what places the run on the calendar and what the statistics need to be made again.
struct RecordsHead {
  std::string schema = "pawl.bench-records/1";
  std::string url, backend, model_id, endpoint;
  std::int64_t origin_unix_ns = 0;  ///< calendar time of the moment from which all times of the file count
  std::int64_t max_concurrency = 0;
  bool chat = false;
  std::optional<std::int64_t> isl, osl;  ///< tokens asked for
  std::optional<double> range_ratio;
};
BOOST_DESCRIBE_STRUCT(RecordsHead, (), (schema, url, backend, model_id, endpoint, origin_unix_ns, max_concurrency, chat, isl, osl, range_ratio))

/// Appends the head as one line.
void append_head(const RecordsHead& head, std::string& out);

/// Appends a record as one line of JSON, a line end included. Every time of BC-2.2 that was reached is a whole number of
/// nanoseconds after `origin` under its name with `_ns`. Events are lists [at − send, user stamp − at, tokens or −1,
/// choice, marks], times in nanoseconds. Allocates only what `out` grows by.
void append_record(const RequestRecord& record, MonoTime origin, std::string& out);

/// Reads one line of a file of records, relative to `origin`. Error: kInvalid, naming `place` ("records.jsonl:7").
[[nodiscard]] Result<RequestRecord> read_record(std::string_view line, MonoTime origin, const std::string& place);
[[nodiscard]] Result<RecordsHead> read_head(std::string_view line, const std::string& place);

}  // namespace pawl::measure
