#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "evidence/signatures.h"

namespace pawl::evidence {

/// Where in its life the engine was when it printed a line. After a shutdown was asked for nothing counts as a failure.
enum class Phase { kStarting, kReady, kShutdown };
BOOST_DESCRIBE_ENUM(Phase, kStarting, kReady, kShutdown)

/// One value that the engine told of itself, e.g. kv_tokens. The same name and value from several processes is one fact.
struct Fact {
  std::string name, value;
  std::vector<std::string> processes;  ///< the first few that said it; empty texts for lines without a process
  std::int64_t count = 0, line = 0;    ///< line: the first, from 1
};
BOOST_DESCRIBE_STRUCT(Fact, (), (name, value, processes, count, line))

struct Deprecation {
  std::string old_name, new_name;  ///< new_name: what takes its place, empty when the line does not say
  std::string text;
  std::string form;  ///< the text with everything that changes from run to run replaced; what two logs are compared by
  std::int64_t count = 0, line = 0;
};
BOOST_DESCRIBE_STRUCT(Deprecation, (), (old_name, new_name, text, form, count, line))

struct Traceback {
  std::string process, error;  ///< error: the last line, or the last of the chain of exceptions
  std::string first_error;     ///< of a chain: the one that began it; else empty
  std::vector<std::string> lines;
  Phase phase = Phase::kStarting;
  std::int64_t count = 0, line = 0;
};
BOOST_DESCRIBE_STRUCT(Traceback, (), (process, error, first_error, lines, phase, count, line))

/// A line that says something else: what two versions are compared by. `form` is the text without what changes from run to run.
struct Notice {
  std::string form, text, level, process;
  std::int64_t count = 0, line = 0;
};
BOOST_DESCRIBE_STRUCT(Notice, (), (form, text, level, process, count, line))

struct Marked {
  std::string text, process;
  Phase phase = Phase::kStarting;
  std::int64_t count = 0, line = 0;
};
BOOST_DESCRIBE_STRUCT(Marked, (), (text, process, phase, count, line))

/// Access lines of one kind: an error's method and path.
struct HttpError {
  std::int64_t status = 0;
  std::string method, path;
  Phase phase = Phase::kStarting;
  std::int64_t count = 0, line = 0;
};
BOOST_DESCRIBE_STRUCT(HttpError, (), (status, method, path, phase, count, line))

struct Ready {
  std::int64_t line = 0;
  std::string text, time;         ///< time: of the line, or of the last one before it that has one
  std::optional<double> after_s;  ///< seconds after the first line with a time
};
BOOST_DESCRIBE_STRUCT(Ready, (), (line, text, time, after_s))

/// How many of each are kept; what comes beyond is counted in `Evidence::not_kept`. All together bound the memory of an extraction
/// to a few tens of MB whatever the log holds.
struct Limits {
  std::size_t line_bytes = 64u << 10;
  std::size_t notices = 4000, facts = 500, settings = 4000, deprecations = 200, tracebacks = 40, traceback_lines = 200, http_errors = 100, marked = 200;
};

/// What one log says, so far. Every part can be written as JSON and read back.
struct Evidence {
  std::string engine;                ///< the first that gave itself away; empty: none did
  std::vector<std::string> engines;  ///< all that did: a worker of Dynamo is two
  std::int64_t bytes = 0, lines = 0, cut_lines = 0;
  std::vector<std::string> processes;
  std::optional<Ready> ready;
  bool shutdown = false;
  std::int64_t starts = 0, restarts = 0;
  std::vector<Fact> facts;
  std::map<std::string, std::string> settings;  ///< "list.name" → value, the last one said
  std::vector<Deprecation> deprecations;
  std::vector<Traceback> tracebacks;
  std::map<std::string, std::int64_t> http_before_ready, http_after_ready;  ///< status → how many
  std::vector<HttpError> http_errors;                                       ///< 4xx and 5xx
  std::vector<Marked> crashes, suspects;
  std::vector<Notice> notices;
  std::int64_t routine_lines = 0;
  std::map<std::string, std::int64_t> not_kept;  ///< "notices" → how many lines had a new form when the room was used up
};
BOOST_DESCRIBE_STRUCT(Evidence, (),
                      (engine, engines, bytes, lines, cut_lines, processes, ready, shutdown, starts, restarts, facts, settings, deprecations, tracebacks,
                       http_before_ready, http_after_ready, http_errors, crashes, suspects, notices, routine_lines, not_kept))

struct OpenTraceback {
  Traceback traceback;
  bool timed = false;  ///< its frames carry a time, so its last line does too
};
BOOST_DESCRIBE_STRUCT(OpenTraceback, (), (traceback, timed))

/// Where an extraction stands between two chunks: with the evidence so far, all that is needed to go on.
struct Position {
  std::string line;        ///< begun, not ended
  bool line_open = false;  ///< a line of the file has begun; carriage returns do not end it
  bool line_cut = false;
  Phase phase = Phase::kStarting;
  std::string first_time, last_time;
  std::string last_process;                         ///< that opened a traceback
  std::map<std::string, OpenTraceback> open;        ///< by process
  std::map<std::string, std::string> closed;        ///< by process whose last line ended a traceback: its error
  std::map<std::string, std::string> chained;       ///< by process: the next traceback belongs to that error
  std::map<std::string, std::int64_t> progress;     ///< by fact and process: the value of the running progress bar
  std::map<std::string, std::int64_t> progress_at;  ///< and its line
  std::vector<std::string> ready_processes;         ///< since the last start
};
BOOST_DESCRIBE_STRUCT(Position, (),
                      (line, line_open, line_cut, phase, first_time, last_time, last_process, open, closed, chained, progress, progress_at, ready_processes))

/// Reads one log in chunks of any size. Pure: the same bytes give the same evidence, however they are cut, also when an extraction
/// is saved and gone on with in between. What a carriage return would overwrite on a terminal is a text of its own; lines are counted by line feeds. ANSI
/// sequences are dropped; bytes that are no text stay as they are.
class Extractor {
 public:
  /// `book` outlives it. `evidence` and `position` of an earlier extraction go on where it stopped.
  explicit Extractor(const SignatureBook& book, Limits limits = {}, Evidence evidence = {}, Position position = {});

  void feed(std::string_view chunk);
  /// What was read so far; a line without its end counts too. `feed` may go on afterwards.
  [[nodiscard]] Evidence evidence() const;
  /// For a later extraction, with `so_far`.
  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] const Evidence& so_far() const { return evidence_; }

 private:
  struct Message {
    std::string_view text, time, level, process, pid;
  };

  void segment(std::string_view part, bool ended);
  void line(std::string_view raw);
  void take(std::string_view clean);
  void detect();
  [[nodiscard]] bool applies(int engine) const;
  [[nodiscard]] Message strip(std::string_view clean);
  /// True: the line belongs to a traceback.
  bool in_traceback(const Message& message);
  void open_traceback(const Message& message);
  void close_traceback(const std::string& process);
  /// True: the line is dealt with.
  bool apply(const Signature& signature, const Message& message);
  void http(const Signature& signature);
  void ready(const Message& message);
  void start();
  void fact(const std::string& name, std::string_view value, std::string_view process, std::int64_t at);
  void settle_progress();
  void mark(std::vector<Marked>& list, const char* name, const Message& message);
  void deprecation(const Signature& signature, const Message& message);
  void notice(const Message& message);
  void not_kept(const char* what) { ++evidence_.not_kept[what]; }

  const SignatureBook& book_;
  const Limits limits_;
  Evidence evidence_;
  Position position_;
  std::vector<bool> engines_;                           ///< by number: gave itself away
  std::unordered_map<std::string, std::size_t> forms_;  ///< form of a notice → its index
  std::vector<int> literals_, candidates_;
  std::vector<std::string_view> groups_;
  std::string clean_, form_;
};

/// A text without what changes from run to run: numbers, addresses, hashes, folders. Lists of numbers become one.
[[nodiscard]] std::string form_of(std::string_view text);

/// What the engine said about its failure or may have, in the order of the log: errors of tracebacks, crashes, lines that a diagnosis begins with.
/// Not what came after a shutdown. For playbook::Playbook::classify.
[[nodiscard]] std::vector<std::string> suspect_lines(const Evidence& evidence);

}  // namespace pawl::evidence
