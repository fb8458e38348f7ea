/** The CLT node over HTTP: the one place that knows its routes, so that another chain is another file. */
import { toHex } from '../../schemas/address.ts';
import {
  parseBlock,
  parseBlocks,
  parseChain,
  type NodeBlock,
  type NodeChain,
  type Parsed,
} from '../../schemas/chain-node.ts';
import { Fault, messageOf } from './process/errors.ts';

/** What the node may take to answer, beyond the time it was asked to wait. */
const ANSWER_MS = 15_000;
/** What it may take to say something of a transaction: it is sent again anyway. */
const SUBMIT_MS = 3_000;

export class ChainNode {
  readonly #url: string;
  readonly #signal: AbortSignal;

  /** `url` without a path; `signal` ends every request. */
  constructor(url: string, signal: AbortSignal) {
    this.#url = url;
    this.#signal = signal;
  }

  async chain(): Promise<NodeChain> {
    return required(await this.#get('/v1/chain', parseChain), '/v1/chain');
  }

  /** The block at a height; waits up to `waitMs` until there is one, else undefined. */
  block(height: number, waitMs = 0): Promise<NodeBlock | undefined> {
    return this.#get(
      `/v1/blocks/${height}${waitMs > 0 ? `?wait_ms=${waitMs}` : ''}`,
      parseBlock,
      waitMs,
    );
  }

  /** Blocks from a height on, ascending and linked, at most `limit`, and how many bytes the answer had. */
  async blocks(
    from: number,
    limit: number,
  ): Promise<{ readonly blocks: readonly NodeBlock[]; readonly bytes: number }> {
    let bytes = 0;
    const blocks = await this.#get(
      `/v1/blocks?from=${from}&limit=${limit}`,
      parseBlocks,
      0,
      (length) => {
        bytes = length;
      },
    );
    return { blocks: blocks ?? [], bytes };
  }

  /**
   * Gives the node a signed transaction. `accepted`, or the node's own code of why not: a notification, since it may have taken what it refuses. Throws a fault when it does not
   * say: then too it may have taken it.
   */
  async submit(raw: Uint8Array): Promise<string> {
    const path = '/v1/transactions';
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(SUBMIT_MS)]);
    try {
      const body = JSON.stringify({ raw_transaction: toHex(raw) });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${this.#url}${path}`, {
        method: 'POST',
        headers,
        body,
        signal,
        redirect: 'error',
      });
      const text = await response.text();
      if (response.status === 200) return 'accepted';
      const code = response.status < 500 ? codeIn(text) : undefined;
      if (code === undefined)
        throw nodeFault(`POST ${path}`, `it answered ${response.status}: ${text.slice(0, 200)}`);
      return code;
    } catch (cause) {
      throw cause instanceof Fault ? cause : nodeFault(`POST ${path}`, messageOf(cause), cause);
    }
  }

  /** Undefined on 404. */
  async #get<Value>(
    path: string,
    parse: (json: unknown) => Parsed<Value>,
    waitMs = 0,
    measured?: (bytes: number) => void,
  ): Promise<Value | undefined> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(ANSWER_MS + waitMs)]);
    try {
      const response = await fetch(`${this.#url}${path}`, { signal, redirect: 'error' });
      const text = await response.text();
      measured?.(text.length);
      if (response.status === 404) return undefined;
      if (response.status !== 200)
        throw nodeFault(`GET ${path}`, `it answered ${response.status}: ${text.slice(0, 200)}`);
      const parsed = parse(JSON.parse(text));
      if ('problem' in parsed)
        throw nodeFault(`GET ${path}`, `its answer is not what it should be: ${parsed.problem}`);
      return parsed.value;
    } catch (cause) {
      throw cause instanceof Fault ? cause : nodeFault(`GET ${path}`, messageOf(cause), cause);
    }
  }
}

function required<Value>(value: Value | undefined, path: string): Value {
  if (value === undefined)
    throw nodeFault(`GET ${path}`, 'it answered 404: is APP_NODE_URL a CLT node?');
  return value;
}

/** The `code` of an error's body, if it is a word. */
function codeIn(text: string): string | undefined {
  try {
    const json: unknown = JSON.parse(text);
    const code =
      typeof json === 'object' && json !== null && 'code' in json ? json.code : undefined;
    return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
  } catch {
    // whatever else it says is no answer
    return undefined;
  }
}

function nodeFault(request: string, what: string, cause?: unknown): Fault {
  return new Fault('chain_node', `the CLT node did not serve ${request}: ${what}`, {
    retry: true,
    ...(cause === undefined ? {} : { cause }),
  });
}
