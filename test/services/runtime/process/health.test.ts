import { afterEach, describe, expect, test, vi } from 'vitest';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import {
  Activity,
  Health,
  waitingFor,
  type Check,
  type HealthProblem,
} from '../../../../services/runtime/process/health.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';

const lines: { readonly level?: unknown; readonly msg?: unknown; readonly causes?: unknown }[] = [];
const log = openLog({
  service: 'test',
  level: 'info',
  destination: { write: (line) => void lines.push(JSON.parse(line)) },
});
const UNREACHABLE = new Fault('storage_unreachable', 'connect ECONNREFUSED 10.0.0.7:5432', {
  retry: true,
});

afterEach(() => {
  lines.length = 0;
  vi.useRealTimers();
});

function open(...checks: readonly Check[]): Health {
  return new Health(checks, () => 'serving', log);
}

function waiting(message: string): HealthProblem {
  return { status: 'waiting', message };
}

function silent(ms: number): HealthProblem {
  return waiting(`silent for ${ms} ms`);
}

describe('Health', () => {
  test('is ready in its own phase when all checks pass', async () => {
    const health = open({ name: 'fine', check: () => undefined });
    expect(await health.problems()).toEqual([]);
    expect(await health.status()).toEqual({
      status: 'ready',
      phase: 'serving',
      waits_for: null,
      eta_s: null,
      message: null,
      notes: [],
    });
  });

  test('has alarms as its message while it is ready, and notes always', async () => {
    const remarks = { alarms: ['minting is closed'], notes: ['the cap is full'] };
    const made = (...checks: readonly Check[]): Health =>
      new Health(
        checks,
        () => 'serving',
        log,
        () => remarks,
      );
    expect(await made().status()).toMatchObject({
      status: 'ready',
      message: 'minting is closed',
      notes: ['the cap is full'],
    });
    const behind = made({ name: 'index', check: () => waiting('30 blocks behind') });
    expect(await behind.status()).toMatchObject({
      status: 'waiting',
      message: 'index: 30 blocks behind',
      notes: ['the cap is full'],
    });
  });

  test('lists the problems of all checks, each under the name of its check', async () => {
    const health = open(
      { name: 'fine', check: () => undefined },
      { name: 'index', check: () => waiting('30 blocks behind') },
      { name: 'log', check: () => Promise.resolve(waiting('records were lost')) },
    );
    expect(await health.problems()).toEqual([
      { status: 'waiting', part: 'index', message: 'index: 30 blocks behind' },
      { status: 'waiting', part: 'log', message: 'log: records were lost' },
    ]);
  });

  test('has the status of its gravest problem', async () => {
    const working = { status: 'working', phase: 'loading', eta_s: 7, message: 'loading' } as const;
    const halted = { status: 'halted', phase: 'halted', message: 'a hole in the log' } as const;
    expect(await open({ name: 'a', check: () => working }).status()).toEqual({
      status: 'working',
      phase: 'loading',
      waits_for: null,
      eta_s: 7,
      message: 'a: loading',
      notes: [],
    });
    const both = open({ name: 'a', check: () => working }, { name: 'b', check: () => halted });
    expect(await both.status()).toMatchObject({
      status: 'halted',
      message: 'b: a hole in the log',
    });
  });

  test("shows a fault's code and what it waits for; the fault's message goes to the log", async () => {
    const health = open({ name: 'Postgres', check: () => Promise.reject(UNREACHABLE) });
    expect(await health.status()).toMatchObject({
      status: 'waiting',
      phase: 'serving',
      waits_for: 'postgres',
      message: 'Postgres: storage_unreachable',
    });
    expect(lines).toMatchObject([
      {
        level: 'warn',
        msg: 'not ready: Postgres: storage_unreachable',
        causes: ['connect ECONNREFUSED 10.0.0.7:5432'],
      },
    ]);
  });

  test('waits for the projection whose tables are missing', async () => {
    const missing = new Fault('storage_missing', 'no table', { retry: false });
    const check = { name: 'index', projection: 'explorer', check: () => Promise.reject(missing) };
    expect((await open(check).status()).waits_for).toBe('projection:explorer');
  });

  test('logs changes only', async () => {
    let problem: HealthProblem | undefined;
    const health = open({ name: 'x', check: () => problem });
    for (const now of [undefined, 'a', 'a', 'b', undefined, undefined]) {
      problem = now === undefined ? undefined : waiting(now);
      await health.problems();
    }
    expect(lines.map(({ msg }) => msg)).toEqual([
      'not ready: x: a',
      'not ready: x: b',
      'ready again',
    ]);
  });

  test('does not log a problem again when only a number in it changes', async () => {
    let left = 30;
    const health = open({ name: 'x', check: () => waiting(`about ${left--} s left`) });
    for (let times = 0; times < 5; times++) await health.problems();
    expect(lines.map(({ msg }) => msg)).toEqual(['not ready: x: about 30 s left']);
  });

  test('does not wait longer than 2 s for a check', async () => {
    vi.useFakeTimers();
    const health = open({ name: 'frozen', check: () => new Promise(() => undefined) });
    const problems = health.problems();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await problems).toMatchObject([{ message: 'frozen: no answer within 2000 ms' }]);
  });
});

test.each([
  ['kafka', 'kafka'],
  ['append_unknown', 'kafka'],
  ['schema_registry', 'registry'],
  ['storage_timeout', 'postgres'],
  ['chain_node', 'node'],
  ['node_behind', 'node'],
  ['tron_unreachable', 'trongrid'],
  ['stopped', undefined],
])('a fault %s waits for %s', (code, dependency) => {
  expect(waitingFor(new Fault(code, 'it failed', { retry: true }))).toEqual({
    status: 'waiting',
    phase: undefined,
    waits_for: dependency,
    message: `waiting: ${code}`,
  });
});

describe('Activity', () => {
  const signal = new AbortController().signal;

  test('starts in the phase opening and is ready once it enters a phase by name', () => {
    const activity = new Activity({ log, signal });
    expect(activity.problem).toEqual({ status: 'starting', phase: 'opening', message: 'starting' });
    activity.enter({ status: 'working', phase: 'loading', message: 'reading the ledger' });
    expect([activity.phase, activity.problem?.status]).toEqual(['loading', 'working']);
    activity.enter('following');
    expect([activity.phase, activity.problem]).toEqual(['following', undefined]);
  });

  test('waits for the failed server until the attempt succeeds', async () => {
    vi.useFakeTimers();
    const activity = new Activity({ log, signal });
    activity.enter('following');
    let tries = 0;
    const done = activity.retrying('asking', () =>
      ++tries === 1 ? Promise.reject(UNREACHABLE) : Promise.resolve('answer'),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(activity.problem).toEqual({
      status: 'waiting',
      phase: 'following',
      waits_for: 'postgres',
      message: 'waiting: storage_unreachable',
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect([await done, activity.problem]).toEqual(['answer', undefined]);
  });

  test('is not ready after a silence longer than allowed', () => {
    vi.useFakeTimers();
    const activity = new Activity({ log, signal, silence_ms: 1_000, silent });
    activity.enter('following');
    vi.advanceTimersByTime(1_000);
    expect(activity.problem).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(activity.problem?.message).toBe('silent for 1001 ms');
    activity.heard();
    expect(activity.problem).toBeUndefined();
  });

  test('stays halted for its first reason', () => {
    const activity = new Activity({ log, signal });
    activity.halt('the topic was created again');
    activity.halt('another reason');
    activity.enter('following');
    expect(activity.problem).toEqual({
      status: 'halted',
      phase: 'halted',
      message: 'halted: the topic was created again',
    });
  });
});
