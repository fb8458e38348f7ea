/**
 * All that `ops status` judges, as one list. From it come the first line, the section NEEDS
 * ATTENTION, the exit code and the table in docs/operations/monitoring.md. A figure that is not
 * known makes a line too: it is never taken for a good one.
 */
import { TOPICS } from '../../../schemas/topics.ts';
import type { LogEnd } from '../../runtime/kafka/port.ts';
import { startsLost } from '../../runtime/kafka/topics.ts';
import type { Limits } from '../config.ts';
import type { Certificate } from './certificates.ts';
import type { Position } from './positions.ts';
import { awayOf, brokersText, primariesOf, type Server } from './servers.ts';
import {
  CLOCK,
  coverOf,
  newestRun,
  stateText,
  waitingDeposits,
  waitText,
  type Disk,
  type ServiceHealth,
} from './services.ts';

/** All that was read; null: the part did not answer, or does not exist here. */
export interface Seen {
  /** why each part that did not answer did not */
  readonly unanswered: readonly string[];
  readonly node_height: number | null;
  readonly log: readonly LogEnd[] | null;
  readonly projections: readonly Position[] | null;
  /** by `partitionKey`: the first offset whose record is younger than `status_lag_seconds` */
  readonly recent: ReadonlyMap<string, bigint> | null;
  /** lag of the Postgres that was read; 0: it is the primary */
  readonly replica_seconds: number | null;
  /** brokers and hosts of Postgres, as far as they are known */
  readonly servers: readonly Server[];
  readonly services: readonly ServiceHealth[] | null;
  readonly disk: Disk | null;
  /** records that halt a projection */
  readonly halting: readonly { readonly projection: string; readonly record: string }[] | null;
  readonly certificates: readonly Certificate[];
}

export interface Check {
  /** snake_case, stable */
  readonly name: string;
  /** the figure, and when it needs a person; `N` stands for the setting */
  readonly fails: string;
  readonly setting?: keyof Limits;
  readonly to_do: string;
  /** A line for each thing that needs a person; `threshold` of the setting, 0 without one. */
  readonly find: (seen: Seen, threshold: number) => readonly string[];
}

/** Causes before what follows from them. */
export const CHECKS: readonly Check[] = [
  {
    name: 'disk',
    fails: 'the disk of a local stack has less than N MB free',
    setting: 'status_disk_mb',
    to_do: 'make room: when it is full the servers stop',
    find: ({ disk }, least) =>
      disk !== null && disk.free_bytes < least * 2 ** 20
        ? [`disk: ${diskText(disk)}; when it is full the servers stop: make room`]
        : [],
  },
  {
    name: 'clock',
    fails: 'the clock of a service is more than N s from the one of `ops`',
    setting: 'status_clock_seconds',
    to_do: 'set it right, or the clock of `ops` where all services are named; runbook: ClockWrong',
    find: ({ services }, most) =>
      (services ?? []).flatMap(({ name, metrics: { [CLOCK]: ahead = 0 } }) =>
        Math.abs(ahead) > most
          ? [
              `${name}: its clock is ${Math.round(Math.abs(ahead))} s ${ahead > 0 ? 'ahead of' : 'behind'} the one of this machine: set the wrong one right`,
            ]
          : [],
      ),
  },
  {
    name: 'two_primaries',
    fails: 'more than one host of Postgres may be written to',
    to_do: 'stop those of a lower timeline, or make them replicas; runbook: TwoPrimaries',
    find: ({ servers }) => {
      const primaries = primariesOf(servers);
      if (primaries.length < 2) return [];
      const names = primaries.map(({ name, timeline }) => `${name} (timeline ${timeline})`);
      return [
        `postgres: ${names.join(' and ')} may be written to: the one of the lower timeline has to stop or become a replica: on this machine npx ops restart postgres-N makes it one, elsewhere the runbook says how: TwoPrimaries`,
      ];
    },
  },
  {
    name: 'unanswered',
    fails:
      'the node, the brokers or Postgres does not answer in time, or a local stack was not stopped and does not run',
    to_do: 'as the line says: npx ops restart of the part, or npm run up',
    find: ({ unanswered }) => unanswered,
  },
  {
    name: 'services_unknown',
    fails: 'no stack file and no `APP_STATUS_SERVICES` lists the services',
    to_do: 'set APP_STATUS_SERVICES to NAME=URL of each, separated by commas',
    find: ({ services }) =>
      services === null
        ? ['nothing lists the services, so neither they nor the money were seen']
        : [],
  },
  {
    name: 'service',
    fails: 'a service does not answer, is not ready or halted, or says that it needs a person',
    to_do: '`/status` and the log of the service say more; npx ops restart SERVICE starts it again',
    find: ({ services }) =>
      linesBySaying(
        (services ?? []).flatMap((service) => {
          const { name, status, message } = service;
          if (status === 'unreachable')
            return { name, text: `${stateText(service)}, npx ops restart ${name}` };
          if (status !== 'ready') return { name, text: stateText(service) };
          return message === null ? [] : { name, text: message };
        }),
      ),
  },
  {
    name: 'service_note',
    fails: 'a service has a note, as while the rolling cap is full or custody has a surplus',
    to_do: 'as the note says',
    find: ({ services }) =>
      linesBySaying(
        (services ?? []).flatMap(({ name, notes }) => notes.map((text) => ({ name, text }))),
      ),
  },
  {
    name: 'quarantine',
    fails: 'a record halts a projection',
    to_do: 'npx ops quarantine list shows why',
    find: ({ halting }) =>
      (halting ?? []).map(
        ({ projection, record }) => `${projection} is halted at ${record}: npx ops quarantine list`,
      ),
  },
  {
    name: 'log_lost',
    fails: 'a topic ends before what a projection has applied',
    to_do: '`/status` of the projector says how the log comes back',
    find: ({ projections }) =>
      (projections ?? []).flatMap(({ projection, topic, partition, lag }) =>
        lag === null || lag >= 0n
          ? []
          : [
              `${topic}/${partition} ends ${-lag} records before what ${projection} has applied: its end was lost or it was created again; see /status of the projector`,
            ],
      ),
  },
  {
    name: 'log_start_lost',
    fails: 'a topic does not begin at offset 0 any more',
    to_do: 'restore it from a backup: backup.md',
    find: ({ log }) =>
      (log ?? []).flatMap((end) =>
        TOPICS.filter(({ name }) => name === end.topic).flatMap((topic) =>
          startsLost(topic, [end]),
        ),
      ),
  },
  {
    name: 'lag_records',
    fails: 'a projection is more than N records behind, or the lag is not known',
    setting: 'status_lag_records',
    to_do: 'look at the state of its projector, and whether it catches up (PER SECOND)',
    find: ({ projections, recent, log }, most) => {
      // where the log was not read, the check `unanswered` says so once
      if (recent === null) return [];
      const unknown = new Map<string, string[]>();
      const behind = byProjection(projections).flatMap(([projection, positions]) => {
        if (positions.some(({ lag }) => lag === null)) {
          const gone = positions.find(
            ({ topic }) => log?.some((end) => end.topic === topic) === false,
          );
          const why = gone === undefined ? '' : `: the brokers have no topic ${gone.topic}`;
          unknown.set(why, [...(unknown.get(why) ?? []), projection]);
          return [];
        }
        const lag = positions.reduce((sum, position) => sum + (position.lag ?? 0n), 0n);
        return lag > BigInt(most)
          ? [`${projection} is ${lag} records behind: look at the log of its projector`]
          : [];
      });
      return [
        ...[...unknown].map(([why, names]) => `${names.join(', ')}: the lag is not known${why}`),
        ...behind,
      ];
    },
  },
  {
    name: 'lag_seconds',
    fails: 'a projection lacks a record that is more than N s old',
    setting: 'status_lag_seconds',
    to_do: 'as for lag_records; with a replica of Postgres, look whether it follows',
    find: ({ projections, recent }, most) =>
      byProjection(projections).flatMap(([projection, positions]) =>
        positions.some(
          ({ topic, partition, next_offset: nextOffset }) =>
            nextOffset < (recent?.get(`${topic}/${partition}`) ?? 0n),
        )
          ? [`${projection} lacks records that are older than ${most} s`]
          : [],
      ),
  },
  {
    name: 'replica',
    fails: 'the replica of Postgres that was read is more than N s behind',
    setting: 'status_lag_seconds',
    to_do: 'look whether its primary runs and sends: pg_stat_replication there',
    find: ({ replica_seconds }, most) =>
      replica_seconds !== null && replica_seconds > most
        ? [
            `the Postgres that was read is a replica, ${Math.round(replica_seconds)} s behind its primary`,
          ]
        : [],
  },
  {
    name: 'replica_away',
    fails: 'no replica of Postgres reads from a replication slot of the primary',
    to_do: 'start the replica; one that was away too long is made anew: runbook: ReplicationBehind',
    find: ({ servers }) => {
      const primaries = primariesOf(servers);
      // two primaries are the cause then, and slots of both are idle
      return (primaries.length === 1 ? primaries : []).flatMap(({ name, slots }) =>
        slots
          .filter(({ is_active: isActive }) => !isActive)
          .map(({ name: slot, is_lost: isLost }) =>
            isLost
              ? `postgres: the replica of slot ${slot} was away too long: ${name} has no log for it any more: make it anew, on this machine by npx ops restart ${slot.replaceAll('_', '-')}`
              : `postgres: no replica reads from slot ${slot} of ${name}: start it, or drop the slot`,
          ),
      );
    },
  },
  {
    name: 'kafka_replicas',
    fails:
      'a topic lacks replicas or has less than was declared, or a broker with replicas is away',
    to_do: 'runbook: ReplicasMissing, TopicNotDurable',
    find: (seen) => [
      ...listed(figures(seen, 'replicas missing ').map(([topic]) => topic)).map(
        (topics) => `replicas are not in sync, of ${topics}: ${brokersText(seen.servers)}`,
      ),
      // where no broker answers, the check `unanswered` says so
      ...(figures(seen, 'replicas missing ').length === 0 &&
      awayOf(seen.servers).length > 0 &&
      seen.servers.some(({ state }) => state === 'broker')
        ? [brokersText(seen.servers)]
        : []),
      ...figures(seen, 'topic differs ').map(
        ([topic]) =>
          `${topic} is not as durable as declared: the log of a service says how to mend it`,
      ),
    ],
  },
  {
    name: 'blocks_behind',
    fails: 'the node has more than N blocks that the log lacks',
    setting: 'status_blocks_behind',
    to_do: '`/status` of the chain-ingester says what it waits for',
    find: (seen, most) => {
      const log_height = figure(seen, 'log height', Math.max);
      if (log_height === undefined || seen.node_height === null) return [];
      const behind = seen.node_height - log_height;
      return behind > most
        ? [`the log is ${behind} blocks behind the node: see /status of the chain-ingester`]
        : [];
    },
  },
  {
    name: 'treasury_lag',
    fails: 'the treasury that works has more than N records not read or decided',
    setting: 'status_lag_records',
    to_do: '`/status` of the treasury says what it waits for',
    find: ({ services }, most) =>
      (services ?? []).flatMap(({ name, metrics }) => {
        const lag = name.startsWith('treasury') ? (metrics['records behind'] ?? 0) : 0;
        return metrics['lease held'] !== 0 && lag > most
          ? [`${name} is ${lag} records behind: see its /status`]
          : [];
      }),
  },
  {
    name: 'unasked',
    fails: 'an address was not asked about for more than N s',
    setting: 'status_unasked_seconds',
    to_do: 'runbook: WatcherBehind',
    find: (seen, most) => {
      const seconds = figure(seen, 'longest unasked in seconds', Math.max) ?? 0;
      return seconds > most
        ? [
            `an address was not asked about for ${Math.round(seconds)} s: see /status of the watchers`,
          ]
        : [];
    },
  },
  {
    name: 'mint_late',
    fails: 'a mint is in flight for more than N s',
    setting: 'status_mint_seconds',
    to_do: 'runbook: MintQueueOld',
    find: (seen, most) => {
      const seconds = figure(seen, 'oldest in seconds mint_requested', Math.max) ?? 0;
      return seconds > most
        ? [
            `a mint is in flight for ${Math.round(seconds)} s: npx ops deposit list --status mint_requested`,
          ]
        : [];
    },
  },
  {
    name: 'minting_closed',
    fails: 'nothing is minted: the gate is closed, or operators have stopped it',
    to_do: 'the message of the treasury says why; runbook: MintingClosed',
    find: ({ services }) =>
      (services ?? []).flatMap(({ name, status, message, metrics }) =>
        // its own message says why, in the check `service`
        (metrics['minting closed'] ?? 0) > 0 && status === 'ready' && message === null
          ? [`${name}: minting is closed: see its log`]
          : [],
      ),
  },
  {
    name: 'cap',
    fails: 'more than N percent of the rolling cap are used',
    setting: 'status_cap_percent',
    to_do: 'look who deposits so much; operators raise the cap with `ops policy set --rolling-cap`',
    find: (seen, most) => {
      const percent = 100 * (figure(seen, 'cap used', Math.max) ?? 0);
      return percent > most
        ? [
            `${Math.floor(percent)} % of the rolling cap are used: npx ops policy set --rolling-cap raises it`,
          ]
        : [];
    },
  },
  {
    name: 'deposits_waiting',
    fails: 'more than N deposits wait for a decision of a person, dust apart',
    setting: 'status_deposits_waiting',
    to_do: 'npx ops deposit list',
    find: ({ services }, most) => {
      const waiting = waitingDeposits(services ?? []);
      // dust alone asks for nobody: strangers send it at will
      return waiting.deposits > most ? [`${waitText(waiting)}: npx ops deposit list`] : [];
    },
  },
  {
    name: 'dead_mints',
    fails: 'a mint has died or was voided less than N s ago',
    setting: 'status_dead_mint_seconds',
    to_do: 'runbook: MintsVoided',
    find: (seen, most) =>
      ['MintDead', 'MintVoided'].flatMap((event) => {
        const seconds = figure(seen, `age of ${event}`, Math.min);
        return seconds !== undefined && seconds < most
          ? [
              `${event} ${Math.round(seconds)} s ago: npx ops tail treasury.ledger --type ${event} --no-follow`,
            ]
          : [];
      }),
  },
  {
    name: 'reserve',
    fails: 'custody does not cover what it has to, or the newest reserve run is `mismatch`',
    to_do: 'npx ops reserve runs',
    find: ({ services }) => {
      const cover = coverOf(services ?? []);
      if (cover?.is_short === true) return [`reserve: ${cover.line}: nothing is minted`];
      // a surplus is a note of the treasury
      return newestRun(services ?? [])?.status === 'mismatch'
        ? ['the newest reserve run is mismatch: npx ops reserve runs']
        : [];
    },
  },
  {
    name: 'reserve_age',
    fails: 'there is no reserve run, or the newest one is more than N s old',
    setting: 'status_reserve_seconds',
    to_do: 'npx ops reserve run makes one, or says why there is none',
    find: ({ services }, most) => {
      const age = newestRun(services ?? [])?.age_seconds;
      if (age === undefined || (age >= 0 && age <= most)) return [];
      const fault =
        age < 0 ? 'there is no reserve run' : `the newest reserve run is ${Math.round(age)} s old`;
      return [`${fault}: npx ops reserve run`];
    },
  },
  {
    name: 'reading_age',
    fails: 'the newest reserve run counts a balance that was read more than N s ago',
    setting: 'status_reading_seconds',
    to_do: 'runbook: ReserveReadingOld',
    find: (seen, most) => {
      const seconds = figure(seen, 'oldest balance in seconds', Math.max) ?? 0;
      return seconds > most
        ? [
            `the reserve counts a balance of ${Math.round(seconds)} s ago: see /status of the treasury`,
          ]
        : [];
    },
  },
  {
    name: 'snapshot_age',
    fails: 'the newest snapshot of the treasury is more than N s old',
    setting: 'status_snapshot_seconds',
    to_do: 'its next start takes longer: the log of the treasury says why none was written',
    find: (seen, most) => {
      const seconds = figure(seen, 'snapshot age in seconds', Math.min) ?? 0;
      return seconds > most
        ? [
            `the snapshot of the treasury is ${Math.round(seconds)} s old: see the log of the treasury`,
          ]
        : [];
    },
  },
  {
    name: 'certificate',
    fails: 'a certificate of the brokers, Postgres, the node or this account ends within N days',
    setting: 'status_certificate_days',
    to_do: 'renew it, then restart what reads it',
    find: ({ certificates }, most) =>
      certificates
        .filter(({ days_left: daysLeft }) => daysLeft < most)
        .map(({ of, days_left: daysLeft }) =>
          daysLeft < 0
            ? `the certificate of ${of} has expired: ${RENEWAL}`
            : `the certificate of ${of} ends in ${Math.floor(daysLeft)} days: ${RENEWAL}`,
        ),
  },
];

const RENEWAL =
  'renew it: runbook: CertificateExpires; of a cluster on this machine npx ops restart of the server does';

export function linesOf({ find, setting }: Check, seen: Seen, limits: Limits): readonly string[] {
  return find(seen, setting === undefined ? 0 : limits[setting]);
}

/** A line for each thing that needs a person, in the order of the list, none twice. */
export function attention(seen: Seen, limits: Limits): readonly string[] {
  return [...new Set(CHECKS.flatMap((check) => linesOf(check, seen, limits)))];
}

export function diskText({ path, free_bytes: freeBytes }: Disk): string {
  return `${Math.floor(freeBytes / 2 ** 20)} MB free at ${path}`;
}

/** A line for what several services say; for how long is the time of the first. */
function linesBySaying(
  said: readonly { readonly name: string; readonly text: string }[],
): readonly string[] {
  const same = Map.groupBy(said, ({ text }) => text.replaceAll(/\b\d+ m?s\b/g, ''));
  return [...same.values()].map(
    (each) => `${each.map(({ name }) => name).join(', ')}: ${each[0]?.text}`,
  );
}

function byProjection(
  projections: readonly Position[] | null,
): readonly (readonly [projection: string, positions: readonly Position[]])[] {
  return [...Map.groupBy(projections ?? [], ({ projection }) => projection)];
}

/** The figure of the services that have it; undefined: none has. */
function figure(
  { services }: Seen,
  label: string,
  of: (...values: readonly number[]) => number,
): number | undefined {
  const values = (services ?? []).flatMap(({ metrics }) => metrics[label] ?? []);
  return values.length === 0 ? undefined : of(...values);
}

/** One text for all, or none. */
function listed(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [names.toSorted().join(', ')];
}

/** Figures above 0 whose label begins so: its rest, and the largest figure of all services. */
function figures({ services }: Seen, prefix: string): readonly (readonly [string, number])[] {
  const largest = new Map<string, number>();
  for (const [label, value] of (services ?? []).flatMap(({ metrics }) => Object.entries(metrics))) {
    if (!label.startsWith(prefix) || value <= 0) continue;
    const rest = label.slice(prefix.length);
    largest.set(rest, Math.max(value, largest.get(rest) ?? 0));
  }
  return [...largest];
}
