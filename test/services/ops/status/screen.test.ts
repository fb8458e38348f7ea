import { expect, test } from 'vitest';
import { moneyOf } from '../../../../services/ops/status/money.ts';
import { screenText, type Known } from '../../../../services/ops/status/status.ts';

const SERVICE = {
  name: 'hub-gateway',
  url: 'http://127.0.0.1:1',
  ready: true,
  status: 'ready',
  phase: 'serving',
  waits_for: null,
  eta_s: null,
  message: null,
  notes: [],
  metrics: {},
} as const;
const POSITION = {
  projection: 'explorer',
  version: 1,
  topic: 'chain.blocks',
  partition: 0,
  next_offset: 12n,
  lag: 0n,
  rate: 0,
  idle_seconds: 1,
  loading: false,
} as const;
const AGES = { node: 1, log: 1, projections: 1, services: 1 };

/** All parts have answered; `changes` are of the answers. */
function known(changes: Partial<Known['read']> = {}, waits_for: readonly string[] = []): Known {
  return {
    read: {
      node: { height: 6, finalized_height: 4 },
      log: [],
      projections: [POSITION],
      servers: null,
      services: [SERVICE],
      money: moneyOf([], undefined),
      disk: null,
      age_seconds: AGES,
      attention: [],
      ...changes,
    },
    waits_for: new Set(waits_for),
    services: ['hub-gateway'],
  };
}

test('no verdict is given and late parts are named before all have answered', () => {
  const lines = screenText(
    known({ node: null, services: [], projections: null, attention: ['disk: full'] }, [
      'the CLT node',
      'hub-gateway',
      'Postgres',
    ]),
  ).split('\n');
  expect(lines).toEqual([
    expect.stringMatching(
      /^NOT ALL IS KNOWN YET, waiting for the CLT node, hub-gateway, Postgres: {2}0 of 1 services ready, /,
    ),
    'chain: has not answered yet',
    '',
    expect.stringMatching(/^SERVICE/),
    'hub-gateway  has not answered yet',
    '',
    'projections: Postgres has not answered yet',
    '',
    'NEEDS ATTENTION',
    '! disk: full',
  ]);
});

test('a second screen has the verdict and only the sections for which the first one waited', () => {
  const first = known({ node: null }, ['the CLT node']);
  expect(screenText(known(), first).split('\n')).toEqual([
    expect.stringMatching(/^ALL WELL {2}1 of 1 services ready, /),
    'chain: height 6, final up to 4',
  ]);
});

test('figures that are older than a few seconds say so', () => {
  expect(screenText(known())).not.toMatch(/ ago|old|later/);
  const old = screenText(
    known({ age_seconds: { node: 9, log: 1, projections: 62, services: 61 } }),
  ).split('\n');
  expect(old).toEqual(
    expect.arrayContaining([
      'chain: height 6, final up to 4 (9 s ago)',
      'the oldest of these figures are 61 s old',
      'RECORDS are those of 62 s ago',
      'the ends of the log were read 61 s later than RECORDS: BEHIND may be too high',
    ]),
  );
});

test('while Kafka is late the projections say that their lag is not known', () => {
  const [position] = known().read.projections ?? [];
  const projections = position === undefined ? [] : [Object.assign({}, position, { lag: null })];
  expect(screenText(known({ log: null, projections }, ['Kafka']))).toMatch(
    /^explorer v1 .* unknown .*\nBEHIND is not known: Kafka has not answered yet$/m,
  );
});

test('a second screen repeats no service and no line that the first one had', () => {
  const [late, other] = [Object.assign({}, SERVICE, { name: 'treasury' }), SERVICE];
  const first = known({ services: [other], attention: ['disk: full', 'the lag is not known'] }, [
    'treasury',
  ]);
  const second = known({ services: [other, late], attention: ['disk: full', 'a mint is late'] });
  const services = ['hub-gateway', 'treasury'];
  expect(
    screenText({ ...second, services }, { ...first, services })
      .split('\n')
      .slice(2),
  ).toEqual([
    expect.stringMatching(/^SERVICE/),
    'treasury  ready',
    '',
    'NEEDS ATTENTION',
    '! a mint is late',
    'and as above: 1 line',
    'no longer: the lag is not known',
  ]);
});
