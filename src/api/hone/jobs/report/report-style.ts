import { Markup } from './markup.ts';

/** The style of a report: readable on a phone, in the dark, and on paper. */
export const reportStyle = new Markup(`
:root { color-scheme: light dark; --text: #1c1b22; --muted: #5d5a66; --line: #d9d6e0; --surface: #fff; --first: #5746af; --second: #b4540a; }
@media (prefers-color-scheme: dark) {
  :root { --text: #eceaf2; --muted: #aaa6b5; --line: #3c3947; --surface: #17161c; --first: #a99bf5; --second: #f0a05a; }
}
@media print { :root { color-scheme: light; --text: #000; --muted: #444; --line: #bbb; --surface: #fff; --first: #5746af; --second: #b4540a; } }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: var(--surface); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.2rem; }
h3 { margin: 1rem 0 0.25rem; font-size: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
header p, .note, footer, figcaption { margin: 0.25rem 0; color: var(--muted); }
.judgement { font-size: 1.1rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; break-inside: avoid; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; color: var(--text); font-weight: 600; }
.legend { display: flex; gap: 1rem; font-weight: 400; }
svg { width: 100%; height: auto; }
svg text { fill: var(--muted); font-size: 12px; }
.value { text-anchor: end; dominant-baseline: middle; }
.step { text-anchor: middle; }
.grid { stroke: var(--line); }
.curve { fill: none; stroke-width: 1.75; stroke-linejoin: round; }
path.line-0 { stroke: var(--first); } path.line-1 { stroke: var(--second); }
circle.line-1 { fill: var(--second); }
span.line-0 { color: var(--first); } span.line-1 { color: var(--second); }
article { break-inside: avoid; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1rem; margin: 0; }
dt { color: var(--muted); }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.25rem 0.5rem; border-bottom: 1px solid var(--line); text-align: left; font-weight: 400; vertical-align: top; overflow-wrap: anywhere; }
th { width: 40%; color: var(--muted); }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: 0.5rem; } }
`);
