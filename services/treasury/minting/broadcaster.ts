/**
 * Broadcasts requested mints in the order of their nonces, again and again until a block has them.
 * The bytes are the same each time, so neither repetition nor a second treasury does harm. The
 * node's answers are counted and never believed: only a final block concludes a mint.
 */
import { toHex } from '../../../schemas/address.ts';
import type { RequestedMint } from '../../../projections/deposits/domain/ledger.ts';
import { mintCallOf } from '../../../projections/deposits/domain/minting.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { waitingFor, type HealthProblem } from '../../runtime/process/health.ts';
import type { Minter } from './minter.ts';
import type { MintingParts } from './options.ts';

type BroadcasterParts = Pick<
  MintingParts,
  | 'again_ms'
  | 'books'
  | 'catchUp'
  | 'chain'
  | 'last'
  | 'late_ms'
  | 'log'
  | 'metrics'
  | 'node'
  | 'now'
  | 'prover'
  | 'signal'
  | 'signer'
  | 'traces'
>;

export class Broadcaster {
  readonly #options: BroadcasterParts;
  readonly #minter: Minter;
  /** time of each mint's last broadcast on the monotonic clock, by its sequence */
  readonly #sent = new Map<number, number>();
  #fault: Fault | undefined;
  #notSigned: { readonly sequence: number; readonly message: string } | undefined;

  constructor(options: BroadcasterParts, minter: Minter) {
    this.#options = options;
    this.#minter = minter;
  }

  /** Why mints are not broadcast. */
  get problem(): HealthProblem | undefined {
    const phase = 'minting';
    if (this.#notSigned !== undefined)
      return { status: 'halted', phase, message: this.#notSigned.message };
    if (this.#fault !== undefined)
      return waitingFor(this.#fault, {
        message: `mints are not sent: ${this.#fault.message}`,
        phase,
      });
    const late = this.#late;
    return late === undefined
      ? undefined
      : { status: 'waiting', phase, waits_for: 'node', message: late };
  }

  /** A mint that was requested long ago and is in no block, while minting is open. */
  get #late(): string | undefined {
    const { books, chain, late_ms: lateMs, now } = this.#options;
    if (this.#minter.closed !== undefined) return undefined;
    const at = now();
    for (const { deposit_id, nonce, tx_hash, at: requested } of books.ledger.live.values()) {
      if (at - requested <= lateMs || chain.sender.has(nonce, tx_hash)) continue;
      return `the mint of deposit ${deposit_id}, with nonce ${nonce}, was requested ${Math.round((at - requested) / 1_000)} s ago and is in no block: it is sent again and again. What to do: look what the node answers (treasury_broadcasts_total on /metrics), whether the chain-ingester works, and at the node's transactions of the mint authority before that nonce; if no block can take it, \`ops mint void\` lets its deposit wait again, and \`ops deposit release\` gives it up`;
    }
    return undefined;
  }

  /** Broadcasts due mints once. */
  async pass(): Promise<void> {
    const { books, signal, catchUp } = this.#options;
    const wanted = new Set(this.#wanted().map(({ sequence }) => sequence));
    if (!wanted.has(this.#notSigned?.sequence ?? -1)) this.#notSigned = undefined;
    for (const sequence of this.#sent.keys())
      if (!wanted.has(sequence)) this.#sent.delete(sequence);
    if (this.#due().length === 0) this.#fault = undefined;
    if (this.#minter.closed !== undefined || this.#due().length === 0) return;
    await catchUp();
    try {
      for (const mint of this.#due()) {
        // checked before each broadcast: a reconciliation may have closed minting meanwhile
        if (signal.aborted || this.#minter.closed !== undefined) return;
        // the ledger is read on meanwhile, and a mint that was given up is not sent any more
        const deposit = books.ledger.deposit(mint.deposit_id);
        if (!('mint' in deposit) || deposit.mint.sequence !== mint.sequence) continue;
        await this.#send(mint);
      }
      this.#fault = undefined;
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry) throw error;
      // the rest waits for the next pass: the node cannot use a nonce without the one before it
      this.#noteFault(error);
    }
  }

  /** Mints in flight, and those that the ledger calls credited before a final block has them. */
  #wanted(): readonly RequestedMint[] {
    return [...this.#options.books.ledger.live.values(), ...this.#minter.credits_to_send];
  }

  /** Mints that no block has and that were not broadcast a moment ago. */
  #due(): readonly RequestedMint[] {
    const { chain, prover, again_ms: againMs } = this.#options;
    const now = performance.now();
    return this.#wanted().filter(
      ({ deposit_id, sequence, nonce, tx_hash }) =>
        prover.isLookedUp(deposit_id) &&
        !chain.sender.has(nonce, tx_hash) &&
        now - (this.#sent.get(sequence) ?? Number.NEGATIVE_INFINITY) >= againMs,
    );
  }

  async #send(mint: RequestedMint): Promise<void> {
    const { prover, signer, metrics, log, last } = this.#options;
    const { deposit_id: depositId } = mint;
    const why = prover.whyNotSigned(depositId) ?? last.whyNot(mint, prover.arrived(depositId));
    const { raw, tx_hash } = signer.sign(mintCallOf(mint));
    if (why !== undefined || !tx_hash.equals(mint.tx_hash)) {
      const reason = why ?? 'the key signs other bytes';
      const message = `the mint of deposit ${mint.deposit_id} is not sent: ${reason}. What to do: look at the deposit with \`ops deposit show\`, run \`ops audit\`, and give the mint up with \`ops deposit release\``;
      this.#notSigned = { sequence: mint.sequence, message };
      this.#sent.set(mint.sequence, performance.now());
      metrics.broadcast('not_signed');
      const { deposit_id, nonce } = mint;
      log.error({ deposit_id, nonce, reason }, 'a mint was not signed');
      return;
    }
    this.#sent.set(mint.sequence, performance.now());
    const answer = await this.#submit(mint, toHex(raw));
    metrics.broadcast(answer);
    log.debug(
      { deposit_id: mint.deposit_id, nonce: mint.nonce, tx_hash: toHex(tx_hash), answer },
      'a mint was sent',
    );
  }

  /** The node's answer. */
  async #submit({ deposit_id }: RequestedMint, raw: string): Promise<string> {
    const { node, traces } = this.#options;
    const span = traces.continued('MintSent', deposit_id);
    try {
      const { code: answer } = await node.submit(raw);
      if (answer === undefined)
        throw new Fault('chain_node', 'the CLT node refused a mint without a code', {
          retry: true,
        });
      span.set('clt.answer', answer);
      span.end();
      return answer;
    } catch (error) {
      span.end(error);
      throw error;
    }
  }

  #noteFault(fault: Fault): void {
    const { log, metrics } = this.#options;
    metrics.broadcast('no_answer');
    if (this.#fault === undefined)
      log.warn({ err: fault }, 'the node did not take a mint, it is sent again');
    this.#fault = fault;
  }
}
