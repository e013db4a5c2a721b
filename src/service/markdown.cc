#include "service/markdown.h"

#include <md4c-html.h>

#include <algorithm>

#include "base/text.h"

namespace pawl::service {
namespace {

/// Links that could do something else than lead to a page are made to lead nowhere. In md4c's output `<a href="` and
/// `<img src="` stand only where it wrote a tag: in text, `<` is always escaped.
std::string tame_links(const std::string& html) {
  std::string out;
  std::size_t at = 0;
  while (at < html.size()) {
    const auto anchor = html.find("<a href=\"", at), image = html.find("<img src=\"", at);
    const auto found = std::min(anchor, image);
    if (found == std::string::npos) break;
    const auto begin = html.find('"', found) + 1, end = html.find('"', begin);
    const std::string_view target = std::string_view(html).substr(begin, end - begin);
    const bool local = target.starts_with('#') || (target.starts_with('/') && !target.starts_with("//"));
    const bool safe = local || target.starts_with("https://") || target.starts_with("http://");
    out.append(html, at, begin - at);
    out.append(safe ? target : "#");
    at = end;
  }
  return out.append(html, at);
}

std::string render(const std::string& markdown) {
  std::string html;
  const auto append = [](const MD_CHAR* text, MD_SIZE size, void* into) { static_cast<std::string*>(into)->append(text, size); };
  const int rc = md_html(markdown.data(), static_cast<MD_SIZE>(markdown.size()), append, &html,
                         MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_PERMISSIVEURLAUTOLINKS, MD_HTML_FLAG_SKIP_UTF8_BOM);
  if (rc != 0) return "<pre>" + html_text(markdown) + "</pre>\n";
  return tame_links(html);
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_of_markdown(std::string_view markdown) {
  constexpr std::string_view kSummary = "<summary>", kSummaryEnd = "</summary>", kComment = "<!--", kCommentEnd = "-->";
  std::string html, pending;
  int open = 0;
  bool fenced = false, hidden = false;
  const auto flush = [&] {
    if (!pending.empty()) html += render(pending);
    pending.clear();
  };
  for (const std::string_view line : split(markdown, '\n')) {
    const std::string_view bare = trim(line);
    if (hidden) {
      hidden = !bare.ends_with(kCommentEnd);
      continue;
    }
    if (bare.starts_with("```") || bare.starts_with("~~~")) fenced = !fenced;
    if (!fenced && bare.starts_with(kComment) && (bare.find(kCommentEnd) == std::string_view::npos || bare.ends_with(kCommentEnd))) {
      hidden = !bare.ends_with(kCommentEnd);
    } else if (!fenced && bare == "<details>") {
      flush();
      html += "<details>\n";
      ++open;
    } else if (!fenced && bare == "</details>" && open > 0) {
      flush();
      html += "</details>\n";
      --open;
    } else if (!fenced && open > 0 && bare.starts_with(kSummary) && bare.ends_with(kSummaryEnd) && bare.size() >= kSummary.size() + kSummaryEnd.size()) {
      flush();
      html += "<summary>" + html_text(bare.substr(kSummary.size(), bare.size() - kSummary.size() - kSummaryEnd.size())) + "</summary>\n";
    } else {
      pending.append(line);
      pending += '\n';
    }
  }
  flush();
  for (; open > 0; --open) html += "</details>\n";
  return html;
}

}  // namespace pawl::service
