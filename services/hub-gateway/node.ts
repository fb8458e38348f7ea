/** What the hub asks of the CLT node: the chain's parameters once, accounts' nonces, and to take a signed transaction. */
import { parseAccount, parseChain, type NodeChain, type Parsed } from '../../schemas/chain-node.ts';
import { Fault, messageOf } from '../runtime/process/errors.ts';

export interface NodeSettings {
  readonly node_url: string;
  readonly node_timeout_ms: number;
}

/** Throws faults, all worth trying again. */
export class HubNode {
  readonly #settings: NodeSettings;
  readonly #signal: AbortSignal;

  /** `signal` ends every request. */
  constructor(settings: NodeSettings, signal: AbortSignal) {
    this.#settings = settings;
    this.#signal = signal;
  }

  async chain(): Promise<NodeChain> {
    return read('/v1/chain', await this.#ask('/v1/chain'), parseChain);
  }

  /** Of the account's next transaction, those that wait for a block counted in. */
  async nextNonce(account: string): Promise<number> {
    const path = `/v1/accounts/${account}`;
    return read(path, await this.#ask(path), parseAccount).pending_nonce;
  }

  /** The node's answer as it is, whether it took the transaction or refused it. When it throws, nobody knows which: the same bytes may be sent again. */
  async submit(raw: string): Promise<unknown> {
    const path = '/v1/transactions';
    const body = JSON.stringify({ raw_transaction: raw });
    const { status, json } = await this.#ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    if (status >= 500) throw nodeFault(path, `it answered ${status}`);
    return json;
  }

  async #ask(path: string, init: RequestInit = {}): Promise<NodeAnswer> {
    const { node_url: url, node_timeout_ms: timeout } = this.#settings;
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(timeout)]);
    try {
      const response = await fetch(`${url}${path}`, { ...init, signal, redirect: 'error' });
      const json: unknown = JSON.parse(await response.text());
      return { status: response.status, json };
    } catch (cause) {
      throw nodeFault(path, messageOf(cause), cause);
    }
  }
}

interface NodeAnswer {
  readonly status: number;
  readonly json: unknown;
}

function read<Value>(
  path: string,
  { status, json }: NodeAnswer,
  parse: (json: unknown) => Parsed<Value>,
): Value {
  if (status !== 200) throw nodeFault(path, `it answered ${status}`);
  const parsed = parse(json);
  if ('problem' in parsed)
    throw nodeFault(path, `its answer is not what it should be: ${parsed.problem}`);
  return parsed.value;
}

function nodeFault(path: string, what: string, cause?: unknown): Fault {
  return new Fault('chain_node', `the CLT node did not serve ${path}: ${what}`, {
    retry: true,
    ...(cause === undefined ? {} : { cause }),
  });
}
