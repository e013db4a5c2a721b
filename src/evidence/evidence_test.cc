#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "codec/describe.h"
#include "evidence/difference.h"
#include "evidence/extraction.h"
#include "evidence/key_values.h"
#include "evidence/literal_set.h"
#include "playbook/playbook.h"

namespace pawl::evidence {
namespace {

std::vector<std::pair<std::string, std::string>> shipped_files() {
  std::vector<std::pair<std::string, std::string>> files;
  for (const char* name : {"common", "sglang", "vllm", "trtllm", "dynamo", "llamacpp"}) {
    const std::string file = std::string("evidence/") + name + ".yaml";
    std::ifstream in(std::filesystem::path(PAWL_SOURCE_DIR) / "data" / file);
    std::stringstream text;
    text << in.rdbuf();
    files.emplace_back(file, text.str());
  }
  return files;
}

const SignatureBook& book() {
  static const SignatureBook kBook = [] {
    auto parsed = SignatureBook::parse(shipped_files());
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed ? std::move(*parsed) : SignatureBook{};
  }();
  return kBook;
}

Evidence read(std::string_view log, Limits limits = {}) {
  Extractor extractor(book(), limits);
  extractor.feed(log);
  return extractor.evidence();
}

std::string fact(const Evidence& evidence, const std::string& name) {
  std::string all;
  for (const Fact& one : evidence.facts) {
    if (one.name == name) all += (all.empty() ? "" : ", ") + one.value;
  }
  return all;
}

// Log lines of our own wording, in the manner of each engine.
const std::string kSglang =
    "/opt/x/sglang/launch_server.py:12: UserWarning: 'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended way.\n"
    "[2026-03-04 05:06:07] server_args=ServerArgs(model_path='/m', tp_size=2, cuda_graph_bs=[1, 2], note='a, b', none=None)\n"
    "[2026-03-04 05:06:08 TP0] Load weight begin. avail mem=80.00 GB\n"
    "[2026-03-04 05:06:08 TP1] Load weight begin. avail mem=80.00 GB\n"
    "[2026-03-04 05:06:18 TP0] Load weight end. elapsed=9.75 s, type=ToyForCausalLM, avail mem=60.00 GB, mem usage=20.00 GB.\n"
    "[2026-03-04 05:06:18 TP1] Load weight end. elapsed=9.75 s, type=ToyForCausalLM, avail mem=60.00 GB, mem usage=20.00 GB.\n"
    "[2026-03-04 05:06:19 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 123456, K size: 1.00 GB, V size: 1.00 GB\n"
    "[2026-03-04 05:06:20 TP0] Capture target decode CUDA graph begin. backend=full, num_tokens_per_bs=1, bs=[1, 2, 4], avail mem=30.00 GB\n"
    "\r  0%|          | 0/3 [00:00<?, ?it/s]\rCapturing batches (bs=4):  33%|###   | 1/3 [00:01<00:02]\rCapturing batches (bs=1): 100%|####| 3/3 "
    "[00:02<00:00]\n"
    "[2026-03-04 05:06:23 TP0] Capture target decode CUDA graph end. elapsed=2.50 s, mem usage=0.13 GB, avail mem=29.00 GB.\n"
    "[2026-03-04 05:06:23 TP0] max_total_num_tokens=123456, chunked_prefill_size=8192, max_running_requests=2048\n"
    "[2026-03-04 05:06:24] INFO:     Application startup complete.\n"
    "[2026-03-04 05:06:24] INFO:     127.0.0.1:4 - \"GET /health HTTP/1.1\" 503 Service Unavailable\n"
    "[2026-03-04 05:06:31] The server is fired up and ready to roll!\n"
    "[2026-03-04 05:06:32 TP0] Prefill batch, #new-seq: 1, #new-token: 6\n"
    "[2026-03-04 05:06:32] INFO:     127.0.0.1:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n"
    "[2026-03-04 05:06:33] Endpoint '/old_info' is deprecated and will go in a future version. Please use '/info' instead.\n";

TEST(Evidence, OfSglangIsReadWithItsRanks) {
  const Evidence found = read(kSglang);
  EXPECT_EQ(found.engines, std::vector<std::string>{"sglang"});
  EXPECT_EQ(found.lines, 17);
  EXPECT_EQ(found.processes, (std::vector<std::string>{"TP0", "TP1"}));
  ASSERT_TRUE(found.ready);
  EXPECT_EQ(found.ready->line, 14) << "the line of Uvicorn is not it";
  EXPECT_EQ(found.ready->after_s, 24);
  EXPECT_EQ(fact(found, "kv_tokens"), "123456");
  EXPECT_EQ(fact(found, "graphs_captured"), "3");
  EXPECT_EQ(fact(found, "graph_capture_s"), "2.50");
  EXPECT_EQ(fact(found, "architecture"), "ToyForCausalLM");
  EXPECT_EQ(found.settings.at("server_args.note"), "a, b");
  EXPECT_EQ(found.settings.at("server_args.cuda_graph_bs"), "[1, 2]");
  EXPECT_EQ(found.settings.at("server_args.none"), "None");
  EXPECT_EQ(found.settings.at("pool.max_running_requests"), "2048");
  EXPECT_EQ(found.http_before_ready, (std::map<std::string, std::int64_t>{{"503", 1}}));
  EXPECT_EQ(found.http_after_ready, (std::map<std::string, std::int64_t>{{"200", 1}}));
  ASSERT_EQ(found.deprecations.size(), 2u);
  EXPECT_EQ(found.deprecations[0].old_name, "python -m sglang.launch_server");
  EXPECT_EQ(found.deprecations[0].new_name, "sglang serve");
  EXPECT_EQ(found.deprecations[1].old_name, "/old_info");
  EXPECT_EQ(found.deprecations[1].new_name, "/info");
  EXPECT_TRUE(found.tracebacks.empty());
  EXPECT_TRUE(findings(found, nullptr).empty());
}

TEST(Evidence, OfVllmIsReadByProcess) {
  const Evidence found = read(
      "(APIServer pid=10) INFO 03-04 05:06:07 [utils.py:1] non-default args: {'model': '/m', 'max_model_len': 4096, 'served_model_name': ['a', 'b']}\n"
      "(EngineCore_DP0 pid=11) INFO 03-04 05:06:08 [core.py:2] Initializing a V1 LLM engine (v9.8.7) with config: model='/m', seed=0, dtype=torch.bfloat16\n"
      "(Worker_TP1 pid=12) INFO 03-04 05:06:09 [r.py:3] Model loading took 15.27 GiB and 1.5 seconds\n"
      "(EngineCore_DP0 pid=11) INFO 03-04 05:06:10 [kv.py:4] GPU KV cache size: 692,224 tokens\n"
      "(Worker_TP1 pid=12) \rCapturing CUDA graphs (PIECEWISE):   4%|#| 2/51 [00:00<00:02]\rCapturing CUDA graphs (PIECEWISE): 100%|#| 51/51 [00:02<00:00]\n"
      "(Worker_TP1 pid=12) Capturing CUDA graphs (FULL): 100%|#| 35/35 [00:02<00:00]\n"
      "(Worker_TP1 pid=12) INFO 03-04 05:06:12 [r.py:5] Graph capturing finished in 5 secs, took 1.00 GiB\n"
      "(APIServer pid=10) WARNING 03-04 05:06:12 [args.py:6] --disable-log-requests is deprecated and replaced with --enable-log-requests.\n"
      "(APIServer pid=10) INFO:     Application startup complete.\n"
      "(APIServer pid=10) INFO:     127.0.0.1:1 - \"GET /health HTTP/1.1\" 200 OK\n");
  EXPECT_EQ(found.engine, "vllm");
  EXPECT_EQ(found.processes, (std::vector<std::string>{"APIServer", "EngineCore_DP0", "Worker_TP1"}));
  EXPECT_EQ(fact(found, "kv_tokens"), "692224");
  EXPECT_EQ(fact(found, "version"), "9.8.7");
  EXPECT_EQ(fact(found, "graphs_captured"), "51, 35");
  EXPECT_EQ(fact(found, "weights_gib"), "15.27");
  EXPECT_EQ(found.settings.at("arguments.max_model_len"), "4096");
  EXPECT_EQ(found.settings.at("config.dtype"), "torch.bfloat16");
  ASSERT_EQ(found.deprecations.size(), 1u);
  EXPECT_EQ(found.deprecations[0].old_name, "--disable-log-requests");
  EXPECT_EQ(found.deprecations[0].new_name, "--enable-log-requests");
  ASSERT_TRUE(found.ready);
  EXPECT_TRUE(findings(found, nullptr).empty());
}

TEST(Evidence, OfTrtLlmDynamoAndLlamaCpp) {
  const Evidence trt = read(
      "[03/04/2026-05:06:07] [TRT-LLM] [I] TensorRT-LLM version: 9.9.0\n"
      "[03/04/2026-05:06:08] [TRT-LLM] [RANK 1] [W] a warning of ours\n"
      "[TensorRT-LLM][INFO] Allocated 12.50 GiB for max tokens in paged KV cache (234567).\n"
      "[03/04/2026-05:06:09] [TRT-LLM] [I] iter = 5, num_scheduled_requests = 3\n"
      "INFO:     Application startup complete.\n");
  EXPECT_EQ(trt.engine, "trtllm");
  EXPECT_EQ(fact(trt, "version"), "9.9.0");
  EXPECT_EQ(fact(trt, "kv_tokens"), "234567");
  EXPECT_EQ(fact(trt, "kv_gib"), "12.50");
  EXPECT_TRUE(trt.ready);
  EXPECT_EQ(trt.routine_lines, 1);

  const Evidence dynamo = read(
      "\x1b[2m2026-03-04T05:06:07.123456Z\x1b[0m \x1b[32m INFO\x1b[0m \x1b[2mdynamo_runtime::start\x1b[0m\x1b[2m:\x1b[0m Dynamo runtime version: 1.2.3\n"
      "\x1b[2m2026-03-04T05:06:09.5Z\x1b[0m \x1b[32m INFO\x1b[0m dynamo_llm::discovery::watcher: added model name=toy\n"
      "2026-03-04T05:06:10Z  INFO dynamo_llm::http: request completed method=POST uri=/v1/chat/completions status=503\n");
  EXPECT_EQ(dynamo.engine, "dynamo");
  ASSERT_TRUE(dynamo.ready);
  EXPECT_NEAR(dynamo.ready->after_s.value_or(0), 2.4, 0.11);
  EXPECT_EQ(fact(dynamo, "version"), "1.2.3");

  const Evidence llama = read(
      "0.00.000.100 I system_info: n_threads = 2\n"
      "0.00.001.000 I llama_model_loader: loaded meta data with 3 key-value pairs\n"
      "0.00.900.000 I llama_context: n_ctx         = 8192\n"
      "0.01.000.200 I srv  llama_server: server is listening on http://127.0.0.1:1\n"
      "0.02.000.200 I srv  log_server_r: done request: POST /v1/completions 127.0.0.1 200\n"
      "error while handling argument \"--draft-max\": the argument has been removed. use --spec-draft-n-max\n");
  EXPECT_EQ(llama.engine, "llamacpp");
  EXPECT_EQ(fact(llama, "kv_tokens"), "8192");
  ASSERT_TRUE(llama.ready);
  EXPECT_NEAR(llama.ready->after_s.value_or(0), 1.0, 0.001);
  EXPECT_EQ(llama.http_after_ready, (std::map<std::string, std::int64_t>{{"200", 1}}));
}

TEST(Evidence, FramesOfRanksThatPrintAtOnceStayApart) {
  const Evidence found = read(
      "(Worker_TP0 pid=1) ERROR 03-04 05:06:07 [a.py:1] Traceback (most recent call last):\n"
      "(Worker_TP1 pid=2) ERROR 03-04 05:06:07 [a.py:1] Traceback (most recent call last):\n"
      "(Worker_TP0 pid=1) ERROR 03-04 05:06:07 [a.py:1]   File \"x.py\", line 1, in f\n"
      "(Worker_TP1 pid=2) ERROR 03-04 05:06:07 [a.py:1]   File \"y.py\", line 2, in g\n"
      "(Worker_TP1 pid=2) ERROR 03-04 05:06:07 [a.py:1] KeyError: 'b'\n"
      "(Worker_TP0 pid=1) ERROR 03-04 05:06:07 [a.py:1] ValueError: a\n");
  ASSERT_EQ(found.tracebacks.size(), 2u);
  EXPECT_EQ(found.tracebacks[0].process, "Worker_TP1");
  EXPECT_EQ(found.tracebacks[0].error, "KeyError: 'b'");
  EXPECT_EQ(found.tracebacks[0].lines.size(), 3u);
  EXPECT_EQ(found.tracebacks[1].error, "ValueError: a");
}

TEST(Evidence, AChainOfExceptionsIsOneTraceback) {
  const Evidence found = read(
      "[2026-03-04 05:06:07 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
      "  File \"a.py\", line 1, in f\n"
      "    f()\n"
      "KeyError: 'first'\n"
      "\n"
      "During handling of the above exception, another exception occurred:\n"
      "\n"
      "Traceback (most recent call last):\n"
      "  File \"b.py\", line 2, in g\n"
      "RuntimeError: second\n"
      "[2026-03-04 05:06:08] something else\n");
  ASSERT_EQ(found.tracebacks.size(), 1u);
  EXPECT_EQ(found.tracebacks[0].process, "TP0");
  EXPECT_EQ(found.tracebacks[0].first_error, "KeyError: 'first'");
  EXPECT_EQ(found.tracebacks[0].error, "RuntimeError: second");
  EXPECT_EQ(found.notices.size(), 1u);
}

TEST(Evidence, TheSameTracebackIsCounted) {
  std::string log = kSglang;
  for (int i = 0; i < 3; ++i) {
    log += "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: number " + std::to_string(i) + "\n";
  }
  const Evidence found = read(log);
  ASSERT_EQ(found.tracebacks.size(), 1u);
  EXPECT_EQ(found.tracebacks[0].count, 3);
  EXPECT_EQ(found.tracebacks[0].phase, Phase::kReady);
  ASSERT_EQ(findings(found, nullptr).size(), 1u);
  EXPECT_EQ(findings(found, nullptr)[0].text, "ValueError: number 0");
}

TEST(Evidence, WhatFollowsAShutdownIsNoFailure) {
  const Evidence found = read(kSglang +
                              "[2026-03-04 05:07:00] SIGTERM received. signum=None frame=None. Draining\n"
                              "[2026-03-04 05:07:01] Subprocess scheduler_0 (pid=9) crashed with exit code -15. Triggering SIGQUIT\n"
                              "[2026-03-04 05:07:01] INFO:     127.0.0.1:5 - \"POST /v1/completions HTTP/1.1\" 503 Service Unavailable\n"
                              "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nKeyboardInterrupt\n");
  EXPECT_TRUE(found.shutdown);
  EXPECT_EQ(found.crashes.size(), 1u);
  EXPECT_EQ(found.tracebacks.size(), 1u);
  EXPECT_TRUE(findings(found, nullptr).empty());
  EXPECT_TRUE(suspect_lines(found).empty());
}

TEST(Evidence, ARestartIsSeenByASecondStartOrReadiness) {
  EXPECT_EQ(read(kSglang + kSglang).restarts, 1);
  EXPECT_EQ(read(kSglang + "[2026-03-04 05:07:00] The server is fired up and ready to roll!\n").restarts, 1);
  EXPECT_EQ(read(kSglang).restarts, 0);
  // Several API servers become ready one after the other.
  EXPECT_EQ(read("(ApiServer_0 pid=1) INFO:     Application startup complete.\n(ApiServer_1 pid=2) INFO:     Application startup complete.\n").restarts, 0);
}

TEST(Evidence, ALogWithoutReadinessSaysSoAndNamesWhatADiagnosisBeginsWith) {
  const Evidence found = read(
      "usage: sglang serve [-h]\n"
      "                    [--a A]\n"
      "sglang serve: error: unrecognized arguments: --no-such-flag 1\n");
  ASSERT_EQ(findings(found, nullptr).size(), 1u);
  EXPECT_EQ(findings(found, nullptr)[0].kind, "never-ready");
  EXPECT_EQ(suspect_lines(found), std::vector<std::string>{"sglang serve: error: unrecognized arguments: --no-such-flag 1"});
  EXPECT_EQ(found.notices.size(), 1u) << "the usage text is one line with what goes on below it";
}

TEST(Evidence, FrighteningWordsOfAHealthyLogAreNoFindings) {
  const Evidence found = read(kSglang +
                              "[2026-03-04 05:07:00] NCCL INFO Channel 00/08 : 0 1 2 3\n"
                              "[2026-03-04 05:07:00] oom_score_adj is 0; error handling: abort on NaN disabled\n"
                              "[2026-03-04 05:07:00] generated token text: 'Traceback' ' Error' ' assert'\n"
                              "[2026-03-04 05:07:00] Engine 000: 401 tokens, 429 requests, 503 blocks\n");
  EXPECT_TRUE(findings(found, nullptr).empty());
  EXPECT_TRUE(suspect_lines(found).empty());
}

TEST(Evidence, ErrorsBeforeReadinessAreNotThoseAfter) {
  const Evidence found = read(kSglang + "INFO:     127.0.0.1:5 - \"POST /v1/completions?x=1 HTTP/1.1\" 503 Service Unavailable\n" +
                              "INFO:     127.0.0.1:5 - \"GET /v1/models/77 HTTP/1.1\" 404 Not Found\n");
  const auto all = findings(found, nullptr);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].text, "503 for POST /v1/completions");
  EXPECT_EQ(found.http_after_ready.at("404"), 1);
}

TEST(Evidence, LongLinesAreCutAndRoomIsBounded) {
  Limits small;
  small.line_bytes = 100;
  small.notices = 3;
  std::string log;
  for (int i = 0; i < 200; ++i) log += std::string(1, static_cast<char>('a' + i % 26)) + std::string(1, static_cast<char>('a' + i / 26)) + "x is said\n";
  log += std::string(5000, 'z') + "\n";
  const Evidence found = read(log, small);
  EXPECT_EQ(found.notices.size(), 3u);
  EXPECT_EQ(found.not_kept.at("notices"), 198);
  EXPECT_EQ(found.cut_lines, 1);
  EXPECT_EQ(found.lines, 201);
}

TEST(Evidence, DependsNeitherOnHowBytesAreCutNorOnAPause) {
  const std::string log =
      kSglang +
      "Traceback (most recent call last):\r\n  File \"a.py\", line 1, in f\r\nValueError: x\r\n\r\n\x1b[31mred\x1b[0m line\r50%|#\rlast without an end";
  const codec::Json whole = codec::to_json(read(log));
  rc::check("any cuts", [&] {
    Evidence evidence;
    Position position;
    std::size_t at = 0;
    while (at < log.size()) {
      const auto length = static_cast<std::size_t>(*rc::gen::inRange(1, 900));
      const bool pause = *rc::gen::arbitrary<bool>();
      Extractor extractor(book(), {}, evidence, position);
      extractor.feed(std::string_view(log).substr(at, length));
      at += length;
      evidence = extractor.so_far();
      position = extractor.position();
      if (pause) {
        const auto read_back = codec::from_json<Evidence>(codec::to_json(evidence), "state");
        const auto place = codec::from_json<Position>(codec::to_json(position), "state");
        RC_ASSERT(read_back.has_value());
        RC_ASSERT(place.has_value());
        evidence = *read_back;
        position = *place;
      }
    }
    RC_ASSERT(codec::to_json(Extractor(book(), {}, evidence, position).evidence()) == whole);
  });
}

TEST(Evidence, NoBytesBreakIt) {
  rc::check("any bytes", [] {
    std::string log;
    for (int i = 0; i < 20; ++i) {
      log += *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
      log += *rc::gen::elementOf(std::vector<std::string>{"\n", "\r", "\x1b[", "\x1b]", "Traceback (most recent call last):", "server_args=ServerArgs(",
                                                          "' is deprecated", " HTTP/1.1\" ", "\"GET / HTTP/1.1\" 500", "%|", "(A pid=1) ",
                                                          "[2026-03-04 05:06:07] "});
    }
    RC_ASSERT(read(log).bytes == static_cast<std::int64_t>(log.size()));
  });
}

TEST(Forms, ReplaceWhatChangesFromRunToRun) {
  EXPECT_EQ(form_of("elapsed=0.22 s, mem usage=-1.5 GB"), "elapsed=# s, mem usage=# GB");
  EXPECT_EQ(form_of("bs=[1, 2, 4, 8]"), "bs=[#]");
  EXPECT_EQ(form_of("/tmp/a/s15/x/launch.py:55: W"), "…/launch.py:#: W");
  EXPECT_EQ(form_of("fa3 and Qwen3 at 0x7ffe12ab, id 8c9d0e1f2a"), "fa3 and Qwen3 at #, id #");
  EXPECT_EQ(form_of("http://127.0.0.1:30000/x"), "http://#/x");
  EXPECT_EQ(form_of("692,224 tokens in 1e-05"), "# tokens in #");
  EXPECT_EQ(form_of("added"), "added") << "letters alone are no number";
  EXPECT_EQ(form_of("a/b"), "a/b");
}

TEST(KeyValues, OfTheFormsThatEnginesPrint) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(key_values("a=1, b='x, y', c=[1, 2], d=F(e=1, f=2)"), (Pairs{{"a", "1"}, {"b", "x, y"}, {"c", "[1, 2]"}, {"d", "F(e=1, f=2)"}}));
  EXPECT_EQ(key_values("'a': 1, 'b': {'c': 2}"), (Pairs{{"a", "1"}, {"b", "{'c': 2}"}}));
  EXPECT_EQ(key_values("a=1) and more, b=2"), (Pairs{{"a", "1"}}));
  EXPECT_EQ(key_values("a='cut in the mid"), Pairs{});
  EXPECT_EQ(key_values("a=it's, b=2"), (Pairs{{"a", "it's"}, {"b", "2"}}));
  EXPECT_EQ(key_values(""), Pairs{});
}

TEST(Literals, AreFoundInOnePassAlsoInsideOneAnother) {
  LiteralSet set;
  const int abcd = set.add("abcd"), bc = set.add("bc"), cde = set.add("cde");
  EXPECT_EQ(set.add("bc"), bc);
  set.build();
  std::vector<int> found;
  set.find("xabcdex", found);
  EXPECT_EQ(std::set<int>(found.begin(), found.end()), (std::set<int>{abcd, bc, cde}));
  set.find("abxbc", found);
  EXPECT_EQ(found, std::vector<int>{bc});
  set.find("ab cd", found);
  EXPECT_TRUE(found.empty());
}

TEST(Signatures, AFileThatIsWrongIsRefusedWithItsPlace) {
  const auto refused = [](const std::string& row) {
    const auto parsed = SignatureBook::parse({{"evidence/x.yaml", "engine: x\nsignatures:\n  - " + row + "\n"}});
    EXPECT_FALSE(parsed) << row;
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_NE(refused("{kind: readi, has: [abc]}").find("kind readi"), std::string::npos);
  EXPECT_NE(refused("{kind: ready, has: []}").find("at least one text"), std::string::npos);
  EXPECT_NE(refused("{kind: ready, has: [ab]}").find("too short"), std::string::npos);
  EXPECT_NE(refused("{kind: fact, has: [abc], pattern: 'abc'}").find("a name and a group value"), std::string::npos);
  EXPECT_NE(refused("{kind: ready, has: [abc], pattern: '('}").find("signatures[0]"), std::string::npos);
}

TEST(Differences, AreNewGoneAndRenamed) {
  std::string later = kSglang;
  const auto swap = [&](const std::string& from, const std::string& to) { later.replace(later.find(from), from.size(), to); };
  swap("num_tokens_per_bs", "num_tokens_per_req");
  swap("tp_size=2", "tensor_size=2");
  swap("#tokens: 123456", "#tokens: 123400");
  swap("max_total_num_tokens=123456", "max_total_num_tokens=123400");
  swap("[2026-03-04 05:06:31]", "[2026-03-04 05:06:29] A line that is new.\n[2026-03-04 05:06:31]");
  later += "[2026-03-04 05:06:34] --old-flag is deprecated, please use --new-flag instead\n";
  const Evidence before = read(kSglang + "[2026-03-04 05:06:34] This one goes.\n"), after = read(later);
  const Difference found = difference(before, after);
  ASSERT_EQ(found.notices_new.size(), 1u);
  EXPECT_EQ(found.notices_new[0].text, "A line that is new.");
  ASSERT_EQ(found.notices_gone.size(), 1u);
  EXPECT_EQ(found.notices_gone[0].text, "This one goes.");
  ASSERT_EQ(found.settings_renamed.size(), 1u);
  EXPECT_EQ(found.settings_renamed[0].new_text, "server_args.tensor_size=2");
  ASSERT_EQ(found.deprecations_new.size(), 1u);
  EXPECT_EQ(found.deprecations_new[0].new_name, "--new-flag");
  EXPECT_EQ(found.deprecations_unchanged, 2);
  const auto kv = std::ranges::find(found.facts, "kv_tokens", &ValueChange::name);
  ASSERT_NE(kv, found.facts.end());
  EXPECT_EQ(kv->new_value, "123400");
  const auto all = findings(after, &before);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, "deprecation");
  EXPECT_TRUE(findings(read(kSglang), &before).empty());
  EXPECT_TRUE(difference(before, before).notices_new.empty());
}

TEST(Differences, OfOneNameInsideALineIsARenaming) {
  const std::string line = "[2026-03-04 05:06:07] Memory reserve plan: backend=full, tokens_per_bs=1, headroom=2 GB, policy=fifo\n";
  const std::string other = "[2026-03-04 05:06:07] Memory reserve plan: backend=full, tokens_per_req=1, headroom=3 GB, policy=fifo\n";
  const Difference found = difference(read(line), read(other));
  ASSERT_EQ(found.notices_renamed.size(), 1u);
  EXPECT_TRUE(found.notices_new.empty());
  EXPECT_TRUE(found.notices_gone.empty());
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Diagnoses, OfTheSharedCasesAreTheirRowsOfThePlaybook) {
  const std::filesystem::path root(PAWL_SOURCE_DIR);
  std::ifstream in(root / ".." / "shared" / "cases" / "engine-logs.json");
  if (!in) GTEST_SKIP() << "the shared cases are not beside this checkout";
  const auto playbook = playbook::Playbook::parse(file_text(root / "data/playbook/signatures.yaml"), file_text(root / "data/playbook/flags.yaml"));
  ASSERT_TRUE(playbook) << playbook.error().message;
  const codec::Json document = codec::Json::parse(in);
  for (const codec::Json& one : document.at("cases")) {
    SCOPED_TRACE(one.at("id").get<std::string>() + ": " + one.at("title").get<std::string>());
    const auto diagnosis = playbook->classify(suspect_lines(read(one.at("log").get<std::string>())));
    if (!one.at("expected").contains("row")) {
      EXPECT_FALSE(diagnosis) << diagnosis->line;
      continue;
    }
    ASSERT_TRUE(diagnosis);
    EXPECT_EQ(diagnosis->row, one.at("expected").at("row").get<std::string>()) << diagnosis->line;
  }
}

TEST(RealLogs, OfTwoSglangVersionsGiveReadinessPoolGraphsAndDifferences) {
  const std::filesystem::path folder = std::filesystem::path(PAWL_SOURCE_DIR) / ".." / "shared" / "data" / "h200-ab" / "logs";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the shared logs are not beside this checkout";
  const auto unpacked = [&](const char* name) {
    const std::string command = "gzip -dc '" + (folder / name).string() + "'";
    std::string out;
    FILE* pipe = ::popen(command.c_str(), "r");
    char buffer[65536];
    for (std::size_t n = 0; pipe != nullptr && (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    if (pipe != nullptr) ::pclose(pipe);
    return out;
  };
  const Evidence a = read(unpacked("A1.log.gz")), b = read(unpacked("B1.log.gz"));
  for (const Evidence* one : {&a, &b}) {
    ASSERT_TRUE(one->ready);
    EXPECT_EQ(fact(*one, "kv_tokens"), "699103");
    EXPECT_EQ(fact(*one, "graphs_captured"), "12");
    EXPECT_TRUE(one->shutdown);
    EXPECT_TRUE(one->tracebacks.empty());
    EXPECT_TRUE(findings(*one, nullptr).empty());
  }
  const Difference found = difference(a, b);
  EXPECT_TRUE(std::ranges::any_of(found.settings_renamed, [](const Renaming& one) {
    return one.old_text.starts_with("server_args.optimistic_prefill_retries=") && one.new_text.starts_with("server_args.optimistic_prefill_attempts=");
  }));
  EXPECT_TRUE(std::ranges::any_of(found.notices_new, [](const Notice& one) { return one.text.starts_with("Engine startup timings"); }));
  for (const char* name : {"B-enable-dee.log.gz", "B-optimistic.log.gz", "B-quantizati.log.gz"}) {
    const Evidence refused = read(unpacked(name));
    EXPECT_FALSE(refused.ready) << name;
    EXPECT_EQ(suspect_lines(refused).size(), 1u) << name;
  }
}

}  // namespace
}  // namespace pawl::evidence
