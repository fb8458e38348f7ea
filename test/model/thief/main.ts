/**
 * `infra/node.sh test/model/thief/main.ts --minutes 30 --seed 1`: sequences from this seed on, for
 * so long, or so many with `--sequences N`. With a seed alone it plays one sequence and tells it
 * move by move. `--only I-a,I-c` looks at these invariants. Exits 0 when every invariant holds, 1
 * when not.
 */
import { parseArgs } from 'node:util';
import { campaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    sequences: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const isOne = values.minutes === undefined && values.sequences === undefined;
const violations = await campaign({
  seed: Number(values.seed ?? 1),
  minutes: values.minutes === undefined ? undefined : Number(values.minutes),
  sequences: isOne ? 1 : values.sequences === undefined ? undefined : Number(values.sequences),
  only: values.only?.split(','),
  tells: isOne,
  say,
});
for (const violation of violations) say(`VIOLATED: ${violation}`);
say(violations.length === 0 ? 'every invariant holds' : `${violations.length} kinds of violations`);
process.exit(violations.length === 0 ? 0 : 1);
