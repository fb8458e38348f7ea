import { beforeAll, expect, inject, test } from 'vitest';
import type { Compared } from '../../../../../services/projector/rebuild/compare.ts';
import { verify, type Verified } from '../../../../../services/projector/rebuild/verify.ts';
import { verifyName } from '../../../../../services/projector/rebuild/switch.ts';
import { verifiedText } from '../../../../../services/ops/rebuild/rebuild.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { until } from '../../../../support/until.ts';
import { expectProjected, startRunner } from '../../../../services/projector/engine/running.ts';
import {
  appendOn,
  openWorld,
  optionsOf,
  type World,
} from '../../../../services/projector/rebuild/rebuilding.ts';

const stack = inject('stack');
let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(stack));
});

async function verified(world: World): Promise<Verified> {
  const outcome = await verify(optionsOf(world));
  if ('refused' in outcome) throw new Error(outcome.message);
  return outcome;
}

function differing({ tables }: Verified): readonly Compared[] {
  return tables.filter(({ difference }) => difference !== undefined);
}

test('verify during writes finds no difference; one changed cell is named, and a rebuild corrects it', async () => {
  const world = await openWorld(stack, writerUrl);
  const { name } = world.projection;
  const events = [
    ...chainEvents({ seed: 311, blocks: 250, transactions_per_block: 3, reorg_probability: 0.1 }),
  ];
  expect(await verify(optionsOf(await openWorld(stack, writerUrl, false)))).toMatchObject({
    refused: 'not_loaded',
  });
  await world.log.append(events.slice(0, 60));
  startRunner(world.log, world);
  await expectProjected(world, events.slice(0, 60));
  const appending = appendOn(world, events, 60);
  const [sound, refused] = await Promise.all([
    verified(world),
    until(() => verifyStarted(world), 'the other to begin').then(() => verify(optionsOf(world))),
  ]);
  expect(refused).toMatchObject({ refused: 'busy' });
  expect(sound.rewritten).toEqual([]);
  expect(differing(sound)).toEqual([]);
  expect(sound.tables.map(({ table }) => table)).toEqual(
    world.projection.tables.map((table) => table.name).toSorted(),
  );
  const [position] = sound.positions.values();
  expect(position).toBeGreaterThanOrEqual(60n);
  const written = await appending.stop();
  await expectProjected(world, events.slice(0, written));

  await world.pool.query(`UPDATE ${name}.transactions SET amount = amount + 1 WHERE seq = 17`);
  await world.pool.query(
    'UPDATE projector.checkpoints SET digest = sha256(digest) WHERE projection = $1',
    [name],
  );
  const wrong = await verified(world);
  expect(wrong.rewritten).toEqual([...wrong.positions.keys()]);
  expect(verifiedText(name, wrong)).toContain('REWRITTEN');
  expect(differing(wrong)).toEqual([
    expect.objectContaining({
      table: 'transactions',
      difference: {
        key: { seq: '17' },
        column: 'amount',
        live: expect.any(String),
        fresh: expect.any(String),
      },
    }),
  ]);
  expect(verifiedText(name, wrong)).toMatch(
    /\nfirst {8}transactions, row seq 17: amount is (\d+), by the log \d+(?:\n|$)/,
  );
  const left = await world.pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [
    verifyName(name),
  ]);
  expect(left.rows).toEqual([]);
});

async function verifyStarted({ pool, projection }: World): Promise<boolean> {
  return (
    (
      await pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [
        verifyName(projection.name),
      ])
    ).rows.length > 0
  );
}
