/** Random input to the three gateways, with a moving chain and credited deposits behind them. */
import { EXPLORER_API } from '../../schemas/explorer-api/document.ts';
import type { OpenApi } from '../../schemas/http-api/document.ts';
import { fuzzSockets, operationsOf } from '../services/hub-gateway/fuzz.ts';
import { requestsOf } from '../services/runtime/http/fuzz-requests.ts';
import {
  fuzz as fuzzHttp,
  type FuzzReport,
  type FuzzTarget,
} from '../services/runtime/http/fuzz.ts';
import { DEPOSIT_API } from '../../schemas/deposit-api/document.ts';
import { DEPOSITS, EXPLORER } from '../support/openapi.ts';
import { badTokens } from '../support/tokens.ts';
import { countsLine, type FaultReport, type FaultRun, type Given } from './fault-run.ts';
import { tokenOf, withGateways, type Gateways } from './gateways.ts';

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
  run: ({ inputs }, given) =>
    withGateways(given, (gateways) => new FuzzRun(gateways, given).run(inputs)),
};

class FuzzRun {
  readonly #gateways: Gateways;
  readonly #given: Given;
  readonly #counts: Record<string, Record<string, number>> = {};
  readonly #violations: string[] = [];

  constructor(gateways: Gateways, given: Given) {
    this.#gateways = gateways;
    this.#given = given;
  }

  async run(inputs: number): Promise<FaultReport> {
    const { known: hashes, deposits, token: payer } = this.#gateways;
    const others = Array.from({ length: ACCOUNTS }, (_, at) => tokenOf(accountOf(at)));
    const bad = Object.values(badTokens(Math.floor(Date.now() / 1_000)));
    const authorizations = [payer, payer, ...others, ...bad.filter((text) => text.length < 8_000)];
    const token = tokenOf(hashes.find((each) => each.length === 42) ?? '');
    const explorer: FuzzTarget = {
      url: this.#gateways.url('explorer-gateway'),
      inputs: requestsOf({
        paths: EXPLORER_API.paths,
        known: [...hashes, '0', '1', '2', '5', '40'],
        authorizations: ['Bearer x'],
      }),
      check: EXPLORER.checkAnswer,
      isError: (text) => /^\{"code":"[a-z_]+","message":"[^"]/.test(text),
    };
    const deposit: FuzzTarget = {
      url: this.#gateways.url('deposit-gateway'),
      inputs: requestsOf({
        paths: DEPOSIT_API.paths,
        known: [...deposits, ...hashes.slice(0, 5)],
        authorizations: authorizations.map(bearer),
      }),
      check: DEPOSITS.checkAnswer,
      isError: (text, status) => (status === 401 ? text === '' : /^\{"error":"[^"]/.test(text)),
    };
    const hub: FuzzTarget = {
      url: this.#gateways.url('hub-gateway'),
      inputs: requestsOf({
        paths: HUB_PATHS,
        known: [...QUERIES, ...hashes.slice(0, 5)],
        authorizations: [token, ...bad.slice(0, 5)].map(bearer),
      }),
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
      const market = { url: hub.url, token, known: hashes };
      const asked = of(SHARES.operations);
      this.#note('operations', await fuzzHttp(operationsOf(market), { inputs: asked, seed }));
      this.#note('sockets', await fuzzSockets(market, { inputs: of(SHARES.sockets), seed }));
      progress(`${done + some} of ${inputs}, ${this.#violations.length} violations`);
    }
    this.#violations.push(...(await this.#gateways.faults()));
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
}

function bearer(token: string): string {
  return `Bearer ${token}`;
}

function accountOf(at: number): string {
  return `0x${at.toString(16).padStart(40, 'ab')}`;
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
const HUB_PATHS: OpenApi['paths'] = {
  '/graphql': {
    get: operation('query', 'variables', 'operationName', 'extensions'),
    post: operation(),
  },
  '/graphql/ws': { get: operation() },
  '/health': { get: operation() },
  '/ready': { get: operation() },
};
