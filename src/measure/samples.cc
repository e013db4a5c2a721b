#include "measure/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"
#include "measure/describe.h"

namespace pawl::measure {
namespace {

constexpr std::size_t kExactSamples = 32768;
constexpr double kNanosPerMs = 1e6;

}  // namespace

void SampleSet::spill() {
  if (spilled_) return;
  spilled_ = true;
  for (const stats::Weighted& item : values_) histogram_.add(std::llround(item.value * kNanosPerMs), item.weight);
  values_ = {};
}

void SampleSet::add(double ms, std::int64_t weight, bool coalesced) {
  ++count_;
  if (coalesced) ++coalesced_;
  if (!spilled_ && values_.size() == kExactSamples) spill();
  if (spilled_) {
    histogram_.add(std::llround(ms * kNanosPerMs), weight);
  } else {
    values_.push_back({ms, weight});
  }
}

void SampleSet::merge(const SampleSet& other) {
  count_ += other.count_;
  coalesced_ += other.coalesced_;
  if (other.spilled_ || values_.size() + other.values_.size() > kExactSamples) spill();
  if (!spilled_) {
    values_.insert(values_.end(), other.values_.begin(), other.values_.end());
    return;
  }
  for (const stats::Weighted& item : other.values_) histogram_.add(std::llround(item.value * kNanosPerMs), item.weight);
  histogram_.merge(other.histogram_);
}

double SampleSet::coalesced_share() const { return count_ == 0 ? 0 : static_cast<double>(coalesced_) / static_cast<double>(count_); }

model::Distribution SampleSet::describe(bool weighted) const {
  if (spilled_) return describe_histogram(histogram_, weighted);
  if (weighted) return describe_weighted(values_);
  std::vector<double> values;
  values.reserve(values_.size());
  for (const stats::Weighted& item : values_) values.push_back(item.value);
  return measure::describe(std::move(values));
}

model::BenchHistogram SampleSet::buckets() const {
  return plot_buckets([&](const std::function<void(double, std::int64_t)>& put) {
    for (const stats::Weighted& item : values_) put(item.value, item.weight);
    histogram_.for_each([&](double nanos, std::int64_t n) { put(nanos / kNanosPerMs, n); });
  });
}

void RequestTable::finish_block() {
  std::vector<double> by_column(block_.size());
  for (std::size_t row = 0; row < kBlockRows; ++row) {
    for (std::size_t c = 0; c < columns_; ++c) by_column[c * kBlockRows + row] = block_[row * columns_ + c];
  }
  block_.clear();
  if (spill_ != nullptr && spill_works_ && kept_.size() >= kKeptBlocks) {
    if (const auto offset = spill_->append(std::as_bytes(std::span<const double>(by_column)))) {
      spilled_.push_back(*offset);
      return;
    }
    spill_works_ = false;
  }
  kept_.push_back(std::move(by_column));
}

void RequestTable::add(std::span<const double> row) {
  PAWL_ASSERT(row.size() == columns_);
  block_.insert(block_.end(), row.begin(), row.end());
  ++rows_;
  if (block_.size() == kBlockRows * columns_) finish_block();
}

void RequestTable::visit(const std::function<void(std::span<const double>)>& each) const {
  std::vector<double> row(columns_);
  const auto visit_block = [&](const std::vector<double>& by_column) {
    for (std::size_t r = 0; r < kBlockRows; ++r) {
      for (std::size_t c = 0; c < columns_; ++c) row[c] = by_column[c * kBlockRows + r];
      each(row);
    }
  };
  for (const auto& block : kept_) visit_block(block);
  std::vector<double> block(spilled_.empty() ? 0 : kBlockRows * columns_);
  for (const std::uint64_t offset : spilled_) {
    if (!spill_->read(offset, std::as_writable_bytes(std::span<double>(block)))) {
      damaged_ = true;
      std::ranges::fill(block, std::numeric_limits<double>::quiet_NaN());
    }
    visit_block(block);
  }
  for (std::size_t at = 0; at < block_.size(); at += columns_) each(std::span<const double>(block_).subspan(at, columns_));
}

void RequestTable::merge(const RequestTable& other) {
  PAWL_ASSERT(columns_ == other.columns_);
  other.visit([this](std::span<const double> row) { add(row); });
  damaged_ = damaged_ || other.damaged_;
}

std::vector<double> RequestTable::column(std::size_t index) const {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(rows_));
  for (const auto& block : kept_)
    out.insert(out.end(), block.begin() + static_cast<std::ptrdiff_t>(index * kBlockRows),
               block.begin() + static_cast<std::ptrdiff_t>((index + 1) * kBlockRows));
  std::vector<double> part(kBlockRows);
  for (const std::uint64_t start : spilled_) {
    const std::uint64_t offset = start + index * kBlockRows * sizeof(double);
    if (!spill_->read(offset, std::as_writable_bytes(std::span<double>(part)))) {
      damaged_ = true;
      std::ranges::fill(part, std::numeric_limits<double>::quiet_NaN());
    }
    out.insert(out.end(), part.begin(), part.end());
  }
  for (std::size_t at = index; at < block_.size(); at += columns_) out.push_back(block_[at]);
  return out;
}

std::vector<double> RequestTable::known(std::size_t index) const {
  std::vector<double> out = column(index);
  std::erase_if(out, [](double value) { return std::isnan(value); });
  return out;
}

}  // namespace pawl::measure
