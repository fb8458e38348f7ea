/**
 * A model of the mint protocol and its failures. Two processes with the same key know nothing of
 * each other: each reads, decides, appends, broadcasts and concludes at any moment, and may crash
 * between any two steps. The answer to an append may be lost, or the append arrive after its
 * process died. The node takes transactions in any order or not at all; the chain may include a
 * mint without executing it, which a person may approve again; blocks may be reverted; a person may
 * use the key.
 *
 * A process knows the log and the final blocks as far as it has read them. The real ledger decides.
 */
import { FAILED, LedgerViews } from './ledger-views.ts';
import type { Model } from './search.ts';

export interface Bound {
  readonly deposits: 1 | 2;
  /** records that may be appended, those without effect among them */
  readonly records: number;
  /** transactions that a person signs with the key */
  readonly human: number;
  /**
   * mints that the chain takes and does not carry out, on a branch that stands; each may be
   * approved by a person
   */
  readonly failures?: number;
  /** blocks that are not final; each has one transaction */
  readonly pending: number;
  /**
   * false: the log lets every record count wherever it lands, so that the arbitration of intents
   * stands alone
   */
  readonly compare_and_set?: boolean;
  readonly mutant?: Mutant;
}

/** Shortcuts that were each shown to mint twice. */
export const MUTANTS = {
  record_after_sending: 'what is decided is sent, and recorded afterwards',
  fresh_nonce_each_try:
    'the ledger only says that a mint is under way; each try takes the nonce that the node gives',
  dead_when_unknown: 'a mint is given up because the node does not know it',
  evidence_before_finality: 'a mint is concluded from a block that is not final',
  no_arbitration: 'every intent in the log is broadcast, whether it counts or not',
} as const;
export type Mutant = keyof typeof MUTANTS;

interface Process {
  /** records of the log that it has folded */
  read: number;
  /** final transactions that it has seen */
  seen: number;
  /** the planned append */
  plan: string;
}

interface State {
  log: string[];
  final: string[];
  pending: string[];
  /** transactions that the node has been given */
  pool: string[];
  /** appends that a process sent before it crashed and that are not in the log yet */
  flying: string;
  human: number;
  processes: [Process, Process];
}

export class MintProtocol implements Model {
  readonly views: LedgerViews;
  readonly initial: string;
  readonly #bound: Bound;
  /** states in which every deposit is credited */
  credited = 0;

  constructor(bound: Bound) {
    this.#bound = bound;
    this.views = new LedgerViews(bound.deposits);
    const process = { read: 0, seen: 0, plan: '' };
    this.initial = written({
      log: [],
      final: [],
      pending: [],
      pool: [],
      flying: '',
      human: 0,
      processes: [process, process],
    });
  }

  *next(text: string): Iterable<readonly [string, string]> {
    const state = stateOf(text);
    for (const which of [0, 1] as const) yield* this.#process(state, which);
    yield* this.#chain(state);
    yield* this.#approvals(state);
    const { flying } = state;
    if (flying !== '' && this.#hasRoom(state, flying))
      yield [
        `${flying} lands, whose writer has crashed`,
        this.#written({ ...state, flying: '', log: this.#appended(state, flying) }),
      ];
    const next = state.final.length + state.pending.length;
    if (state.human < this.#bound.human && !state.pool.includes(`h${next}`))
      yield [
        `person signs nonce ${next}`,
        written({ ...state, human: state.human + 1, pool: withOne(state.pool, `h${next}`) }),
      ];
  }

  violation(text: string): string | undefined {
    const { log, final, pending, pool } = stateOf(text);
    const chain = [...final, ...pending];
    for (const name of this.views.names) {
      const mints = chain.filter((transaction) => isMintOf(name, transaction));
      if (mints.length > 1) return `deposit ${name} is minted twice: ${mints.join(' and ')}`;
    }
    // a mutant breaks the rest by what it is: it must be caught by what it does
    if (this.#bound.mutant !== undefined) return undefined;
    const { statuses, requested } = this.views.of(log.join(','));
    for (const [at, name] of this.views.names.entries()) {
      if (statuses[at] === 'credited' && !final.some((transaction) => isMintOf(name, transaction)))
        return `deposit ${name} is credited and not minted`;
    }
    const strange = pool.find(
      (transaction) => !transaction.startsWith('h') && !requested.has(transaction),
    );
    if (strange !== undefined) return `${strange} was sent and never requested`;
    if (statuses.every((status) => status === 'credited')) this.credited++;
    return undefined;
  }

  *#process(state: State, which: 0 | 1): Iterable<readonly [string, string]> {
    const process = state.processes[which];
    const { read, seen, plan } = process;
    const change = (changed: Partial<Process>, rest: Partial<State> = {}): string => {
      const processes: [Process, Process] = [...state.processes];
      processes[which] = { ...process, ...changed };
      return this.#written({ ...state, ...rest, processes });
    };
    const who = `process ${which}`;
    if (read < state.log.length) yield [`${who} reads the log`, change({ read: state.log.length })];
    if (seen < state.final.length)
      yield [`${who} looks at the chain`, change({ seen: state.final.length })];
    if (plan === '')
      for (const decided of this.#plans(state, process))
        yield [`${who} decides ${decided}`, change({ plan: decided })];
    if (plan !== '' && this.#hasRoom(state, plan))
      yield [`${who} appends ${plan}`, change({ plan: '' }, { log: this.#appended(state, plan) })];
    if (read + seen > 0 || plan !== '') {
      yield [`${who} crashes`, change({ read: 0, seen: 0, plan: '' })];
      if (plan !== '' && state.flying === '')
        yield [
          `${who} crashes while ${plan} is on its way`,
          change({ read: 0, seen: 0, plan: '' }, { flying: plan }),
        ];
    }
    for (const transaction of this.#sendable(state, process)) {
      if (!state.pool.includes(transaction))
        yield [
          `${who} sends ${transaction}`,
          change({}, { pool: withOne(state.pool, transaction) }),
        ];
    }
  }

  *#chain(state: State): Iterable<readonly [string, string]> {
    const { final, pending, pool } = state;
    const nonce = final.length + pending.length;
    if (pending.length < this.#bound.pending) {
      for (const transaction of pool) {
        if (transaction.slice(1) !== String(nonce)) continue;
        yield [
          `a block takes ${transaction}`,
          written({ ...state, pending: [...pending, transaction] }),
        ];
        if (this.#mayFail(state, transaction))
          yield [
            `a block takes ${transaction} and does not carry it out`,
            written({ ...state, pending: [...pending, `${transaction}${FAILED}`] }),
          ];
      }
    }
    const [oldest] = pending;
    if (oldest === undefined) return;
    yield [
      `${oldest} is final`,
      written({ ...state, final: [...final, oldest], pending: pending.slice(1) }),
    ];
    yield [
      `the newest block leaves the chain`,
      written({ ...state, pending: pending.slice(0, -1) }),
    ];
  }

  #mayFail({ final, pending }: State, transaction: string): boolean {
    const failed = [...final, ...pending].filter((each) => each.endsWith(FAILED)).length;
    return !transaction.startsWith('h') && failed < (this.#bound.failures ?? 0);
  }

  /** By a person who has looked at the end of the log: the same compare-and-set, at once. */
  *#approvals(state: State): Iterable<readonly [string, string]> {
    if (this.#bound.failures === undefined) return;
    const { statuses } = this.views.of(state.log.join(','));
    for (const [at, name] of this.views.names.entries()) {
      const approval = `A${name}@${this.views.begin + state.log.length}`;
      if (statuses[at] === 'needs_manual' && this.#hasRoom(state, approval))
        yield [
          `person approves ${name}`,
          this.#written({ ...state, log: this.#appended(state, approval) }),
        ];
    }
  }

  #plans({ log, final, pending }: State, { read, seen }: Process): readonly string[] {
    const { mutant } = this.#bound;
    const view = this.views.of(log.slice(0, read).join(','));
    const evidence =
      mutant === 'evidence_before_finality' ? [...final, ...pending] : final.slice(0, seen);
    const plans = view.plans(evidence.join(','));
    if (mutant !== 'dead_when_unknown') return plans;
    // the node may say so of any transaction: it may have lost it, be behind, or lie
    return [
      ...plans,
      ...view.live.map((transaction) => `X${transaction}@${this.views.begin + read}`),
    ];
  }

  #sendable({ log, final, pending }: State, { read, plan }: Process): readonly string[] {
    const view = this.views.of(log.slice(0, read).join(','));
    const { mutant } = this.#bound;
    if (mutant === 'record_after_sending') return [...view.live, ...intentsIn(plan)];
    if (mutant === 'no_arbitration') return log.slice(0, read).flatMap(intentsIn);
    if (mutant !== 'fresh_nonce_each_try') return view.live;
    return view.live.map(
      (transaction) => `${transaction.slice(0, 1)}${final.length + pending.length}`,
    );
  }

  #hasRoom({ log }: State, plan: string): boolean {
    return log.length + plan.split(',').length <= this.#bound.records;
  }

  /**
   * Appends a plan. A record without effect is written as `V`; for the mutant without arbitration
   * every record has an effect.
   */
  #appended({ log }: State, plan: string): string[] {
    const appended = [...log];
    for (const record of plan.split(',')) {
      const own =
        this.#bound.compare_and_set === false
          ? record.replace(/@\d+$/, `@${this.views.begin + appended.length}`)
          : record;
      const isVoid =
        this.#bound.mutant !== 'no_arbitration' && !this.views.counts([...appended, own].join(','));
      appended.push(isVoid ? 'V' : own);
    }
    return appended;
  }

  /** A plan for a taken offset has no effect. */
  #written(state: State): string {
    const { compare_and_set, mutant } = this.#bound;
    if (
      compare_and_set === false ||
      mutant === 'no_arbitration' ||
      mutant === 'record_after_sending'
    )
      return written(state);
    const end = `@${this.views.begin + state.log.length}`;
    const settled = (plan: string): string =>
      plan === '' || plan.split(',')[0]?.endsWith(end) === true ? plan : 'V';
    const [one, other] = state.processes;
    return written({
      ...state,
      flying: settled(state.flying),
      processes: [
        { ...one, plan: settled(one.plan) },
        { ...other, plan: settled(other.plan) },
      ],
    });
  }
}

function isMintOf(name: string, transaction: string): boolean {
  return transaction.startsWith(name) && !transaction.endsWith(FAILED);
}

function intentsIn(records: string): readonly string[] {
  return records
    .split(',')
    .flatMap((record) => (record.startsWith('I') ? [record.slice(1, record.indexOf('@'))] : []));
}

function withOne(pool: readonly string[], transaction: string): string[] {
  return [...pool, transaction].toSorted();
}

function written({ log, final, pending, pool, flying, human, processes }: State): string {
  const [one, other] = processes.map(({ read, seen, plan }) => `${read}/${seen}/${plan}`);
  return [
    log.join(','),
    final.join(','),
    pending.join(','),
    pool.join(','),
    flying,
    human,
    one,
    other,
  ].join('|');
}

function stateOf(text: string): State {
  const [
    log = '',
    final = '',
    pending = '',
    pool = '',
    flying = '',
    human = '',
    one = '',
    other = '',
  ] = text.split('|');
  return {
    log: listOf(log),
    final: listOf(final),
    pending: listOf(pending),
    pool: listOf(pool),
    flying,
    human: Number(human),
    processes: [processOf(one), processOf(other)],
  };
}

function listOf(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

function processOf(text: string): Process {
  const [read = '', seen = '', plan = ''] = text.split('/');
  return { read: Number(read), seen: Number(seen), plan };
}
