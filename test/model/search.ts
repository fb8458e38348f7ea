/** Exhaustive breadth-first search: every state that can be reached is looked at once. */

export interface Model {
  readonly initial: string;
  /** The possible steps, each with the resulting state. */
  next(state: string): Iterable<readonly [step: string, state: string]>;
  /** The violated invariant; undefined: none. */
  violation(state: string): string | undefined;
}

export interface Searched {
  readonly states: number;
  readonly transitions: number;
  /** a shortest way to what must never be; undefined when there is none */
  readonly violation: { readonly what: string; readonly steps: readonly string[] } | undefined;
}

/**
 * Ends at the first violation, or when there is nothing left to look at. Throws beyond
 * `states_max`: the model is then larger than meant.
 */
export function search(model: Model, states_max = 2_000_000): Searched {
  const found = new Map<string, number>([[model.initial, 0]]);
  const states = [model.initial];
  const parents = [-1];
  const steps = [''];
  let transitions = 0;
  for (let at = 0; at < states.length; at++) {
    const state = states[at] ?? '';
    const what = model.violation(state);
    if (what !== undefined)
      return {
        states: states.length,
        transitions,
        violation: { what, steps: wayTo(at, parents, steps) },
      };
    for (const [step, next] of model.next(state)) {
      transitions++;
      if (found.has(next)) continue;
      if (states.length >= states_max)
        throw new Error(`more than ${states_max} states: choose a smaller bound`);
      found.set(next, states.length);
      states.push(next);
      parents.push(at);
      steps.push(step);
    }
  }
  return { states: states.length, transitions, violation: undefined };
}

function wayTo(
  end: number,
  parents: readonly number[],
  steps: readonly string[],
): readonly string[] {
  const way: string[] = [];
  for (let at = end; at > 0; at = parents[at] ?? 0) way.push(steps[at] ?? '');
  return way.toReversed();
}
