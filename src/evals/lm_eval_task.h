#pragma once

#include <string>

#include "base/result.h"
#include "codec/yaml.h"
#include "evals/task.h"

namespace pawl::evals {

/// Whether a task file is one of lm-eval's: by keys that only these have.
[[nodiscard]] bool is_lm_eval_task(const codec::YamlNode& root);

/// Reads a task file of lm-eval 0.4 (its YAML without Python and without a template language beyond field names). `task`: with what is known already.
/// Understood: dataset_path json or `data_set`, splits, doc_to_text, doc_to_target, doc_to_choice, num_fewshot with the sampler first_n, delimiters,
/// generation_kwargs (greedy), filter_list of regex and take_first, exact_match and acc. A key beyond that is an error that names it: a score
/// of a task that was half understood would be compared with one that was not.
[[nodiscard]] Result<Task> read_lm_eval_task(const codec::YamlDocument& document, Task task, const std::string& data_set, const DataReader& data);

}  // namespace pawl::evals
