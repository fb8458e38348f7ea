/** Pages that services make themselves: in the look of the console, with a way back to `/`. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const TOKENS = new URL('../../console/src/design/tokens.css', import.meta.url);
/** The colours and faces of the console, and its bar. */
export const LOOK = `${readFileSync(TOKENS, 'utf8')}
body { margin: 0; background: var(--ground); color: var(--ink); font: var(--size-m) / 1.5 var(--font); }
a { color: var(--accent); }
body > header { background: var(--surface); border-bottom: 1px solid var(--line); }
body > header p, main { max-width: var(--page); margin: 0 auto; padding: var(--space-3) var(--space-6); }
`;
const STYLE = `${LOOK}
h1 { font-size: var(--size-xl); }
h2 { font-size: var(--size-l); margin-top: var(--space-8); }
main > p { max-width: 45rem; white-space: pre-line; }
code, td:first-child { font-family: var(--font-mono); font-size: var(--size-s); }
div { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: var(--space-1) var(--space-4) var(--space-1) 0; border-bottom: 1px solid var(--line); }
`;

/** Leads back. */
export const BAR = '<header><p><a href="/">CLT: start page</a></p></header>';

/** The page loads its own files and calls its own service, and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const PAGE_HEADERS = {
  'cache-control': 'public, max-age=300',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
};

export interface HtmlPage {
  /** as HTML */
  readonly title: string;
  /** more elements of the head */
  readonly head?: string;
  readonly main: string;
  /** elements after it */
  readonly end?: string;
}

export function htmlPage({ title, head = '', main, end = '' }: HtmlPage): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>${STYLE}</style>
    ${head}
  </head>
  <body>
    ${BAR}
    <main>
${main}
    </main>
    ${end}
  </body>
</html>
`;
}

/** Paragraphs as HTML; their lines that begin with a dash are a list below them. */
export function htmlParagraphs(value: string): string {
  const blocks = htmlText(value).split('\n\n');
  return blocks
    .map((block) => {
      const [text, ...items] = block.split('\n- ');
      const list = items.map((item) => `<li>${item}</li>`).join('');
      return `<p>${text}</p>${list === '' ? '' : `\n<ul>${list}</ul>`}`;
    })
    .join('\n');
}

/** Text as HTML, with code where it has backticks around it. */
export function htmlText(value: string): string {
  return withEntities(value).replaceAll(/`([^`\n]+)`/g, '<code>$1</code>');
}

/** Text of an element or an attribute, of HTML or SVG. */
export function withEntities(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
