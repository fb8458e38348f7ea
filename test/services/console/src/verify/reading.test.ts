import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { wireOf } from '../../../../../schemas/chain-node.ts';
import { linesOf } from '../../../../../services/console/src/api/service.ts';
import { verify, type Told } from '../../../../../services/console/src/verify/reading.ts';
import { VERIFY } from '../../../../../services/console/src/verify/text.ts';
import { AUTHORITY, HEALTHY, RUN, USD } from '../../verified-run.ts';

/** `isBroken`: the connection is lost behind the last part. */
function bodyOf(parts: readonly string[], isBroken = false): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const left = [...parts];
  return new ReadableStream({
    pull(controller) {
      const part = left.shift();
      if (part !== undefined) controller.enqueue(encoder.encode(part));
      else if (isBroken) controller.error(new TypeError('network error'));
      else controller.close();
    },
  });
}

test('lines are those of the text, however it is cut into parts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string()), async (parts) => {
      const lines: string[] = [];
      for await (const arrived of linesOf(bodyOf(parts))) lines.push(...arrived);
      expect(lines).toEqual(parts.join('').split('\n').slice(0, -1));
    }),
  );
});

const LINES = HEALTHY.map(({ type: _type, sequence: _sequence, ...block }) =>
  JSON.stringify(wireOf(block)),
);

/** The explorer answers with these lines, the heights that are asked for, and at most so many. */
function answered(
  lines: readonly string[],
  { status = 200, most = 9, isBroken = false } = {},
): readonly string[] {
  const asked: string[] = [];
  const part = (url: string): readonly string[] => {
    const from = Number(/from_height=(\d+)/.exec(url)?.[1]);
    return lines.slice(from, from + most);
  };
  vi.stubGlobal('fetch', (url: string) => {
    asked.push(url);
    const headers = { 'x-clt-chain-id': '7777', 'x-clt-mint-authority': AUTHORITY.address };
    const response = url.includes('tolerance')
      ? Response.json({ tolerance: String(USD) })
      : new Response(
          bodyOf(
            part(url).map((line) => `${line}\n`),
            isBroken,
          ),
          { status, headers },
        );
    return Promise.resolve(response);
  });
  return asked;
}
afterEach(() => {
  vi.unstubAllGlobals();
});

async function toldOf(run = RUN): Promise<readonly Told[]> {
  const told: Told[] = [];
  let now = 0;
  await verify(
    run,
    (each) => told.push(each),
    () => (now += 1_000),
  );
  return told;
}

test('a run is verified from its blocks alone, and the reader is told while it goes on', async () => {
  const asked = answered(LINES);
  const told = await toldOf();
  expect(asked).toEqual([
    '/api/v1/reserve/tolerance?amounts=string',
    '/api/v1/export/blocks.ndjson?from_height=0&to_height=3',
  ]);
  expect(told.map(({ blocks, isOver }) => [blocks, isOver])).toEqual([
    [1, false],
    [2, false],
    [3, false],
    [4, true],
  ]);
  expect(told.at(-1)?.problem).toBeUndefined();
  expect(new Set(told.at(-1)?.steps.map(({ state }) => state))).toEqual(new Set(['good']));
});

test.each([false, true])(
  'an answer that ends early, or breaks off (%s), is asked for again behind its last block',
  async (isBroken) => {
    const asked = answered(LINES, { most: 3, isBroken });
    const last = (await toldOf()).at(-1);
    expect(asked.slice(1)).toEqual([
      '/api/v1/export/blocks.ndjson?from_height=0&to_height=3',
      '/api/v1/export/blocks.ndjson?from_height=3&to_height=3',
    ]);
    expect(last).toMatchObject({ blocks: 4, isOver: true });
    expect(last?.problem).toBeUndefined();
  },
);

test('a connection that is lost before any block ends it, with the reason', async () => {
  answered([], { isBroken: true });
  expect((await toldOf()).at(-1)).toMatchObject({ isOver: true, problem: 'network error' });
});

test('blocks that end early leave the steps open, with the reason', async () => {
  answered(LINES.slice(0, 2));
  const last = (await toldOf()).at(-1);
  expect(last).toMatchObject({ blocks: 2, isOver: true, problem: VERIFY.problems.ended });
  expect(new Set(last?.steps.map(({ state }) => state))).toEqual(new Set(['stopped']));
});

test('a block that cannot be read, and a refusal of the explorer, are said as they are', async () => {
  answered([LINES[0] ?? '', '{}']);
  expect((await toldOf()).at(-1)).toMatchObject({
    blocks: 1,
    isOver: true,
    problem: expect.stringContaining('cannot be read'),
  });
  answered(['{"code":"not_found","message":"exports are turned off here"}'], { status: 404 });
  expect((await toldOf()).at(-1)).toMatchObject({
    blocks: 0,
    isOver: true,
    problem: 'exports are turned off here',
  });
});

test.each([{ block_hash: '0x12' }, { surplus: '1.5' }, { custody_reported: '' }])(
  'a run with %j ends it at once, with the reason',
  async (part) => {
    answered(LINES);
    expect(await toldOf({ ...RUN, ...part })).toEqual([
      {
        steps: [],
        blocks: 0,
        isOver: true,
        problem: expect.stringContaining('if it stays, tell the operator'),
      },
    ]);
  },
);
