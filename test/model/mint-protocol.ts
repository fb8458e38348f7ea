/**
 * A model of the mint protocol and its failures. Two processes with the same key know nothing of
 * each other: each reads, decides, appends, broadcasts and concludes at any moment, and may crash
 * between any two steps. The answer to an append may be lost, or the append arrive after its
 * process died. The node takes transactions in any order or not at all; the chain may include a
 * mint without executing it, which a person may approve again; blocks may be reverted; a person may
 * use the key, rotate it, and release mints that no block has; somebody else may write to the log,
 * also that a mint is requested or credited; a node may lie.
 *
 * A process knows the log and the final blocks as far as it has read them. The real ledger decides.
 * States in which the two processes have changed places are one state, so that the number of a
 * process may change from step to step.
 */
import { FAILED, FOREIGN, isOfSecond, LedgerViews, type View } from './ledger-views.ts';
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
  /** the authority is rotated once, with no mint in flight; both keys stay valid on the chain */
  readonly rotates?: boolean;
  /** an operator releases mints in flight, wherever their transactions are */
  readonly releases?: boolean;
  /** records that somebody without a key writes: a mint is dead, a deposit is approved */
  readonly forged?: number;
  /** among them that a deposit is being minted, and that a mint is credited */
  readonly forges_mints?: boolean;
  /** the last deposit is held, and no operator approves it */
  readonly held?: boolean;
  /** one of the two nodes shows a transaction as final that a person signed and no block has */
  readonly lies?: boolean;
  /** blocks that are not final; each has one transaction */
  readonly pending: number;
  /**
   * false: the log lets every record count wherever it lands, so that the arbitration of intents
   * stands alone
   */
  readonly compare_and_set?: boolean;
  readonly mutant?: Mutant;
}

/** Shortcuts that were each shown to mint twice, or without an operator. */
export const MUTANTS = {
  record_after_sending: 'what is decided is sent, and recorded afterwards',
  fresh_nonce_each_try:
    'the ledger only says that a mint is under way; each try takes the nonce that the node gives',
  dead_when_unknown: 'a mint is given up because the node does not know it',
  evidence_before_finality: 'a mint is concluded from a block that is not final',
  dead_by_its_nonce:
    'a mint that is said to be dead is over once its nonce is used, by itself, too',
  released_and_approved: 'a deposit whose mint was released may be approved at once',
  one_sequence_of_nonces: 'the nonces of a new authority go on from those of the one before',
  unsigned_decisions: 'a decision counts without the signature of an operator',
  one_node_believed: 'a mint is concluded from what one node shows',
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
  /** shown by one node alone as the next final transaction */
  lie: string;
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
  forged: number;
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
    const { mutant } = bound;
    this.views = new LedgerViews({
      ...bound,
      signatures: mutant !== 'unsigned_decisions',
      over: overOf(mutant),
      own_nonces: mutant !== 'one_sequence_of_nonces',
    });
    const process = { read: 0, seen: 0, plan: '', lie: '' };
    this.initial = written({
      log: [],
      final: [],
      pending: [],
      pool: [],
      flying: '',
      human: 0,
      forged: 0,
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
    yield* this.#forgeries(state);
    if (state.human >= this.#bound.human) return;
    const isRotated = this.#bound.rotates === true && this.#viewOf(state).version === 2;
    for (const letter of isRotated ? ['h', 'H'] : ['h']) {
      const transaction = `${letter}${nextNonce(state, letter)}`;
      if (!state.pool.includes(transaction))
        yield [
          `person signs ${transaction}`,
          written({ ...state, human: state.human + 1, pool: withOne(state.pool, transaction) }),
        ];
    }
  }

  violation(text: string): string | undefined {
    const { log, final, pending, pool } = stateOf(text);
    const chain = [...final, ...pending];
    for (const name of this.views.names) {
      const mints = chain.filter((transaction) => isMintOf(name, transaction));
      if (mints.length > 1) return `deposit ${name} is minted twice: ${mints.join(' and ')}`;
    }
    const held = this.#bound.held === true ? this.views.names.at(-1) : undefined;
    if (held !== undefined && chain.some((transaction) => isMintOf(held, transaction)))
      return `deposit ${held} is minted, and no operator approved it`;
    // a mutant breaks the rest by what it is: it must be caught by what it does
    if (this.#bound.mutant !== undefined) return undefined;
    const { statuses, requested } = this.views.of(log.join(','));
    for (const [at, name] of this.views.names.entries()) {
      const isMinted = final.some((transaction) => isMintOf(name, transaction));
      if (statuses[at] === 'credited' && !isMinted && this.#bound.forges_mints !== true)
        return `deposit ${name} is credited and not minted`;
    }
    const strange = pool.find(
      (transaction) => !isPersons(transaction) && !requested.has(transaction),
    );
    if (strange !== undefined) return `${strange} was sent and never requested`;
    const isDone = (name: string, at: number): boolean =>
      statuses[at] === 'credited' && final.some((transaction) => isMintOf(name, transaction));
    if (this.views.names.every(isDone)) this.credited++;
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
      yield [`${who} looks at the chain`, change({ seen: state.final.length, lie: '' })];
    yield* this.#lies(state, process).map(
      (lie) => [`one node shows ${who} ${lie} as final`, change({ lie })] as const,
    );
    if (plan === '')
      for (const decided of this.#plans(state, process))
        yield [`${who} decides ${decided}`, change({ plan: decided })];
    if (plan !== '' && this.#hasRoom(state, plan))
      yield [`${who} appends ${plan}`, change({ plan: '' }, { log: this.#appended(state, plan) })];
    if (read + seen > 0 || plan !== '' || process.lie !== '') {
      yield [`${who} crashes`, change({ read: 0, seen: 0, plan: '', lie: '' })];
      if (plan !== '' && state.flying === '')
        yield [
          `${who} crashes while ${plan} is on its way`,
          change({ read: 0, seen: 0, plan: '', lie: '' }, { flying: plan }),
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
    if (pending.length < this.#bound.pending) {
      for (const transaction of pool) {
        if (transaction.slice(1) !== String(nextNonce(state, transaction))) continue;
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
    return !isPersons(transaction) && failed < (this.#bound.failures ?? 0);
  }

  /** By a person who has looked at the end of the log: the same compare-and-set, at once. */
  *#approvals(state: State): Iterable<readonly [string, string]> {
    const { failures, mutant } = this.#bound;
    if (failures === undefined && mutant !== 'released_and_approved') return;
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

  /**
   * An operator rotates the authority or releases a mint; somebody else writes the end of a mint,
   * or an approval.
   */
  *#forgeries(state: State): Iterable<readonly [string, string]> {
    const end = this.views.begin + state.log.length;
    const { version, live, statuses } = this.#viewOf(state);
    const tell = (record: string, forged: number): string =>
      this.#written({
        ...state,
        forged: state.forged + forged,
        log: this.#appended(state, record),
      });
    if (!this.#hasRoom(state, 'R')) return;
    if (this.#bound.rotates === true && version === 1 && live.length === 0)
      yield ['an operator rotates the authority', tell(`R@${end}`, 0)];
    const released = this.#bound.mutant === 'released_and_approved' ? 'H' : 'D';
    for (const transaction of this.#bound.releases === true ? live : [])
      yield [
        `an operator releases ${transaction}`,
        tell(`${released}${transaction.charAt(0).toLowerCase()}@${end}`, 0),
      ];
    if (state.forged >= (this.#bound.forged ?? 0)) return;
    for (const transaction of live)
      yield [`somebody writes that ${transaction} is dead`, tell(`X${transaction}@${end}`, 1)];
    for (const [at, name] of this.views.names.entries())
      if (statuses[at] === 'needs_manual')
        yield [`somebody writes that ${name} is approved`, tell(`U${name}@${end}`, 1)];
    if (this.#bound.forges_mints !== true) return;
    for (const transaction of live)
      yield [`somebody writes that ${transaction} is credited`, tell(`C${transaction}@${end}`, 1)];
    for (const [at, name] of this.views.names.entries())
      for (const nonce of statuses[at] === 'confirmed' ? FORGED_NONCES : [])
        yield [
          `somebody writes that ${name} is being minted with nonce ${nonce}`,
          tell(`I${name}${nonce}${FOREIGN}@${end}`, 1),
        ];
  }

  /** A lying node needs a transaction with the key's signature: one of a person. */
  #lies({ final, pool }: State, { seen, lie }: Process): readonly string[] {
    if (this.#bound.lies !== true || lie !== '') return [];
    return pool.filter(
      (transaction) =>
        isPersons(transaction) &&
        transaction.slice(1) === String(seen) &&
        !final.includes(transaction),
    );
  }

  #viewOf({ log }: State): View {
    return this.views.of(log.join(','));
  }

  #plans({ log, final, pending }: State, { read, seen, lie }: Process): readonly string[] {
    const { mutant } = this.#bound;
    const view = this.views.of(log.slice(0, read).join(','));
    const evidence =
      mutant === 'evidence_before_finality' ? [...final, ...pending] : final.slice(0, seen);
    // the second node does not show a lie of the first
    if (mutant === 'one_node_believed' && lie !== '') evidence.push(lie);
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
    // a credit that is not on the chain yet is sent, and nobody can send what no key has made
    const isOwn = (transaction: string): boolean =>
      !transaction.endsWith(FOREIGN) && isOfSecond(transaction) === (view.version === 2);
    if (mutant !== 'fresh_nonce_each_try') return [...view.live, ...view.credited].filter(isOwn);
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

function overOf(mutant: Mutant | undefined): 'shown' | 'used' | 'at_once' {
  if (mutant === 'released_and_approved') return 'at_once';
  return mutant === 'dead_by_its_nonce' || mutant === 'dead_when_unknown' ? 'used' : 'shown';
}

/** The nonces of a stranger's intents: the next one of the chain, or one behind it. */
const FORGED_NONCES = [0, 1];

function isPersons(transaction: string): boolean {
  return transaction.toLowerCase().startsWith('h');
}

/** The next nonce of the key that signed a transaction. */
function nextNonce({ final, pending }: State, transaction: string): number {
  const isSecond = isOfSecond(transaction);
  return [...final, ...pending].filter((each) => isOfSecond(each) === isSecond).length;
}

function isMintOf(name: string, transaction: string): boolean {
  return transaction.toLowerCase().startsWith(name) && !transaction.endsWith(FAILED);
}

function intentsIn(records: string): readonly string[] {
  return records
    .split(',')
    .flatMap((record) => (record.startsWith('I') ? [record.slice(1, record.indexOf('@'))] : []));
}

function withOne(pool: readonly string[], transaction: string): string[] {
  return [...pool, transaction].toSorted();
}

function written({ log, final, pending, pool, flying, human, forged, processes }: State): string {
  const [one, other] = processes
    .map(({ read, seen, plan, lie }) => `${read}/${seen}/${plan}/${lie}`)
    .toSorted();
  return [
    log.join(','),
    final.join(','),
    pending.join(','),
    pool.join(','),
    flying,
    human,
    forged,
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
    forged = '',
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
    forged: Number(forged),
    processes: [processOf(one), processOf(other)],
  };
}

function listOf(text: string): string[] {
  return text === '' ? [] : text.split(',');
}

function processOf(text: string): Process {
  const [read = '', seen = '', plan = '', lie = ''] = text.split('/');
  return { read: Number(read), seen: Number(seen), plan, lie };
}
