/** `ops status`: brokers and hosts of Postgres, each asked alone, and what the cluster lists. */
import { setTimeout as after } from 'node:timers/promises';
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Kafka, KafkaSettings } from '../../runtime/kafka/port.ts';
import type { Hosts, Slot } from '../../runtime/postgres/hosts.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { kafkaOf } from '../connections.ts';
import { coloured, table } from '../text.ts';
import { awayText, isSilence, whyAway } from './away.ts';
import type { Unanswered } from './parts.ts';

export interface Server {
  readonly kind: 'kafka' | 'postgres';
  /** of Postgres host:port */
  readonly name: string;
  /** away: it does not answer, or the cluster does not have it now */
  readonly state: 'broker' | 'primary' | 'replica' | 'away';
  /** why it is away, and the first command to use; null: it is not, or nothing tells */
  readonly why: string | null;
  /** of a primary of Postgres, 8 hex digits; the higher one was promoted later */
  readonly timeline: string | null;
  /** of Postgres, Unix seconds; null: not known */
  readonly started_at: number | null;
  /** of a primary of Postgres */
  readonly slots: readonly Slot[];
}

/** By host:port: the names of parts of a stack on this machine. */
type LocalParts = ReadonlyMap<string, string>;

/** The hosts of the connection string, each asked for at most `answer_ms`. */
export async function readHosts(
  hosts: Hosts,
  answer_ms: number,
  parts: LocalParts,
): Promise<readonly Server[]> {
  const seen = await hosts.look(answer_ms);
  return hosts.names.map((name) => {
    const answer = seen.get(name);
    const state =
      answer === undefined ? 'away' : answer.timeline === undefined ? 'replica' : 'primary';
    return {
      kind: 'postgres',
      name,
      state,
      why:
        answer === undefined
          ? awayText(hosts.problem(name), answer_ms, {
              part: parts.get(name),
              account: 'the user of APP_POSTGRES_READER_URL, with its password,',
              authority: 'sslrootcert of APP_POSTGRES_READER_URL',
            })
          : null,
      timeline: answer?.timeline ?? null,
      started_at: answer === undefined ? null : Number(answer.started_at),
      slots: answer?.slots ?? [],
    };
  });
}

/** The servers that may be written to, each once, whatever names lead to it. */
export function primariesOf(servers: readonly Server[]): readonly Server[] {
  const primaries = servers.filter(({ state }) => state === 'primary');
  return [...new Map(primaries.map((each) => [each.started_at, each])).values()];
}

/** The brokers that the cluster has, and those that only have replicas: addresses by id. */
export async function readBrokers(kafka: Kafka): Promise<ReadonlyMap<number, string | undefined>> {
  return withAdmin(kafka, (admin) => admin.brokers());
}

/**
 * Connects to each broker of the settings, once: why each that does not answer does not. A question
 * about the cluster would go to any broker of it.
 */
export async function reachBrokers(
  settings: KafkaSettings,
  answer_ms: number,
  parts: LocalParts,
): Promise<ReadonlyMap<string, string>> {
  const problems = await Promise.all(
    settings.kafka_brokers.map(async (address) => {
      const alone = Object.assign({}, settings, { kafka_brokers: [address], retries: 0 });
      const late = after(answer_ms, undefined, { ref: false }).then(() => {
        throw new Fault('timeout', `no answer within ${answer_ms} ms`, { retry: true });
      });
      try {
        await Promise.race([withAdmin(kafkaOf(alone), (admin) => admin.connect()), late]);
        return [];
      } catch (error) {
        // a broker that refuses the question has answered
        const hasAnswered = error instanceof Fault && !isSilence(error);
        if (hasAnswered && whyAway(error).why !== 'account') return [];
        const why = awayText(error, answer_ms, {
          part: parts.get(address),
          account: 'APP_KAFKA_USERNAME, with APP_KAFKA_PASSWORD,',
          authority: 'APP_KAFKA_TLS_CA',
        });
        return [[address, why] as const];
      }
    }),
  );
  return new Map(problems.flat());
}

/**
 * A row for each broker, and for each address of the settings that does not answer and belongs to
 * none that the cluster has. `brokers`, `away`: null while they are not known.
 */
export function brokerRows(
  brokers: ReadonlyMap<number, string | undefined> | null,
  away: ReadonlyMap<string, string> | null,
): readonly Server[] {
  const listed = [...(brokers ?? [])].toSorted(([one], [other]) => one - other);
  const gone = listed.filter(([, address]) => address === undefined);
  const known = new Set(listed.map(([, address]) => address));
  const unlisted = [...(away ?? [])].filter(([address]) => !known.has(address));
  // one of each: in all likelihood the same
  const [only] = gone.length === 1 && unlisted.length === 1 ? unlisted : [];
  const rows = listed.map(([id, given]) => {
    const address = given ?? only?.[0];
    const why = address === undefined ? undefined : away?.get(address);
    const name = address === undefined ? `broker ${id}` : `broker ${id} at ${address}`;
    return brokerRow(name, given === undefined || why !== undefined, why);
  });
  return [
    ...rows,
    ...(only === undefined ? unlisted : []).map(([address, why]) => brokerRow(address, true, why)),
  ];
}

function brokerRow(name: string, isAway: boolean, why: string | undefined): Server {
  return {
    kind: 'kafka',
    name,
    state: isAway ? 'away' : 'broker',
    why: why ?? null,
    timeline: null,
    started_at: null,
    slots: [],
  };
}

/** Brokers that are away. */
export function awayOf(servers: readonly Server[]): readonly Server[] {
  return servers.filter(({ kind, state }) => kind === 'kafka' && state === 'away');
}

/** Brokers that are away, else why none is known and replicas lack nevertheless. */
export function brokersText(servers: readonly Server[]): string {
  const away = awayOf(servers);
  if (away.length === 0)
    return 'a broker is away or frozen, or catches up since its start; on this machine npm run up -- --cluster names it';
  return away
    .map(({ name, why }) => {
      const part = name.replace(/^broker (\d+).*/, 'kafka-$1');
      return `${name}: ${why ?? `away or frozen: on this machine npx ops restart ${part}`}`;
    })
    .join('; ');
}

/** The servers that a part of a look asks. */
export interface Asked {
  readonly kind: Server['kind'];
  /** addresses in the settings */
  readonly count: number;
}

/**
 * A line for each part that did not answer: where each broker, or each host of Postgres, is away,
 * the line says why. `asked`: by part.
 */
export function unansweredLines(
  unanswered: readonly Unanswered[],
  servers: readonly Server[],
  asked: Readonly<Record<string, Asked>>,
): readonly string[] {
  return unanswered.map(({ of, text, is_silent: isSilent }) => {
    const { kind, count = 0 } = asked[of] ?? {};
    const away = servers.filter((each) => each.kind === kind && each.why !== null);
    if (!isSilent || away.length === 0 || away.length < count) return text;
    return `${of} does not answer: ${away.map(({ name, why }) => `${name}: ${why}`).join('; ')}`;
  });
}

/** For people: a row a server. */
export function serversTable(servers: readonly Server[], now: number): string {
  const rows = servers.map(({ kind, name, state, why, timeline, started_at }) => [
    kind,
    name,
    coloured(state === 'away' ? 'red' : 'green', state),
    [why ?? '', timeline === null ? '' : `timeline ${timeline}`, startedText(started_at ?? 0, now)]
      .filter((text) => text !== '')
      .join(', '),
  ]);
  return table(['SERVER', '', 'STATE', ''], rows);
}

/** A start that may explain what a person sees. */
const RECENT_S = 600;

/** Empty unless it was within ten minutes. Both times are Unix seconds. */
export function startedText(startedAt: number, now: number): string {
  if (now - startedAt > RECENT_S) return '';
  return `started ${Math.max(0, Math.round(now - startedAt))} s ago`;
}
