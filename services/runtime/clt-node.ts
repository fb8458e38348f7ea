/**
 * The CLT node over HTTP. Only this file knows its routes. A request that the node does not serve,
 * or answers with something else than it should, throws the fault `chain_node`, which is worth a
 * retry.
 */
import {
  parseAccount,
  parseBlock,
  parseBlocks,
  parseChain,
  type NodeBlock,
  type NodeChain,
} from '../../schemas/chain-node.ts';
import type { Parsed } from '../../schemas/json-reader.ts';
import { cachedFor } from './process/cached.ts';
import { Fault, messageOf } from './process/errors.ts';
import type { Logger } from './process/log.ts';

/** Timeout of a read. A long poll adds the time that it asks the node to wait. */
const READ_MS = 15_000;
/** Timeout of a submission, which the caller repeats anyway. */
const SUBMIT_MS = 3_000;
/** Timeout of `nodeHead`, behind which a health check waits. */
const HEAD_MS = 1_000;

export interface NodeHead {
  readonly height: number;
  /** null: nothing is final, or the node does not say */
  readonly finalized_height: number | null;
}

export interface Submission {
  /** `accepted`, or the node's own code of its refusal; undefined: a refusal without a code */
  readonly code: string | undefined;
  /** the body of the node's response */
  readonly json: unknown;
}

export class ChainNode {
  readonly #url: string;
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number | undefined;

  /** `url` without a path; `signal` ends every request; `timeoutMs` replaces both timeouts. */
  constructor(url: string, signal: AbortSignal, timeoutMs?: number) {
    this.#url = url;
    this.#signal = signal;
    this.#timeoutMs = timeoutMs;
  }

  chain(): Promise<NodeChain> {
    return this.#read('/v1/chain', parseChain);
  }

  /** The newest heights alone, which are readable even when the rest of the answer is not. */
  head(): Promise<NodeHead> {
    return this.#read('/v1/chain', parseHead);
  }

  /** The block at a height; waits up to `waitMs` until there is one, else undefined. */
  async block(height: number, waitMs = 0): Promise<NodeBlock | undefined> {
    const path = `/v1/blocks/${height}${waitMs > 0 ? `?wait_ms=${waitMs}` : ''}`;
    const response = await this.#request(path, {}, (this.#timeoutMs ?? READ_MS) + waitMs);
    return response.status === 404 ? undefined : parsed(path, response, parseBlock);
  }

  /** At most `limit` blocks from a height on, ascending and linked, and the answer's length. */
  async blocks(
    from: number,
    limit: number,
  ): Promise<{ readonly blocks: readonly NodeBlock[]; readonly bytes: number }> {
    const path = `/v1/blocks?from=${from}&limit=${limit}`;
    const response = await this.#request(path);
    const blocks = response.status === 404 ? [] : parsed(path, response, parseBlocks);
    return { blocks, bytes: response.text.length };
  }

  /** Next nonce of the account (0x + hex), counting transactions that wait for a block. */
  async nextNonce(account: string): Promise<number> {
    return (await this.#read(`/v1/accounts/${account}`, parseAccount)).pending_nonce;
  }

  /**
   * Submits a signed transaction, 0x + hex. Nothing but a final block proves what became of it: the
   * node may have taken what it refuses, and also what it gives no answer for. The same bytes may
   * be sent again.
   */
  async submit(raw: string): Promise<Submission> {
    const path = '/v1/transactions';
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ raw_transaction: raw }),
    };
    const response = await this.#request(path, init, this.#timeoutMs ?? SUBMIT_MS);
    if (response.status >= 500) throw unexpectedStatus(path, response);
    const json = parsedJson(path, response);
    return { code: response.status === 200 ? 'accepted' : codeIn(json), json };
  }

  async #read<Value>(path: string, parse: (json: unknown) => Parsed<Value>): Promise<Value> {
    return parsed(path, await this.#request(path), parse);
  }

  async #request(
    path: string,
    init: RequestInit = {},
    timeoutMs = this.#timeoutMs ?? READ_MS,
  ): Promise<NodeResponse> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(`${this.#url}${path}`, { ...init, signal, redirect: 'error' });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      throw nodeFault(path, messageOf(cause), cause);
    }
  }
}

interface NodeResponse {
  readonly status: number;
  readonly text: string;
}

function parsed<Value>(
  path: string,
  response: NodeResponse,
  parse: (json: unknown) => Parsed<Value>,
): Value {
  if (response.status !== 200) throw unexpectedStatus(path, response);
  const read = parse(parsedJson(path, response));
  if ('problem' in read) throw nodeFault(path, `its answer is malformed: ${read.problem}`);
  return read.value;
}

/** The node's newest heights; undefined while they are unknown. `now` in ms. */
export function nodeHead(
  nodeUrl: string,
  now: () => number,
  log: Logger,
): () => Promise<NodeHead | undefined> {
  const node = new ChainNode(nodeUrl, new AbortController().signal, HEAD_MS);
  return cachedFor(
    now,
    log,
    'the head of the node cannot be read, so the lag is unknown',
    'the head of the node can be read again',
    () => node.head(),
  );
}

function parsedJson(path: string, { text }: NodeResponse): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw nodeFault(path, `its answer is not JSON: ${text.slice(0, 200)}`, cause);
  }
}

function unexpectedStatus(path: string, { status, text }: NodeResponse): Fault {
  const remedy =
    status === 404 ? '; check that its address in the settings is that of a CLT node' : '';
  return nodeFault(path, `it answered ${status}: ${text.slice(0, 200)}${remedy}`);
}

function nodeFault(path: string, reason: string, cause?: unknown): Fault {
  const options = { retry: true, ...(cause === undefined ? {} : { cause }) };
  return new Fault('chain_node', `the CLT node did not serve ${path}: ${reason}`, options);
}

function parseHead(json: unknown): Parsed<NodeHead> {
  const height = propertyIn(propertyIn(json, 'head'), 'height');
  if (!isHeight(height)) return { problem: 'head.height: expected an integer from 0' };
  const final = propertyIn(json, 'finalized_height');
  return { value: { height, finalized_height: isHeight(final) ? final : null } };
}

function codeIn(json: unknown): string | undefined {
  const code = propertyIn(json, 'code');
  return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
}

function propertyIn(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined;
}

function isHeight(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
