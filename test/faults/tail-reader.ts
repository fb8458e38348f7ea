/**
 * A running `ops tail` whose lines are all checked: each record once, in the order of its
 * partition.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Addresses } from '../../infra/services/services.ts';
import { until } from '../support/until.ts';
import { opsProcess } from './ops-run.ts';

const LINE =
  /^\{"topic":"[^"]*","partition":([0-9]+),"offset":"([0-9]+)".*"value":\{"sequence":([0-9]+),/;
const TOLD_MAX = 5;

export class TailReader {
  /** output that is wrong or out of order */
  readonly violations: string[] = [];
  /** messages on stderr */
  said = '';
  /** by partition, the number of each record in the order of their offsets */
  readonly numbers: readonly number[][];
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  constructor(at: Addresses, topic: string, partitions: number, args: readonly string[] = []) {
    this.numbers = Array.from({ length: partitions }, () => []);
    const child = opsProcess(at, ['tail', topic, '--json', ...args]);
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.said += text));
    const lines = createInterface({ input: child.stdout }).on('line', (line) => this.#look(line));
    this.#child = child;
    this.#closed = Promise.all([once(child, 'close'), once(lines, 'close')]);
  }

  get read(): number {
    return this.numbers.reduce((sum, { length }) => sum + length, 0);
  }

  /** Each partition was printed up to its end, the offset after the last. */
  isAt(ends: readonly number[]): boolean {
    return this.numbers.every(({ length }, partition) => length === ends[partition]);
  }

  /** Rejects when it ends before that. */
  async reaches(holds: () => boolean, what: string): Promise<void> {
    await until(() => Promise.resolve(holds() || this.#child.exitCode !== null), what);
    if (!holds())
      throw new Error(`ops tail ended with ${this.#child.exitCode} before ${what}: ${this.said}`);
  }

  /** Ends it as a person would. */
  stop(): void {
    this.#child.kill('SIGINT');
  }

  /** It must have ended with 0, after so many records of each partition. */
  async endedAt(ends: readonly number[]): Promise<void> {
    await this.#closed;
    const { exitCode: code, signalCode: signal } = this.#child;
    if (code !== 0) this.#complain(`it ended with ${code ?? signal}: ${this.said.trim()}`);
    const printed = this.numbers.map(({ length }) => length);
    if (!this.isAt(ends))
      this.#complain(
        `it printed ${printed.join(' and ')} records of the partitions instead of ${ends.join(' and ')}`,
      );
  }

  #look(line: string): void {
    const [, partition = '', offset, number] = LINE.exec(line) ?? [];
    const numbers = this.numbers[Number(partition)];
    if (numbers === undefined || number === undefined)
      this.#complain(`a line that is none: ${line.slice(0, 200)}`);
    else if (Number(offset) !== numbers.length)
      this.#complain(
        `partition ${partition}: offset ${offset} was printed where ${numbers.length} is next`,
      );
    else numbers.push(Number(number));
  }

  #complain(what: string): void {
    if (this.violations.length < TOLD_MAX) this.violations.push(what);
  }
}
