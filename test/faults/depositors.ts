/**
 * Users of the deposit service while it is killed: they request their address until they have it,
 * and read their list.
 */
import { setTimeout as after } from 'node:timers/promises';
import { toHex } from '../../schemas/address.ts';
import { accountAt } from '../support/deposit-log.ts';
import type { Random } from '../support/random.ts';
import { goodToken, SECRET } from '../support/tokens.ts';
import { HANG_MS } from '../support/limits.ts';

const PATH = '/api/v1/deposits';
const AGAIN_MS = 50;
/** Concurrent requests. */
const AT_ONCE = 25;
const STATUSES: ReadonlySet<string> = new Set([
  'confirmed',
  'mint_requested',
  'credited',
  'needs_manual',
]);
/** 0: nobody listened. 503: not now, ask again. */
const EXPECTED: ReadonlySet<number> = new Set([0, 200, 503]);

interface Listed {
  readonly status: string;
  readonly tron_tx_id: string;
}

export class Depositors {
  /** the gateway's answers by status, 0 where nobody listened */
  readonly answers: Record<string, number> = {};
  /** violations that clients have seen */
  readonly violations = new Set<string>();
  readonly #gateway: () => string;
  readonly #random: Random;
  readonly #secret: () => string;
  /** by account, what each has been told */
  readonly #addresses = new Map<number, string>();
  #joining: Promise<void> = Promise.resolve();

  /** `gateway`: where it is now, without a path; `secret` signs the tokens. */
  constructor(gateway: () => string, random: Random, secret = (): string => SECRET) {
    this.#secret = secret;
    this.#gateway = gateway;
    this.#random = random;
  }

  /** The deposit addresses, in base58, by account. */
  get addresses(): ReadonlyMap<number, string> {
    return this.#addresses;
  }

  /**
   * These accounts request their addresses, retrying while the gateway is away; `joined` resolves
   * when all have one.
   */
  join(accounts: readonly number[]): Promise<void> {
    const before = this.#joining;
    const waiting = [...accounts];
    const one = async (): Promise<void> => {
      for (let account = waiting.shift(); account !== undefined; account = waiting.shift())
        await this.open(account);
    };
    this.#joining = before.then(
      async () => void (await Promise.all(Array.from({ length: AT_ONCE }, one))),
    );
    this.#joining.catch(() => undefined);
    return this.#joining;
  }

  get joined(): Promise<void> {
    return this.#joining;
  }

  /** Opens the panel of an account until there is an answer. */
  async open(account: number): Promise<void> {
    for (;;) {
      const text = await this.#ask('POST', account);
      if (text !== undefined) {
        const { address }: { readonly address?: unknown } = Object(JSON.parse(text));
        const told = String(address);
        const before = this.#addresses.get(account) ?? told;
        if (before !== told)
          this.violations.add(`account ${account} was told ${before} and then ${told}`);
        this.#addresses.set(account, told);
        return;
      }
      await after(AGAIN_MS);
    }
  }

  /** The list of somebody who has an address. */
  async look(): Promise<void> {
    const known = [...this.#addresses.keys()];
    if (known.length > 0) await this.deposits(this.#random.pick(known));
  }

  /** Undefined while there is no answer. */
  async deposits(account: number): Promise<readonly Listed[] | undefined> {
    const text = await this.#ask('GET', account);
    if (text === undefined) return undefined;
    const { deposits }: { readonly deposits?: readonly Listed[] } = Object(JSON.parse(text));
    if (deposits === undefined) throw new Error(`the gateway answers no deposits: ${text}`);
    for (const { status } of deposits)
      if (!STATUSES.has(status)) this.violations.add(`a deposit is shown as ${status}`);
    return deposits;
  }

  async #ask(method: 'GET' | 'POST', account: number): Promise<string | undefined> {
    const token = goodToken({ pk: toHex(accountAt(account)), exp: 2 ** 40 }, this.#secret());
    const answer = await this.#fetched(method, token);
    const status = answer?.status ?? 0;
    this.answers[status] = (this.answers[status] ?? 0) + 1;
    if (!EXPECTED.has(status))
      this.violations.add(`the gateway answered ${status}: ${answer?.text.slice(0, 200)}`);
    return status === 200 ? answer?.text : undefined;
  }

  async #fetched(
    method: string,
    token: string,
  ): Promise<{ readonly status: number; readonly text: string } | undefined> {
    try {
      const response = await fetch(`${this.#gateway()}${PATH}`, {
        method,
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(HANG_MS),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      // killed before or in the middle of its answer
      return undefined;
    }
  }
}
