/**
 * The hosts of a connection string that names several, as this process sees them: node-postgres
 * takes one. A promotion begins a new timeline. The newest one seen on any host is kept, so that a
 * former primary is refused even when the new one does not answer.
 */
import { setTimeout as after } from 'node:timers/promises';
import { Client } from 'pg';
import { Bug, Fault, messageOf, propertyOf } from '../process/errors.ts';
import type { Metrics } from '../process/metrics.ts';
import {
  parsePostgresUrl,
  type PostgresAddress,
  type PostgresHost,
} from '../process/postgres-url.ts';

/** Between two questions to each host while connections are open. */
const LOOK_MS = 1_000;
/** A host that did not answer the last question holds up a connection for so long. */
const SILENT_MS = 200;
/** The deadline of a question, in parts of that of the connection that it is asked for. */
const ANSWER_SHARE = 1 / 2;
/** Positions of the primary are kept for this long: no `stale_ms` is longer. */
export const STALE_MS_MAX = 600_000;

/** The purpose of a connection, unless its string says target_session_attrs. */
export type Use = 'read-write' | 'any';

export interface Need {
  readonly use: Use;
  /** the deadline of the connection */
  readonly connect_ms: number;
  /** a standby is refused that lacks what the primary had so long ago */
  readonly stale_ms: number;
}

export type Account = Pick<PostgresAddress, 'user' | 'password' | 'database' | 'ssl'>;

/** A host as it answered. */
export interface Seen {
  /** 8 hex digits; undefined: a standby, whose control file may be of an earlier one */
  readonly timeline: string | undefined;
  /** Unix seconds with microseconds: tells servers apart, since two names may lead to one */
  readonly started_at: string;
  /** of the log: written by a primary, replayed by a standby; bytes */
  readonly position: bigint;
  readonly slots: readonly Slot[];
}

/** A replication slot of a primary. */
export interface Slot {
  readonly name: string;
  /** whether a replica reads from it now */
  readonly is_active: boolean;
  /** of log that it holds back */
  readonly bytes: number;
  /** the primary has removed log that its replica needs */
  readonly is_lost: boolean;
}

/** A host as metrics show it. */
interface HostState {
  readonly name: string;
  readonly is_up: boolean;
  /** of a standby */
  readonly behind_seconds: number | undefined;
  readonly slots: readonly Slot[];
}

/** A connection that is open. */
export interface Open {
  readonly need: Need;
  /** of its server, when that was a primary */
  readonly timeline: string | undefined;
  /** as `nameOf` */
  readonly host: string;
  /** Ends it; what waits for an answer fails with this. */
  end(reason: Fault): void;
}

/** Columns by which a server says how it is; each role may call these functions. */
export const ABOUT = `extract(epoch FROM pg_postmaster_start_time())::text AS started_at,
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline,
  (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END - '0/0'::pg_lsn)::text AS position,
  (SELECT string_agg(concat_ws(' ', slot_name, active, coalesce(wal_status, 'lost'),
      CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() - restart_lsn END), ',' ORDER BY slot_name)
     FROM pg_replication_slots) AS slots`;

export interface AboutRow {
  readonly started_at: string;
  readonly timeline: string | null;
  readonly position: string | null;
  /** `name active status bytes` of each, between commas; without bytes nothing is held back */
  readonly slots: string | null;
}

export function seenIn({ started_at, timeline, position, slots }: AboutRow): Seen {
  return {
    started_at,
    timeline: timeline ?? undefined,
    position: BigInt(position ?? 0),
    slots: (slots?.split(',') ?? []).map((slot) => {
      const [name = '', active, status, bytes = '0'] = slot.split(' ');
      return { name, is_active: active === 't', is_lost: status === 'lost', bytes: Number(bytes) };
    }),
  };
}

export function nameOf({ host, port }: PostgresHost): string {
  return `${host}:${port}`;
}

export function addressOf(url: string): PostgresAddress {
  const address = parsePostgresUrl(url);
  if (address === undefined) throw new Bug('the connection string was not read as a setting');
  return address;
}

/** One host: its last answer, and the connection that asks it. */
class Host {
  readonly address: PostgresHost;
  readonly name: string;
  /** undefined: it did not answer the last question */
  seen: Seen | undefined;
  /** why it did not */
  problem: unknown;
  readonly #account: Account;
  #client: Client | undefined;
  #asked: Promise<void> | undefined;

  constructor(address: PostgresHost, account: Account) {
    this.address = address;
    this.name = nameOf(address);
    this.#account = account;
  }

  /** Asks once at a time. Resolves when `seen` or `problem` is new; never rejects. */
  ask(answer_ms: number, keep: () => boolean): Promise<void> {
    return (this.#asked ??= this.#ask(answer_ms, keep).finally(() => (this.#asked = undefined)));
  }

  async #ask(answer_ms: number, keep: () => boolean): Promise<void> {
    try {
      this.#client ??= await this.#connected(answer_ms);
      const { rows } = await this.#client.query<AboutRow>(`SELECT ${ABOUT}`);
      const [row] = rows;
      if (row === undefined) throw new Bug('Postgres answered without a row');
      this.seen = seenIn(row);
      this.problem = undefined;
    } catch (error) {
      this.seen = undefined;
      this.problem = error;
      this.#close();
    }
    if (!keep()) this.#close();
  }

  async #connected(answer_ms: number): Promise<Client> {
    const { host, port } = this.address;
    const { user, password, database, ssl } = this.#account;
    const client = new Client({
      host,
      port,
      user,
      password,
      database,
      ssl,
      connectionTimeoutMillis: answer_ms,
      query_timeout: answer_ms,
      application_name: 'looks for the primary',
    });
    client.on('error', () => undefined);
    client.on('end', () => {
      if (this.#client === client) this.#client = undefined;
    });
    try {
      await client.connect();
      return client;
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  /** No connection is open any more. The last answer stays for one that is being opened. */
  rest(): void {
    // a question that goes on closes its connection itself
    if (this.#asked === undefined) this.#close();
  }

  #close(): void {
    const client = this.#client;
    this.#client = undefined;
    void client?.end().catch(() => undefined);
  }
}

const known = new Map<string, Hosts>();

export class Hosts {
  readonly #hosts: readonly Host[];
  readonly #open = new Set<Open>();
  /** the newest timeline that any host had */
  #newest = '';
  /** of the primaries of that timeline, with the time of this process; oldest first */
  #positions: { readonly at: number; readonly position: bigint }[] = [];
  #looks: NodeJS.Timeout | undefined;

  constructor(url: string) {
    const { hosts, target_session_attrs: _use, ...account } = addressOf(url);
    this.#hosts = hosts.map((each) => new Host(each, account));
  }

  /** The hosts of a string, which all connections of a process share. */
  static of(url: string): Hosts {
    const hosts = known.get(url) ?? new Hosts(url);
    known.set(url, hosts);
    return hosts;
  }

  /** The host to connect to. Throws a fault with retry where there is none. */
  async choose(need: Need): Promise<PostgresHost> {
    const [only, ...others] = this.#hosts;
    if (only === undefined) throw new Bug('a connection string names a host');
    if (others.length === 0) return only.address;
    await this.look(need.connect_ms * ANSWER_SHARE);
    const usable = this.#hosts.filter(
      (host) => host.seen !== undefined && this.#refusal(host.seen, need) === undefined,
    );
    const [first, ...rest] = usable;
    if (first === undefined) throw this.#none(need);
    if (need.use === 'any') return first.address;
    const twin = rest.find(({ seen }) => seen?.started_at !== first.seen?.started_at);
    if (twin === undefined) return first.address;
    throw unreachable(
      `${first.name} and ${twin.name} may both be written to, and none was promoted after the other: stop the one that is not the primary, or make it a replica`,
    );
  }

  /** Asks each host; one that was silent before may still be at it. */
  async look(answer_ms: number): Promise<ReadonlyMap<string, Seen>> {
    await Promise.all(
      this.#hosts.map(async (host) => {
        const wasSilent = host.problem !== undefined;
        const asked = host
          .ask(answer_ms, () => this.#open.size > 0)
          .then(() => host.seen && this.saw(host.seen));
        const over = new AbortController();
        await Promise.race([
          asked,
          ...(wasSilent ? [after(SILENT_MS, undefined, { signal: over.signal })] : []),
        ]).finally(() => over.abort());
      }),
    );
    this.#check();
    return new Map(
      this.#hosts.flatMap(({ name, seen }) => (seen === undefined ? [] : [[name, seen] as const])),
    );
  }

  /** Why a host did not answer when it was asked last; undefined: it did. */
  problem(name: string): unknown {
    return this.#hosts.find((host) => host.name === name)?.problem;
  }

  get names(): readonly string[] {
    return this.#hosts.map(({ name }) => name);
  }

  /** How many hosts said when they were asked last that they may be written to. */
  get primaries(): number {
    if (this.#looks === undefined) return 0;
    const primaries = this.#hosts.flatMap(({ seen }) =>
      seen?.timeline === undefined ? [] : [seen.started_at],
    );
    return new Set(primaries).size;
  }

  /** Each host as it answered last; none while no connection is open, when nobody asks them. */
  get states(): readonly HostState[] {
    if (this.#looks === undefined) return [];
    return this.#hosts.map(({ name, seen }) => ({
      name,
      is_up: seen !== undefined,
      behind_seconds:
        seen === undefined || seen.timeline !== undefined ? undefined : this.#behind(seen),
      slots: seen?.slots ?? [],
    }));
  }

  /** Since when the primary had what this standby lacks, to a look; `STALE_MS_MAX` at most. */
  #behind({ position }: Seen): number {
    const lacked = this.#positions.find((each) => each.position > position);
    return lacked === undefined ? 0 : (performance.now() - lacked.at) / 1_000;
  }

  /** Notes what a server said about itself. */
  saw({ timeline, position }: Seen): void {
    if (timeline === undefined || timeline < this.#newest) return;
    if (timeline > this.#newest) this.#positions = [];
    this.#newest = timeline;
    const at = performance.now();
    this.#positions.push({ at, position });
    const kept = this.#positions.findIndex((each) => each.at > at - STALE_MS_MAX - LOOK_MS);
    this.#positions.splice(0, kept);
  }

  /** Why a connection of this need may not use that server; undefined: it may. */
  refusal(seen: Seen, need: Need): Fault | undefined {
    const reason = this.#refusal(seen, need);
    return reason === undefined ? undefined : unreachable(`Postgres ${reason}`);
  }

  #refusal({ timeline, position }: Seen, { use, stale_ms }: Need): string | undefined {
    if (timeline !== undefined && timeline < this.#newest)
      return `was replaced: its timeline is ${timeline}, and a primary of ${this.#newest} was seen; stop it or make it a replica (where the newer one is gone for good, start this process again)`;
    if (timeline !== undefined) return undefined;
    if (use === 'read-write')
      return 'is a standby: promote it, or name its primary in APP_POSTGRES_URL';
    const before = performance.now() - stale_ms;
    const held = this.#positions.findLast(({ at }) => at <= before);
    const isStale = held !== undefined && position < held.position && this.#hasPrimary;
    return isStale ? `is a standby more than ${stale_ms / 1_000} s behind` : undefined;
  }

  /** Whether a primary of the newest timeline answers: else nothing is newer than a standby. */
  get #hasPrimary(): boolean {
    return this.#hosts.some(({ seen }) => seen?.timeline === this.#newest);
  }

  #none({ use }: Need): Error {
    // no other host will take the account
    const denied = this.#hosts.find(({ problem }) =>
      String(propertyOf(problem, 'code')).startsWith('28'),
    );
    if (denied?.problem instanceof Error) return denied.problem;
    const need = { use, connect_ms: 0, stale_ms: 0 };
    const reasons = this.#hosts.map(({ name, seen, problem }) => {
      const reason = seen === undefined ? messageOf(problem) : this.#refusal(seen, need);
      return `${name} (${reason})`;
    });
    const what = use === 'any' ? 'may be read' : 'may be written to';
    return unreachable(`no Postgres ${what}: ${reasons.join(', ')}`);
  }

  /** A connection is open from now on, and ended when its host may no longer be used. */
  opened(connection: Open): void {
    this.#open.add(connection);
    if (this.#hosts.length > 1)
      this.#looks ??= setInterval(
        () => void this.look(connection.need.connect_ms * ANSWER_SHARE),
        LOOK_MS,
      ).unref();
    this.#check();
  }

  closed(connection: Open): void {
    if (!this.#open.delete(connection) || this.#open.size > 0) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
    for (const host of this.#hosts) host.rest();
  }

  #check(): void {
    for (const connection of this.#open) {
      const { need, timeline, host } = connection;
      const at = this.#hosts.find(({ name }) => name === host)?.seen;
      const seen = [
        ...(timeline === undefined ? [] : [{ timeline, started_at: '', position: 0n, slots: [] }]),
        ...(at === undefined ? [] : [at]),
      ];
      for (const each of seen) {
        const reason = this.refusal(each, need);
        if (reason === undefined) continue;
        this.closed(connection);
        connection.end(reason);
        break;
      }
    }
  }
}

/** Registers what the hosts say about themselves, where the connection string names several. */
export function showHosts(metrics: Metrics, url: string): void {
  if (addressOf(url).hosts.length === 1) return;
  const hosts = Hosts.of(url);
  metrics.gauge(
    'postgres_primaries',
    'hosts of the connection string that say they may be written to, as this process sees them; 0: none, or it has no connection',
    [],
    function () {
      this.set(hosts.primaries);
    },
  );
  metrics.gauge(
    'postgres_host_up',
    'whether a host of the connection string answers this process; none while it has no connection',
    ['host'],
    function () {
      this.reset();
      for (const { name, is_up } of hosts.states) this.set({ host: name }, is_up ? 1 : 0);
    },
  );
  metrics.gauge(
    'postgres_replica_behind_seconds',
    'since when the primary has had what this replica lacks, to about a second; 600 at most',
    ['host'],
    function () {
      this.reset();
      for (const { name, behind_seconds: behindSeconds } of hosts.states)
        if (behindSeconds !== undefined) this.set({ host: name }, behindSeconds);
    },
  );
  metrics.gauge(
    'postgres_slot_bytes',
    'bytes of log that a replication slot of the primary holds back',
    ['host', 'slot'],
    function () {
      this.reset();
      for (const { name, slots } of hosts.states)
        for (const { name: slot, bytes } of slots) this.set({ host: name, slot }, bytes);
    },
  );
}

function unreachable(message: string): Fault {
  return new Fault('storage_unreachable', message, { retry: true });
}
