/** The whole system without limits of rates, with a market and deposits to be found in it. */
import { services } from '../../infra/services/services.ts';
import { defaultSettings } from '../../infra/services/settings.ts';
import { goodToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import type { Given } from './fault-run.ts';
import { onStack, type System } from './system.ts';

const UNLIMITED = { APP_RATE_PER_SECOND: '0' };
const SETTINGS = {
  devnet: { APP_BLOCK_INTERVAL_MS: '500', APP_TRAFFIC_PER_SECOND: '5' },
  'explorer-gateway': UNLIMITED,
  'deposit-gateway': UNLIMITED,
  'hub-gateway': UNLIMITED,
};
const GATEWAYS = ['explorer-gateway', 'deposit-gateway', 'hub-gateway'] as const;
/** The account with deposits. */
const PAYER = `0x${'ab'.repeat(20)}`;

/** Rejects also when a process ends by itself. */
export async function withGateways<Result>(
  given: Given,
  act: (gateways: Gateways) => Promise<Result>,
): Promise<Result> {
  return onStack(SETTINGS, given, async (system) => {
    await system.start(services.map(({ name }) => name));
    return await act(await Gateways.open(system));
  });
}

export function tokenOf(pk: string): string {
  const exp = Math.floor(Date.now() / 1_000) + 86_400;
  return goodToken({ pk, exp }, defaultSettings.APP_JWT_SECRET);
}

export class Gateways {
  /** of an account with deposits */
  readonly token = tokenOf(PAYER);
  /** of deposits of that account */
  readonly deposits: readonly string[];
  /** hashes and addresses that the explorer and the hub show */
  readonly known: readonly string[];
  readonly #system: System;

  private constructor(parts: Pick<Gateways, 'deposits' | 'known'>, system: System) {
    this.deposits = parts.deposits;
    this.known = parts.known;
    this.#system = system;
  }

  static async open(system: System): Promise<Gateways> {
    await system.ready(GATEWAYS);
    const gateways = new Gateways({ deposits: [], known: [] }, system);
    const deposits = await gateways.#payIn();
    let known: readonly string[] = [];
    await until(async () => {
      known = await gateways.#shown();
      return known.length > 50;
    }, 'a market with some trips in it');
    return new Gateways({ deposits, known }, system);
  }

  url(name: (typeof GATEWAYS)[number]): string {
    return this.#system.urlOf(name);
  }

  /** Gateways that are not ready, and what they logged as an error. */
  async faults(): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const name of GATEWAYS) {
      const { status } = await fetch(`${this.url(name)}/ready`);
      if (status !== 200) faults.push(`${name} is not ready any more`);
      const lines = this.#system.processes.at(name).log().split('\n');
      for (const line of lines.filter((each) => /"level":"(?:error|fatal)"/.test(each)).slice(0, 5))
        faults.push(`${name} logged ${line.slice(0, 500)}`);
    }
    return faults;
  }

  /** Pays some USDT to an address of the payer; the ids of the deposits. */
  async #payIn(): Promise<readonly string[]> {
    const url = `${this.url('deposit-gateway')}/api/v1/deposits`;
    const headers = { authorization: `Bearer ${this.token}` };
    const opened = await fetch(url, { method: 'POST', headers });
    const to = String(Object(await opened.json()).address);
    await this.#system.payments.pay([20_000_000n, 1_500_000n].map((value) => ({ to, value })));
    let ids: readonly string[] = [];
    await until(async () => {
      const { deposits = [] } = Object(await (await fetch(url, { headers })).json());
      ids = deposits.map(({ id }: { readonly id: string }) => id);
      return ids.length === 2;
    }, 'two deposits');
    return ids;
  }

  async #shown(): Promise<readonly string[]> {
    const trips = '{ txHash passengerAddress driverAddress rideOfferTxHash }';
    const query = `{ listRideRequests { txHash passengerAddress } listActiveTrips ${trips} listRecentTrips ${trips} }`;
    const market = await fetch(`${this.url('hub-gateway')}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const blocks = await fetch(`${this.url('explorer-gateway')}/api/v1/blocks`);
    const texts = [await market.text(), await blocks.text()];
    return [...new Set(texts.join(' ').match(/0x[0-9a-f]{40,64}/g) ?? [])];
  }
}
