import { Markup } from './markup.ts';

const light =
  '--text: #1c1b22; --muted: #5d5a66; --line: #d9d6e0; --surface: #fff; --line-0: #5746af; --line-1: #b4540a; --line-2: #0f756e; --line-3: #2b6cb0; --line-4: #8a3d7a; --line-5: #b3261e;';
const dark =
  '--text: #eceaf2; --muted: #aaa6b5; --line: #3c3947; --surface: #17161c; --line-0: #a99bf5; --line-1: #f0a05a; --line-2: #5cc8bd; --line-3: #7db6ef; --line-4: #dc94cb; --line-5: #ff8b80;';
const lines = Array.from({ length: 6 }, (_, index) => `.line-${index} { --own: var(--line-${index}); }`).join(
  ' ',
);

/** The style of a report: readable on a phone, in the dark, and on paper. */
export const reportStyle = new Markup(`
:root { color-scheme: light dark; ${light} }
@media (prefers-color-scheme: dark) { :root { ${dark} } }
@media print { :root { color-scheme: light; ${light} } }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: var(--surface); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.2rem; }
h3 { margin: 1rem 0 0.25rem; font-size: 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
header p, .note, footer, figcaption { margin: 0.25rem 0; color: var(--muted); }
.judgement { font-size: 1.1rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem; }
figure { margin: 0; break-inside: avoid; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; color: var(--text); font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1rem; font-weight: 400; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; }
svg text { fill: var(--muted); font-size: 12px; }
.value { text-anchor: end; dominant-baseline: middle; }
.step { text-anchor: middle; }
.grid { stroke: var(--line); }
.curve { fill: none; stroke-width: 1.75; stroke-linejoin: round; }
${lines}
path.curve { stroke: var(--own); } circle { fill: var(--own); } .legend span { color: var(--own); }
article { break-inside: avoid; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: fit-content(12rem) 1fr; gap: 0.25rem 1rem; margin: 0; }
dt { color: var(--muted); }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.25rem 0.5rem; border-bottom: 1px solid var(--line); text-align: left; font-weight: 400; vertical-align: top; overflow-wrap: anywhere; }
th { width: 40%; color: var(--muted); }
.table { overflow-x: auto; }
.columns :is(th, td) { width: auto; min-width: 8rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: 0.5rem; } }
`);
