/**
 * The system of a fault run: its processes and servers, which are struck while they work, and the
 * devnet beneath them, which is asked as its operator.
 */
import { Client } from 'pg';
import { defaultSettings } from '../../infra/services/settings.ts';
import type { Folder } from '../../infra/local/stack/folder.ts';
import type { Addresses } from '../../infra/services/services.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { HANG_MS } from '../support/limits.ts';
import { never, testKafka } from '../support/kafka.ts';
import { Random } from '../support/random.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import type { Given, Recovery } from './fault-run.ts';
import { Payments } from './payments.ts';
import { figureOf, Processes } from './processes.ts';

export type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** The schemas whose tables show the newest block. */
export type ChainSchema = 'explorer' | 'ride_market' | 'series';
export const CHAIN_SCHEMAS: readonly ChainSchema[] = ['explorer', 'ride_market', 'series'];

/** Where the system runs: on servers of one stack, or of a cluster. */
export interface Place extends Pick<Stack, 'spawnService'> {
  readonly addresses: Addresses;
  /** its data and logs */
  readonly folder: Folder;
  /** at 127.0.0.1, of the devnet's operator */
  readonly admin_port: number;
  readonly kafka: Kafka;
  /** without an account */
  readonly registry_url: string;
  /** variables of the operator's commands, besides the addresses */
  readonly operator: Readonly<Record<string, string>>;
  /** of the Postgres that takes writes, for a role that may read all */
  readonly postgresUrl: () => Promise<string>;
}

/** A fault of the devnet's CLT node or of TRON's provider. */
export interface DevnetFault {
  readonly target: 'node' | 'tron';
  readonly mode: string;
  /** requests that it affects at the most */
  readonly times: number;
  readonly delay_ms?: number;
}

export class System<Where extends Place = Place> {
  readonly place: Where;
  readonly processes: Processes;
  /** of victims and moments */
  readonly random: Random;
  readonly node: ChainNode;
  readonly payments: Payments;
  readonly progress: Given['progress'];
  readonly settings: Settings;
  /** how often each was struck */
  readonly struck: Record<string, number> = {};
  /** by the text that says from when until when */
  readonly recoveries = new Map<string, Recovery[]>();
  /** claims that did not hold on the way */
  readonly violations: string[] = [];
  reorganisations = 0;

  constructor(place: Where, settings: Settings, { seed, progress }: Given) {
    this.place = place;
    this.settings = settings;
    this.processes = new Processes(place, settings);
    this.random = new Random(seed);
    this.node = new ChainNode(place.addresses.node_url, never);
    this.payments = new Payments((path, body) => this.admin(path, body));
    this.progress = progress;
  }

  /** Starts these one by one, the devnet first: a second one of a name gets ports of its own. */
  async start(slots: readonly string[]): Promise<void> {
    await (await this.processes.start('devnet')).ready();
    for (const slot of slots) if (slot !== 'devnet') await this.processes.start(slot);
  }

  async ready(slots: readonly string[]): Promise<void> {
    for (const slot of slots) await this.processes.at(slot).ready();
  }

  urlOf(slot: string): string {
    return this.processes.at(slot).url;
  }

  /** Asks the devnet's operator; throws where it refuses. */
  async admin(path: string, body?: object, method = 'POST'): Promise<Record<string, unknown>> {
    const response = await this.#ask(path, body, method);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return Object(text === '' ? {} : JSON.parse(text));
  }

  #ask(path: string, body: object | undefined, method: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.place.admin_port}/admin${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Replaces up to so many of the newest blocks, unless they are final. */
  async reorganise(depthMax: number, random = this.random): Promise<void> {
    const response = await this.#ask('/clt/reorg', { depth: 1 + random.below(depthMax) }, 'POST');
    await response.arrayBuffer();
    if (response.ok) this.reorganisations++;
  }

  /** Switches a fault of the devnet on, lets something happen, and waits for a request in it. */
  async fail(fault: DevnetFault, happens = (): Promise<void> => Promise.resolve()): Promise<void> {
    const { target, mode } = fault;
    const before = (await this.failed(target))[mode] ?? 0;
    await this.admin('/faults', fault);
    await happens();
    await until(
      () => this.failed(target),
      `a request that ${mode} meets`,
      (seen) => (seen[mode] ?? 0) > before,
    );
  }

  /** Requests that each fault has met so far. */
  async failed(target: DevnetFault['target']): Promise<Readonly<Record<string, number>>> {
    return Object((await this.admin('/faults/taken', undefined, 'GET'))[target]);
  }

  /** Waits for so many more blocks of the node. */
  async blocks(more: number, of: 'head' | 'final' = 'head'): Promise<void> {
    const height = async (): Promise<number> => {
      const { head, finalized_height } = await this.node.chain();
      return of === 'head' ? head.height : finalized_height;
    };
    const begun = await height();
    await until(height, `${more} more blocks (${of})`, (seen) => seen >= begun + more);
  }

  /** Resolves when the tables of these schemas show a block that is not made yet. */
  async shown(after: string, schemas = CHAIN_SCHEMAS): Promise<void> {
    const { height } = (await this.node.chain()).head;
    await until(
      () => Promise.all(schemas.map((schema) => this.heightIn(schema))),
      `a block above ${height} in ${schemas.join(', ')}, after ${after}`,
      (seen) => seen.every((each) => each > height),
    );
  }

  /** Height of the newest block in the tables of a schema; -1 while they cannot be read. */
  async heightIn(schema: ChainSchema): Promise<number> {
    // one after the other fails over or is killed
    const [row] = await this.rows<{ height: string }>(`SELECT height FROM ${schema}.head`).catch(
      () => [],
    );
    return Number(row?.height ?? -1);
  }

  /** One statement on a connection of its own. */
  async rows<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new Client({
      connectionString: await this.place.postgresUrl(),
      connectionTimeoutMillis: HANG_MS,
      query_timeout: HANG_MS,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<Row>(sql, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Counts a blow. */
  note(what: string): void {
    this.struck[what] = (this.struck[what] ?? 0) + 1;
  }

  /** Notes the time since then (`performance.now()`); `measured`: from when until when. */
  recovered(measured: string, struck: string, since: number): number {
    const ms = Math.round(performance.now() - since);
    const recoveries = this.recoveries.get(measured) ?? [];
    this.recoveries.set(measured, [...recoveries, { struck, ms }]);
    return ms;
  }

  newest(measured: string): Recovery | undefined {
    return this.recoveries.get(measured)?.at(-1);
  }

  /** Both, or the only one. */
  get treasuries(): readonly string[] {
    return this.processes.slotsOf('treasury');
  }

  /** Mints that are credited, as the treasury says that answers and knows most. */
  async credited(): Promise<number> {
    const asked = this.treasuries.filter((slot) => !this.processes.isFrozen(slot));
    // one that was killed just now does not answer
    const told = await Promise.all(asked.map((slot) => this.#creditedBy(slot).catch(() => 0)));
    return Math.max(0, ...told);
  }

  /** Resolves when each treasury has credited all payments, and no mint is in flight. */
  async allCredited(): Promise<void> {
    for (const slot of this.treasuries)
      await until(
        async () => [
          await this.#creditedBy(slot),
          await figureOf(this.processes.at(slot), 'treasury_mints_in_flight'),
        ],
        `${slot} to have credited all ${this.payments.made} payments, and no mint in flight`,
        ([credited, live]) => credited === this.payments.made && live === 0,
      );
  }

  #creditedBy(slot: string): Promise<number> {
    return figureOf(this.processes.at(slot), 'treasury_mints_total', 'MintCredited');
  }
}

/** A stack as the place of a system. */
export interface StackPlace extends Place {
  readonly stack: Stack;
}

/**
 * Runs on a stack of its own. Rejects, with the last lines of every service, when something does
 * not come back at all, or has ended by itself.
 */
export async function onStack<Result>(
  settings: Settings,
  given: Given,
  act: (system: System<StackPlace>) => Promise<Result>,
): Promise<Result> {
  const stack = await startStack();
  const { addresses, folder, ports } = stack;
  const place: StackPlace = {
    stack,
    addresses,
    folder,
    admin_port: ports.devnet,
    kafka: testKafka(addresses),
    registry_url: addresses.registry_url,
    operator: defaultSettings,
    postgresUrl: () => Promise.resolve(addresses.postgres_url),
    spawnService: (name, extra) => stack.spawnService(name, extra),
  };
  try {
    return await watched(new System(place, settings, given), act);
  } finally {
    await stack.stop();
  }
}

/** Rejects also when a process ends by itself. */
export async function watched<Where extends Place, Result>(
  system: System<Where>,
  act: (system: System<Where>) => Promise<Result>,
): Promise<Result> {
  const { processes } = system;
  try {
    return await processes.whileAllRun(act(system));
  } catch (cause) {
    throw new Error(`${messageOf(cause)}\n${processes.lastLines()}`, { cause });
  }
}
