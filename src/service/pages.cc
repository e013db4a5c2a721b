#include "service/pages.h"

#include <fmt/format.h>

#include "model/row.h"
#include "results/deployment.h"
#include "service/markdown.h"

namespace pawl::service {
namespace {

using codec::Json;

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --line: #d5dae0; --paper: #ffffff; --card: #f6f7f9; --link: #0a58a6; --warn: #8a4b00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #343b43; --paper: #14171a; --card: #1d2126; --link: #7ab8ff; --warn: #ffbf66; }
}
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
a { color: var(--link); }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; } h3 { font-size: 1.05rem; margin: 1.25rem 0 .25rem; }
.soft { color: var(--soft); } .warn { color: var(--warn); font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .75rem .3rem 0; text-align: left; vertical-align: top; }
th { font-weight: 600; color: var(--soft); } td.n, th.n { text-align: right; }
code, pre { font: .9em ui-monospace, monospace; } pre { overflow-x: auto; padding: .75rem; background: var(--card); }
article { border: 1px solid var(--line); border-radius: 6px; margin: 1rem 0; overflow-wrap: anywhere; }
article > header { padding: .4rem .9rem; background: var(--card); border-bottom: 1px solid var(--line); border-radius: 6px 6px 0 0; }
article > div { padding: .25rem .9rem; overflow-x: auto; }
.state { border: 1px solid var(--line); border-radius: 999px; padding: .05rem .6rem; font-size: .85em; background: var(--card); }
)css";

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_text(title), kStyle, body);
}

std::string state_mark(const Thread& thread) {
  const std::string by = thread.closed_by.empty() ? "" : " by " + thread.closed_by;
  return fmt::format("<span class=\"state\">{}</span>", html_text(thread.state + by));
}

/// A measurement in the unit of its column; a dash when the row does not have it.
std::string number(const Json& row, const char* key, double factor, int digits) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number()) return "–";
  return fmt::format("{:.{}f}", found->get<double>() * factor, digits);
}

std::string run_rows(const RunView& view) {
  if (view.rows.empty()) return {};
  std::string html =
      "<div class=\"wide\"><table>\n<tr><th>point</th><th class=\"n\">conc</th><th class=\"n\">tok/s per GPU</th><th class=\"n\">median TTFT, ms</th>"
      "<th class=\"n\">median TPOT, ms</th><th>scale</th><th>measured</th><th>verdict</th></tr>\n";
  for (const results::StoredRow& stored : view.rows) {
    const Json& row = stored.row;
    const Json pawl = row.value("pawl", Json::object());
    const std::string scale = results::text_of(pawl, "scale"), verdict = results::text_of(pawl, "verdict");
    const bool simulated = pawl.value("simulated", view.run.simulated);
    html += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_text(model::row_label(row)), number(row, "conc", 1, 0), number(row, "tput_per_gpu", 1, 1), number(row, "median_ttft", 1000, 2),
        number(row, "median_tpot", 1000, 3), html_text(scale.empty() ? view.run.scale : scale),
        simulated ? "<span class=\"warn\">simulated</span>" : "on hardware",
        verdict.empty()      ? "–"
        : verdict == "VALID" ? "VALID"
                             : "<span class=\"warn\">" + html_text(verdict) + "</span>");
  }
  return html + "</table></div>\n";
}

std::string run_evals(const RunView& view) {
  if (view.evals.empty()) return {};
  std::string html =
      "<div class=\"wide\"><table>\n<tr><th>eval</th><th>point</th><th class=\"n\">strict, %</th><th class=\"n\">flexible, %</th><th "
      "class=\"n\">samples</th></tr>\n";
  for (const results::StoredRow& stored : view.evals) {
    const Json& row = stored.row;
    html += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                        html_text(results::text_of(row, "task")), html_text(model::row_label(row)), number(row, "em_strict", 100, 2),
                        number(row, "em_flexible", 100, 2), number(row, "n_eff", 1, 0));
  }
  return html + "</table></div>\n";
}

std::string article(const std::string& author, const std::string& created, const std::string& edited, const std::string& body) {
  const std::string when = edited.empty() ? created : created + ", edited " + edited;
  return fmt::format("<article><header><strong>{}</strong> <span class=\"soft\">{}</span></header><div>\n{}</div></article>\n", html_text(author),
                     html_text(when), html_of_markdown(body));
}

}  // namespace

std::string index_page(const std::vector<Thread>& threads, const std::vector<RunView>& runs) {
  std::string body =
      "<h1>pawl</h1>\n<p class=\"soft\">Serving images that move forward, and the measurements behind every step.</p>\n<h2>Change requests</h2>\n";
  if (threads.empty()) {
    body += "<p>None yet. <code>pawl demo</code> makes one on this machine.</p>\n";
  } else {
    body += "<div class=\"wide\"><table>\n<tr><th class=\"n\">#</th><th>title</th><th>state</th><th>labels</th><th>opened</th></tr>\n";
    for (const Thread& thread : threads) {
      std::string labels;
      for (const std::string& label : thread.labels) labels += (labels.empty() ? "" : ", ") + html_text(label);
      body += fmt::format("<tr><td class=\"n\">{0}</td><td><a href=\"/cr/{0}\">{1}</a></td><td>{2}</td><td>{3}</td><td>{4}</td></tr>\n", thread.number,
                          html_text(thread.title), state_mark(thread), labels, html_text(thread.created));
    }
    body += "</table></div>\n";
  }
  body += "<h2>Published runs</h2>\n";
  if (runs.empty()) body += "<p>None yet.</p>\n";
  for (const RunView& view : runs) {
    const results::RunRecord& run = view.run;
    body += fmt::format("<h3>{} <span class=\"soft\">run {} / attempt {}, {}</span></h3>\n<p><code>{}</code></p>\n", html_text(run.recipe), run.run,
                        run.attempt, html_text(run.date), html_text(run.digest.empty() ? run.image : run.image + "@" + run.digest));
    body += run_rows(view) + run_evals(view);
  }
  return page("pawl", body);
}

std::string thread_page(const Thread& thread) {
  std::string labels;
  for (const std::string& label : thread.labels) labels += " <span class=\"state\">" + html_text(label) + "</span>";
  std::string body = fmt::format(
      "<p><a href=\"/\">pawl</a></p>\n<h1>{} <span class=\"soft\">#{}</span></h1>\n<p>{}{}</p>\n<p class=\"soft\">branch <code>{}</code> at "
      "<code>{}</code></p>\n",
      html_text(thread.title), thread.number, state_mark(thread), labels, html_text(thread.branch), html_text(thread.head.substr(0, 12)));
  body += article(thread.author, thread.created, "", thread.body);
  for (const ThreadComment& comment : thread.comments) body += article(comment.author, comment.created, comment.edited, comment.body);
  return page(fmt::format("{} · pawl", thread.title), body);
}

std::string missing_page(const std::string& what) {
  return page("Not found · pawl", fmt::format("<h1>Not found</h1>\n<p>{}</p>\n<p><a href=\"/\">Start page</a></p>\n", html_text(what)));
}

}  // namespace pawl::service
