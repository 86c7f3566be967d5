/** The look of the report: the colours and type of the web UI (web/src/styles/tokens.css; a test compares them). */

const LIGHT = `
  --paper: #faf9f6; --sheet: #ffffff; --sunken: #f2f0eb; --line: #e3dfd6; --line-strong: #c9c3b6;
  --ink: #211f1b; --ink-2: #5b564c; --ink-3: #6d675b; --accent: #34508f; --accent-soft: #e8edf8;
  --good: #2c6e49; --good-soft: #e3f1e8; --hover: #f6f4ef; --grid: #ece8df; --good-fill: #5c9c78;
  --kind-user: #b5862b; --kind-read: #3f9287; --kind-shell: #7d5ba6; --kind-edit: #bd5f4a; --kind-web: #5aa3c7;
  --kind-agent: #a8508a; --kind-other: #a79f8e; --kind-assistant: #4a6fb5; --kind-system: #8b8577;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  --serif: "Iowan Old Style", "Palatino Linotype", Palatino, "URW Palladio L", P052, Georgia, "Noto Serif", serif;`

const DARK = `
  --paper: #171613; --sheet: #1f1e1a; --sunken: #12110f; --line: #33312b; --line-strong: #4b483f;
  --ink: #ece8df; --ink-2: #b4aea1; --ink-3: #9d978a; --accent: #9db4ea; --accent-soft: #262d42;
  --good: #86c9a1; --good-soft: #1e3127; --hover: #262520; --grid: #2a2823; --good-fill: #5b9a77;
  --kind-user: #d0a24a; --kind-read: #57ab9f; --kind-shell: #a386c9; --kind-edit: #d98671; --kind-web: #6cb4d6;
  --kind-agent: #c577aa; --kind-other: #716b5f; --kind-assistant: #7d9bd8; --kind-system: #8c8677;`

export const REPORT_STYLE: string = `
:root { color-scheme: light;${LIGHT} }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark;${DARK} } }
*, *::before, *::after { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); font: 14px/1.5 var(--sans); font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; }
body { margin: 0; }
main { max-width: 1080px; margin: 0 auto; padding: 24px 28px 64px; }
h1, h2, h3, p, ul, ol { margin: 0; }
ul, ol { padding: 0; list-style: none; }
h1 { font: 500 30px/1.22 var(--serif); letter-spacing: -0.01em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { font: 500 21px/1.3 var(--serif); }
h3 { font-size: 13px; font-weight: 650; }
section { margin-top: 34px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
code { font-size: 0.86em; }
.dim { color: var(--ink-3); }
.small { font-size: 12.5px; }
.card { border: 1px solid var(--line); border-radius: 8px; background: var(--sheet); padding: 20px 24px; }
.head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 6px 16px; margin-bottom: 12px; }
.private { margin-top: 16px; padding: 12px 16px; border-radius: 8px; background: var(--good-soft); color: var(--good); }
.verdict { display: grid; grid-template-columns: 1fr 220px; gap: 24px; margin-top: 16px; }
.verdict p.say { font: 400 27px/1.4 var(--serif); text-wrap: pretty; }
.verdict dl { margin: 0; padding-left: 24px; border-left: 1px solid var(--line); display: grid; gap: 12px; align-content: center; }
.verdict dt { font-size: 12.5px; color: var(--ink-3); }
.verdict dd { margin: 0; font: 400 22px/1.2 var(--serif); }
.good { color: var(--good); }
.bar { display: flex; gap: 2px; height: 20px; margin: 14px 0 6px; }
.bar i { border-radius: 3px; min-width: 2px; }
.paid { background: var(--accent); }
.could { background: var(--accent-soft); box-shadow: inset 0 0 0 1px var(--accent); }
.saved { background: repeating-linear-gradient(135deg, var(--good-fill) 0 2px, transparent 2px 5px); box-shadow: inset 0 0 0 1px var(--good-fill); }
.legend { display: flex; flex-wrap: wrap; gap: 3px 14px; font-size: 12.5px; color: var(--ink-2); }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; vertical-align: -1px; }
.choice { border: 0; padding: 2px; margin: 0; display: inline-flex; gap: 1px; border-radius: 5px; background: var(--sunken); }
.choice input, .knob input { position: absolute; opacity: 0; pointer-events: none; }
.choice label { padding: 3px 12px; border-radius: 4px; color: var(--ink-2); font-size: 13px; cursor: pointer; }
.choice label:has(:checked) { background: var(--sheet); color: var(--ink); font-weight: 550; }
.choice label:has(:focus-visible), .knob label:has(:focus-visible) { outline: 2px solid var(--accent); outline-offset: 1px; }
.shown { display: none; }
section:has(#by-project:checked) .by-project, section:has(#by-agent:checked) .by-agent, section:has(#by-model:checked) .by-model { display: block; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font: 11.5px var(--sans); fill: var(--ink-3); }
.scroll { overflow-x: auto; }
svg.phone { display: none; }
.columns { display: grid; grid-template-columns: repeat(3, 1fr); gap: 24px 28px; }
.columns li { margin-top: 10px; }
.row { display: flex; justify-content: space-between; gap: 10px; }
.row span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.meter { display: flex; height: 6px; margin-top: 3px; }
.meter i { border-radius: 2px; }
.cards { display: grid; grid-template-columns: repeat(3, 1fr); gap: 14px; }
.cards .sum { font: 400 30px/1.2 var(--serif); }
.cards p { margin-top: 6px; color: var(--ink-2); }
.cards .do { margin-top: 12px; padding-top: 12px; border-top: 1px solid var(--line); color: var(--ink); }
.cards .do b { color: var(--good); }
.mosaic { display: flex; gap: 2px; border-radius: 8px; overflow: hidden; }
.mosaic div { min-width: 0; padding: 10px 8px 12px; border-top: 4px solid var(--kind); background: color-mix(in srgb, var(--kind) 30%, var(--sheet)); font-size: 12.5px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.mosaic div { container-type: inline-size; }
@container (max-width: 34px) { .mosaic b, .mosaic span { visibility: hidden; } }
.mosaic b { display: block; font-size: 14px; overflow: hidden; text-overflow: ellipsis; }
.knob > p:first-child { margin-bottom: 16px; }
.knob .track { position: relative; display: grid; grid-template-columns: repeat(5, 1fr); margin-bottom: 16px; }
.knob .track::before { content: ""; position: absolute; left: 10%; right: 10%; top: 8px; height: 4px; border-radius: 2px; background: var(--line-strong); }
.knob label { position: relative; padding-top: 24px; text-align: center; font-size: 13px; color: var(--ink-2); cursor: pointer; border-radius: 4px; }
.knob label::before { content: ""; position: absolute; left: 50%; top: 2px; width: 14px; height: 14px; margin-left: -8px; border: 1px solid var(--line-strong); border-radius: 50%; background: var(--sheet); }
.knob label:has(:checked) { color: var(--ink); font-weight: 600; }
.knob label:has(:checked)::before { background: var(--accent); border-color: var(--accent); }
.knob .say { display: none; font: 400 21px/1.4 var(--serif); }
table { border-collapse: collapse; width: 100%; }
th { padding: 6px 10px; font-weight: 500; color: var(--ink-3); font-size: 12.5px; text-align: left; }
td { padding: 9px 10px; border-top: 1px solid var(--line); font-size: 13.5px; }
.num { text-align: right; white-space: nowrap; }
td .title { display: block; max-width: 560px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 550; }
.badge { display: inline-block; padding: 0 7px; border-radius: 20px; background: var(--sunken); color: var(--ink-2); font-size: 12px; line-height: 19px; }
@media (max-width: 720px) {
  main { padding: 18px 14px 48px; }
  .verdict, .columns, .cards { grid-template-columns: 1fr; }
  .verdict p.say { font-size: 23px; }
  .verdict dl { padding: 16px 0 0; border-left: 0; border-top: 1px solid var(--line); grid-template-columns: repeat(3, 1fr); gap: 10px; }
  .verdict dd { font-size: 18px; }
  .card { padding: 16px; }
  .knob label { font-size: 12px; }
  .mosaic { flex-direction: column; }
  .mosaic div { display: flex; justify-content: space-between; flex: none !important; padding: 8px 12px; }
  .wide, svg.desk { display: none; }
  svg.phone { display: block; }
  td, th { padding-inline: 6px; }
  td .title { max-width: 46vw; }
}
@media print { .private, .choice { break-inside: avoid; } section { break-inside: avoid; } }
`
