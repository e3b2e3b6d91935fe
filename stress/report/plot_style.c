/* What figures look like: colours that most kinds of colour blindness tell apart (Okabe and Ito's), lines of
   different dashes beside; the map of addresses keeps its colours in the dark.
   It must not draw.
   Looked at in a browser: tests/html.t. */
#include "plot.h"

const char plot_style[] =
    "svg{--ink:#1c1e21;--quiet:#5c6470;--grid:#dfe3e8;--page:#fff;--bad:#c1121f}"
    "@media (prefers-color-scheme:dark){svg{--ink:#e8eaed;--quiet:#a7afba;--grid:#3a4048;--page:#16181c;"
    "--bad:#ff6b6b}}"
    "@media print{svg{--ink:#000;--quiet:#333;--grid:#ccc;--page:#fff;--bad:#c1121f}}"
    "svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}"
    "svg .t{font-weight:600;font-size:13px}svg .q{fill:var(--quiet);font-size:11px}svg .bad{fill:var(--bad)}"
    ".page{fill:var(--page)}.grid{stroke:var(--grid);fill:none}.edge{stroke:var(--quiet);fill:none}"
    ".line{fill:none;stroke-width:1.6;stroke-linejoin:round}"
    ".oom{stroke:var(--bad);stroke-width:1.6;stroke-dasharray:5 3;fill:none}"
    ".want{fill:none;stroke:#c1121f;stroke-width:2}.limit{stroke:var(--ink);stroke-dasharray:1 3;fill:none}"
    ".l0{stroke:#0072b2;fill:#0072b2}.l1{stroke:#e69f00;fill:#e69f00;stroke-dasharray:7 2}"
    ".l2{stroke:#009e73;fill:#009e73;stroke-dasharray:3 2}.l3{stroke:#cc79a7;fill:#cc79a7;stroke-dasharray:9 2 2 2}"
    ".l4{stroke:#d55e00;fill:#d55e00}.l5{stroke:#56b4e9;fill:#56b4e9;stroke-dasharray:5 3}"
    ".l6{stroke:#8c7a00;fill:#8c7a00;stroke-dasharray:2 2}.l7{stroke:#7a7a7a;fill:#7a7a7a;stroke-dasharray:10 3}"
    ".line.l0,.line.l1,.line.l2,.line.l3,.line.l4,.line.l5,.line.l6,.line.l7{fill:none}"
    "@media screen and (prefers-color-scheme:dark){.l0{stroke:#4aa3e0;fill:#4aa3e0}.l4{stroke:#ff8a4c;fill:#ff8a4c}"
    ".l2{stroke:#2fc59a;fill:#2fc59a}}"
    ".bar{stroke:none}"
    ".map path,.map rect,.key{shape-rendering:crispEdges;stroke:none}"
    ".c0{fill:#0072b2}.c1{fill:#e69f00}.c2{fill:#009e73}.c3{fill:#56b4e9}.c4{fill:#cc79a7}.c5{fill:#f0e442}"
    ".c6{fill:#e3170a}.c7{fill:#000}.c8{fill:#b4b8bf}.c9{fill:#fff}.key{stroke:#888;stroke-width:.5}";
