/**
 * Seeded random requests to an explorer whose chain moves: every list, detail, search and export,
 * for current, reverted, future and unknown items.
 */
import { FUNCTION_CALL_TYPES } from '../../../schemas/function-call.ts';
import type { Random } from '../../support/random.ts';
import {
  accountQuestion,
  balanceQuestion,
  blockQuestion,
  listQuestion,
  searchQuestion,
  statsQuestion,
  statusQuestion,
  transactionQuestion,
  type Place,
  type Question,
} from './storm-answers.ts';
import { stands, type StormBlock, type StormChain, type StormList } from './storm-chain.ts';
import type { ExportQuestion } from './storm-exports.ts';

/** Links that are kept to be followed, and questions to be asked again. */
const KEPT = 60;

export class StormQuestions {
  readonly #random: Random;
  readonly #chain: StormChain;
  readonly #addresses = new Set<string>();
  #blocksSeen = 0;
  #links: Question[] = [];
  #linksSeen = 0;
  #asked: Question[] = [];

  constructor(random: Random, chain: StormChain) {
    this.#random = random;
    this.#chain = chain;
  }

  /**
   * A request about the chain after this many events; one in three repeats a recent one, whose
   * response may be cached.
   */
  question(events: number): Question {
    this.#learn();
    const random = this.#random;
    if (this.#asked.length > 0 && random.chance(0.35)) return random.pick(this.#asked.slice(-12));
    const question =
      this.#links.length > 0 && random.chance(0.2) ? random.pick(this.#links) : this.#fresh(events);
    this.#asked = [...this.#asked.slice(-KEPT), question];
    return question;
  }

  /** Most are small: from one of the newest final blocks on. */
  exported(events: number): ExportQuestion {
    this.#learn();
    const random = this.#random;
    const final = Math.max(0, this.#chain.at(events).finalized_height);
    const of = random.pick(['transactions', 'activity'] as const);
    const address = random.chance(0.5) ? random.pick([...this.#addresses]) : undefined;
    return {
      of,
      format: random.pick(['csv', 'ndjson'] as const),
      from: random.chance(0.15) ? 0 : Math.max(0, final - random.below(10)),
      ...(random.chance(0.4) ? { to: final } : {}),
      ...(address === undefined ? {} : { address: Buffer.from(address, 'hex') }),
      ...(of === 'transactions' && random.chance(0.3)
        ? { type: random.pick(FUNCTION_CALL_TYPES) }
        : {}),
    };
  }

  /** A page's link, to be followed now or much later. */
  learnLink({ list }: Question, link: string, places: readonly Place[]): void {
    if (list === undefined) throw new Error('only lists have links');
    const at = this.#linksSeen++ % KEPT;
    this.#links = this.#links.toSpliced(at, 1, listQuestion(link, list.of, list.limit, { places }));
  }

  #learn(): void {
    const { blocks } = this.#chain;
    for (const block of blocks.slice(this.#blocksSeen)) {
      for (const address of block.touched) this.#addresses.add(address);
    }
    this.#blocksSeen = blocks.length;
  }

  #fresh(events: number): Question {
    const random = this.#random;
    switch (random.below(12)) {
      case 0:
        return this.#list('/api/v1/blocks', { of: 'blocks' }, {});
      case 1:
        return this.#list('/api/v1/validators', { of: 'validators' }, {});
      case 2:
      case 3: {
        const address = this.#address();
        return this.#list(
          `/api/v1/accounts/${this.#written(address)}/activity`,
          { of: 'activity', address },
          {},
        );
      }
      case 4:
        return this.#block();
      case 5: {
        const hash = this.#transactionHash();
        return transactionQuestion(this.#written(hash), (state) =>
          this.#chain.transactionIn(state, hash),
        );
      }
      case 6: {
        const address = this.#address();
        return accountQuestion(this.#written(address), address);
      }
      case 7: {
        const address = this.#address();
        return balanceQuestion(this.#written(address), address, this.#height());
      }
      case 8:
        return this.#search();
      case 9:
        return random.chance(0.5) ? statsQuestion() : statusQuestion();
      default:
        return this.#transactions(events);
    }
  }

  #transactions(events: number): Question {
    const random = this.#random;
    const address = random.chance(0.5) ? this.#address() : undefined;
    const block = random.chance(0.3) ? this.#filledHeight(events) : undefined;
    const type = random.chance(0.4) ? random.pick([...FUNCTION_CALL_TYPES, 'Unseen']) : undefined;
    const status = random.chance(0.2)
      ? random.pick(['confirmed', 'confirmed', 'pending'])
      : undefined;
    return this.#list(
      '/api/v1/transactions',
      { of: 'transactions', address, block, type, status },
      {
        ...(address === undefined ? {} : { address: this.#written(address) }),
        ...(block === undefined ? {} : { block: String(block) }),
        ...(type === undefined ? {} : { type }),
        ...(status === undefined ? {} : { status }),
      },
    );
  }

  #list(path: string, list: StormList, filters: Readonly<Record<string, string>>): Question {
    const random = this.#random;
    const limit = random.chance(0.5) ? 1 + random.below(10) : 1 + random.below(100);
    const offset = this.#offset();
    const query = new URLSearchParams({ ...filters, limit: String(limit), offset: String(offset) });
    return listQuestion(`${path}?${query.toString()}`, list, limit, { offset });
  }

  #offset(): bigint {
    const random = this.#random;
    const kind = random.below(10);
    if (kind < 4) return 0n;
    if (kind < 7) return BigInt(random.below(12));
    return kind < 9
      ? BigInt(random.below(3_000))
      : random.pick([1n << 31n, (1n << 63n) - 1n, 1n << 64n]);
  }

  #block(): Question {
    const random = this.#random;
    const height = this.#height();
    if (random.chance(0.4)) return blockQuestion(String(height), ({ blocks }) => blocks[height]);
    if (random.chance(0.1))
      return blockQuestion(this.#written(random.bytes(32).toString('hex')), () => undefined);
    const block = this.#anyBlock();
    return blockQuestion(this.#written(block.plain.hash.toString('hex')), (state) =>
      stands(state, block) ? block : undefined,
    );
  }

  #search(): Question {
    const random = this.#random;
    const [height, block, hash, address] = [
      this.#height(),
      this.#anyBlock(),
      this.#transactionHash(),
      this.#address(),
    ];
    return searchQuestion(
      random.pick([
        { q: String(height), height },
        { q: this.#written(block.plain.hash.toString('hex')), block },
        { q: this.#written(hash), transaction: (state) => this.#chain.transactionIn(state, hash) },
        { q: this.#written(address), address },
        { q: random.pick(['RidePay', '0x12', '%', `${height}x`]) },
      ]),
    );
  }

  /** Most often one of the last, which may leave, or may have left already. */
  #anyBlock(): StormBlock {
    const { blocks } = this.#chain;
    return this.#random.pick(this.#random.chance(0.7) ? blocks.slice(-12) : blocks);
  }

  #transactionHash(): string {
    const random = this.#random;
    const all = this.#chain.hashes;
    if (all.length === 0 || random.chance(0.1)) return random.bytes(32).toString('hex');
    return random.pick(random.chance(0.7) ? all.slice(-40) : all);
  }

  /** The producers, the escrow and the pool are touched most often, and so come first. */
  #address(): string {
    const random = this.#random;
    if (random.chance(0.1)) return random.bytes(20).toString('hex');
    const busy = [...(this.#chain.blocks.at(-1)?.touched ?? [])];
    return random.pick(random.chance(0.4) ? busy : [...this.#addresses]);
  }

  #height(): number {
    const highest = this.#anyBlock().plain.height;
    return this.#random.chance(0.8) ? highest : highest + this.#random.below(40);
  }

  #filledHeight(events: number): number {
    const { blocks } = this.#chain.at(events);
    return this.#random.chance(0.7)
      ? (blocks.findLast(({ transactions }) => transactions.length > 0)?.plain.height ?? 0)
      : this.#height();
  }

  /** Hex as somebody might type it. */
  #written(hex: string): string {
    return this.#random.pick([hex, `0x${hex}`, `0x${hex.toUpperCase()}`, hex.toUpperCase()]);
  }
}
