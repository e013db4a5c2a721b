#include "twin/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::twin {
namespace {

struct Rule {
  std::string image;
  std::optional<std::string> model_prefix, runner;
  std::string profile;
};
BOOST_DESCRIBE_STRUCT(Rule, (), (image, model_prefix, runner, profile))

struct Rules {
  std::vector<Rule> rules;
};
BOOST_DESCRIBE_STRUCT(Rules, (), (rules))

template <class T>
Result<T> read_yaml(const io::Assets& assets, const std::string& file) {
  PAWL_ASSIGN(std::string text, assets.read(file));
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(text), file));
  PAWL_ASSIGN(const codec::Json value, codec::yaml_value(document, document.root));
  return codec::from_json<T>(value, file);
}

Status check(Profile& p, const std::string& file) {
  const auto wrong = [&](const std::string& what) { return bad_input(fmt::format("{}: {}", file, what)); };
  if (!(p.load_s >= 0 && p.load_s <= 3600)) return wrong("load_s must be 0 to 3600 s");
  if (!(p.accuracy >= 0 && p.accuracy <= 1)) return wrong("accuracy must be 0 to 1");
  if (p.context_length < 1 || p.max_running_requests < 1) return wrong("context_length and max_running_requests must be at least 1");
  if (p.law.empty()) return wrong("law has no entry");
  for (auto& [tp, law] : p.law) {
    const auto gpus = parse_int(tp);
    if (!gpus || *gpus < 1) return wrong(fmt::format("law.{}: the key must be a number of GPUs", tp));
    PAWL_TRY(engine_law::complete(law, fmt::format("{}: law.{}", file, tp)));
  }
  if (p.poll_steps_from) {
    for (const auto& [from, steps] : *p.poll_steps_from) {
      if (parse_int(from).value_or(0) < 1 || steps < 1) return wrong("poll_steps_from: concurrencies and steps must be at least 1");
    }
  }
  if (p.scaling && !(p.scaling->serial_share >= 0 && p.scaling->serial_share <= 1 && p.scaling->weights_gpus >= 0 && p.scaling->ep_imbalance >= 0)) {
    return wrong("scaling: serial_share must be 0 to 1, weights_gpus and ep_imbalance not negative");
  }
  for (const auto& [flag, instead] : p.deprecated.value_or(std::map<std::string, std::string>{})) {
    if (std::ranges::find(p.flags, flag) == p.flags.end()) return wrong(fmt::format("deprecated: {} is not among flags", flag));
  }
  for (const std::string& flag : p.flags) {
    if (!flag.starts_with("--")) return wrong(fmt::format("flags: {} has no dashes", flag));
  }
  return {};
}

}  // namespace

std::int64_t Profile::poll_steps(std::int64_t conc) const {
  std::int64_t best = -1, steps = 1;
  if (!poll_steps_from) return steps;
  for (const auto& [key, value] : *poll_steps_from) {
    const std::int64_t from = parse_int(key).value_or(0);
    if (from > conc || from <= best) continue;
    best = from;
    steps = value;
  }
  return steps;
}

engine_law::Law Profile::law_for(std::int64_t tp, std::int64_t expert_parallel) const {
  const engine_law::Law* best = nullptr;
  double best_distance = 0;
  std::int64_t best_gpus = 0;
  for (const auto& [key, candidate] : law) {
    const std::int64_t gpus = parse_int(key).value_or(1);
    const double distance = std::abs(std::log2(static_cast<double>(gpus)) - std::log2(static_cast<double>(std::max<std::int64_t>(1, tp))));
    if (best == nullptr || distance < best_distance || (distance == best_distance && gpus < best_gpus)) {
      best = &candidate;
      best_distance = distance;
      best_gpus = gpus;
    }
  }
  if (!scaling) return *best;
  return engine_law::scaled(*best, *scaling, best_gpus, std::max<std::int64_t>(1, tp), ep.value_or(1), std::max<std::int64_t>(1, expert_parallel));
}

std::vector<std::string> profile_names(const io::Assets& assets) {
  std::vector<std::string> names;
  for (const std::string& file : assets.list("twins/")) {
    if (file.ends_with(".yaml")) names.push_back(file.substr(6, file.size() - 11));
  }
  return names;
}

Result<Profile> load_profile(const io::Assets& assets, const std::string& name) {
  const std::string file = "twins/" + name + ".yaml";
  auto profile = read_yaml<Profile>(assets, file);
  if (!profile) {
    if (profile.error().cls != ErrorClass::kNotFound) return std::move(profile).error();
    const auto names = profile_names(assets);
    return not_found(fmt::format("there is no twin profile {}", name), "profiles: " + join(names, ", "));
  }
  PAWL_TRY(check(*profile, file));
  if (profile->name != name) return bad_input(fmt::format("{}: its name is {}", file, profile->name), "a profile has the name of its file");
  return profile;
}

Result<std::string> profile_for(const io::Assets& assets, const std::string& image, const std::string& model_prefix, const std::string& runner) {
  PAWL_ASSIGN(const Rules rules, read_yaml<Rules>(assets, "twin.yaml"));
  for (const Rule& rule : rules.rules) {
    if (glob_match(rule.image, image) && glob_match(rule.model_prefix.value_or("*"), model_prefix) && glob_match(rule.runner.value_or("*"), runner)) {
      return rule.profile;
    }
  }
  return not_found(fmt::format("no rule of twin.yaml matches image {}, model {}, runner {}", image, model_prefix, runner));
}

}  // namespace pawl::twin
