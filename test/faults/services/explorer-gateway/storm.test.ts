/**
 * Random requests during blocks and reverts, with a real log and projector. One gateway caches its
 * responses until a notification, the other does not. The test knows every state of the chain. Each
 * response must equal that of one state between request and response, and must not be older than
 * the last notification received before the request.
 */
import { expect, inject, onTestFinished, test } from 'vitest';
import { explorer as projection } from '../../../../projections/explorer/explorer.ts';
import { FUNCTION_CALL_TYPES } from '../../../../schemas/function-call.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { chainEvents } from '../../../support/chain.ts';
import { freshDatabase } from '../../../support/database.ts';
import { Random } from '../../../support/random.ts';
import { until } from '../../../support/until.ts';
import { openTables } from '../../../services/projector/engine/projected.ts';
import {
  appliedUpTo,
  expectProjected,
  openOwnLog,
  startRunner,
} from '../../../services/projector/engine/running.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { type Place, type Question } from '../../../services/explorer-gateway/storm-answers.ts';
import {
  entriesOf,
  StormChain,
  type StormList,
} from '../../../services/explorer-gateway/storm-chain.ts';
import {
  askExport,
  exportMatter,
  type ExportQuestion,
} from '../../../services/explorer-gateway/storm-exports.ts';
import { StormQuestions } from '../../../services/explorer-gateway/storm-questions.ts';

const SEED = 20_261;
const BLOCKS = 420;
const BEFORE_EVENTS = 30;
const ROUNDS = 200;
/** each of them to both gateways */
const QUESTIONS = 8;
const EXPORTS = 1;
const AT_ONCE = 6;

const stack = inject('stack');

/** The chain, the log it is written to, and two gateways over what is projected from it. */
async function openStorm() {
  const log = await openOwnLog(stack);
  const { writer_url: writerUrl, reader_url: readerUrl } = await freshDatabase(stack);
  const tables = await openTables(writerUrl, { ...projection, topics: [log.topic] });
  onTestFinished(() => tables.pool.end());
  startRunner(log, { ...tables, group_id: log.topic });
  const chain = new StormChain();
  const storm = { chain, log, tables, events: [] as ChainEvent[], heard: 0 };
  const onNotification = (message: string): void => {
    const {
      position,
    }: { readonly position?: { readonly topic: string; readonly next_offset: string } } =
      JSON.parse(message);
    if (position?.topic === log.topic)
      storm.heard = Math.max(storm.heard, Number(position.next_offset));
  };
  const settings = { postgres_reader_url: readerUrl, exports_max: AT_ONCE };
  const keeping = await openExplorer({
    ...settings,
    notifications: { redis_url: stack.redis_url, onNotification },
  });
  onTestFinished(() => keeping.close());
  const plain = await openExplorer(settings);
  onTestFinished(() => plain.close());
  const append = async (events: readonly ChainEvent[]): Promise<void> => {
    for (const event of events) chain.add(event);
    storm.events.push(...events);
    await log.append(events);
  };
  return Object.assign(storm, { keeping, plain, append });
}

type Storm = Awaited<ReturnType<typeof openStorm>>;

interface Envelope {
  readonly items: readonly {
    readonly hash?: string;
    readonly block_height?: number;
    readonly height?: number;
  }[];
  readonly paging: {
    readonly limit: number;
    readonly offset: number;
    readonly total: number;
    readonly has_more: boolean;
  };
}

/** Checks a page by itself, without a state of the chain. */
function expectPage(path: string, text: string, list: StormList): void {
  const { items, paging }: Envelope = JSON.parse(text);
  expect({ path, total: paging.total, has_more: paging.has_more }).toEqual({
    path,
    total: paging.offset + items.length,
    has_more: items.length === paging.limit,
  });
  const hashes = items.flatMap(({ hash }) => hash ?? []);
  expect({ path, twice: hashes.length - new Set(hashes).size }).toEqual({ path, twice: 0 });
  const heights = items.flatMap(
    ({ height, block_height: blockHeight }) => height ?? blockHeight ?? [],
  );
  const step =
    list.of === 'blocks'
      ? (above: number, below: number) => above - below === 1
      : (above: number, below: number) => above >= below;
  expect({
    path,
    heights,
    ordered: heights.every((height, at) => at === 0 || step(heights[at - 1] ?? 0, height)),
  }).toMatchObject({
    ordered: true,
  });
}

interface HttpRequest {
  readonly link: string | undefined;
  /** which the link may name */
  readonly places: readonly Place[];
}

/** Asks; throws when it is the answer of no state that there was. */
async function ask(
  storm: Storm,
  explorer: ExplorerServer,
  question: Question,
): Promise<HttpRequest> {
  const { path, answers, list, reading = (body) => body } = question;
  const low = storm.heard;
  const { status, text, headers } = await explorer.get(path);
  const states = storm.chain.between(low, storm.events.length);
  const said = status === 404 ? null : reading(text);
  const possible =
    status === 200 || status === 404
      ? states.flatMap(answers).filter(({ body }) => body === said)
      : [];
  if (possible.length === 0) {
    const wanted = states.flatMap(answers).map(({ body }) => body?.slice(0, 600) ?? 'not found');
    throw new Error(
      `seed ${SEED}, after ${low} to ${storm.events.length} events: ${path}\n  ${status} ${text.slice(0, 600)}\n  instead of ${[...new Set(wanted)].join('\n  or ')}`,
    );
  }
  if (status === 200 && list !== undefined) expectPage(path, text, list.of);
  const link = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
  expect({ path, linked: link !== undefined }).toEqual({
    path,
    linked: possible.some(({ next }) => next !== undefined),
  });
  return { link, places: distinct(possible.flatMap(({ next }) => next ?? [])) };
}

function distinct(places: readonly Place[]): readonly Place[] {
  return [...new Map(places.map((place) => [`${place.along} ${place.below}`, place])).values()];
}

async function expectExport(
  storm: Storm,
  explorer: ExplorerServer,
  question: ExportQuestion,
): Promise<void> {
  const low = storm.heard;
  const exported = await askExport(explorer.url, question);
  const states = storm.chain.between(low, storm.events.length);
  const matter = exportMatter(question, exported, states);
  if (matter !== undefined)
    throw new Error(
      `seed ${SEED}, after ${low} to ${storm.events.length} events: ${exported.path}\n  ${matter}`,
    );
}

/** The items of all pages of a list, by its links. */
async function walk(explorer: ExplorerServer, first: string): Promise<string> {
  const items: string[] = [];
  for (let next: string | undefined = first; next !== undefined;) {
    const { text, headers } = await explorer.get(next);
    const page = text.slice('{"items":['.length, text.lastIndexOf('],"paging"'));
    if (page !== '') items.push(page);
    next = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
  }
  return items.join(',');
}

async function runAll(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const left = tasks.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const task of left) await task();
    }),
  );
}

/** Events as they come: one, two or three at once. */
async function arrive(storm: Storm, random: Random, events: readonly ChainEvent[]): Promise<void> {
  for (let at = 0; at < events.length;) {
    const count = 1 + random.below(3);
    await storm.append(events.slice(at, at + count));
    at += count;
  }
}

function transactionsOf(
  filter: { readonly address?: string; readonly type?: string } = {},
): StormList {
  return {
    of: 'transactions',
    address: undefined,
    block: undefined,
    type: undefined,
    status: undefined,
    ...filter,
  };
}

test(`every answer during blocks and reverts is of one state of the chain (seed ${SEED})`, async () => {
  const storm = await openStorm();
  const { chain, tables, keeping, plain } = storm;
  const random = new Random(SEED);
  const pace = new Random(SEED + 1);
  const events = [
    ...chainEvents({
      seed: SEED,
      blocks: BLOCKS,
      accounts: 24,
      transactions_per_block: 5,
      reorg_probability: 0.25,
    }),
  ];
  await storm.append(events.slice(0, BEFORE_EVENTS));
  const [blocksBefore, reorganisationsBefore] = [chain.blocks.length, chain.reorganisations];
  const questions = new StormQuestions(random, chain);
  let [answered, projected] = [0, storm.events.length];

  for (let round = 1; round <= ROUNDS; round++) {
    const enough = BigInt(projected);
    await until(
      () => appliedUpTo(tables),
      `the first ${projected} events to be projected`,
      (seen) => seen >= enough,
    );
    projected = storm.events.length;
    const upto = BEFORE_EVENTS + Math.floor(((events.length - BEFORE_EVENTS) * round) / ROUNDS);
    const asking = Array.from({ length: QUESTIONS }, () => questions.question(storm.heard)).flatMap(
      (question) =>
        [keeping, plain].map((explorer) => async () => {
          const { link, places } = await ask(storm, explorer, question);
          if (link !== undefined) questions.learnLink(question, link, places);
          answered++;
        }),
    );
    const exporting = Array.from({ length: EXPORTS }, () =>
      questions.exported(storm.heard),
    ).flatMap((question) =>
      [keeping, plain].map((explorer) => async () => {
        await expectExport(storm, explorer, question);
        answered++;
      }),
    );
    await Promise.all([
      arrive(storm, pace, events.slice(projected, upto)),
      runAll(asking.toSpliced(random.below(asking.length), 0, ...exporting)),
    ]);
  }

  expect(answered).toBeGreaterThanOrEqual(3_000);
  expect(chain.blocks.length - blocksBefore).toBeGreaterThanOrEqual(300);
  expect(chain.reorganisations - reorganisationsBefore).toBeGreaterThanOrEqual(40);
  expect(keeping.statements).toBeLessThanOrEqual(plain.statements * 1.1);
  await expectProjected(tables, events);
  const newest = events.findLastIndex(({ type }) => type !== 'BlocksFinalized');
  await expect.poll(() => storm.heard).toBeGreaterThan(newest);
  const { statements } = keeping;
  for (let again = 0; again < 10; again++) await keeping.get('/api/v1/blocks?limit=3');
  expect(keeping.statements - statements).toBeLessThan(10);

  const end = chain.at(events.length);
  const addresses = [...new Set(chain.blocks.flatMap(({ touched }) => Array.from(touched)))];
  const lists: readonly (readonly [path: string, list: StormList])[] = [
    ['/api/v1/blocks?', { of: 'blocks' }],
    ['/api/v1/validators?', { of: 'validators' }],
    ['/api/v1/transactions?', transactionsOf()],
    ...FUNCTION_CALL_TYPES.map(
      (type) => [`/api/v1/transactions?type=${type}&`, transactionsOf({ type })] as const,
    ),
    ...addresses.flatMap((address) => [
      [`/api/v1/transactions?address=${address}&`, transactionsOf({ address })] as const,
      [`/api/v1/accounts/${address}/activity?`, { of: 'activity', address } as const] as const,
    ]),
  ];
  for (const explorer of [keeping, plain]) {
    for (const [path, list] of lists) {
      const wanted = entriesOf(end, list).toReversed();
      const isSame =
        (await walk(explorer, `${path}limit=100`)) === wanted.map(({ item }) => item).join(',');
      expect({ path, same: isSame }).toEqual({ path, same: true });
    }
  }
  const faults = [...keeping.lines, ...plain.lines].filter(
    (line) => !JSON.stringify(line).includes('the chain was reorganised during the export'),
  );
  expect(faults).toEqual([]);
});
