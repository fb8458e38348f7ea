/**
 * How soon TRON's watcher sees a deposit while its provider answers badly about other addresses.
 * The provider and its clock are simulated: a request takes 50 ms and ten are allowed in a second,
 * so that the times are those of the watcher's own decisions, whatever the machine.
 */
import { SECOND_MS } from '../services/tron-watcher/simulated.ts';
import { detections, type Beside } from '../services/tron-watcher/beside.ts';
import { say, type Bench } from './bench.ts';
import { percentile, type BenchReport } from './report.ts';

/** Others about whom the provider answers badly. */
const BAD = [1, 10, 100] as const;
const GOAL = 2;

type Options = Readonly<Record<'deposits' | 'rounds', number>>;
type Case = Pick<Beside, 'bad' | 'answer' | 'of' | 'payees'>;

const CASES: readonly Case[] = (['paid', 'unpaid'] as const).flatMap((payees) => {
  const bad = (['malformed', 'hang'] as const).flatMap((answer) =>
    (['list', 'receipt'] as const).flatMap((of) =>
      BAD.map((count): Case => ({ bad: count, answer, of, payees })),
    ),
  );
  const none: Case = { bad: 0, answer: 'malformed', of: 'list', payees };
  return [none].concat(bad);
});

export const watching: Bench<keyof Options> = {
  about: 'from a final deposit to its record, while other addresses are answered badly',
  options: {
    deposits: { about: 'deposits of a round', default: 100 },
    rounds: { about: 'rounds, each with every case', default: 5 },
  },
  run: benchWatching,
};

async function benchWatching({ deposits, rounds }: Options): Promise<BenchReport> {
  const p99 = new Map<Case, number[]>(CASES.map((each) => [each, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const each of CASES) {
      const took = await detections({ ...each, deposits, seed: round });
      p99.get(each)?.push(percentile(took, 0.99) / SECOND_MS);
    }
    say(`round ${round} of ${rounds}`);
  }
  const wellOf = ({ payees }: Case): readonly number[] =>
    [...p99].find(([each]) => each.bad === 0 && each.payees === payees)?.[1] ?? [];
  return {
    bench: 'watching',
    about:
      '60 addresses, each paid in turn at any time, 10 s apart at most; up to 100 others, each with a transfer, that open their panels together and then now and then; paid: the payee was paid before; simulated time',
    measured: CASES.map((each) => ({ what: nameOf(each), unit: 's', rounds: p99.get(each) ?? [] })),
    // of the rounds of one seed, the worst
    ratios: CASES.filter(({ bad }) => bad > 0).map((each) => ({
      what: `${nameOf(each)} / without, the worst round`,
      ratio: Math.max(
        ...(p99.get(each) ?? []).map((s, at) => s / (wellOf(each)[at] ?? Number.NaN)),
      ),
      goal: `<= ${GOAL}`,
    })),
  };
}

function nameOf({ bad, answer, of, payees }: Case): string {
  const how = bad === 0 ? 'nothing bad' : `${bad} ${of}s: ${answer}`;
  return `p99, ${payees}, ${how}`;
}
