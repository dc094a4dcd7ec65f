#include "html.h"

#include <charconv>
#include <cmath>

#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::render {
namespace {

// Fixed decimals, so that a column of numbers lines up.
std::string fixed(double value, int decimals) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  return {buffer, end.ptr};
}

// "2.4e−6"
std::string scientific(double value) {
  const int power = static_cast<int>(std::floor(std::log10(value)));
  const std::string sign = power < 0 ? "−" : "";
  return fixed(value / std::pow(10, power), 1) + "e" + sign + std::to_string(std::abs(power));
}

}  // namespace

std::string html_text(std::string_view text) {
  return escape_markup(escape_untrusted(text, 4 * text.size() + 16));
}

std::string html_number(double value) {
  if (std::isnan(value)) return "–";
  const double size = std::fabs(value);
  std::string text;
  if (std::isinf(value)) {
    text = "∞";
  } else if (size >= 1e5 || (size > 0 && size < 5e-4)) {
    text = scientific(size);
  } else {
    text = fixed(size, size < 9.9995 ? 3 : size < 999.95 ? 1 : 0);
  }
  return (value < 0 ? "−" : "") + text;
}

std::string html_p(double value, double smallest) {
  if (std::isnan(value)) return "–";
  const bool bound = value <= smallest * (1 + 1e-9);
  return (bound ? "≤" : "") + (value > 0 && value < 5e-5 ? scientific(value) : fixed(value, 4));
}

std::string html_signed(double value) {
  return (value > 0 ? "+" : "") + html_number(value);
}

// Colours have a contrast of at least 4.5 to the surface that they stand on, in both schemes.
const char* const kReportStyle = R"(
:root{color-scheme:light dark;--page:#f6f7f9;--surface:#fff;--ink:#1f2329;--soft:#5b6470;
--rule:#e3e6ea;--band:#eef1f5;--grid:#e4e7eb;--causal:#1d4ed8;--none:#6b7280;--open:#a34c07;
--good:#15703c;--bad:#b42318;--bar:#dbe6fb;--hover:#f3f6fb;--shadow:0 1px 2px rgba(16,24,40,.06)}
@media (prefers-color-scheme:dark){:root{--page:#111418;--surface:#1a1e24;--ink:#e6e9ee;
--soft:#a3adba;--rule:#2c323a;--band:#242a32;--grid:#2c323a;--causal:#7ea6ff;--none:#98a2b0;
--open:#f0a35e;--good:#5fd08f;--bad:#ff8a80;--bar:#263a63;--hover:#212730;--shadow:none}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.55 system-ui,-apple-system,
"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1200px;margin:0 auto;padding:28px 24px 56px}
h1{font-size:27px;line-height:1.25;letter-spacing:-.015em;margin:2px 0 6px;font-weight:650}
h2{font-size:17px;letter-spacing:-.005em;margin:0 0 4px;font-weight:620}
p{margin:0 0 10px}
.over{font-size:12px;font-weight:600;letter-spacing:.08em;text-transform:uppercase;color:var(--causal)}
.about{color:var(--soft);font-size:14px;margin:0 0 18px}
.about span+span::before{content:"·";margin:0 8px;opacity:.6}
.card{background:var(--surface);border:1px solid var(--rule);border-radius:10px;padding:20px 22px;
margin:0 0 16px;box-shadow:var(--shadow)}
.card>p.lead{font-size:14px;color:var(--soft);margin:0 0 14px;max-width:100ch}
.finding{border-left:4px solid var(--causal);max-width:none}
.finding p:last-child{margin:0}
.finding .first{font-size:18px;line-height:1.5}
.held{border-left-color:var(--open)}
.held strong{color:var(--open)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:0 0 16px}
.tile{background:var(--surface);border:1px solid var(--rule);border-radius:10px;padding:12px 16px;
box-shadow:var(--shadow)}
.tile b{display:block;font-size:26px;line-height:1.2;font-weight:640;font-variant-numeric:tabular-nums}
.tile span{font-size:13px;color:var(--soft)}
.tile.causal b{color:var(--causal)}.tile.none b{color:var(--none)}.tile.open b{color:var(--open)}
.two{display:grid;grid-template-columns:minmax(0,1.2fr) minmax(0,1fr);gap:28px;align-items:start}
.two td:first-child,.maps td:first-child{white-space:normal}
.two>*{min-width:0;overflow-x:auto}
.maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:22px 28px}
figure{margin:0}
figcaption{font-size:13px;color:var(--soft);margin:0 0 6px}
figcaption b{color:var(--ink);font-weight:600}
svg{max-width:100%;height:auto;display:block}
svg text{font-family:inherit}
svg.bar{width:112px;height:16px;max-width:none;display:inline-block;vertical-align:middle}
table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums}
th,td{padding:5px 7px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child,.l{text-align:left}
th{font-weight:600;color:var(--soft);font-size:12px;vertical-align:bottom;white-space:normal}
tbody tr:hover{background:var(--hover)}
tbody tr:last-child td{border-bottom:0}
.scroll{overflow:auto;max-height:620px;border:1px solid var(--rule);border-radius:8px}
.scroll thead th{position:sticky;top:0;background:var(--surface);z-index:1;box-shadow:0 1px 0 var(--rule)}
.scroll td:first-child{position:sticky;left:0;background:var(--surface);font-weight:600}
.scroll th:first-child{left:0;z-index:2}
.scroll tbody tr:hover td:first-child{background:var(--hover)}
.measure{background:linear-gradient(90deg,var(--bar) var(--share),transparent var(--share)) no-repeat
6px 4px/calc(100% - 12px) calc(100% - 8px)}
.tag{display:inline-block;border-radius:99px;padding:0 9px;font-size:12px;line-height:19px;font-weight:600;
border:1px solid currentColor}
.tag.causal{color:var(--surface);background:var(--causal);border-color:var(--causal)}
.tag.none{color:var(--none)}.tag.open{color:var(--open)}.tag.passed{color:var(--good)}
.tag.failed{color:var(--surface);background:var(--bad);border-color:var(--bad)}
.tag.reported{color:var(--none)}
.mark{color:var(--open);font-size:12px}
.soft{color:var(--soft)}.small{font-size:13px;margin-top:10px}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:8px 16px;margin:0;font-size:14px}
dt{font-weight:600}dd{margin:0}
ul{margin:0;padding-left:20px;font-size:14px}li{margin:0 0 6px}
details{margin-top:14px}summary{cursor:pointer;font-size:14px;color:var(--causal)}
footer{color:var(--soft);font-size:12.5px;margin-top:18px}
button.sort{all:unset;cursor:pointer;border-radius:3px}
button.sort:focus-visible,summary:focus-visible{outline:2px solid var(--causal);outline-offset:2px}
th[aria-sort=ascending] .sort::after{content:" ▲"}th[aria-sort=descending] .sort::after{content:" ▼"}
@media (max-width:900px){.two{grid-template-columns:minmax(0,1fr)}main{padding:18px 14px 40px}}
@media print{body{background:#fff}.scroll{max-height:none;overflow:visible}.card,.tile{break-inside:avoid}}
)";

// Sorts the table of heads by a click on a column's title; the page is complete without it.
const char* const kReportScript = R"(
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((th, column) => {
    const button = document.createElement("button");
    button.className = "sort";
    button.append(...th.childNodes);
    th.append(button);
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => {
        const text = row.cells[column].dataset.v;
        return text === undefined || text === "" ? NaN : Number(text);
      };
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const x = value(a), y = value(b);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return down ? y - x : x - y;
      });
      table.tBodies[0].append(...rows);
    });
  });
}
)";

}  // namespace attnscope::render
