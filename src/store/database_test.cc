#include "store/database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "store/driver.h"
#include "store/testing/postgres_server.h"

namespace pawl::store {
namespace {

std::int64_t count_of(Database& db, const std::string& sql) {
  std::int64_t count = -1;
  const Status read = db.query(sql, {}, [&](const Row& row) {
    count = row.whole(0);
    return Status();
  });
  EXPECT_TRUE(read) << read.error().message;
  return count;
}

/// What both engines promise.
class DatabaseContract : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pawl-store-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    if (!postgres()) {
      place_ = (folder_ / "pawl.db").string();
    } else if (testing::PostgresServer::instance().up()) {
      place_ = testing::PostgresServer::instance().fresh_database();
    } else {
      GTEST_SKIP() << testing::PostgresServer::kMissing;
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] bool postgres() const { return std::string(GetParam()) == "postgresql"; }
  Database open() {
    auto db = Database::open_place(place_, schema_);
    EXPECT_TRUE(db) << db.error().message;
    return std::move(*db);
  }
  std::filesystem::path folder_;
  std::string place_;
  std::vector<Schema> schema_{{"t", {"CREATE TABLE t_a (x INTEGER, y TEXT) STRICT", "ALTER TABLE t_a ADD COLUMN z REAL"}}};
};

INSTANTIATE_TEST_SUITE_P(Engines, DatabaseContract, ::testing::Values("sqlite", "postgresql"), [](const auto& engine) { return std::string(engine.param); });

TEST_P(DatabaseContract, ValuesGoInAndComeBack) {
  Database db = open();
  EXPECT_EQ(db.engine(), GetParam());
  ASSERT_TRUE(db.execute("INSERT INTO t_a VALUES (?1, ?2, ?3)", {std::int64_t{1} << 60, "中 'quoted' ?1", 0.1}));
  ASSERT_TRUE(db.execute("INSERT INTO t_a VALUES (?1, ?2, ?3)", {std::nullopt, std::nullopt, std::nullopt}));
  ASSERT_TRUE(db.execute("INSERT INTO t_a VALUES (?1, ?2, ?3)", {-3, "", 1e-300}));
  int rows = 0;
  ASSERT_TRUE(db.query("SELECT x, y, z FROM t_a ORDER BY z IS NULL, z DESC", {}, [&](const Row& row) {
    if (rows == 0) {
      EXPECT_EQ(row.whole(0), std::int64_t{1} << 60);
      EXPECT_EQ(row.text(1), "中 'quoted' ?1");
      EXPECT_EQ(row.number(2), 0.1);
    } else if (rows == 1) {
      EXPECT_EQ(row.whole(0), -3);
      EXPECT_TRUE(!row.is_null(1) && row.text(1).empty());
      EXPECT_EQ(row.number(2), 1e-300);
    } else {
      EXPECT_TRUE(row.is_null(0) && row.is_null(1) && row.is_null(2));
    }
    ++rows;
    return Status();
  }));
  EXPECT_EQ(rows, 3);
}

TEST_P(DatabaseContract, AQuestionMarkInATextIsNoParameter) {
  Database db = open();
  ASSERT_TRUE(db.execute("INSERT INTO t_a (y) VALUES ('?1 stays')"));
  EXPECT_EQ(count_of(db, "SELECT count(*) FROM t_a WHERE y = '?1 stays'"), 1);
}

TEST_P(DatabaseContract, OneStatementMayRunInsideOfItself) {
  Database db = open();
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(db.execute("INSERT INTO t_a (x) VALUES (?1)", {i}));
  int pairs = 0;
  const std::string sql = "SELECT x FROM t_a WHERE x <= ?1 ORDER BY x";
  ASSERT_TRUE(db.query(sql, {3}, [&](const Row& outer) {
    return db.query(sql, {outer.whole(0)}, [&](const Row&) {
      ++pairs;
      return Status();
    });
  }));
  EXPECT_EQ(pairs, 6);
}

TEST_P(DatabaseContract, MoreStatementsThanAreKeptStillRun) {
  Database db = open();
  for (int i = 0; i < 300; ++i) EXPECT_EQ(count_of(db, "SELECT " + std::to_string(i)), i);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(count_of(db, "SELECT " + std::to_string(i)), i);
}

TEST_P(DatabaseContract, ChangesAndIdsAreTold) {
  schema_.push_back({"u", {"CREATE TABLE u_a (id INTEGER PRIMARY KEY, x INTEGER NOT NULL UNIQUE) STRICT"}});
  Database db = open();
  ASSERT_TRUE(db.execute("INSERT INTO u_a (x) VALUES (?1)", {7}));
  const std::int64_t first = db.last_id();
  ASSERT_TRUE(db.execute("INSERT INTO u_a (x) VALUES (?1)", {8}));
  EXPECT_EQ(db.last_id(), first + 1);
  ASSERT_TRUE(db.execute("UPDATE u_a SET x = x + 10"));
  EXPECT_EQ(db.changes(), 2);
  ASSERT_TRUE(db.execute("INSERT INTO u_a (x) VALUES (?1) ON CONFLICT DO NOTHING", {17}));
  EXPECT_EQ(db.changes(), 0);
  const Status twice = db.execute("INSERT INTO u_a (x) VALUES (?1)", {17});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().cls, ErrorClass::kConflict);
  EXPECT_TRUE(db.has_table("u_a").value());
  EXPECT_FALSE(db.has_table("u_b").value());
  EXPECT_TRUE(db.check().value().empty());
}

TEST_P(DatabaseContract, AFailedTransactionLeavesNothing) {
  Database db = open();
  const Status status = db.transaction([&]() -> Status {
    PAWL_TRY(db.execute("INSERT INTO t_a (x) VALUES (1)"));
    PAWL_TRY(db.transaction([&] { return db.execute("INSERT INTO t_a (x) VALUES (2)"); }));
    return bad_input("no");
  });
  EXPECT_FALSE(status);
  EXPECT_EQ(count_of(db, "SELECT count(*) FROM t_a"), 0);
  EXPECT_THROW((void)db.transaction([&]() -> Status {
    PAWL_TRY(db.execute("INSERT INTO t_a (x) VALUES (1)"));
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(count_of(db, "SELECT count(*) FROM t_a"), 0);
  ASSERT_TRUE(db.transaction([&] { return db.execute("INSERT INTO t_a (x) VALUES (3)"); }));
  EXPECT_EQ(count_of(db, "SELECT count(*) FROM t_a"), 1);
}

TEST_P(DatabaseContract, ASnapshotIsOfOneInstantAndWritesNothing) {
  Database reader = open(), writer = open();
  ASSERT_TRUE(writer.execute("INSERT INTO t_a (x) VALUES (1)"));
  ASSERT_TRUE(reader.snapshot([&]() -> Status {
    EXPECT_EQ(count_of(reader, "SELECT count(*) FROM t_a"), 1);
    // Nobody waits for the reader.
    PAWL_TRY(writer.transaction([&] { return writer.execute("INSERT INTO t_a (x) VALUES (2)"); }));
    EXPECT_EQ(count_of(reader, "SELECT count(*) FROM t_a"), 1);
    return {};
  }));
  EXPECT_EQ(count_of(reader, "SELECT count(*) FROM t_a"), 2);
}

TEST_P(DatabaseContract, WritersComeOneAfterTheOther) {
  { open(); }
  constexpr int kThreads = 4, kSteps = 25;
  std::atomic<int> failures = 0;
  {
    Database db = open();
    ASSERT_TRUE(db.execute("INSERT INTO t_a (x) VALUES (0)"));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      auto db = Database::open_place(place_, schema_);
      for (int step = 0; db && step < kSteps; ++step) {
        // Reads, then writes what it read: lost when two do it at once.
        const Status done = db->transaction([&]() -> Status {
          std::int64_t x = -1;
          PAWL_TRY(db->query("SELECT x FROM t_a", {}, [&](const Row& row) {
            x = row.whole(0);
            return Status();
          }));
          return db->execute("UPDATE t_a SET x = ?1", {x + 1});
        });
        if (!done) ++failures;
      }
      if (!db) ++failures;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failures, 0);
  Database db = open();
  EXPECT_EQ(count_of(db, "SELECT x FROM t_a"), kThreads * kSteps);
}

TEST_P(DatabaseContract, OldTablesMoveForwardAndNewerOnesAreRefused) {
  { ASSERT_TRUE(Database::open_place(place_, {{"t", {schema_[0].steps[0]}}})); }
  bool ran = false;
  schema_[0].steps[1].code = [&](Database& db) {
    ran = true;
    return db.execute("INSERT INTO t_a (z) VALUES (0.5)");
  };
  {
    Database db = open();
    EXPECT_TRUE(ran);
    EXPECT_EQ(count_of(db, "SELECT count(*) FROM t_a WHERE z = 0.5"), 1);
  }
  ran = false;
  { open(); }
  EXPECT_FALSE(ran);
  const auto old = Database::open_place(place_, {{"t", {schema_[0].steps[0]}}});
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().exit, ExitStatus::kBadInput);
  EXPECT_NE(old.error().message.find("newer pawl"), std::string::npos);
}

TEST_P(DatabaseContract, AStepThatFailsLeavesTheOldTables) {
  { ASSERT_TRUE(Database::open_place(place_, {{"t", {schema_[0].steps[0]}}})); }
  schema_[0].steps[1].code = [](Database&) -> Status { return bad_input("no"); };
  const auto failed = Database::open_place(place_, schema_);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("no"), std::string::npos);
  schema_[0].steps[1].code = {};
  Database db = open();
  EXPECT_EQ(count_of(db, "SELECT count(*) FROM t_a WHERE z IS NULL"), 0);
}

TEST(Sqlite, ATextMayHoldANulByte) {
  auto db = Database::open_memory({{"t", {"CREATE TABLE t_a (y TEXT) STRICT"}}});
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->execute("INSERT INTO t_a VALUES (?1)", {std::string("中\0x", 5)}));
  ASSERT_TRUE(db->query("SELECT y FROM t_a", {}, [&](const Row& row) {
    EXPECT_EQ(row.text(0), std::string("中\0x", 5));
    return Status();
  }));
}

TEST(Sqlite, AFileThatIsNoDatabaseIsBadInput) {
  const auto file = std::filesystem::temp_directory_path() / ("pawl-store-no-" + std::to_string(::getpid()));
  std::ofstream(file) << std::string(4096, 'x');
  const auto db = Database::open(file, {});
  std::filesystem::remove(file);
  ASSERT_FALSE(db);
  EXPECT_EQ(db.error().exit, ExitStatus::kBadInput);
}

TEST(Sqlite, ABackupIsAWholeFileOfOneInstant) {
  const auto folder = std::filesystem::temp_directory_path() / ("pawl-store-backup-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::vector<Schema> schema{{"t", {"CREATE TABLE t_a (x INTEGER) STRICT"}}};
  auto db = Database::open(folder / "a.db", schema);
  ASSERT_TRUE(db && db->execute("INSERT INTO t_a VALUES (41)"));
  ASSERT_TRUE(db->backup_to(folder / "b.db"));
  ASSERT_TRUE(db->execute("INSERT INTO t_a VALUES (42)"));
  auto copy = Database::open(folder / "b.db", schema);
  ASSERT_TRUE(copy);
  EXPECT_EQ(count_of(*copy, "SELECT sum(x) FROM t_a"), 41);
  std::filesystem::remove_all(folder);
}

TEST(Postgres, AServerThatDoesNotAnswerIsThePeersTroubleAndNoPasswordIsTold) {
  const auto db = Database::open_place("postgresql://me:secret@127.0.0.1:1/x?connect_timeout=2", {});
  ASSERT_FALSE(db);
  EXPECT_EQ(db.error().exit, ExitStatus::kPeer);
  EXPECT_EQ(db.error().message.find("secret"), std::string::npos) << db.error().message;
  EXPECT_NE(db.error().message.find("127.0.0.1:1"), std::string::npos) << db.error().message;
}

TEST(Postgres, SchemaWordsAreTranslated) {
  EXPECT_EQ(postgres_schema("CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, r REAL, INTEGERS TEXT) STRICT"),
            "CREATE TABLE a (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, n BIGINT NOT NULL, r DOUBLE PRECISION, INTEGERS TEXT) ");
  EXPECT_EQ(postgres_placeholders("a = ?1 AND b = '?2' AND c = ?12"), "a = $1 AND b = '?2' AND c = $12");
}

}  // namespace
}  // namespace pawl::store
