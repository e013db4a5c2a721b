#include "plan/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/object_check.h"
#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::YamlEntry;
using codec::YamlNode;

// ── components (4.6) ─────────────────────────────────────────────────────────────────────────────────────────────────

FieldCheck version() {
  return [](SchemaContext& context, const YamlNode& value, const std::string& path) {
    const std::size_t before = context.count();
    a_text(false)(context, value, path);
    if (context.count() == before && value.text.starts_with("image:")) {
      context.complain(value, "M-40", path, "'version' is not an image reference: it must not begin with 'image:'", "a version such as \"0.9.1\"");
    }
  };
}

FieldCheck component(const char* what, bool version_required) {
  auto object = std::make_shared<ObjectCheck>(
      what, std::vector<Field>{{"name", true, a_text(false)}, {"version", version_required, version_required ? version() : optional(version())}});
  return [object](SchemaContext& context, const YamlNode& value, const std::string& path) {
    Fields fields;
    object->run(context, value, path, fields);
  };
}

// ── cross rules shared by entries and workers ────────────────────────────────────────────────────────────────────────

/// M-21. False when it complained.
bool divisible(SchemaContext& context, const Fields& fields, const std::string& path) {
  const YamlNode *tp = fields.value("tp"), *dcp = fields.value("dcp-size");
  if (tp == nullptr || dcp == nullptr) return true;
  const auto size = strict_int(*dcp).value_or(1), all = lax_int(*tp).value_or(0);
  if (all % size == 0) return true;
  context.complain(*dcp, "M-21", path + ".dcp-size", fmt::format("tp ({}) must be divisible by dcp-size ({})", all, size), "a divisor of tp");
  return false;
}

/// M-20, and O-4 beyond it.
bool concurrency(SchemaContext& context, const YamlNode& node, const Fields& fields, const std::string& path) {
  const YamlNode *start = fields.value("conc-start"), *end = fields.value("conc-end"), *list = fields.value("conc-list");
  const bool has_range = start != nullptr && end != nullptr, has_list = list != nullptr && !list->items.empty();
  const std::size_t before = context.count();
  if (has_range && has_list) {
    context.complain(*list, "M-20", path + ".conc-list", "Cannot specify both a range (conc-start, conc-end) and conc-list", "one of the two");
  } else if (!has_range && !has_list) {
    context.complain(node, "M-20", path, "Must specify either conc-start and conc-end, or conc-list",
                     "conc-start and conc-end, or a conc-list that is not empty");
  } else if (has_range) {
    const auto first = lax_int(*start).value_or(0), last = lax_int(*end).value_or(0);
    for (const auto& [bound, name, value] : {std::tuple{start, "conc-start", first}, {end, "conc-end", last}}) {
      if (value > 0 || context.count() != before) continue;
      context.complain(*bound, "M-20", fmt::format("{}.{}", path, name), fmt::format("'{}' must be greater than 0, found {}", name, value),
                       "an integer above 0");
    }
    if (context.count() == before && first > last) {
      context.complain(*start, "M-20", path + ".conc-start", fmt::format("conc-start ({}) must be <= conc-end ({})", first, last), "conc-start <= conc-end");
    }
    for (const auto& [bound, name] : {std::pair{start, "conc-start"}, {end, "conc-end"}}) {
      if (context.count() != before || !bound->is_text()) continue;
      context.complain(*bound, "O-4", fmt::format("{}.{}", path, name), fmt::format("'{}' is a text: the reference accepts it and then never ends", name),
                       "an integer without quotes");
    }
  } else {
    for (std::size_t i = 0; i < list->items.size() && context.count() == before; ++i) {
      if (lax_int(list->items[i]).value_or(0) > 0) continue;
      context.complain(list->items[i], "M-20", fmt::format("{}.conc-list[{}]", path, i),
                       fmt::format("every item of conc-list must be greater than 0, found {}", list->items[i].text), "an integer above 0");
    }
  }
  return context.count() == before;
}

/// M-22.
void hardware_pair(SchemaContext& context, const YamlNode& node, const Fields& fields, const std::string& path) {
  const auto named = [&](const char* role) {
    const YamlNode* worker = fields.value(role);
    const YamlNode* hardware = worker != nullptr ? worker->find("hardware") : nullptr;
    return hardware != nullptr && !is_null(*hardware);
  };
  const bool prefill = named("prefill"), decode = named("decode");
  if (prefill == decode) return;
  context.complain(node, "M-22", path,
                   fmt::format("hardware must be given on both prefill and decode or on neither; here only {} has it", prefill ? "prefill" : "decode"),
                   "both or neither");
}

FieldCheck worker() {
  static const ObjectCheck object("a worker", {{"num-worker", true, a_lax_int()},
                                               {"tp", true, a_lax_int()},
                                               {"pp", false, a_size()},
                                               {"dcp-size", false, a_size()},
                                               {"pcp-size", false, a_size()},
                                               {"ep", true, a_lax_int()},
                                               {"dp-attn", true, a_lax_bool()},
                                               {"hardware", false, optional(a_text(false))},
                                               {"additional-settings", false, optional(list_of(a_text()))}});
  return [](SchemaContext& context, const YamlNode& value, const std::string& path) {
    Fields fields;
    if (object.run(context, value, path, fields)) divisible(context, fields, path);
  };
}

// ── search-space entries ─────────────────────────────────────────────────────────────────────────────────────────────

std::vector<Field> with_common(std::vector<Field> fields) {
  fields.push_back({"spec-decoding", false, one_of({"mtp", "draft_model", "none"})});
  fields.push_back({"router", false, optional(component("a router", true))});
  fields.push_back({"conc-start", false, optional(a_lax_int())});
  fields.push_back({"conc-end", false, optional(a_lax_int())});
  fields.push_back({"conc-list", false, optional(list_of(a_lax_int()))});
  return fields;
}

void single_entry(SchemaContext& context, const YamlNode& node, const std::string& path) {
  static const ObjectCheck object("a single-node search-space entry", with_common({{"tp", true, a_lax_int()},
                                                                                   {"pp", false, a_size()},
                                                                                   {"dcp-size", false, a_size()},
                                                                                   {"pcp-size", false, a_size()},
                                                                                   {"ep", false, optional(a_lax_int())},
                                                                                   {"dp-attn", false, optional(a_lax_bool())}}));
  Fields fields;
  if (object.run(context, node, path, fields) && concurrency(context, node, fields, path)) divisible(context, fields, path);
}

void multi_entry(SchemaContext& context, const YamlNode& node, const std::string& path) {
  static const ObjectCheck object("a multi-node search-space entry",
                                  with_common({{"prefill", true, worker()}, {"decode", true, worker()}, {"kv-p2p-transfer", false, optional(a_text(false))}}));
  Fields fields;
  if (object.run(context, node, path, fields) && concurrency(context, node, fields, path)) hardware_pair(context, node, fields, path);
}

/// Cross rules M-31 to M-34 of an agentic entry, the first that is broken.
void agentic_rules(SchemaContext& context, const YamlNode& node, const Fields& fields, const std::string& path) {
  const YamlNode *offload = fields.value("kv-offloading"), *backend = fields.value("kv-offload-backend");
  const bool dram = offload != nullptr && offload->text == "dram";
  if (backend != nullptr && !dram) {
    context.complain(*backend, "M-31", path + ".kv-offload-backend", "kv-offload-backend stands only beside kv-offloading: dram", "no kv-offload-backend");
    return;
  }
  if (dram && backend == nullptr) {
    context.complain(*offload, "M-31", path + ".kv-offloading", "kv-offloading: dram needs a kv-offload-backend", "kv-offload-backend: {name: …}");
    return;
  }
  const YamlNode *tp = fields.value("tp"), *prefill = fields.value("prefill"), *decode = fields.value("decode");
  if (tp != nullptr ? prefill != nullptr || decode != nullptr : prefill == nullptr || decode == nullptr) {
    context.complain(node, "M-32", path, "an agentic entry has either tp, or both prefill and decode", "tp (one node), or prefill and decode (several)");
    return;
  }
  if (tp != nullptr) {
    if (offload == nullptr) {
      context.complain(node, "M-33", path, "an agentic entry with tp must give kv-offloading", "kv-offloading: none or dram");
      return;
    }
    divisible(context, fields, path);
    return;
  }
  for (const char* size : {"pp", "dcp-size", "pcp-size"}) {
    const YamlNode* written = fields.given(size);
    if (written == nullptr) continue;
    context.complain(*written, "M-34", fmt::format("{}.{}", path, size),
                     fmt::format("'{}' belongs on the workers of a multi-node entry, not on the entry", size), "prefill and decode carry it");
    return;
  }
  hardware_pair(context, node, fields, path);
}

void agentic_entry(SchemaContext& context, const YamlNode& node, const std::string& path) {
  static const ObjectCheck object("an agentic search-space entry",
                                  with_common({{"tp", false, optional(a_lax_int())},
                                               {"pp", false, a_size()},
                                               {"dcp-size", false, a_size()},
                                               {"pcp-size", false, a_size()},
                                               {"ep", false, optional(a_lax_int())},
                                               {"dp-attn", false, optional(a_lax_bool())},
                                               {"prefill", false, optional(worker())},
                                               {"decode", false, optional(worker())},
                                               {"kv-offloading", false, optional(one_of({"none", "dram"}))},
                                               {"kv-offload-backend", false, optional(component("a kv-offload-backend", false))},
                                               {"kv-p2p-transfer", false, optional(a_text(false))}}));
  Fields fields;
  if (object.run(context, node, path, fields) && concurrency(context, node, fields, path)) agentic_rules(context, node, fields, path);
}

// ── scenario items ───────────────────────────────────────────────────────────────────────────────────────────────────

FieldCheck fixed_item(bool multi) {
  auto object = std::make_shared<ObjectCheck>(
      "a fixed-seq-len item",
      std::vector<Field>{{"isl", true, a_lax_int()}, {"osl", true, a_lax_int()}, {"search-space", true, list_of(multi ? multi_entry : single_entry)}});
  return [object](SchemaContext& context, const YamlNode& value, const std::string& path) {
    Fields fields;
    object->run(context, value, path, fields);
  };
}

FieldCheck utilization() {
  return [](SchemaContext& context, const YamlNode& value, const std::string& path) {
    const auto number = lax_float(value);
    if (number && *number > 0 && *number <= 1) return;
    context.complain(value, "type", path, fmt::format("'dram-utilization' must be a number above 0 and at most 1, found {}", describe(value)), "0 < x <= 1");
  };
}

FieldCheck agentic_item() {
  static const ObjectCheck object("an agentic-coding item",
                                  {{"search-space", true, list_of(agentic_entry)}, {"dram-utilization", false, optional(utilization())}});
  return [](SchemaContext& context, const YamlNode& value, const std::string& path) {
    Fields fields;
    if (!object.run(context, value, path, fields) || fields.value("dram-utilization") != nullptr) return;
    for (const YamlNode& entry : fields.given("search-space")->items) {
      for (const char* key : {"kv-offloading", "kv_offloading"}) {
        const YamlNode* offload = entry.find(key);
        if (offload == nullptr || offload->text != "dram") continue;
        context.complain(*offload, "M-30", path, "kv-offloading: dram needs dram-utilization on the agentic-coding item", "dram-utilization: 0.80");
        return;
      }
    }
  };
}

// ── config entries ───────────────────────────────────────────────────────────────────────────────────────────────────

const YamlNode* either(const YamlNode& node, const char* kebab, const char* snake) {
  const YamlNode* found = node.find(kebab);
  return found != nullptr ? found : node.find(snake);
}

FieldCheck scenarios(bool multi) {
  auto object = std::make_shared<ObjectCheck>("scenarios", std::vector<Field>{{"fixed-seq-len", false, optional(list_of(fixed_item(multi)))},
                                                                              {"agentic-coding", false, optional(list_of(agentic_item()))}});
  return [object](SchemaContext& context, const YamlNode& value, const std::string& path) {
    Fields fields;
    if (!object->run(context, value, path, fields)) return;
    for (const char* name : {"fixed-seq-len", "agentic-coding"}) {
      const YamlNode* list = fields.value(name);
      if (list != nullptr && !list->items.empty()) return;
    }
    context.complain(value, "M-13", path, "at least one scenario must have items", "fixed-seq-len or agentic-coding with at least one item");
  };
}

const ObjectCheck& config_object(bool multi) {
  const auto make = [](bool several) {
    std::vector<Field> fields;
    for (const char* name : {"image", "model", "model-prefix", "precision", "framework", "runner"}) fields.push_back({name, true, a_text()});
    fields.push_back({"multinode", true, a_literal(several, "M-10")});
    fields.push_back({"disagg", false, several ? a_lax_bool() : a_literal(false, "M-11")});
    fields.push_back({"router", false, optional(component("a router", true))});
    if (several) fields.push_back({"kv-p2p-transfer", false, optional(a_text(false))});
    fields.push_back({"scenarios", true, scenarios(several)});
    return ObjectCheck(several ? "a multi-node entry" : "a single-node entry", std::move(fields));
  };
  static const ObjectCheck single_object = make(false), multi_object = make(true);
  return multi ? multi_object : single_object;
}

/// Every search-space entry of a valid config, with its path.
std::vector<std::pair<const YamlNode*, std::string>> entries_of(const YamlNode& scenarios_node) {
  std::vector<std::pair<const YamlNode*, std::string>> all;
  for (const auto& [kebab, snake] : {std::pair{"fixed-seq-len", "fixed_seq_len"}, {"agentic-coding", "agentic_coding"}}) {
    const YamlNode* items = either(scenarios_node, kebab, snake);
    if (items == nullptr) continue;
    for (std::size_t i = 0; i < items->items.size(); ++i) {
      const YamlNode* space = either(items->items[i], "search-space", "search_space");
      for (std::size_t k = 0; space != nullptr && k < space->items.size(); ++k) {
        all.emplace_back(&space->items[k], fmt::format("scenarios.{}[{}].search-space[{}]", kebab, i, k));
      }
    }
  }
  return all;
}

/// M-14 to M-17, the first that is broken.
void config_rules(SchemaContext& context, const Fields& fields, bool multi) {
  const YamlNode& scenarios_node = *fields.given("scenarios");
  const YamlNode* agentic = either(scenarios_node, "agentic-coding", "agentic_coding");
  const YamlNode& runner = *fields.given("runner");
  if (agentic != nullptr && !agentic->items.empty() && !runner.text.starts_with("cluster:")) {
    context.complain(runner, "M-14", "runner", fmt::format("Agentic master configs must use a runner that begins with 'cluster:', found '{}'", runner.text),
                     "cluster:<fleet>");
    return;
  }
  const auto entries = entries_of(scenarios_node);
  const auto set_in = [&](const YamlNode& entry, const char* kebab, const char* snake) -> const YamlNode* {
    const YamlNode* found = either(entry, kebab, snake);
    return found == nullptr || is_null(*found) ? nullptr : found;
  };
  for (const auto& [kebab, snake] : {std::pair{"router", "router"}, {"kv-p2p-transfer", "kv_p2p_transfer"}}) {
    if (fields.value(kebab) == nullptr) continue;
    for (const auto& [entry, path] : entries) {
      const YamlNode* here = set_in(*entry, kebab, snake);
      if (here == nullptr) continue;
      context.complain(*here, "M-15", fmt::format("{}.{}", path, kebab),
                       fmt::format("{} must be declared either on the entry or in its search-space entries, not both", kebab), "one place");
      return;
    }
  }
  std::size_t with_transfer = 0;
  for (const auto& [entry, path] : entries) {
    const YamlNode* here = set_in(*entry, "kv-p2p-transfer", "kv_p2p_transfer");
    if (here == nullptr) continue;
    ++with_transfer;
    if (multi) continue;
    context.complain(*here, "M-16", path + ".kv-p2p-transfer", "a single-node entry cannot have kv-p2p-transfer", "no kv-p2p-transfer");
    return;
  }
  const YamlNode* disagg = fields.value("disagg");
  if (!multi || disagg == nullptr || !lax_bool(*disagg).value_or(false) || fields.value("kv-p2p-transfer") != nullptr) return;
  if (!entries.empty() && with_transfer == entries.size()) return;
  context.complain(*disagg, "M-17", "disagg", "disagg=true requires kv-p2p-transfer on the entry or on every search-space entry", "kv-p2p-transfer: <name>");
}

void validate_config(const Catalogue& catalogue, const Recipe& recipe, std::vector<Violation>& out) {
  if (recipe.node->kind != YamlNode::Kind::kMapping) return;  // said while loading
  SchemaContext context(catalogue.document(recipe.file), recipe.key, out);
  const YamlNode* multinode = recipe.node->find("multinode");
  const bool multi = multinode != nullptr && truthy(*multinode);
  Fields fields;
  if (config_object(multi).run(context, *recipe.node, "", fields)) config_rules(context, fields, multi);
}

// ── runners.yaml (5) ─────────────────────────────────────────────────────────────────────────────────────────────────

void label_nodes(SchemaContext& context, const YamlEntry& label, const std::string& path) {
  const YamlNode& value = label.value;
  if (value.kind != YamlNode::Kind::kSequence) {
    context.complain(value, "R-02", path, fmt::format("the label '{}' must be a list of node names, found {}", label.key.text, describe(value)), "a list");
    return;
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (value.items[i].is_text()) continue;
    context.complain(value.items[i], "R-03", fmt::format("{}[{}]", path, i),
                     fmt::format("the label '{}' must contain only strings, found {}", label.key.text, describe(value.items[i])), "a text");
  }
  if (value.items.empty()) context.complain(value, "R-04", path, fmt::format("the label '{}' cannot be an empty list", label.key.text), "at least one node");
}

void validate_runners(const codec::YamlDocument& document, std::vector<Violation>& out) {
  SchemaContext context(document, {}, out);
  const YamlNode* labels = document.root.kind == YamlNode::Kind::kMapping ? document.root.find("labels") : nullptr;
  if (labels == nullptr || labels->kind != YamlNode::Kind::kMapping) {
    context.complain(labels == nullptr ? document.root : *labels, "R-01", "labels", "runners.yaml needs a labels mapping", "labels: {<label>: [<node>, …]}");
    return;
  }
  static const ObjectCheck machine("a hardware entry", {{"available-cpu-dram-mib", true, a_positive_lax_int()}, {"gpus-per-node", true, a_positive_lax_int()}});
  static const ObjectCheck object("runners.yaml",
                                  {{"labels", true,
                                    [](SchemaContext& c, const YamlNode& value, const std::string& path) {
                                      for (const YamlEntry& label : value.entries) {
                                        if (!label.key.is_text()) {
                                          c.complain(label.key, "R-01", path, fmt::format("a label must be a text, found {}", describe(label.key)), "a text");
                                        } else {
                                          label_nodes(c, label, path + "." + label.key.text);
                                        }
                                      }
                                    }},
                                   {"hardware", false, [](SchemaContext& c, const YamlNode& value, const std::string& path) {
                                      if (value.kind != YamlNode::Kind::kMapping) {
                                        c.complain(value, "type", path, fmt::format("'hardware' must be a mapping, found {}", describe(value)), "a mapping");
                                        return;
                                      }
                                      for (const YamlEntry& label : value.entries) {
                                        Fields fields;
                                        machine.run(c, label.value, path + "." + label.key.text, fields);
                                      }
                                    }}});
  Fields fields;
  object.run(context, document.root, "", fields);
}

}  // namespace

Error Violation::error() const {
  std::string text = message;
  if (!config.empty() && !message.contains("failed validation"))
    text = fmt::format("{} failed validation: {}{}", config, path.empty() ? "" : path + ": ", message);
  std::string remedy = !nearest.empty() ? fmt::format("did you mean {}?", nearest) : expected.empty() ? "" : "expected " + expected;
  return bad_input(std::move(text), std::move(remedy)).at(place);
}

std::vector<Violation> validate_recipe(const Catalogue& catalogue, const Recipe& recipe) {
  std::vector<Violation> out;
  validate_config(catalogue, recipe, out);
  return out;
}

std::vector<Violation> validate(const Catalogue& catalogue) {
  std::vector<Violation> out;
  for (const Recipe& recipe : catalogue.recipes()) validate_config(catalogue, recipe, out);
  if (const auto* runners = catalogue.runners()) validate_runners(*runners, out);
  return out;
}

Status check(const Catalogue& catalogue) {
  std::vector<Violation> out;
  for (const Recipe& recipe : catalogue.recipes()) {
    validate_config(catalogue, recipe, out);
    if (!out.empty()) return out.front().error();
  }
  if (const auto* runners = catalogue.runners()) validate_runners(*runners, out);
  if (!out.empty()) return out.front().error();
  return {};
}

std::vector<Violation> validate_texts(const Layout& layout, const std::map<std::string, std::string>& texts) {
  std::vector<LoadProblem> problems;
  const Catalogue catalogue = Catalogue::read_leniently(layout, texts, problems);
  std::vector<Violation> out;
  for (LoadProblem& problem : problems) {
    SourcePlace place = problem.error.place.value_or(SourcePlace{});
    out.push_back({problem.rule, problem.config, {}, problem.error.message, problem.error.remedy, {}, std::move(place)});
  }
  if (!texts.contains(layout.runners)) {
    out.push_back({"R-01",
                   {},
                   {},
                   layout.shown_folder + layout.runners + " does not exist",
                   "a runners file with a labels mapping",
                   {},
                   {layout.shown_folder + layout.runners, 0, 0, {}}});
  }
  std::ranges::move(validate(catalogue), std::back_inserter(out));
  return out;
}

}  // namespace pawl::plan
