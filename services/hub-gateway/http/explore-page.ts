/** A page to try the interface out, for networks where nothing is worth anything. It loads nothing from anywhere: its script and style are known by their hashes. */
import { createHash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; }
main { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); }
textarea, input, pre { box-sizing: border-box; width: 100%; font: 13px/1.5 ui-monospace, monospace; }
textarea { min-height: 12rem; } #variables { min-height: 4rem; }
pre { overflow: auto; max-height: 40rem; padding: .75rem; border: 1px solid #8886; border-radius: 4px; }
label { display: block; margin: .5rem 0 .25rem; }
button { margin: .75rem .5rem 0 0; padding: .4rem 1.2rem; font: inherit; }
`;

const SCRIPT = `
const by = (id) => document.getElementById(id);
const show = (value) => { by('answer').textContent = typeof value === 'string' ? value : JSON.stringify(value, null, 2); };
const operation = () => ({ query: by('query').value, variables: JSON.parse(by('variables').value || '{}') });
let socket;
const stop = () => { socket?.close(); socket = undefined; };
const token = () => by('token').value.trim();
const run = async () => {
  stop();
  try {
    const headers = { 'content-type': 'application/json', ...(token() ? { authorization: 'Bearer ' + token() } : {}) };
    const response = await fetch('/graphql', { method: 'POST', headers, body: JSON.stringify(operation()) });
    show(await response.json());
  } catch (error) { show(String(error)); }
};
const subscribe = () => {
  stop();
  const own = new WebSocket(location.origin.replace('http', 'ws') + '/graphql/ws', 'graphql-transport-ws');
  socket = own;
  own.onopen = () => own.send(JSON.stringify({ type: 'connection_init', payload: token() ? { Authorization: 'Bearer ' + token() } : {} }));
  own.onclose = (event) => { if (socket === own) show('closed: ' + event.code + ' ' + event.reason); };
  own.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === 'connection_ack') own.send(JSON.stringify({ id: '1', type: 'subscribe', payload: operation() }));
    else if (message.type === 'ping') own.send(JSON.stringify({ type: 'pong' }));
    else if (message.payload) show(message.payload);
  };
};
by('run').onclick = run;
by('subscribe').onclick = subscribe;
by('stop').onclick = stop;
`;

/** What the page may do: ask this hub, and nobody else. */
export const EXPLORE_POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SCRIPT)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const EXAMPLE = `{
  chainInfo { chainId isTestnet txFee totalSupply mintAuthority }
  listRideRequests { txHash fare passengerAddress pickupLocation { latitude longitude } }
}`;

/** The page for a schema of this text. */
export function explorePage(sdl: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Hub</title><style>${STYLE}</style></head>
<body><h1>Hub</h1><main><section><label for="query">Operation</label><textarea id="query" spellcheck="false">${escaped(EXAMPLE)}</textarea>
<label for="variables">Variables (JSON)</label><textarea id="variables" spellcheck="false"></textarea>
<label for="token">Token</label><input id="token" autocomplete="off">
<button id="run">Run</button><button id="subscribe">Subscribe</button><button id="stop">Stop</button></section>
<section><label>Answer</label><pre id="answer"></pre></section></main>
<h2>Schema</h2><pre>${escaped(sdl)}</pre><script>${SCRIPT}</script></body></html>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
