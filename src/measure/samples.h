#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/bench_details.h"
#include "model/distribution.h"
#include "stats/log_histogram.h"
#include "stats/percentile.h"

namespace pawl::measure {

/// Durations that come many to a request: gaps, times per token, receive delays. Exact up to 32,768 of them, from there
/// on a histogram within 0.1 % (BC-8.10); n, sum, min and max are exact in both. At most about 1 MiB, whatever the number.
/// Merging loses nothing: parts merged in any order equal what a single thread would have.
class SampleSet {
 public:
  void add(double ms, std::int64_t weight = 1, bool coalesced = false);
  void merge(const SampleSet& other);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool exact() const { return !spilled_; }
  /// Share of the samples that are marked as coalesced; 0 for no samples.
  [[nodiscard]] double coalesced_share() const;
  /// `weighted`: each sample counts as often as its weight, and has no interval.
  [[nodiscard]] model::Distribution describe(bool weighted) const;
  [[nodiscard]] model::BenchHistogram buckets() const;

 private:
  void spill();
  std::vector<stats::Weighted> values_;  ///< ms
  stats::LogHistogram histogram_;        ///< ns
  bool spilled_ = false;
  std::int64_t count_ = 0, coalesced_ = 0;
};

/// Where rows go that memory should not hold: append-only bytes, read back by offset. Implemented by the load generator
/// over an unlinked temporary file. May fail; then the rows stay in memory. One serves several tables of a thread.
class Spill {
 public:
  virtual ~Spill() = default;
  virtual Result<std::uint64_t> append(std::span<const std::byte> bytes) = 0;  ///< gives the offset
  virtual Status read(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

/// Numbers of requests, one row a request, exact for any number of them (BC-8.10): the first rows and the newest block
/// stay in memory, the rest goes to the spill, so that memory is flat. Unknown is NaN.
class RequestTable {
 public:
  /// `spill` may be null (all in memory) and must outlive the table.
  RequestTable(std::size_t columns, Spill* spill) : columns_(columns), spill_(spill) {}

  void add(std::span<const double> row);
  void merge(const RequestTable& other);
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// One column, unknown ones included; all columns are in the same order. 8 bytes a row while the caller holds it.
  [[nodiscard]] std::vector<double> column(std::size_t index) const;
  /// Calls `each` with every row, in the order of `column`; holds one block at a time.
  void visit(const std::function<void(std::span<const double> row)>& each) const;
  /// A column without what is unknown.
  [[nodiscard]] std::vector<double> known(std::size_t index) const;
  /// Rows could not be read back: numbers of this table are not all there.
  [[nodiscard]] bool damaged() const { return damaged_; }
  /// Bytes held in memory, for the bound that is stated.
  [[nodiscard]] std::size_t memory() const { return block_.capacity() * sizeof(double) + kept_.size() * kBlockRows * columns_ * sizeof(double); }

 private:
  static constexpr std::size_t kBlockRows = 1024;
  static constexpr std::size_t kKeptBlocks = 16;  ///< below that a run needs no file
  void finish_block();

  std::size_t columns_;
  Spill* spill_;
  bool spill_works_ = true;
  mutable bool damaged_ = false;
  std::int64_t rows_ = 0;
  std::vector<double> block_;              ///< the newest rows, row after row
  std::vector<std::vector<double>> kept_;  ///< full blocks in memory, column after column
  std::vector<std::uint64_t> spilled_;     ///< offsets of the full blocks in the spill
};

}  // namespace pawl::measure
