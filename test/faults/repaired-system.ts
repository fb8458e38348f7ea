/**
 * A whole system that a person repairs by what its messages and pages name, and nothing else. After
 * each repair every service is ready, every table equals its log, and the audit holds.
 */
import { expect } from 'vitest';
import type { Folder } from '../../infra/local/stack/folder.ts';
import { privateKeySigner, signIn } from '../../packages/wallet/src/index.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import { ops, type Ended } from '../services/ops/operator.ts';
import type { CommandRun } from '../support/command-line.ts';
import { testKafka, type TestKafka } from '../support/kafka.ts';
import { until } from '../support/until.ts';
import { Installation } from './installation.ts';

interface Status {
  readonly attention: readonly string[];
}

/** Whether a line says a fault of this service; services that say the same share one. */
export function isSaidBy(name: string, fault: string): boolean {
  return fault.split(': ')[0]?.split(', ').includes(name) === true;
}

export class RepairedSystem {
  readonly folder: Folder;
  readonly kafka: TestKafka;
  readonly #stack: Installation;

  /** Started by `npm run up`. */
  static async open(): Promise<RepairedSystem> {
    const system = new RepairedSystem(await Installation.open());
    try {
      await system.npmRun('up');
      return system;
    } catch (error) {
      await system.close();
      throw error;
    }
  }

  private constructor(stack: Installation) {
    this.#stack = stack;
    this.folder = stack.folder;
    this.kafka = testKafka({ kafka_brokers: `127.0.0.1:${stack.ports.kafka}` });
  }

  async close(): Promise<void> {
    await this.#stack.close();
  }

  /** A command of the local stack, which may fail, before it has ended. */
  run(words: readonly string[]): CommandRun {
    return this.#stack.run(words);
  }

  /** A command of the local stack that has to succeed. Resolves to what it has printed. */
  async npmRun(...words: readonly string[]): Promise<string> {
    const { code, printed } = await this.#stack.main(words);
    expect([code, printed]).toEqual([0, expect.anything()]);
    return printed;
  }

  op(...words: readonly string[]): Promise<Ended> {
    return ops('--stack', this.folder.stack_file, ...words);
  }

  /** A new user pays, and gets CLT: this takes every service. */
  async credit(user: number): Promise<void> {
    const signer = privateKeySigner(`0x${String(user).padStart(64, '0')}`);
    const hub = { url: `${this.#stack.url('hub')}/graphql`, chainId: 7777 };
    const { token } = await signIn(hub, signer);
    await this.#stack.pay(token, '12345678');
    await until(
      async () => (await this.#stack.deposits(token)).deposits.map(({ status }) => status),
      'the deposit to be credited',
      ([status]) => status === 'credited',
    );
  }

  /** The lines of `ops status` about what needs attention. */
  async faults(): Promise<readonly string[]> {
    const status: Status = JSON.parse((await this.op('status', '--json')).stdout);
    return status.attention;
  }

  async untilNothingIsWrong(): Promise<void> {
    await until(
      () => this.faults(),
      'nothing to be wrong',
      (said) => said.length === 0,
    );
  }

  async expectWhole(): Promise<void> {
    await this.untilNothingIsWrong();
    expect(await this.op('quarantine', 'list')).toMatchObject({
      stdout: expect.not.stringMatching(/\bHALTS\b/) as unknown,
    });
    expect(await this.op('verify', 'all')).toMatchObject({ code: 0 });
    expect(await this.op('audit')).toMatchObject({ code: 0 });
  }

  async endOf(topic: string): Promise<bigint> {
    return (await readLogEnds(this.kafka, topic, 0)).high;
  }
}
