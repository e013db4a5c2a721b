#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pawl::model {

/// What a data set turned out to be: printed before the first request and stored in the result (BC-10.7, BC-10.10).
struct BenchDataSet {
  std::string dataset;    ///< "random", "sharegpt", …
  std::string path;       ///< of its file; empty without one
  std::string tokenizer;  ///< name of the tokenizer that counted; empty: none, lengths of text are words
  std::int64_t seed = 0;
  std::uint64_t salt = 0;                       ///< BC-9.10: other content of the same lengths
  std::optional<std::int64_t> rows, kept;       ///< rows of the file, and how many of them are usable
  std::map<std::string, std::int64_t> dropped;  ///< by reason
  std::int64_t requests = 0;                    ///< asked for; 0: not bounded by count
  std::int64_t repeats = 0;                     ///< requests that use a row again
  std::optional<std::int64_t> sessions;         ///< only where requests depend on each other
  std::optional<double> mean_isl, mean_osl;     ///< tokens, over the rows or, without rows, as expected
  std::optional<double> predicted_hit_ratio;    ///< share of input tokens that an infinite cache holds already (BC-10.7)
  std::optional<std::int64_t> block_tokens;     ///< of that prediction
  std::vector<std::string> notes;               ///< what a reader should know: rules that were bent, and why
};
BOOST_DESCRIBE_STRUCT(BenchDataSet, (),
                      (dataset, path, tokenizer, seed, salt, rows, kept, dropped, requests, repeats, sessions, mean_isl, mean_osl, predicted_hit_ratio,
                       block_tokens, notes))

}  // namespace pawl::model
