/** GraphiQL in the look of the console, by its own options and custom properties. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { BAR, LOOK } from '../../runtime/http/html-page.ts';
import { GRAPHQL_PATH, SOCKET_PATH } from '../config.ts';

const EXAMPLE = `# Headers take the token of generateToken:
# {"Authorization": "Bearer <token>"}

query Market {
  chainInfo { chainId txFee totalSupply }
  listRideRequests { txHash fare passengerAddress }
}

subscription Requests {
  rideRequestsUpdated { txHash fare }
}
`;

const ICON = readFileSync(new URL('../../console/src/design/icon.svg', import.meta.url), 'utf8');

const OPTIONS = {
  title: 'CLT hub: GraphQL',
  logo: ICON,
  favicon: `data:image/svg+xml,${encodeURIComponent(ICON)}`,
  // as the bar above
  forcedTheme: 'system',
  visiblePlugin: 'Documentation Explorer',
  endpoint: GRAPHQL_PATH,
  // graphql-transport-ws
  subscriptionsProtocol: 'WS',
  subscriptionsEndpoint: SOCKET_PATH,
  defaultQuery: EXAMPLE,
  // a token is a secret: it ends with the page
  shouldPersistHeaders: false,
} as const;

/** Parts of GraphiQL, of which some are outside of its container. */
const PARTS =
  ':is(.graphiql-container, .graphiql-dialog, .graphiql-dialog-overlay, .graphiql-tooltip, [data-radix-popper-content-wrapper])';

/** GraphiQL's names of colours, and those of the console for them. */
const COLOURS = {
  base: 'surface',
  neutral: 'ink',
  primary: 'accent',
  secondary: 'series-2',
  tertiary: 'series-5',
  info: 'series-2',
  success: 'good',
  warning: 'warn',
  error: 'bad',
} as const;

const [LIGHT = '', DARK = ''] = LOOK.split('@media (prefers-color-scheme: dark)');

/** Custom properties of GraphiQL, of the colours in `tokens`: hue, saturation and lightness. */
function coloursOf(tokens: string): string {
  return Object.entries(COLOURS)
    .map(([name, token]) => {
      const [, hex = ''] = new RegExp(`--${token}: #([0-9a-f]{6});`).exec(tokens) ?? [];
      return `--color-${name}: ${hslOf(hex)};`;
    })
    .join(' ');
}

function hslOf(hex: string): string {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map(
    (at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255,
  );
  const [least, most] = [Math.min(red, green, blue), Math.max(red, green, blue)];
  const [range, lightness] = [most - least, (most + least) / 2];
  const saturation = range === 0 ? 0 : range / (1 - Math.abs(2 * lightness - 1));
  const sixths =
    most === red
      ? (green - blue) / range
      : most === green
        ? (blue - red) / range + 2
        : (red - green) / range + 4;
  const hue = range === 0 ? 0 : (60 * sixths + 360) % 360;
  return `${hue.toFixed(1)}, ${(100 * saturation).toFixed(1)}%, ${(100 * lightness).toFixed(1)}%`;
}

const STYLE = `
body > header { box-sizing: border-box; height: 3rem; }
.graphiql-logo > div { gap: var(--space-2); }
body .graphiql-container { height: calc(100vh - 3rem); width: 100%; }
body ${PARTS} { --font-family: var(--font); --font-family-mono: var(--font-mono); ${coloursOf(LIGHT)} }
@media (prefers-color-scheme: dark) { body:not(.graphiql-light) ${PARTS} { ${coloursOf(DARK)} } }
`;

/**
 * GraphiQL for browsers, one page that loads nothing from other servers. It is made at the first
 * request: the bundle has 9 MB.
 */
export function graphiql(): RequestHandler {
  let made: ReturnType<typeof render> | undefined;
  return async (request, response, next) => {
    if (request.accepts(['application/json', 'text/html']) !== 'text/html') return next();
    made ??= render().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    const { policy, html } = await made;
    response.setHeader('content-security-policy', policy);
    return response.setHeader('content-type', 'text/html; charset=utf-8').send(html);
  };
}

async function render(): Promise<{ readonly policy: string; readonly html: Buffer }> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL(OPTIONS)
    .replace('</head>', () => `<style>${LOOK}${STYLE}</style></head>`)
    .replace('<div id="root">', () => `${BAR}<div id="root">`);
  const script = html.slice(html.indexOf('<script>') + 8, html.lastIndexOf('</script>'));
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    // the editor runs its language services in workers, and writes its styles at run time
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'font-src data:',
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { policy: policy.join('; '), html: Buffer.from(html) };
}
