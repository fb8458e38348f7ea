/**
 * The devnet's TRON for tests: a client of the provider's wire format, and the admin port's verbs.
 */
import { parseTronAddress } from '../../schemas/tron-address.ts';
import type { Answer, TestDevnet } from './devnet.ts';

/** Addresses of the mnemonic "test test .. junk", watch-only indexes 0 and 1. */
export const ALICE = 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6';
export const BOB = 'TPjjvMwjPoDC32V2dGDYTkLH4E5LAtBZ6C';
export const USDT = 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf';
export const COUNTERFEIT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';

export interface Row {
  readonly transaction_id: string;
  readonly token_info: {
    readonly symbol: string;
    readonly address: string;
    readonly decimals: number;
    readonly name: string;
  };
  readonly block_timestamp: number;
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly value: string;
}

export interface List {
  readonly data: readonly Row[];
  readonly success: boolean;
  readonly meta: {
    readonly at: number;
    readonly page_size: number;
    readonly fingerprint?: string;
    readonly links?: { readonly next: string };
  };
}

export interface Receipt {
  readonly id: string;
  readonly blockNumber: number;
  readonly blockTimeStamp: number;
  readonly contract_address?: string;
  readonly result?: string;
  readonly receipt: { readonly result?: string };
  readonly log?: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
}

export interface Head {
  readonly number: number;
  readonly timestamp: number;
}

export class TestTron {
  readonly #devnet: TestDevnet;

  constructor(devnet: TestDevnet) {
    this.#devnet = devnet;
  }

  ask(path: string, body?: unknown): Promise<Answer> {
    return this.#devnet.tron(path, body);
  }

  async list(
    address: string,
    parameters: Readonly<Record<string, string | number>> = {},
  ): Promise<List> {
    const query = new URLSearchParams(
      Object.entries(parameters).map(([name, value]) => [name, String(value)]),
    );
    const { status, body } = await this.ask(
      `/v1/accounts/${address}/transactions/trc20?${query.toString()}`,
    );
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return Object(body);
  }

  /** The list that a poller requests: confirmed rows. */
  confirmed(
    address: string,
    parameters: Readonly<Record<string, string | number>> = {},
  ): Promise<List> {
    return this.list(address, {
      only_confirmed: 'true',
      only_to: 'true',
      contract_address: USDT,
      limit: 200,
      ...parameters,
    });
  }

  /** undefined: {}, not solidified or unknown. */
  async receipt(
    id: string,
    side: 'wallet' | 'walletsolidity' = 'walletsolidity',
  ): Promise<Receipt | undefined> {
    const { body } = await this.ask(`/${side}/gettransactioninfobyid`, { value: id });
    return Object.keys(Object(body)).length === 0 ? undefined : Object(body);
  }

  async head(side: 'wallet' | 'walletsolidity' = 'walletsolidity'): Promise<Head> {
    const { body }: { body: { block_header?: { raw_data?: Head } } } = Object(
      await this.ask(`/${side}/getnowblock`, {}),
    );
    const head = body.block_header?.raw_data;
    if (head === undefined) throw new Error(`no block: ${JSON.stringify(body)}`);
    return head;
  }

  async balance(
    address: string,
    contract = USDT,
    side: 'wallet' | 'walletsolidity' = 'wallet',
  ): Promise<bigint> {
    const word = parseTronAddress(address)?.toString('hex').padStart(64, '0');
    const call = {
      owner_address: address,
      contract_address: contract,
      function_selector: 'balanceOf(address)',
      parameter: word,
      visible: true,
    };
    const { body }: { body: { constant_result?: readonly string[] } } = Object(
      await this.ask(`/${side}/triggerconstantcontract`, call),
    );
    return BigInt(`0x${body.constant_result?.[0] ?? ''}`);
  }

  /** The id of the transaction that was made. */
  async transfer(transfer: Readonly<Record<string, unknown>>): Promise<string> {
    const { status, body } = await this.#devnet.admin('/admin/tron/transfers', transfer);
    const { transaction_id }: { transaction_id?: string } = Object(body);
    if (status !== 200 || transaction_id === undefined) throw new Error(JSON.stringify(body));
    return transaction_id;
  }

  /** One block of these transfers; their ids. */
  async block(
    ...transfers: readonly Readonly<Record<string, unknown>>[]
  ): Promise<readonly string[]> {
    const { status, body } = await this.#devnet.admin('/admin/tron/block', { transfers });
    const { transaction_ids }: { transaction_ids?: readonly string[] } = Object(body);
    if (status !== 200 || transaction_ids === undefined) throw new Error(JSON.stringify(body));
    return transaction_ids;
  }

  async solidify(transaction_id?: string): Promise<void> {
    const { status, body } = await this.#devnet.admin(
      '/admin/tron/solidify',
      transaction_id === undefined ? undefined : { transaction_id },
    );
    if (status !== 200) throw new Error(JSON.stringify(body));
  }

  /** Changes what the USDT contract allows. */
  async token(change: Readonly<Record<string, unknown>>): Promise<void> {
    const { status, body } = await this.#devnet.admin('/admin/tron/token', change);
    if (status !== 200) throw new Error(JSON.stringify(body));
  }

  async fault(mode: string, times?: number, delay_ms?: number): Promise<void> {
    const { status, body } = await this.#devnet.admin('/admin/faults', {
      target: 'tron',
      mode,
      times,
      delay_ms,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
  }
}
