#pragma once

#include <string>
#include <string_view>

namespace pawl::service {

/// `text` as HTML text or attribute value.
[[nodiscard]] std::string html_text(std::string_view text);

/// Markdown of a thread as HTML that is safe in our pages, whoever wrote it: raw HTML is shown as text, links lead
/// only to http, https and places of this site. Of HTML only what our own reports use works, on lines of its own:
/// `<details>`, `</details>`, `<summary>…</summary>`; comments `<!-- … -->` that fill whole lines vanish. Tables are on.
[[nodiscard]] std::string html_of_markdown(std::string_view markdown);

}  // namespace pawl::service
