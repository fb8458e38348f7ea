/**
 * The whole path of money as its own processes and servers, with its users: depositors, an
 * operator, and a second holder of the mint authority's key.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultSettings } from '../../../../infra/services/settings.ts';
import { mintAuthorityKey } from '../../../../infra/devnet/clt/keys.ts';
import { signCallText } from '../../../support/devnet.ts';
import { toHex } from '../../../../schemas/address.ts';
import { accountAt } from '../../../support/deposit-log.ts';
import { startOwnKafka } from '../../../support/own-kafka.ts';
import type { Stack } from '../../../support/stack.ts';
import { until } from '../../../support/until.ts';
import { SETTINGS as MINTING } from '../../../faults/mint-settings.ts';
import { figureOf, Processes } from '../../../faults/processes.ts';
import { opsHere, type Ended } from '../../../services/ops/operator.ts';
import { goodToken } from '../../../support/tokens.ts';

const SETTINGS = {
  // each block is work for every process
  devnet: { ...MINTING.devnet, APP_BLOCK_INTERVAL_MS: '500', APP_FINALITY_DEPTH: '2' },
  'tron-watcher': { APP_PASS_EVERY_MS: '500', APP_COLD_EVERY_MS: '500' },
  treasury: { APP_MINT_EVERY_MS: '250', APP_MINT_AGAIN_MS: '500', APP_RECONCILE_EVERY_MS: '1000' },
};
const SERVICES = [
  'chain-ingester',
  'projector-deposits',
  'projector-watch',
  'projector-reserve',
  'treasury',
  'tron-watcher',
  'deposit-gateway',
  'explorer-gateway',
];
/** Pages show their parts besides money. */
const SHOWN = ['projector-explorer', 'projector-ride-market', 'projector-series', 'hub-gateway'];

export interface Listed {
  readonly id: string;
  readonly status: string;
  readonly amount_usdt: number;
  readonly tron_tx_id: string;
}

export class WholeSystem {
  readonly stack: Stack;
  readonly #processes: Processes;
  readonly #settings: Record<string, Readonly<Record<string, string>>>;
  /** by deposit, the statuses that its owner was shown, in order */
  readonly #seen = new Map<string, string[]>();
  #hub: Promise<string> | undefined;

  /**
   * `treasury`: more settings of it, until it is restarted with others; `every`: of each service.
   */
  constructor(
    stack: Stack,
    treasury: Readonly<Record<string, string>> = {},
    every: Readonly<Record<string, string>> = {},
  ) {
    this.stack = stack;
    this.#settings = { ...SETTINGS, treasury: { ...SETTINGS.treasury, ...treasury } };
    const spawnService: Stack['spawnService'] = (name, own) =>
      stack.spawnService(name, { ...every, ...own });
    this.#processes = new Processes({ spawnService }, this.#settings);
  }

  async start(): Promise<void> {
    const { addresses, folder } = this.stack;
    await (await this.#processes.start('devnet')).ready();
    for (const name of SERVICES) await this.#processes.start(name);
    await this.#processes.whileAllRun(this.#processes.at('deposit-gateway').ready());
    await this.#processes.whileAllRun(this.#processes.at('treasury').ready());
    const stack = {
      ...addresses,
      usdt_contract: defaultSettings.APP_USDT_CONTRACT,
      custody_addresses: defaultSettings.APP_CUSTODY_ADDRESSES,
      operator_key: defaultSettings.APP_OPERATOR_KEY,
      reconcile_requests_per_second: Number(defaultSettings.APP_RECONCILE_REQUESTS_PER_SECOND),
      reconcile_requests_per_day: 0,
    };
    writeFileSync(join(folder.root, 'ops.json'), JSON.stringify(stack));
  }

  /** Starts the hub, once, and what pages read besides it; its URL, without a path. */
  startHub(): Promise<string> {
    return (this.#hub ??= this.#startHub());
  }

  async #startHub(): Promise<string> {
    for (const name of SHOWN) await this.#processes.start(name);
    const hub = this.#processes.at('hub-gateway');
    await this.#processes.whileAllRun(hub.ready());
    return hub.url;
  }

  /** Kills the service and starts it; a treasury with the settings of a working one and these. */
  async restart(service: string, treasury: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#settings['treasury'] = { ...SETTINGS.treasury, ...treasury };
    await this.#processes.kill(service);
  }

  /** SIGKILL, until `begin`. */
  end(service: string): Promise<void> {
    return this.#processes.end(service);
  }

  async begin(service: string): Promise<void> {
    await this.#processes.start(service);
  }

  /** The treasury's gate, as its metrics have it. */
  async isMintingClosed(): Promise<boolean> {
    return (await figureOf(this.#processes.at('treasury'), 'reserve_gate_closed')) > 0;
  }

  /** Reserve runs that the treasury made. */
  ownRuns(): Promise<number> {
    return figureOf(this.#processes.at('treasury'), 'reserve_runs_total');
  }

  lastLines(): string {
    return this.#processes.lastLines();
  }

  /** The deposit address of an account, from the gateway. `traceparent`: of the request. */
  async open(account: number, traceparent?: string): Promise<string> {
    const headers = traceparent === undefined ? {} : { traceparent };
    const { address }: { readonly address: string } = await this.#deposits(
      'POST',
      account,
      '',
      headers,
    );
    return address;
  }

  /** USDT to this address on TRON; the transaction's id. */
  async pay(to: string, value: bigint, from?: string): Promise<string> {
    const { transaction_id: transactionId }: { readonly transaction_id: string } =
      await this.#admin('/tron/transfers', {
        to,
        value: String(value),
        ...(from === undefined ? {} : { from }),
      });
    return transactionId;
  }

  /** From now on the CLT blocks record no fees that were paid; the next one has such a fee. */
  async hideFees(): Promise<void> {
    await this.#admin('/clt/fees', { recorded: false });
    await this.#admin('/clt/fund', { to: toHex(accountAt(0)), amount: '1' });
  }

  /** As `until`, but rejects as soon as a process of the system has ended by itself. */
  until<Seen>(...wait: Parameters<typeof until<Seen>>): Promise<void> {
    return this.#processes.whileAllRun(until(...wait));
  }

  /** Looks at the list until the deposit of this transaction has this status. */
  async reaches(account: number, txId: string, status: string): Promise<Listed> {
    let found: Listed | undefined;
    await this.until(
      async () => {
        const { deposits }: { readonly deposits: readonly Listed[] } = await this.#deposits(
          'GET',
          account,
        );
        found = deposits.find(({ tron_tx_id: tronTxId }) => tronTxId === txId);
        this.#note(found);
        return found;
      },
      `the deposit of ${txId} to be ${status}`,
      (seen) => seen?.status === status,
    );
    if (found === undefined) throw new Error('there is no such deposit');
    return found;
  }

  /** The statuses that its owner has seen, in order, each once in a row. */
  seen(id: string): readonly string[] {
    return this.#seen.get(id) ?? [];
  }

  /** The events of its story, by name. */
  async story(
    account: number,
    id: string,
  ): Promise<{ readonly events: readonly string[]; readonly waiting_for: string | null }> {
    const {
      events,
      waiting_for,
    }: {
      readonly events: readonly { readonly event: string }[];
      readonly waiting_for: string | null;
    } = await this.#deposits('GET', account, `/${id}/events`);
    return { events: events.map(({ event }) => event), waiting_for };
  }

  /** CLT base units. */
  async balanceOf(account: number): Promise<bigint> {
    const { balance }: { readonly balance: string } = await answered(
      `${this.stack.addresses.node_url}/v1/accounts/${toHex(accountAt(account))}`,
    );
    return BigInt(balance);
  }

  /** A Mint that nobody asked for, with the authority's own key; its hash. */
  async mintByHand(account: number, amount: bigint): Promise<string> {
    const { node_url: nodeUrl } = this.stack.addresses;
    const key = mintAuthorityKey(defaultSettings.APP_DEVNET_SEED);
    const { pending_nonce: pendingNonce }: { readonly pending_nonce: number } = await answered(
      `${nodeUrl}/v1/accounts/${key.address}`,
    );
    const call = {
      function_call_type: 'Mint',
      arguments: { to: toHex(accountAt(account)), amount, reference: null },
    } as const;
    const raw_transaction = signCallText(
      key,
      Number(defaultSettings.APP_CHAIN_ID),
      pendingNonce,
      call,
    );
    const { transaction_hash: transactionHash }: { readonly transaction_hash: string } =
      await answered(`${nodeUrl}/v1/transactions`, { raw_transaction });
    return transactionHash;
  }

  /** The treasury's newest reconciliation, as published. */
  async published(): Promise<{ readonly status: string; readonly treasury_minted: number } | null> {
    const {
      last_run: lastRun,
    }: { readonly last_run: { readonly status: string; readonly treasury_minted: number } | null } =
      await answered(`${this.stack.addresses.treasury_url}/public/reconciliation`);
    return lastRun;
  }

  explorer<Answer>(path: string): Promise<Answer> {
    return answered(`${this.#processes.at('explorer-gateway').url}/api/v1${path}`);
  }

  /** The treasury's health problem; empty when it is ready. */
  async problem(): Promise<string> {
    const { message }: { readonly message: string | null } = await answered(
      `${this.#processes.at('treasury').url}/status`,
    );
    return message ?? '';
  }

  /** A command of the operator, with a stack file of this stack; one at a time. */
  ops(...args: string[]): Promise<Ended> {
    return opsHere([...args, '--stack', join(this.stack.folder.root, 'ops.json')]);
  }

  #note(deposit: Listed | undefined): void {
    if (deposit === undefined) return;
    const seen = this.#seen.get(deposit.id) ?? [];
    if (seen.at(-1) !== deposit.status) seen.push(deposit.status);
    this.#seen.set(deposit.id, seen);
  }

  #deposits<Answer>(
    method: string,
    account: number,
    path = '',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const token = goodToken(
      { pk: toHex(accountAt(account)), exp: Math.floor(Date.now() / 1_000) + 60 },
      defaultSettings.APP_JWT_SECRET,
    );
    return answered(
      `${this.#processes.at('deposit-gateway').url}/api/v1/deposits${path}`,
      undefined,
      {
        method,
        headers: { ...headers, authorization: `Bearer ${token}` },
      },
    );
  }

  #admin<Answer>(path: string, body: object): Promise<Answer> {
    return answered(`http://127.0.0.1:${this.stack.ports.devnet}/admin${path}`, body);
  }
}

async function answered<Answer>(
  url: string,
  body?: object,
  init: RequestInit = {},
): Promise<Answer> {
  const post = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, body === undefined ? init : post);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  const answer: Answer = JSON.parse(text);
  return answer;
}

export async function startWholeSystem(
  treasury?: Readonly<Record<string, string>>,
  every?: Readonly<Record<string, string>>,
): Promise<WholeSystem> {
  return new WholeSystem(await startOwnKafka(), treasury, every);
}
