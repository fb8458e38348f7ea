/** Random input to the three gateways, with a moving chain and credited deposits behind them. */
import { services } from '../../infra/services/services.ts';
import { defaultSettings } from '../../infra/services/settings.ts';
import { checkAnswer as checkDeposits } from '../services/deposit-gateway/answer-check.ts';
import { checkAnswer as checkExplorer } from '../services/explorer-gateway/answer-check.ts';
import { fuzz as fuzzHub } from '../services/hub-gateway/fuzz.ts';
import {
  fuzz as fuzzHttp,
  type FuzzReport,
  type FuzzTarget,
} from '../services/runtime/http/fuzz.ts';
import { DEPOSIT_API, EXPLORER_API, type Paths } from '../support/openapi.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { badTokens, goodToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { countsLine, type FaultReport, type FaultRun, type Given } from './fault-run.ts';
import { Processes } from './processes.ts';

const UNLIMITED = { APP_RATE_PER_SECOND: '0' };
const SETTINGS = {
  devnet: { APP_BLOCK_INTERVAL_MS: '500', APP_TRAFFIC_PER_SECOND: '5' },
  'explorer-gateway': UNLIMITED,
  'deposit-gateway': UNLIMITED,
  'hub-gateway': UNLIMITED,
};
const GATEWAYS = ['explorer-gateway', 'deposit-gateway', 'hub-gateway'] as const;
/** Inputs of one round. */
const TOGETHER = 5_000;
/** The share of each, in a round. */
const SHARES = { explorer: 0.35, deposits: 0.15, hub: 0.1, operations: 0.36, sockets: 0.04 };
/** Those who ask for a deposit address. */
const ACCOUNTS = 40;
const WRONG_MAX = 20;

export const fuzz: FaultRun<'inputs'> = {
  about:
    'random requests, operations, tokens and socket messages to explorer, deposits and hub:\n' +
    'no 5xx, every error with the body of its interface, nothing in the log at level error',
  options: { inputs: { about: 'how many', default: 100_000 } },
  async run({ inputs }, given) {
    const stack = await startStack();
    const processes = new Processes(stack, SETTINGS);
    try {
      for (const { name } of services) await processes.start(name);
      const run = new FuzzRun(stack, processes, given);
      return await processes.whileAllRun(run.run(inputs));
    } finally {
      await stack.stop();
    }
  },
};

class FuzzRun {
  readonly #stack: Stack;
  readonly #processes: Processes;
  readonly #given: Given;
  readonly #counts: Record<string, Record<string, number>> = {};
  readonly #violations: string[] = [];

  constructor(stack: Stack, processes: Processes, given: Given) {
    this.#stack = stack;
    this.#processes = processes;
    this.#given = given;
  }

  async run(inputs: number): Promise<FaultReport> {
    for (const name of GATEWAYS) await this.#processes.at(name).ready(120_000);
    const now = Math.floor(Date.now() / 1_000);
    const tokens = Array.from({ length: ACCOUNTS }, (_, at) => tokenOf(accountOf(at)));
    const authorizations = [
      ...tokens,
      ...Object.values(badTokens(now)).filter((text) => text.length < 8_000),
    ].map((token) => `Bearer ${token}`);
    const deposits = await this.#payIn(tokens[0] ?? '');
    let known: readonly string[] = [];
    await until(async () => {
      known = await this.#known();
      return known.length > 50;
    }, 'a market with some trips in it');
    const [hashes, heights] = [
      known.filter((each) => each.length > 40),
      ['0', '1', '2', '5', '40'],
    ];
    const token = tokenOf(hashes.find((each) => each.length === 42) ?? '');
    const url = (name: string): string => this.#processes.at(name).url;
    const explorer: FuzzTarget = {
      url: url('explorer-gateway'),
      paths: EXPLORER_API.paths,
      known: [...hashes, ...heights],
      authorizations: ['Bearer x'],
      check: checkExplorer,
      isError: (text) => /^\{"code":"[a-z_]+","message":"[^"]/.test(text),
    };
    const deposit: FuzzTarget = {
      url: url('deposit-gateway'),
      paths: DEPOSIT_API.paths,
      known: [...deposits, ...hashes.slice(0, 5)],
      authorizations,
      check: checkDeposits,
      isError: (text, status) => (status === 401 ? text === '' : /^\{"error":"[^"]/.test(text)),
    };
    const hub: FuzzTarget = {
      url: url('hub-gateway'),
      paths: HUB_PATHS,
      known: [...QUERIES, ...hashes.slice(0, 5)],
      authorizations: [`Bearer ${token}`, ...authorizations.slice(ACCOUNTS - 2)],
      check: () => undefined,
      isError: (text) => /^\{"errors":\[\{"message":"[^"]/.test(text),
    };
    const { seed: first, progress } = this.#given;
    for (let done = 0; done < inputs && this.#violations.length < WRONG_MAX; done += TOGETHER) {
      const some = Math.min(TOGETHER, inputs - done);
      const [seed, of] = [first + done, (share: number): number => Math.round(some * share)];
      this.#note('explorer', await fuzzHttp(explorer, { inputs: of(SHARES.explorer), seed }));
      this.#note('deposits', await fuzzHttp(deposit, { inputs: of(SHARES.deposits), seed }));
      this.#note('hub', await fuzzHttp(hub, { inputs: of(SHARES.hub), seed }));
      const requests = of(SHARES.operations);
      const sockets = of(SHARES.sockets);
      const operations = { url: hub.url, token, known: hashes };
      this.#note('operations', await fuzzHub(operations, { requests, sockets, seed }));
      progress(`${done + some} of ${inputs}, ${this.#violations.length} violations`);
    }
    await this.#judgeServices();
    const lines = Object.entries(this.#counts).map(
      ([what, counts]) =>
        `${what}: ${countsLine(Object.fromEntries(Object.entries(counts).toSorted(([a], [b]) => a.localeCompare(b))))}`,
    );
    return { lines, violations: this.#violations };
  }

  #note(what: string, { wrong, counts }: FuzzReport): void {
    this.#violations.push(...wrong.map((each) => `${what}: ${each}`));
    const all = (this.#counts[what] ??= {});
    for (const [each, count] of Object.entries(counts)) all[each] = (all[each] ?? 0) + count;
  }

  async #judgeServices(): Promise<void> {
    for (const name of GATEWAYS) {
      const service = this.#processes.at(name);
      const { status } = await fetch(`${service.url}/ready`);
      if (status !== 200) this.#violations.push(`${name} is not ready any more`);
      const faults = service
        .log()
        .split('\n')
        .filter((line) => /"level":"(?:error|fatal)"/.test(line));
      for (const line of faults.slice(0, 5))
        this.#violations.push(`${name} logged ${line.slice(0, 500)}`);
    }
  }

  /** Pays some USDT to an address of this caller; the ids of its deposits. */
  async #payIn(token: string): Promise<readonly string[]> {
    const url = `${this.#processes.at('deposit-gateway').url}/api/v1/deposits`;
    const headers = { authorization: `Bearer ${token}` };
    const opened = await fetch(url, { method: 'POST', headers });
    const { address: to } = Object(await opened.json());
    for (const value of ['20000000', '1500000'])
      await fetch(`http://127.0.0.1:${this.#stack.ports.devnet}/admin/tron/transfers`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ to, value }),
      });
    let ids: readonly string[] = [];
    await until(
      async () => {
        const { deposits = [] } = Object(await (await fetch(url, { headers })).json());
        ids = deposits.map(({ id }: { readonly id: string }) => id);
        return ids.length === 2;
      },
      'two deposits',
      120_000,
    );
    return ids;
  }

  /** Hashes and addresses that the explorer and the hub show. */
  async #known(): Promise<readonly string[]> {
    const fields = 'txHash passengerAddress';
    const query = `{ listRideRequests { ${fields} } listActiveTrips { ${fields} driverAddress rideOfferTxHash } listRecentTrips { ${fields} driverAddress } }`;
    const market = await fetch(`${this.#processes.at('hub-gateway').url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const explorer = `${this.#processes.at('explorer-gateway').url}/api/v1`;
    const blocks = await fetch(`${explorer}/blocks`);
    const texts = [await market.text(), await blocks.text()];
    return [...new Set(texts.join(' ').match(/0x[0-9a-f]{40,64}/g) ?? [])];
  }
}

function accountOf(at: number): string {
  return `0x${at.toString(16).padStart(40, 'ab')}`;
}

function tokenOf(pk: string): string {
  const exp = Math.floor(Date.now() / 1_000) + 86_400;
  return goodToken({ pk, exp }, defaultSettings.APP_JWT_SECRET);
}

const text = { type: 'string' };
const parameter = (name: string) => ({
  name,
  in: 'query' as const,
  required: false,
  description: '',
  schema: text,
});
const operation = (...names: readonly string[]) => ({
  operationId: '',
  tags: [],
  summary: '',
  parameters: names.map(parameter),
  responses: {},
});
const QUERIES = [
  '{ chainInfo { txFee } }',
  '{ listRecentTrips(limit: 200) { txHash fare } }',
  '{ __schema { types { name } } }',
  '{ accountBalance }',
  'mutation { createUnsignedBurn(amount: "1") }',
  '{"v":1}',
];
/** The hub's paths, which no OpenAPI document describes. */
const HUB_PATHS: Paths = {
  '/graphql': {
    get: operation('query', 'variables', 'operationName', 'extensions'),
    post: operation(),
  },
  '/graphql/ws': { get: operation() },
  '/health': { get: operation() },
  '/ready': { get: operation() },
};
