/** The table of `docs/limits.md`: each limit, and what the bench `abuse` shows without it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIMIT_NAMES, type LimitName } from '../../services/runtime/limits/limits.ts';
import { ATTACKS } from './abuse-attacks.ts';
import { ABLATION, allPublished } from './measurements.ts';
import type { BenchResult, Ratio } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
export const LIMITS_PAGE = join(ROOT, 'docs/limits.md');
const BEGIN = '<!-- begin of what npm run bench:publish writes -->\n';
const END = '<!-- end of what npm run bench:publish writes -->\n';

interface Described {
  readonly stops: string;
  readonly by_default: string;
  /** in services/runtime/limits */
  readonly file: string;
}

const LIMITS: Readonly<Record<LimitName, Described>> = {
  rate: {
    stops: 'many requests, messages, pings and sign-ins',
    by_default:
      '100 a second and 300 at once of an address or an account; all accounts of an address three times that; a body counts for each 16 KiB, a sign-in as 5',
    file: 'rate.ts',
  },
  addresses: {
    stops: 'new deposit addresses, each of which is watched for ever',
    by_default: '10 a minute and 60 at once of an address',
    file: 'rate.ts',
  },
  connections: {
    stops: 'connections that take the place of others, and packets of many requests',
    by_default:
      '1,000 connections and 500 sockets of an address, 10,000 connections in all; 16 requests unanswered on one, and a client that sends more opens none for 10 s',
    file: 'held.ts',
  },
  bytes: {
    stops: 'long bodies, and messages in many pieces',
    by_default:
      '320 KiB of a body (16 KiB where no GraphQL is served), 64 KiB and 256 pieces of a message',
    file: 'bytes.ts',
  },
  documents: {
    stops: 'GraphQL that takes long to check or to execute',
    by_default:
      '300 tokens, 20 deep, 500 fields, 50 aliases of 64 characters, 10 fields at the root or of one name; of a subscription 50 fields, 10 aliases and 1 field at the root; 1 error of variables',
    file: 'documents.ts',
  },
  starts: {
    stops: 'requests and sockets of one client before those of others',
    by_default: 'after 2 ms of a turn of the event loop one start of each of 8 clients',
    file: 'starts.ts',
  },
  turns: {
    stops: 'long lists one after the other, and many subscriptions',
    by_default:
      '4 operations at once, and as many of subscriptions, each of another client, which rests 19 times as long as it read; all accounts of an address have one, and rest together, a third as long; 50 wait, for 30 s at most',
    file: 'turns.ts',
  },
  subscriptions: {
    stops: 'subscriptions that leave no memory to others',
    by_default:
      '100 different of an address or an account, 1,000 of all accounts of an address; 20 operations on a socket; 256 MiB of results, an eighth of them for one client',
    file: 'subscriptions.ts',
  },
  long_reads: {
    stops: 'scans and exports that take all connections to Postgres, or a core for long',
    by_default:
      '2 scans, each of another client, and 4 exports, half of them of one client, of which one reads at a time; each rests as long as it read',
    file: 'long-reads.ts',
  },
};

/** The page with these results in the place of those that it had. */
export function limitsPageWith(page: string, results = allPublished()): string {
  const [before, after] = page.split(BEGIN);
  const rest = after?.split(END)[1];
  if (before === undefined || rest === undefined)
    throw new Error(`docs/limits.md has no part between "${BEGIN}" and "${END}": restore it`);
  const rows = LIMIT_NAMES.map((name) => row(name, results));
  const head =
    '| limit | stops | default | lines | with it | without it |\n|---|---|---|---|---|---|\n';
  return `${before}${BEGIN}\n${head}${rows.join('')}\n${END}${rest}`;
}

function row(name: LimitName, results: readonly BenchResult[]): string {
  const { stops, by_default: byDefault, file } = LIMITS[name];
  const lines =
    readFileSync(join(ROOT, 'services/runtime/limits', file), 'utf8').split('\n').length - 1;
  const whole = results.find(({ bench }) => bench === 'abuse');
  const without = results.find(({ bench }) => bench === `${ABLATION}${name}`);
  const attacks = Object.entries(ATTACKS).flatMap(([attack, { limit }]) =>
    limit === name ? [attack] : [],
  );
  const found = (result: BenchResult | undefined): string =>
    attacks.map((attack) => worstOf(attack, result)).join('; ');
  const cells = [`\`${name}\``, stops, byDefault, String(lines), found(whole), found(without)];
  return `| ${cells.join(' | ')} |\n`;
}

/** The figure of this attack that is the farthest above its goal, and refused honest requests. */
function worstOf(attack: string, result: BenchResult | undefined): string {
  const own = (result?.ratios ?? []).filter(({ what }) => what.includes(`under ${attack} `));
  const [worst] = own.toSorted((one, other) => other.ratio - one.ratio);
  if (worst === undefined) return `${attack}: not measured`;
  return `${attack}: ${worst.what.split(' ')[0]} ${worst.ratio.toFixed(1)}${lost(result?.ratios ?? [])}`;
}

function lost(ratios: readonly Ratio[]): string {
  const named: Readonly<Record<string, string>> = {
    'honest requests that were not answered 200': 'requests refused',
    'honest subscriptions that ended': 'subscriptions ended',
    'gateways that ended': 'gateways ended',
    'addresses of one attack': 'addresses',
  };
  return ratios
    .flatMap(({ what, ratio, goal = '' }) => {
      const isMissed = ratio > Number(/^<= ([0-9.]+)/.exec(goal)?.[1] ?? Number.POSITIVE_INFINITY);
      return isMissed && named[what] !== undefined ? [`, ${ratio} ${named[what]}`] : [];
    })
    .join('');
}
