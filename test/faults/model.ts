/**
 * Searches the model of the mint protocol exhaustively: larger bounds than `npm test`, and all
 * mutants.
 */
import { boundOf, LONG_BOUNDS } from '../model/bounds.ts';
import { MintProtocol, MUTANTS, type Mutant } from '../model/mint-protocol.ts';
import { search } from '../model/search.ts';
import type { FaultReport, FaultRun, Given } from './fault-run.ts';

function modelRun({ progress }: Given): FaultReport {
  const lines: string[] = [];
  const violations: string[] = [];
  const say = (line: string): void => {
    lines.push(line);
    progress(line);
  };
  for (const bound of LONG_BOUNDS) {
    const model = new MintProtocol(bound);
    const { states, transitions, violation } = search(model);
    say(
      `${bound.name}: ${states} states, ${transitions} transitions, all credited in ${model.credited}, ${violation === undefined ? 'no double mint' : violation.what}`,
    );
    if (violation !== undefined)
      violations.push(`${bound.name}: ${violation.what}: ${violation.steps.join('; ')}`);
    if (states < bound.states_min)
      violations.push(
        `${bound.name}: only ${states} states, ${bound.states_min} at least were meant`,
      );
  }
  for (const mutant of Object.keys(MUTANTS).filter((name): name is Mutant => name in MUTANTS)) {
    const { states, violation } = search(new MintProtocol(boundOf(mutant)));
    say(
      `mutant ${mutant} (${MUTANTS[mutant]}): ${violation === undefined ? 'NOT CAUGHT' : `caught after ${states} states in ${violation.steps.length} steps`}`,
    );
    if (violation === undefined) violations.push(`the mutant ${mutant} is not caught`);
  }
  return { lines: [`${lines.length} searches`], violations };
}

export const model: FaultRun<never> = {
  about:
    'the protocol of minting, searched exhaustively: two processes, crashes at every step, lost answers, a person with the same key; and every mutant',
  options: {},
  run: (_options, given) => Promise.resolve(modelRun(given)),
};
