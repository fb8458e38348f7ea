/** An account that signs in at the hub and pays to its deposit address. */
import { privateKeySigner, randomPrivateKey, signIn } from '../../packages/wallet/src/index.ts';
import { until } from '../support/until.ts';
import type { Composed } from './composed.ts';

interface Deposits {
  readonly address: string;
  readonly deposits: readonly {
    readonly id: string;
    readonly status: string;
    readonly amount_usdt: number;
  }[];
}

export class Payer {
  readonly token: string;
  readonly #system: Composed;

  constructor(system: Composed, token: string) {
    this.#system = system;
    this.token = token;
  }

  static async signIn(system: Composed): Promise<Payer> {
    const hub = { url: system.url('hub', '/graphql'), chainId: 7777 };
    const { token } = await signIn(hub, privateKeySigner(randomPrivateKey()));
    return new Payer(system, token);
  }

  async deposits(method: 'GET' | 'POST' = 'GET'): Promise<Deposits> {
    const headers = { authorization: `Bearer ${this.token}` };
    return await this.#system.json<Deposits>('deposit', '/api/v1/deposits', { method, headers });
  }

  /** Sends USDT to the account's address, in base units. */
  async pay(value: string): Promise<void> {
    let address = '';
    await until(async () => {
      // 503 until the read model has the address: the same request is sent again
      ({ address } = await this.deposits('POST'));
      return true;
    }, 'the address of the account');
    await this.#system.json('devnet', '/admin/tron/transfers', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: address, value }),
    });
  }

  /** Resolves when the account's deposits have these states, in any order. */
  async shows(...states: readonly string[]): Promise<void> {
    const expected = states.toSorted().join();
    await until(
      async () => (await this.deposits()).deposits.map(({ status }) => status).toSorted(),
      `deposits to be ${expected}`,
      (shown) => shown.join() === expected,
    );
  }
}
