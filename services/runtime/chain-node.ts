/** The CLT node over HTTP: the one place that knows its routes, so that another chain is another file. */
import { parseBlock, parseBlocks, parseChain, type NodeBlock, type NodeChain, type Parsed } from '../../schemas/chain-node.ts';
import { Fault, messageOf } from './errors.ts';

/** What the node may take to answer, beyond the time it was asked to wait. */
const ANSWER_MS = 15_000;

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
    return this.#get(`/v1/blocks/${height}${waitMs > 0 ? `?wait_ms=${waitMs}` : ''}`, parseBlock, waitMs);
  }

  /** Blocks from a height on, ascending and linked, at most `limit`, and how many bytes the answer had. */
  async blocks(from: number, limit: number): Promise<{ readonly blocks: readonly NodeBlock[]; readonly bytes: number }> {
    let bytes = 0;
    const blocks = await this.#get(`/v1/blocks?from=${from}&limit=${limit}`, parseBlocks, 0, (length) => {
      bytes = length;
    });
    return { blocks: blocks ?? [], bytes };
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
      if (response.status !== 200) throw nodeFault(path, `it answered ${response.status}: ${text.slice(0, 200)}`);
      const parsed = parse(JSON.parse(text));
      if ('problem' in parsed) throw nodeFault(path, `its answer is not what it should be: ${parsed.problem}`);
      return parsed.value;
    } catch (cause) {
      throw cause instanceof Fault ? cause : nodeFault(path, messageOf(cause), cause);
    }
  }
}

function required<Value>(value: Value | undefined, path: string): Value {
  if (value === undefined) throw nodeFault(path, 'it answered 404: is APP_NODE_URL a CLT node?');
  return value;
}

function nodeFault(path: string, what: string, cause?: unknown): Fault {
  return new Fault('chain_node', `the CLT node did not serve GET ${path}: ${what}`, {
    retry: true,
    ...(cause === undefined ? {} : { cause }),
  });
}
