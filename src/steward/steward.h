#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "control/decide.h"
#include "steward/performer.h"
#include "steward/world.h"

namespace pawl::steward {

/// Tables steward_candidate, steward_journal, steward_outbox, steward_inbox, steward_claim, steward_push,
/// steward_baseline, steward_proposal.
[[nodiscard]] store::Schema steward_schema();

struct StartRequest {
  std::string recipe, image, policy, eval_task;
  model::Scale scale;
  /// Asked with the image that is pinned now; its error refuses the start, before anything is written. May be empty.
  std::function<Status(const std::string& image_old)> accept = {};
};

/// A lease is good for this long after its holder last wrote.
inline constexpr std::int64_t kLeaseSeconds = 120;
/// Refusals of an effect by the outside before the command ends with its error; the effect stays pending.
inline constexpr std::int64_t kTransientTries = 8;
/// Failures of an effect by a defect of ours before the candidate ends as unexpected-error.
inline constexpr std::int64_t kInternalTries = 3;

/// The durable shell around `control::decide`: one transaction writes state, journal and outbox; commands of the outbox
/// are performed afterwards, each under its key, and answer with an event. Whatever happened to an earlier process, the
/// next `run` goes on where the database says. One thread per object. Several stewards may share a database: each
/// candidate has one holder at a time, and what a former holder still writes is refused by its fence.
class Steward {
 public:
  explicit Steward(StewardWorld world) : world_(std::move(world)), performer_(world_) {}
  Steward(const Steward&) = delete;
  Steward& operator=(const Steward&) = delete;

  /// Records the candidate. One of this recipe and image that has not ended yet is returned as it is. Errors: unknown
  /// recipe, bad image, unknown policy, the recipe is being moved to another image (kConflict).
  Result<control::Candidate> start(const StartRequest& request);

  enum class Progress {
    kWorked,
    kWaiting,  ///< the next command is not due yet
    kEnded,    ///< terminal, and everything due was performed
    kBusy      ///< another steward holds it
  };
  struct Stepped {
    Progress progress = Progress::kWorked;
    std::int64_t due = 0;  ///< of the next command when kWaiting: seconds since 1970
  };
  /// Takes in one thing that happened, or performs one command.
  Result<Stepped> step(const std::string& id, std::stop_token stop);

  /// Works until the candidate has ended, or is parked: then nothing of it needs a process (`parked` is set). Errors
  /// leave the state as it is: kCancelled when `stop` fired, kConflict when another steward holds it, anything else when
  /// a command could not be performed; calling again resumes.
  Result<control::Candidate> run(const std::string& id, std::stop_token stop);

  /// Works through everything that is due now, of every candidate. Returns when the next is due (seconds since 1970; 0:
  /// nothing is pending).
  Result<std::int64_t> pass(std::stop_token stop);

  /// Takes in something that was told from outside, once per `delivery`. What a forge tells is a hint only: the request is
  /// read instead. Returns false when it was delivered before.
  Result<bool> deliver(const std::string& delivery, const std::string& id, const control::Event& event);

  /// Lets go of the recipe of a candidate that has ended or is parked, by hand.
  Status release(const std::string& id);

  Result<std::optional<control::Candidate>> find(const std::string& id);
  Result<std::vector<control::Candidate>> list();
  /// Null while there is none.
  Result<std::shared_ptr<const model::Baseline>> frozen_baseline(const std::string& id) { return performer_.frozen_baseline(id); }
  [[nodiscard]] Performer& performer() { return performer_; }
  /// Commands of a candidate that wait to be performed.
  Result<std::vector<control::Command>> pending(const std::string& id);

 private:
  struct Pending {
    std::int64_t seq = 0, tries = 0;
    control::Command command;
  };
  struct Held {
    std::int64_t fence = 0;
    control::Candidate candidate;
  };

  /// What a step needs to know of a candidate, read at once.
  struct Glance {
    std::int64_t fence = 0, lease_until = 0;
    bool told = false;  ///< something waits in the inbox
    std::optional<Pending> next;
  };
  Result<Glance> glance(const std::string& id);
  /// Takes the candidate; nothing when another holder has it.
  Result<Held*> take(const std::string& id);
  Status let_go(const std::string& id);
  Status take_inbox(Held& held);
  /// The one transaction: marks the command performed, journals the event, writes the new state and its commands.
  /// `delivery`: of the inbox, taken in with it.
  Status absorb(Held& held, const Pending* answered, std::optional<control::Event> event, const std::string& delivery = {});
  Result<Stepped> trouble(Held& held, const Pending& pending, Error error);
  [[nodiscard]] std::int64_t now_s() const;

  StewardWorld world_;
  Performer performer_;
  std::map<std::string, Held> held_;
};

/// Reads a candidate's record; one that an earlier pawl wrote gets what it did not have yet.
[[nodiscard]] Result<control::Candidate> parse_candidate(const std::string& text);

}  // namespace pawl::steward
