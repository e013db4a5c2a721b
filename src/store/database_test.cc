#include "store/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace pawl::store {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pawl-store-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
  std::vector<Schema> schema_{{"t", {"CREATE TABLE t_a (x INTEGER, y TEXT) STRICT", "ALTER TABLE t_a ADD COLUMN z REAL"}}};
};

TEST_F(DatabaseTest, ValuesGoInAndComeBack) {
  auto db = Database::open(folder_ / "a.db", schema_);
  ASSERT_TRUE(db) << db.error().message;
  ASSERT_TRUE(db->execute("INSERT INTO t_a VALUES (?1, ?2, ?3)", {std::int64_t{1} << 60, std::string("中\0x", 5), 0.1}));
  ASSERT_TRUE(db->execute("INSERT INTO t_a VALUES (?1, ?2, ?3)", {std::nullopt, std::nullopt, std::nullopt}));
  int rows = 0;
  ASSERT_TRUE(db->query("SELECT x, y, z FROM t_a ORDER BY rowid", {}, [&](const Row& row) {
    if (rows++ == 0) {
      EXPECT_EQ(row.whole(0), std::int64_t{1} << 60);
      EXPECT_EQ(row.text(1), std::string("中\0x", 5));
      EXPECT_EQ(row.number(2), 0.1);
    } else {
      EXPECT_TRUE(row.is_null(0) && row.is_null(1) && row.is_null(2));
    }
    return Status();
  }));
  EXPECT_EQ(rows, 2);
}

TEST_F(DatabaseTest, AFailedTransactionLeavesNothing) {
  auto db = Database::open(folder_ / "b.db", schema_);
  ASSERT_TRUE(db);
  const Status status = db->transaction([&]() -> Status {
    PAWL_TRY(db->execute("INSERT INTO t_a (x) VALUES (1)"));
    PAWL_TRY(db->transaction([&] { return db->execute("INSERT INTO t_a (x) VALUES (2)"); }));
    return bad_input("no");
  });
  EXPECT_FALSE(status);
  std::int64_t count = -1;
  ASSERT_TRUE(db->query("SELECT count(*) FROM t_a", {}, [&](const Row& row) {
    count = row.whole(0);
    return Status();
  }));
  EXPECT_EQ(count, 0);
}

TEST_F(DatabaseTest, OlderFilesMoveForwardAndNewerOnesAreRefused) {
  { ASSERT_TRUE(Database::open(folder_ / "c.db", {{"t", {schema_[0].steps[0]}}})); }
  { ASSERT_TRUE(Database::open(folder_ / "c.db", schema_)); }
  const auto old = Database::open(folder_ / "c.db", {{"t", {schema_[0].steps[0]}}});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().exit, ExitStatus::kBadInput);
  EXPECT_NE(old.error().message.find("newer pawl"), std::string::npos);
}

TEST_F(DatabaseTest, AFileThatIsNoDatabaseIsBadInput) {
  std::ofstream(folder_ / "d.db") << std::string(4096, 'x');
  const auto db = Database::open(folder_ / "d.db", schema_);
  ASSERT_FALSE(db);
  EXPECT_EQ(db.error().exit, ExitStatus::kBadInput);
}

}  // namespace
}  // namespace pawl::store
