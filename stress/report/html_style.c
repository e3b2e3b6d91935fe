/* What the page looks like, on a wide screen, on a narrow one and on paper.
   It must not hold an address.
   Looked at in a browser: tests/html.t. */
#include "html.h"

const char html_style[] =
    ":root{color-scheme:light dark;--ink:#1c1e21;--quiet:#5c6470;--page:#fff;--plate:#f6f7f9;--rule:#dfe3e8;"
    "--good:#00694f;--bad:#c1121f}"
    "@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--quiet:#a7afba;--page:#16181c;--plate:#1e2126;"
    "--rule:#3a4048;--good:#4cc9a0;--bad:#ff6b6b}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:1120px;padding:1rem;background:var(--page);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-top:1px solid var(--rule);"
    "padding-top:1rem}p{margin:.4rem 0;max-width:75ch}.quiet{color:var(--quiet);font-size:.875rem}"
    ".verdict{font-size:1.15rem;font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}"
    "pre{background:var(--plate);border:1px solid var(--rule);border-radius:6px;padding:.6rem .8rem;margin:.5rem 0;"
    "white-space:pre-wrap;font:13px/1.45 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".scroll{overflow-x:auto;margin:.6rem 0;border:1px solid var(--rule);border-radius:6px}"
    "table{border-collapse:collapse;font-size:.875rem;width:100%;overflow-wrap:normal;"
    "font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.4rem .6rem;color:var(--quiet)}"
    "th,td{padding:.3rem .6rem;text-align:right;white-space:nowrap;border-top:1px solid var(--rule)}"
    "th.w,td.w{text-align:left}thead th{background:var(--plate);border-top:0}tr.oom td{color:var(--bad)}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:.8rem}"
    "figure{margin:0;padding:.4rem;border:1px solid var(--rule);border-radius:6px;break-inside:avoid}"
    "figure svg{display:block;width:100%;height:auto}"
    "@media print{:root{--ink:#000;--quiet:#333;--page:#fff;--plate:#fff;--rule:#bbb;--good:#000;--bad:#a00}"
    "body{max-width:none;padding:0;font-size:11pt}.figures{grid-template-columns:1fr 1fr}"
    ".scroll{overflow:visible}table{font-size:7pt}th,td{padding:.1rem .25rem;white-space:normal}}";
