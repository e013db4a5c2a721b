#include "exec/process_record.h"

#include <boost/describe.hpp>

#include "base/text.h"
#include "codec/describe.h"
#include "codec/json.h"

namespace pawl::exec {
namespace {

constexpr std::uint64_t kRecordMax = 64u << 10;

struct Form {
  std::string schema = "pawl.job-process/1";
  std::string key;
  std::int64_t pid = 0, start_ticks = 0;
  std::string boot;
};
BOOST_DESCRIBE_STRUCT(Form, (), (schema, key, pid, start_ticks, boot))

}  // namespace

std::string write_record(const ProcessRecord& record) {
  return codec::write_json_pretty(
      codec::to_json(Form{.key = record.key, .pid = record.process.pid, .start_ticks = record.process.start_ticks, .boot = record.process.boot}));
}

Result<ProcessRecord> parse_record(std::string_view text, const std::string& name) {
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, name, kRecordMax));
  PAWL_ASSIGN(Form form, codec::from_json<Form>(json, name, codec::UnknownKeys::kIgnore));
  if (form.schema != Form().schema) return bad_input(name + ": schema: expected " + Form().schema + ", found " + form.schema);
  return ProcessRecord{std::move(form.key), {form.pid, form.start_ticks, std::move(form.boot)}};
}

Result<std::optional<ProcessRecord>> read_record(const io::Files& files, const std::filesystem::path& path) {
  const auto text = files.read(path, kRecordMax);
  if (!text) {
    if (text.error().cls == ErrorClass::kNotFound) return std::optional<ProcessRecord>();
    return text.error();
  }
  PAWL_ASSIGN(ProcessRecord record, parse_record(*text, path.string()));
  return std::optional<ProcessRecord>(std::move(record));
}

Result<io::ProcessId> own_process(const io::Files& files) {
  PAWL_ASSIGN(const std::string stat, files.read("/proc/self/stat"));
  PAWL_ASSIGN(const std::string boot, files.read("/proc/sys/kernel/random/boot_id"));
  // Field 2, the name, may hold blanks and parentheses: counting starts behind its last one.
  const auto close = stat.rfind(')');
  if (close == std::string::npos || close + 2 >= stat.size()) return internal_error("/proc/self/stat has an unknown form");
  const auto fields = split(std::string_view(stat).substr(close + 2), ' ');
  const auto pid = parse_int(std::string_view(stat).substr(0, stat.find(' ')));
  const auto start = fields.size() < 20 ? std::nullopt : parse_int(fields[19]);
  if (!pid || !start) return internal_error("/proc/self/stat has an unknown form");
  return io::ProcessId{*pid, *start, std::string(trim(boot))};
}

}  // namespace pawl::exec
