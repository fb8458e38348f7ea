/**
 * The fault run of rebuilds: every projection is rebuilt while the system works and is read; each
 * rebuild is killed at random moments and continued, and the earlier tables are put back. No reader
 * may see an error, and the final tables must equal the logs.
 */
import { setTimeout as after } from 'node:timers/promises';
import { services } from '../../infra/services/services.ts';
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { percentile } from '../bench/report.ts';
import { SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { Depositors } from './depositors.ts';
import { countsLine, type FaultRun } from './fault-run.ts';
import { NO_STEP, rebuildStep, spawnOps } from './ops-run.ts';
import { listed, QUESTIONS, Readers } from './readers.ts';
import { onStack, type StackPlace, type System } from './system.ts';
import { comesToRest, verdict } from './verdict.ts';

const SERVICES = services.map(({ name }) => name);
const UNLIMITED = { APP_RATE_PER_SECOND: '0' };
const SETTINGS = {
  ...Object.fromEntries(SERVICES.map((name) => [name, { APP_LOG_LEVEL: 'warn' }])),
  'explorer-gateway': { ...UNLIMITED, APP_ANSWERS_KEPT_MAX: '0' },
  'hub-gateway': UNLIMITED,
  'deposit-gateway': { ...UNLIMITED, APP_JWT_SECRET: SECRET },
};
const DEPOSITORS = 20;
const USD = 1_000_000n;
const IDLE_MS = 15_000;
const READS_PER_SECOND = 100;
/** From its first step: a rebuild of one minute's traffic takes a second or two then. */
const KILL_WITHIN_MS = 2_000;

export const rebuild: FaultRun<'kills' | 'seconds'> = {
  about:
    'rebuilds every projection while the whole system works and is read, kills each rebuild at random moments and goes on with it, verifies it,\n' +
    'puts the earlier tables back and verifies those; nobody who reads may be told anything but 200',
  options: {
    kills: { about: 'how many kills of the rebuild of each projection', default: 10 },
    seconds: { about: 'of traffic before the first rebuild', default: 30 },
  },
  run: ({ kills, seconds }, given) =>
    onStack(SETTINGS, given, async (system) => {
      await system.start(SERVICES);
      await system.ready(SERVICES);
      const depositors = new Depositors(() => system.urlOf('deposit-gateway'), system.random);
      await depositors.join(Array.from({ length: DEPOSITORS }, (_, at) => at));
      // to each something of its own, so that every table of deposits has rows
      const paid = [...depositors.addresses.values()].map((to, at) => ({
        to,
        value: BigInt(at + 4) * USD,
      }));
      await system.payments.pay(paid);
      system.progress('everything runs');
      await after(seconds * 1_000);

      const questions = [...QUESTIONS, listed(0), listed(1)];
      const readers = new Readers((name) => system.urlOf(name), system.random, questions);
      const over = new AbortController();
      const reading = readers.run(READS_PER_SECOND, over.signal);
      await after(IDLE_MS);
      const idle = readers.take();
      const lines: string[] = [];
      for (const { name } of PROJECTIONS) lines.push(await rebuilt(system, name, kills));
      const meanwhile = readers.take();
      over.abort();
      await reading;
      const failures = [idle, meanwhile, readers.take()].flatMap((reads) => reads.failures);
      system.violations.push(...new Set(failures.map(({ told }) => told)));
      await comesToRest(system);
      const projections = PROJECTIONS.map(({ name }) => name);
      const report = await verdict(system, { projections, depositors, others: 0 });
      const [before, then] = [idle, meanwhile].map(({ ms }) => percentile(ms, 0.99));
      return {
        ...report,
        lines: [
          ...lines,
          ...report.lines,
          `readers: ${idle.ms.length + meanwhile.ms.length} answers; p99 ${before?.toFixed(1)} ms without a rebuild, ${then?.toFixed(1)} ms meanwhile`,
        ],
      };
    }),
};

async function rebuilt(
  { place, random, violations, progress }: System<StackPlace>,
  name: string,
  kills: number,
): Promise<string> {
  /** A command must end with 0. Gives what it has printed. */
  const expectDone = async (...args: readonly string[]): Promise<string> => {
    const run = spawnOps(place.addresses, args);
    const code = await run.ended();
    if (code !== 0) violations.push(`ops ${args.join(' ')} ended with ${code}: ${run.printed()}`);
    return run.printed();
  };
  const killed: Record<string, number> = {};
  let whole = 0;
  for (let kill = 0; kill < kills; kill++) {
    const run = spawnOps(place.addresses, ['rebuild', name]);
    const begun = until(
      () => rebuildStep(run.printed()),
      `the first step of ${name}`,
      (step) => step !== NO_STEP,
    );
    const ended = await Promise.race([
      run.ended(),
      begun.then(() => after(random.below(KILL_WITHIN_MS), 'killed' as const)),
    ]);
    if (ended === 'killed') {
      run.kill();
      const step = rebuildStep(run.printed());
      killed[step] = (killed[step] ?? 0) + 1;
    } else whole++;
    if (ended !== 'killed' && ended !== 0)
      violations.push(`rebuild ${name} ended with ${ended}: ${run.printed()}`);
    await run.ended();
  }
  const told = `${name}: killed ${kills - whole} of ${kills} times (${countsLine(killed)})`;
  progress(told);
  await expectDone('rebuild', name);
  await expectDone('verify', name);
  await expectDone('rebuild', name, '--rollback');
  const verified = await expectDone('verify', name);
  return `${told}; ${verified.trim().split('\n').at(-1) ?? ''}`;
}
