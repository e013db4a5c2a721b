#include "benchout/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "benchout/plot.h"

namespace pawl::benchout {
namespace {

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#171b22;--soft:#667080;--line:#e3e7ec;--c1:#2f6fed;--c2:#0f9d76;--c3:#c2570c;--c4:#8b46d8;
--good:#0f8a5f;--warn:#b26a00;--bad:#c8322b;--goodbg:#e3f5ed;--warnbg:#fcf0db;--badbg:#fbe5e3}
@media (prefers-color-scheme:dark){:root{--bg:#0f1217;--card:#171b22;--ink:#e7eaf0;--soft:#93a0b2;--line:#272d37;--c1:#6ea0ff;--c2:#3ccf9f;--c3:#ff9d57;--c4:#bf93ff;
--good:#4ade9f;--warn:#f3b562;--bad:#ff8078;--goodbg:#12301f;--warnbg:#33260d;--badbg:#3a1715}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;-webkit-font-smoothing:antialiased}
main{max-width:1240px;margin:0 auto;padding:34px 24px 60px}
header{display:flex;gap:16px 24px;align-items:flex-start;flex-wrap:wrap;justify-content:space-between}
h1{font-size:25px;line-height:1.2;margin:0 0 5px;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{font-size:16px;margin:38px 0 12px;letter-spacing:-.005em}
h3{font-size:13.5px;font-weight:600;margin:0 0 8px;display:flex;justify-content:space-between;gap:12px}
h3 span{color:var(--soft);font-weight:400}
p{margin:0}.soft{color:var(--soft);overflow-wrap:anywhere}
.badge{display:inline-block;padding:6px 14px;border-radius:999px;font-weight:650;letter-spacing:.04em;font-size:13px}
.VALID{color:var(--good);background:var(--goodbg)}.SUSPECT{color:var(--warn);background:var(--warnbg)}.INVALID{color:var(--bad);background:var(--badbg)}
.reasons{list-style:none;margin:18px 0 0;padding:12px 16px;border-radius:10px;background:var(--card);border:1px solid var(--line)}
.reasons li{padding:3px 0}.reasons code{margin-right:8px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin-top:24px}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px 18px;min-width:0}
.tile b{display:block;font-size:25px;line-height:1.2;font-weight:650;letter-spacing:-.02em;margin:3px 0 1px;font-variant-numeric:tabular-nums}
.tile b small{font-size:13px;font-weight:500;color:var(--soft);letter-spacing:0;margin-left:4px}
.tile span{color:var(--soft);font-size:13px}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(430px,100%),1fr));gap:12px}
svg{display:block;width:100%;height:auto}
svg .grid{stroke:var(--line);stroke-width:1}svg .mark{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3;opacity:.55}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .strong{fill:var(--ink)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:7px 12px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:500;font-size:12.5px}th:first-child,td:first-child{text-align:left;padding-left:0}
tr:last-child td{border-bottom:0}td small{color:var(--soft);font-size:11.5px;display:block;line-height:1.15}
.few{color:var(--soft)}
code,pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:8px 0 0;max-height:22em;overflow:auto}
details{margin-top:12px}summary{cursor:pointer;font-weight:600;font-size:14px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
footer{margin-top:36px;color:var(--soft);font-size:13px}
@media print{body{background:#fff}.card{break-inside:avoid}}
)css";

std::string tile(std::string_view name, double value, std::string_view unit, std::string_view note = {}) {
  return fmt::format(R"(<div class="card tile"><span>{}</span><b>{}<small>{}</small></b><span>{}</span></div>)", escape_html(name), shown(value),
                     escape_html(unit), escape_html(note));
}

const model::Distribution* metric(const model::BenchResult& result, const std::string& key) {
  const auto found = result.metrics.find(key);
  return found == result.metrics.end() || found->second.n == 0 ? nullptr : &found->second;
}

std::string plot_card(std::string_view title, std::string_view note, const std::string& svg) {
  if (svg.empty()) return {};
  return fmt::format(R"(<div class="card"><h3>{}<span>{}</span></h3>{}</div>)", escape_html(title), escape_html(note), svg);
}

std::vector<std::optional<double>> as_doubles(const std::vector<std::int64_t>& values) {
  std::vector<std::optional<double>> out;
  for (const std::int64_t value : values) out.emplace_back(static_cast<double>(value));
  return out;
}

std::string timeline_plots(const model::BenchTimeline& timeline, bool tokens_known) {
  if (timeline.started.size() < 2) return {};
  std::string out = "<h2>The run, second by second</h2><div class=\"plots\">";
  const auto add = [&](std::string_view title, std::string_view unit, std::vector<std::optional<double>> values, std::string_view colour) {
    out += plot_card(title, unit, curve_svg({std::move(values), timeline.step_s, unit, colour}));
  };
  if (tokens_known) {
    add("Output tokens", "tokens/s", as_doubles(timeline.tokens), "--c1");
  } else {
    add("Token events", "events/s", as_doubles(timeline.token_events), "--c1");
  }
  add("Requests in flight", "at the end of each second", as_doubles(timeline.in_flight), "--c2");
  add("Time to first token", "ms, mean", timeline.ttft_ms, "--c3");
  add("Gap between token events", "ms, mean", timeline.gap_ms, "--c4");
  return out + "</div>";
}

std::string distribution_plots(const model::BenchResult& result) {
  struct Plot {
    const char* key;
    const char* title;
    const char* colour;
  };
  std::string cards;
  for (const Plot& plot : {Plot{"ttft_ms", "Time to first token", "--c3"}, Plot{"tpot_ms", "Time per output token, by request", "--c4"},
                           Plot{"gap_ms", "Gap between token events", "--c1"}, Plot{"e2el_ms", "End to end latency", "--c2"}}) {
    const auto found = result.details->histograms.find(plot.key);
    const model::Distribution* d = metric(result, plot.key);
    if (found == result.details->histograms.end() || d == nullptr) continue;
    cards += plot_card(plot.title, fmt::format("n = {}", shown(static_cast<double>(d->n))),
                       bars_svg({&found->second, {{"p50", d->p50}, {"p90", d->p90}, {"p99", d->p99}}, "ms", plot.colour}));
  }
  return cards.empty() ? std::string{} : "<h2>Distributions</h2><div class=\"plots\">" + cards + "</div>";
}

std::string cell(const model::Distribution& d, const char* name, double value) {
  std::string interval;
  if (d.ci99) {
    const auto found = d.ci99->find(name);
    if (found != d.ci99->end() && found->second.size() == 2) {
      const auto bound = [](const std::optional<double>& end) { return end ? shown(*end) : std::string("?"); };
      interval = fmt::format("<small>{} … {}</small>", bound(found->second[0]), bound(found->second[1]));
    }
  }
  const bool few = d.few && std::find(d.few->begin(), d.few->end(), name) != d.few->end();
  return fmt::format("<td{}>{}{}</td>", few ? " class=\"few\" title=\"too few values for a claim of two decimals\"" : "", shown(value), interval);
}

std::string metric_table(const model::BenchResult& result) {
  struct Row {
    const char* key;
    const char* name;
  };
  constexpr std::array kRows{Row{"ttft_ms", "TTFT"},
                             Row{"ttft_sched_ms", "TTFT from schedule"},
                             Row{"ttfa_ms", "time to first answer"},
                             Row{"tpot_ms", "TPOT"},
                             Row{"tpot_decode_ms", "decode TPOT"},
                             Row{"itl_ms", "ITL"},
                             Row{"gap_ms", "gap"},
                             Row{"max_gap_ms", "largest gap"},
                             Row{"e2el_ms", "E2EL"},
                             Row{"queue_client_ms", "client queue"},
                             Row{"lag_ms", "client lateness"},
                             Row{"rx_delay_ms", "receive delay"}};
  std::string out =
      "<h2>Latencies</h2><div class=\"card "
      "scroll\"><table><tr><th>ms</th><th>n</th><th>mean</th><th>std</th><th>min</th><th>p50</th><th>p90</th><th>p95</th><th>p99</th>"
      "<th>p99.9</th><th>max</th></tr>";
  for (const Row& row : kRows) {
    const model::Distribution* d = metric(result, row.key);
    if (d == nullptr) continue;
    std::string mark;
    if (const auto share = result.details->coalesced_share.find(row.key); share != result.details->coalesced_share.end() && share->second > 0) {
      mark = fmt::format("<small>{:.1f} % coalesced</small>", share->second * 100);
    }
    out += fmt::format("<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{}{}{}{}{}<td>{}</td></tr>", row.name, mark,
                       shown(static_cast<double>(d->n)), shown(d->mean), shown(d->std), shown(d->min), cell(*d, "p50", d->p50), cell(*d, "p90", d->p90),
                       cell(*d, "p95", d->p95), cell(*d, "p99", d->p99), cell(*d, "p99_9", d->p99_9), shown(d->max));
  }
  return out +
         "</table></div><p class=\"soft\" style=\"margin-top:8px;font-size:13px\">Small figures: 99 % interval from order statistics; ? where so few values "
         "have none.</p>";
}

std::string counts_of(const std::map<std::string, std::int64_t>& counts) {
  std::string out;
  for (const auto& [name, n] : counts) out += fmt::format("{}{} {}", out.empty() ? "" : " · ", escape_html(name), shown(static_cast<double>(n)));
  return out.empty() ? "–" : out;
}

std::string failures_part(const model::BenchResult& result) {
  if (result.failures.empty()) return {};
  std::string out =
      "<h2>Failures</h2><div class=\"card scroll\"><table><tr><th>class</th><th>requests</th><th style=\"text-align:left\">the first one said</th></tr>";
  for (const auto& [cls, n] : result.failures) {
    const auto example = result.details->failure_examples.find(cls);
    const std::string text = example == result.details->failure_examples.end() ? "" : example->second.substr(0, 600);
    out += fmt::format("<tr><td>{}</td><td>{}</td><td style=\"text-align:left;white-space:normal\"><code>{}</code></td></tr>", escape_html(cls), n,
                       escape_html(text));
  }
  return out + "</table></div>";
}

std::string compat_part(const model::BenchResult& result) {
  if (result.details->compat.empty()) return {};
  std::string out =
      "<h2>What other tools would have printed of the same run</h2><div class=\"card scroll\"><table><tr><th>profile</th><th>TTFT mean</th><th>TTFT "
      "p99</th><th>TPOT mean</th>"
      "<th>ITL mean</th><th>latency mean</th><th>output tokens/s</th></tr>";
  const auto row = [&](std::string_view name, const std::map<std::string, model::Distribution>& metrics, double throughput) {
    const auto of = [&](const char* key, double model::Distribution::*member) {
      const auto found = metrics.find(key);
      return found == metrics.end() ? model::kUnknown : found->second.*member;
    };
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", escape_html(name),
                       shown(of("ttft_ms", &model::Distribution::mean)), shown(of("ttft_ms", &model::Distribution::p99)),
                       shown(of("tpot_ms", &model::Distribution::mean)), shown(of("itl_ms", &model::Distribution::mean)),
                       shown(of("e2el_ms", &model::Distribution::mean)), shown(throughput));
  };
  row("pawl (native)", result.metrics, result.output_throughput);
  for (const auto& [name, block] : result.details->compat) row(name, block.metrics, block.output_throughput);
  return out + "</table></div>";
}

}  // namespace

std::string html_report(const model::BenchResult& original, const RunInfo& info) {
  model::BenchResult result = original;
  if (!result.details) result.details.emplace();
  const model::BenchDetails& details = *result.details;
  std::string out = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<meta name=\"generator\" content=\"pawl bench\"><title>{} — pawl bench</title><style>{}</style></head><body><main>",
      escape_html(result.model_id), kStyle);
  const std::string load = info.request_rate            ? fmt::format("{} requests/s", shown(*info.request_rate))
                           : result.max_concurrency > 0 ? fmt::format("concurrency {}", result.max_concurrency)
                                                        : std::string("open loop");
  out += fmt::format("<header><div><h1>{}</h1><p class=\"soft\">{}{} · {} · {} · {} in / {} out · {}</p></div><span class=\"badge {}\">{}</span></header>",
                     escape_html(result.model_id), escape_html(result.url), escape_html(result.endpoint), escape_html(result.backend), escape_html(load),
                     result.isl, result.osl, escape_html(minute_utc(info.date)), escape_html(result.verdict), escape_html(result.verdict));
  if (!result.reasons.empty()) {
    out += "<ul class=\"reasons\">";
    for (const model::VerdictReason& reason : result.reasons)
      out += fmt::format("<li><code>{}</code>{}</li>", escape_html(reason.code), escape_html(reason.text));
    out += "</ul>";
  }
  out += "<div class=\"tiles\">";
  out += tile("Output throughput", result.output_throughput, "tok/s", fmt::format("{} with input", shown(result.total_token_throughput)));
  out += tile("Requests", result.request_throughput, "/s", fmt::format("{} ok of {}", result.counts.ok, result.counts.planned));
  if (const auto* d = metric(result, "ttft_ms")) out += tile("TTFT p50", d->p50, "ms", fmt::format("p99 {}", shown(d->p99)));
  if (const auto* d = metric(result, "tpot_ms")) out += tile("TPOT p50", d->p50, "ms", fmt::format("p99 {}", shown(d->p99)));
  if (const auto* d = metric(result, "user_tps")) out += tile("Speed of a user, p50", d->p50, "tok/s", fmt::format("p10 {}", shown(d->p10)));
  if (const auto* d = metric(result, "e2el_ms")) out += tile("E2EL p50", d->p50, "ms", fmt::format("p99 {}", shown(d->p99)));
  if (details.goodput)
    out += tile("Goodput", details.goodput->good_per_s, "/s", fmt::format("{:.1f} % within the objectives", details.goodput->good_share * 100));
  out += "</div>";
  out += timeline_plots(details.timeline, std::isfinite(details.peak_tokens_per_s));
  out += distribution_plots(result);
  out += metric_table(result);
  out += failures_part(result);
  out += compat_part(result);

  out += "<h2>How far to trust it</h2><div class=\"card\"><dl>";
  const auto fact = [&](std::string_view name, const std::string& value) { out += fmt::format("<dt>{}</dt><dd>{}</dd>", escape_html(name), value); };
  fact("clock", result.clock == "kernel" ? "kernel receive stamps" : "time after the read");
  fact("output tokens from", counts_of(result.osl_source));
  fact("input tokens from", counts_of(details.isl_source));
  fact("in flight", fmt::format("{} at most, {} on average", details.peak_in_flight, shown(details.mean_in_flight)));
  if (details.steady) {
    fact("steady window",
         fmt::format("{} s to {} s, at least {} in flight: {} requests, {} output tokens/s", shown(details.steady->start_s), shown(details.steady->end_s),
                     shown(details.steady->threshold), details.steady->requests, shown(details.steady->output_throughput)));
  }
  if (details.cached_tokens)
    fact("input from the server's cache",
         fmt::format("{} of {} tokens", shown(static_cast<double>(*details.cached_tokens)), shown(static_cast<double>(result.total_input_tokens))));
  fact("counted", counts_of(result.flags));
  fact("duration", fmt::format("{} s", shown(result.duration_s)));
  fact("seed", fmt::format("{}", result.seed));
  for (const auto& [key, value] : details.environment) fact(key, escape_html(value));
  if (!details.argv.empty()) fact("command", "<code>" + escape_html(join(details.argv, " ")) + "</code>");
  out += "</dl>";
  if (details.first_request) {
    out += "<details><summary>The first request as it went out</summary><pre>" + escape_html(details.first_request->head) +
           escape_html(details.first_request->body.substr(0, 20000)) + "</pre></details>";
  }
  out +=
      fmt::format("</div><footer>pawl bench · definitions {} · percentiles by linear interpolation, none dropped as an outlier</footer></main></body></html>\n",
                  escape_html(details.definitions));
  return out;
}

}  // namespace pawl::benchout
