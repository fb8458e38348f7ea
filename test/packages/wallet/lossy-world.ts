/**
 * The devnet's chain, the hub's own sending and the explorer's answers behind a `fetch` that loses
 * questions and answers. Between two of them the chain goes on, is reorganised, or lets another
 * device of an account take its next nonce, and the read model stays behind and catches up.
 */
import { privateKeySigner, type Signer } from '../../../packages/wallet/src/index.ts';
import { verifiedByUs } from '../../../infra/devnet/clt/execute.ts';
import type { Chain } from '../../../infra/devnet/clt/chain.ts';
import { seededRandom } from '../../../infra/devnet/traffic/traffic.ts';
import { readSubmission } from '../../../services/hub-gateway/graphql/parameters.ts';
import { sendTransaction } from '../../../services/hub-gateway/graphql/submission.ts';
import { Refused } from '../../../services/hub-gateway/graphql/errors.ts';
import type { Hub } from '../../../services/hub-gateway/graphql/context.ts';
import type { Query } from '../../../projections/contract/page.ts';
import { toHex } from '../../../schemas/address.ts';
import type { SealedBlock } from '../../../infra/devnet/clt/block.ts';
import { BEGIN, newChain, testGenesis, transactionOf } from '../../support/clt-world.ts';

type Block = Pick<SealedBlock, 'height' | 'transactions'>;

export class LossyWorld {
  readonly chain: Chain;
  readonly random: () => number;
  /** another device has its key too, and takes a nonce now and then */
  readonly passenger: Signer;
  readonly driver: Signer;
  readonly seen = { lost: 0, in_block: 0, taken: 0, reorganised: 0, behind: 0 };
  #now = BEGIN;
  /** by height */
  #blocks: readonly Block[] = [];
  /** the blocks that the read model has */
  #indexed: readonly Block[] = [];
  /** all blocks that ever held a transaction of this hash, or of this account */
  readonly #holding = new Map<string, Block[]>();
  /** their first answer is lost */
  readonly #sent = new Set<string>();

  #patience = { questions: 0, end: (): void => undefined };

  constructor(seed: string) {
    const genesis = testGenesis(seed, 3);
    this.chain = newChain(genesis);
    this.random = seededRandom(seed);
    const [passenger, driver] = [genesis.cast.passengers[0], genesis.cast.drivers[0]];
    if (passenger === undefined || driver === undefined) throw new Error('nobody rides');
    this.passenger = privateKeySigner(passenger.signing_key.privateKey);
    this.driver = privateKeySigner(driver.signing_key.privateKey);
    this.#add([genesis.block]);
    this.#index();
  }

  /** The transactions of the chain. */
  get transactions(): SealedBlock['transactions'] {
    return this.#blocks.flatMap(({ transactions }) => transactions);
  }

  readonly fetch = async (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    if (--this.#patience.questions === 0) this.#patience.end();
    this.#goOn();
    if (this.random() < 0.2) this.#lose();
    const url = new URL(input instanceof Request ? input.url : input);
    const variables = typeof init.body === 'string' ? JSON.parse(init.body).variables : undefined;
    // the token of an account is its address
    const token = new Headers(init.headers).get('authorization')?.replace('Bearer ', '') ?? '';
    const response =
      variables === undefined
        ? this.#explorer(url.pathname)
        : Response.json(await this.#hub(token, variables));
    this.#goOn();
    const raw: unknown = variables?.raw;
    const isFirst = typeof raw === 'string' && !this.#sent.has(raw);
    if (isFirst) this.#sent.add(raw);
    if (isFirst || this.random() < 0.4) this.#lose();
    return response;
  };

  /** Ends the patience of a wallet after so many questions, however long they take. */
  patience(questions: number, reason: string): AbortSignal {
    const ending = new AbortController();
    this.#patience = { questions, end: () => ending.abort(reason) };
    return ending.signal;
  }

  /** No question or answer comes through. */
  #lose(): never {
    this.seen.lost++;
    throw new TypeError('fetch failed');
  }

  #goOn(): void {
    if (this.random() < 0.2) this.#block();
    if (this.random() < 0.03) this.#reorganise();
    if (this.random() < 0.05) this.#takeNonce();
    if (this.random() < 0.4) this.#index();
  }

  #block(): void {
    const assembled = this.chain.propose((this.#now += 1_000));
    this.chain.append(assembled);
    this.#add([assembled.block]);
  }

  #add(blocks: readonly SealedBlock[]): void {
    for (const { height, transactions } of blocks) {
      const block = { height, transactions };
      this.#blocks = [...this.#blocks.slice(0, height), block];
      for (const key of new Set(transactions.flatMap(({ hash, from }) => [hash, from])))
        this.#holding.set(key, [...(this.#holding.get(key) ?? []), block]);
    }
  }

  #reorganise(): void {
    const { head, finalized_height: finalizedHeight } = this.chain;
    const depth = Math.min(head.height - finalizedHeight, 1 + Math.floor(this.random() * 3));
    if (depth === 0) return;
    this.#add(this.chain.reorganise(depth, (this.#now += 1_000), this.random).added);
    this.seen.reorganised++;
  }

  #takeNonce(): void {
    const from = this.passenger.address;
    const call = { function_call_type: 'Transfer', arguments: { to: from, amount: 1n } } as const;
    this.chain.mempool.add(transactionOf(from, this.chain.account(from).nonce, call));
  }

  #index(): void {
    this.#indexed = this.#blocks;
  }

  /** `readSubmission` has checked that this account signed what is sent. */
  #sourceFor(account: string): Pick<Hub, 'node' | 'reader'> {
    return {
      node: {
        // now and then by another node, which is behind
        head: () =>
          Promise.resolve({
            height: this.chain.head.height - (this.random() < 0.3 ? 2 : 0),
            finalized_height: null,
          }),
        nextNonce: (of) => Promise.resolve(this.chain.mempool.account(of).nonce),
        submit: (raw) => {
          const sent = verifiedByUs(Buffer.from(raw.slice(2), 'hex'), account);
          const result = this.chain.mempool.add(sent) ?? sent;
          if ('hash' in result)
            return Promise.resolve({ code: 'accepted', json: { transaction_hash: result.hash } });
          const { refused: code, message } = result;
          return Promise.resolve({ code, json: { code, message } });
        },
      },
      reader: {
        rows: ({ values }: Query) => {
          const [hash, sender] = values;
          if (!Buffer.isBuffer(hash) || !Buffer.isBuffer(sender))
            throw new Error('another statement');
          if (this.#indexed.length < this.#blocks.length) this.seen.behind++;
          const [block] = this.#blocksOf(toHex(hash));
          const nonce = this.#nonceOf(toHex(sender));
          const row = [this.#indexed.at(-1)?.height, block?.height, nonce].map((each) =>
            each === undefined ? null : String(each),
          );
          if (this.random() < 0.5) this.#index();
          return Promise.resolve([row]);
        },
      },
    };
  }

  /** The blocks of the read model that hold a transaction of this hash, or of this account. */
  #blocksOf(key: string): readonly Block[] {
    const holding = this.#holding.get(key) ?? [];
    return holding.filter((block) => this.#indexed[block.height] === block);
  }

  #nonceOf(account: string): number | undefined {
    const all = this.#blocksOf(account).flatMap(({ transactions }) => transactions);
    const { length } = all.filter(({ from }) => from === account);
    return length === 0 ? undefined : length;
  }

  /** A mutation with `raw` is sent, any other built: its `data` with the next nonce. */
  async #hub(
    account: string,
    { raw, data }: { readonly raw?: string; readonly data?: object },
  ): Promise<object> {
    const { chain_id } = this.chain.parameters;
    if (raw === undefined) {
      const { nonce } = this.chain.mempool.account(account);
      return { data: { built: { from: account, nonce, chain_id, data } } };
    }
    try {
      const submission = readSubmission(raw, { account, expires_at: Infinity }, chain_id);
      const answer = await sendTransaction(this.#sourceFor(account), submission);
      const code: unknown = Reflect.get(Object(answer), 'code');
      if (code === 'already_in_block') this.seen.in_block++;
      if (code === 'nonce_too_low') this.seen.taken++;
      return { data: { sendRawTransaction: answer } };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { errors: [{ message: error.message, extensions: error.extensions }] };
    }
  }

  #explorer(path: string): Response {
    const height = this.#indexed.at(-1)?.height ?? 0;
    const finalizedHeight = Math.max(0, height - this.chain.parameters.finality_depth);
    const [, , , kind = '', name = ''] = path.split('/');
    switch (kind) {
      case 'status':
        return Response.json({ indexed: { height, finalized_height: finalizedHeight } });
      case 'accounts': {
        const nonce = this.#nonceOf(name);
        return nonce === undefined ? absent() : Response.json({ nonce });
      }
      case 'transactions': {
        const [block] = this.#blocksOf(name);
        return block === undefined ? absent() : Response.json({ block_height: block.height });
      }
      default:
        throw new Error(path);
    }
  }
}

function absent(): Response {
  return Response.json({ code: 'not_found', message: 'unknown' }, { status: 404 });
}
