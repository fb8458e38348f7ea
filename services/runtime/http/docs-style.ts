/** How the page of the interface looks. */
export const DOCS_STYLE = `
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6776; --line: #dfe4ea; --ground: #ffffff; --raised: #f5f7fa; --accent: #0b6e6e; --code: #0f2a33; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde5ec; --soft: #93a1b0; --line: #2a3542; --ground: #10161d; --raised: #18212b; --accent: #4cc5bd; --code: #0b1118; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--ground); font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
.page { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 82rem; margin: 0 auto; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 2rem 1.25rem; border-right: 1px solid var(--line); font-size: .875rem; }
nav h2 { margin: 1.4rem 0 .3rem; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); border: 0; padding: 0; }
nav a { display: block; padding: .15rem 0; color: var(--ink); text-decoration: none; overflow-wrap: anywhere; }
nav a:hover { color: var(--accent); }
main { padding: 2rem 3rem 6rem; }
a { color: var(--accent); overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 2rem; letter-spacing: -.02em; }
h2 { margin: 3.5rem 0 .5rem; padding-bottom: .4rem; border-bottom: 1px solid var(--line); font-size: 1.4rem; }
h3 { margin: 0; font-size: 1.05rem; font-weight: 600; }
h4 { margin: 1.4rem 0 .4rem; font-size: .8rem; letter-spacing: .05em; text-transform: uppercase; color: var(--soft); }
.lead { margin: .3rem 0 1.5rem; color: var(--soft); }
article { margin: 1.5rem 0; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; }
.signature { margin: .35rem 0 .8rem; font-size: .95rem; overflow-wrap: anywhere; }
.method { display: inline-block; margin-right: .6rem; padding: .05rem .5rem; border-radius: 5px; color: var(--ground); background: var(--accent); font: 600 .75rem/1.6 ui-monospace, monospace; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .85em; }
:not(pre) > code { padding: .1em .3em; border-radius: 4px; background: var(--raised); overflow-wrap: anywhere; }
.signature code { padding: 0; background: none; font-size: 1em; }
pre { margin: 0; padding: .9rem 1.1rem; overflow-x: auto; border-radius: 8px; color: #d6e4ea; background: var(--code); line-height: 1.5; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th { padding: .3rem .8rem .3rem 0; text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
td { padding: .4rem .8rem .4rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
td:first-child { white-space: nowrap; }
td:nth-last-child(2):not(:first-child) { min-width: 10rem; }
.required { color: var(--accent); font-size: .75rem; }
details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--accent); font-size: .9rem; }
details > div, details > pre { margin-top: .6rem; }
@media (max-width: 60rem) {
  .page { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1.5rem 1.25rem 4rem; }
}
`;
