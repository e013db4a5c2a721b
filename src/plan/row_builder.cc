#include "plan/row_builder.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "codec/json_member.h"
#include "plan/dram.h"
#include "plan/generator.h"

namespace pawl::plan {
namespace {

using codec::Json;
using codec::YamlNode;

constexpr std::int64_t kModelLenMargin = 256;
constexpr std::int64_t kAgenticSeconds = 3600;
constexpr const char* kSizes[] = {"pp", "dcp-size", "pcp-size"};

using codec::member;

/// `entry.get(key, otherwise)`, a null counting as absent.
Json value_or(const Json& entry, const char* key, Json otherwise) {
  const Json* found = member(entry, key);
  return found == nullptr || found->is_null() ? otherwise : *found;
}

/// Appends a member that is not there yet: rows are built in order, so no look-up is needed.
void put(Json& row, const char* key, Json value) {
  auto& members = static_cast<Json::object_t::Container&>(row.get_ref<Json::object_t&>());
  members.emplace_back(key, std::move(value));
}

constexpr std::size_t kRowKeys = 26;
Json new_row() {
  Json row = Json::object();
  row.get_ref<Json::object_t&>().reserve(kRowKeys);
  return row;
}

bool is_text(const Json* value, std::string_view text) { return value != nullptr && value->is_string() && value->get_ref<const std::string&>() == text; }
bool offloading(const Json& row) { return !is_text(member(row, "kv-offloading"), "none"); }

/// "p2x2", "d1x8ep8dpa"
std::string role_text(char letter, const Json& worker) {
  std::string text(1, letter);
  text.append(python_text(*member(worker, "num-worker"))).append("x").append(python_text(*member(worker, "tp")));
  const Json& ep = *member(worker, "ep");
  const auto number = number_of(ep);
  if (!number || number->value != 1) text += "ep" + python_text(ep);
  if (truthy(*member(worker, "dp-attn"))) text += "dpa";
  return text;
}

}  // namespace

Error RowBuilder::wrong(const YamlNode& node, std::string message, std::string remedy) const {
  return bad_input(fmt::format("{}: {}", recipe_.key, message), std::move(remedy)).at(catalogue_.place(recipe_, node));
}

Result<const Json*> RowBuilder::need(const Json& mapping, const char* key, const YamlNode& node) const {
  const Json* found = member(mapping, key);
  if (found == nullptr) return wrong(node, fmt::format("the key '{}' is missing", key), "the generator reads the spelling with '-' only");
  return found;
}

Result<Json> RowBuilder::head() const {
  Json row = new_row();
  for (const char* name : {"image", "model", "model-prefix", "precision", "framework", "runner"}) {
    PAWL_ASSIGN(const Json* value, need(config_, name, *recipe_.node));
    put(row, name, *value);
  }
  return row;
}

Result<RowBuilder::Lengths> RowBuilder::lengths(const Json& item, const YamlNode& node) const {
  PAWL_ASSIGN(const Json* isl, need(item, "isl", node));
  PAWL_ASSIGN(const Json* osl, need(item, "osl", node));
  PAWL_ASSIGN(const Json* prefix, need(config_, "model-prefix", *recipe_.node));
  const auto in = number_of(*isl), out = number_of(*osl);
  if (!in || !out) return wrong(node, "isl and osl must be numbers without quotes");
  const auto sum = checked_add(in->value, out->value);
  const auto length = sum ? checked_add(*sum, kModelLenMargin) : std::nullopt;
  if (!length) return wrong(node, "isl and osl are too large");
  std::string sequence = sequence_name(in->value, out->value);
  if (sequence.contains('_')) sequence = python_text(*isl) + "_" + python_text(*osl);
  return Lengths{*isl, *osl, Number{*length, in->is_float || out->is_float}.json(), python_text(*prefix) + "_" + sequence};
}

void RowBuilder::component(const Json& entry, const char* name, Json& row) const {
  const Json* value = member(entry, name);
  if (value == nullptr) value = member(config_, name);
  if (value != nullptr && !value->is_null()) put(row, name, *value);
}

Status RowBuilder::transfer(const Json& entry, const YamlNode& node, Json& row) const {
  component(entry, "kv-p2p-transfer", row);
  const Json& disagg = *member(row, "disagg");
  const bool on = disagg.is_string() ? bool_of_text(disagg.get_ref<const std::string&>()).value_or(false) : truthy(disagg);
  if (on && member(row, "kv-p2p-transfer") == nullptr) return wrong(node, "disagg=true requires kv-p2p-transfer, and this entry sets it to null");
  return {};
}

Result<Json> RowBuilder::worker(const Json& entry, const char* role, const YamlNode& node) const {
  PAWL_ASSIGN(const Json* written, need(entry, role, node));
  if (!written->is_object()) return wrong(node, fmt::format("a multi-node recipe needs '{}' in every search-space entry", role));
  Json worker = *written;
  for (const char* name : {"num-worker", "tp", "ep", "dp-attn"}) PAWL_TRY(need(worker, name, node));
  for (const char* size : kSizes) {
    if (member(worker, size) == nullptr) put(worker, size, 1);
  }
  return worker;
}

Result<Json> RowBuilder::single_fixed(const Json& entry, const YamlNode& node, const Lengths& lengths) const {
  PAWL_ASSIGN(Json row, head());
  PAWL_ASSIGN(const Json* tp, need(entry, "tp", node));
  put(row, "isl", lengths.isl);
  put(row, "osl", lengths.osl);
  put(row, "tp", *tp);
  for (const char* size : kSizes) put(row, size, value_or(entry, size, 1));
  put(row, "conc", nullptr);
  put(row, "max-model-len", lengths.max_model_len);
  put(row, "ep", value_or(entry, "ep", 1));
  put(row, "dp-attn", value_or(entry, "dp-attn", false));
  put(row, "spec-decoding", value_or(entry, "spec-decoding", "none"));
  put(row, "exp-name", lengths.exp_name);
  put(row, "disagg", value_or(config_, "disagg", false));
  put(row, "run-eval", false);
  component(entry, "router", row);
  return row;
}

Result<Json> RowBuilder::multi_fixed(const Json& entry, const YamlNode& node, const Lengths& lengths) const {
  PAWL_ASSIGN(Json row, head());
  put(row, "isl", lengths.isl);
  put(row, "osl", lengths.osl);
  put(row, "spec-decoding", value_or(entry, "spec-decoding", "none"));
  for (const char* role : {"prefill", "decode"}) {
    PAWL_ASSIGN(Json made, worker(entry, role, node));
    put(row, role, std::move(made));
  }
  put(row, "conc", nullptr);
  put(row, "max-model-len", lengths.max_model_len);
  put(row, "exp-name", lengths.exp_name);
  put(row, "disagg", value_or(config_, "disagg", false));
  put(row, "run-eval", false);
  component(entry, "router", row);
  PAWL_TRY(transfer(entry, node, row));
  return row;
}

Result<Json> RowBuilder::single_agentic(const Json& item, const Json& entry, const YamlNode& node) const {
  PAWL_ASSIGN(Json row, head());
  PAWL_ASSIGN(const Json* tp, need(entry, "tp", node));
  if (tp->is_null()) return wrong(node, "a single-node recipe needs 'tp' in every search-space entry");
  PAWL_ASSIGN(const Json* offload, need(entry, "kv-offloading", node));
  put(row, "tp", *tp);
  for (const char* size : kSizes) put(row, size, value_or(entry, size, 1));
  put(row, "ep", value_or(entry, "ep", 1));
  put(row, "dp-attn", value_or(entry, "dp-attn", false));
  put(row, "spec-decoding", value_or(entry, "spec-decoding", "none"));
  put(row, "conc", nullptr);
  put(row, "kv-offloading", *offload);
  PAWL_ASSIGN(const std::int64_t gigabytes, dram(item, entry, row, node));
  put(row, "total-cpu-dram-gb", gigabytes);
  put(row, "duration", kAgenticSeconds);
  put(row, "exp-name", nullptr);
  put(row, "scenario-type", "agentic-coding");
  if (const Json* backend = member(entry, "kv-offload-backend"); backend != nullptr && !backend->is_null()) put(row, "kv-offload-backend", *backend);
  component(entry, "router", row);
  return row;
}

Result<Json> RowBuilder::multi_agentic(const Json& item, const Json& entry, const YamlNode& node) const {
  PAWL_ASSIGN(Json row, head());
  put(row, "spec-decoding", value_or(entry, "spec-decoding", "none"));
  for (const char* role : {"prefill", "decode"}) {
    PAWL_ASSIGN(Json made, worker(entry, role, node));
    put(row, role, std::move(made));
  }
  put(row, "conc", nullptr);
  put(row, "kv-offloading", value_or(entry, "kv-offloading", "none"));
  PAWL_ASSIGN(const std::int64_t gigabytes, dram(item, entry, row, node));
  put(row, "total-cpu-dram-gb", gigabytes);
  put(row, "duration", kAgenticSeconds);
  put(row, "exp-name", nullptr);
  put(row, "disagg", value_or(config_, "disagg", false));
  put(row, "scenario-type", "agentic-coding");
  if (const Json* backend = member(entry, "kv-offload-backend"); backend != nullptr && !backend->is_null()) put(row, "kv-offload-backend", *backend);
  component(entry, "router", row);
  PAWL_TRY(transfer(entry, node, row));
  return row;
}

std::string RowBuilder::agentic_name(const Json& row, const Json& conc) {
  std::string kv = "kvnone";
  if (offloading(row)) kv = fmt::format("kv{}-{}", python_text(*member(row, "kv-offloading")), python_text(row["kv-offload-backend"]["name"]));
  const std::string prefix = python_text(*member(row, "model-prefix"));
  if (member(row, "prefill") != nullptr) {
    std::string name =
        fmt::format("{}_{}_{}_conc{}", prefix, role_text('p', *member(row, "prefill")), role_text('d', *member(row, "decode")), python_text(conc));
    return offloading(row) ? name + "_" + kv : name;
  }
  std::string name = fmt::format("{}_tp{}_conc{}_{}", prefix, python_text(*member(row, "tp")), python_text(conc), kv);
  return is_text(member(row, "spec-decoding"), "none") ? name : name + "_spec-" + python_text(*member(row, "spec-decoding"));
}

Result<std::int64_t> RowBuilder::dram(const Json& item, const Json& entry, const Json& row, const YamlNode& node) const {
  if (!is_text(member(row, "kv-offloading"), "dram")) return 0;
  const Json* backend = member(entry, "kv-offload-backend");
  if (backend == nullptr || !backend->is_object() || !backend->contains("name"))
    return wrong(node, "kv-offloading: dram needs a kv-offload-backend with a name");
  PAWL_ASSIGN(const Json* utilization, need(item, "dram-utilization", node));
  const std::string label = recipe_.runner();
  const Hardware* hardware = catalogue_.hardware(label);
  if (hardware == nullptr || hardware->dram_mib <= 0 || hardware->gpus_per_node <= 0) {
    return wrong(node,
                 fmt::format("available-cpu-dram-mib and gpus-per-node of the runner label '{}' are missing from hardware in {}", label,
                             catalogue_.layout().shown_folder + catalogue_.layout().runners),
                 fmt::format("add hardware: {}: {{available-cpu-dram-mib: …, gpus-per-node: …}}", label));
  }
  const std::int64_t per_node = hardware->gpus_per_node;
  const bool multi = member(row, "prefill") != nullptr;
  const Json& from = multi ? row["prefill"] : row;
  std::int64_t gpus = 1;
  for (const char* name : {"tp", "pp", "pcp-size"}) {
    const auto size = number_of(from[name]);
    const auto product = size && size->value >= 0 ? checked_mul(gpus, size->value) : std::nullopt;
    if (!product) return wrong(node, fmt::format("'{}' must be a number without quotes, not below 0", name));
    gpus = *product;
  }
  if (!multi) {
    if (gpus > per_node) return wrong(node, fmt::format("tp × pp × pcp-size = {} exceeds gpus-per-node ({}) of '{}'", gpus, per_node, label));
  } else if (gpus > per_node) {
    if (gpus % per_node != 0) {
      return wrong(node,
                   fmt::format("a prefill worker of {} GPUs spans multiple nodes, but is no multiple of gpus-per-node ({}) of '{}'", gpus, per_node, label));
    }
    gpus = per_node;
  } else if (gpus == 0 || per_node % gpus != 0) {
    return wrong(node, fmt::format("a prefill worker of {} GPUs does not divide gpus-per-node ({}) of '{}'", gpus, per_node, label));
  }
  const auto gigabytes = dram_gigabytes(hardware->dram_mib, python_text(*utilization), gpus, per_node);
  if (!gigabytes) return wrong(node, fmt::format("dram-utilization {} is not a decimal number", python_text(*utilization)));
  return *gigabytes;
}

}  // namespace pawl::plan
