#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codec/json_schema.h"
#include "io/domain/sweep_runner.h"
#include "model/bench_result.h"
#include "model/job.h"
#include "model/row.h"

/// The files of data/schemas against the structs that they describe. The four of our own documents are generated whole;
/// the two of rows are written by hand, except for their object `pawl`.
namespace pawl::model {
namespace {

using codec::Json;

std::string schema_file(const std::string& name) { return std::string(PAWL_SOURCE_DIR) + "/data/schemas/" + name + ".schema.json"; }

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_shipped(const std::string& name, const std::string& generated) {
  const std::string path = schema_file(name);
  if (read(path) == generated) return;
  if (std::getenv("PAWL_ACCEPT") != nullptr) {
    std::ofstream(path, std::ios::binary) << generated;
    GTEST_SKIP() << "rewrote " << path << "; run the test again without PAWL_ACCEPT";
  }
  EXPECT_EQ(read(path), generated) << path << " is not the schema of the struct any more. A change that other programs notice needs a new number in\n"
                                   << "the document's name. To refresh the file: PAWL_ACCEPT=1 build/dev/bin/model_test --gtest_filter='ShippedSchemas.*'";
}

/// The hand-written schema `name`, with the members of RowOrigin put into its object `pawl`.
std::string with_row_origin(const std::string& name) {
  Json document = Json::parse(read(schema_file(name)));
  const Json origin = codec::schema_part<RowOrigin>();
  Json& pawl = document["properties"]["pawl"];
  for (const auto& [key, part] : origin["properties"].items()) pawl["properties"][key] = part;
  for (const Json& key : origin["required"]) {
    if (std::find(pawl["required"].begin(), pawl["required"].end(), key) == pawl["required"].end()) pawl["required"].push_back(key);
  }
  return codec::write_json_pretty(document);
}

TEST(ShippedSchemas, BenchResult) {
  expect_shipped("bench-result", codec::write_json_pretty(codec::schema_of<BenchResult>("Result of one load run: pawl bench --json")));
}
TEST(ShippedSchemas, Job) {
  expect_shipped("job", codec::write_json_pretty(codec::schema_of<JobSpec>("What one job of a sweep does: spec.json, read by pawl job")));
}
TEST(ShippedSchemas, JobResult) {
  expect_shipped("job-result", codec::write_json_pretty(codec::schema_of<JobResult>("What one job of a sweep found: result.json, written by pawl job")));
}
TEST(ShippedSchemas, SweepRequest) {
  expect_shipped("sweep-request", codec::write_json_pretty(codec::schema_of<io::SweepRequest>("What a run of a sweep was asked to execute")));
}
TEST(ShippedSchemas, ResultRowHoldsTheRowOrigin) { expect_shipped("result-row", with_row_origin("result-row")); }
TEST(ShippedSchemas, EvalRowHoldsTheRowOrigin) { expect_shipped("eval-row", with_row_origin("eval-row")); }

}  // namespace
}  // namespace pawl::model
