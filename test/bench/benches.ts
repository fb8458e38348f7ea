/** All benches, in the order of `all`, with the sizes and the time that each has there. */
import { abuse } from './abuse.ts';
import type { Bench } from './bench.ts';
import { beyondMemory } from './beyond-memory.ts';
import { blockToAnswer } from './block-to-answer.ts';
import { blockToSubscriber } from './block-to-subscriber.ts';
import { catchingUp } from './catching-up.ts';
import { consoleBench } from './console.ts';
import { deposit } from './deposit.ts';
import { hub } from './hub.ts';
import { lists } from './lists.ts';
import { load } from './load.ts';
import { pass } from './pass.ts';
import { rebuild } from './rebuild.ts';
import { scale } from './scale.ts';
import { sockets } from './sockets.ts';
import { start } from './start.ts';

export interface Listed {
  readonly bench: Bench;
  /** expected on two cores with the sizes of `all` */
  readonly minutes: number;
  /** the change after which somebody runs it again */
  readonly after: string;
  /** sizes in `all` that are not the default ones */
  readonly in_all?: Readonly<Record<string, number>>;
}

/** All of them in `all`, in minutes. */
export const MINUTES_MAX = 120;

export const BENCHES: Readonly<Record<string, Listed>> = {
  deposit: {
    bench: deposit,
    minutes: 6,
    after: 'a change of the watcher, the treasury, the deposit-gateway or the page',
  },
  'block-to-answer': {
    bench: blockToAnswer,
    minutes: 2,
    after: 'a change of the ingester, the engine or the explorer',
  },
  'block-to-subscriber': {
    bench: blockToSubscriber,
    minutes: 4,
    after: 'a change of the engine, of notifications or of the hub',
  },
  load: {
    bench: load,
    minutes: 7,
    after: "a change of the explorer's fold or of how rows are written",
  },
  'catching-up': {
    bench: catchingUp,
    minutes: 5,
    after: "a change of the explorer's fold or of how batches are applied",
  },
  rebuild: {
    bench: rebuild,
    minutes: 15,
    after: 'a change of rebuilds, or of reads while tables change',
    in_all: { transactions: 500_000, kills: 1 },
  },
  start: {
    bench: start,
    minutes: 12,
    after: "a change of how processes begin, of the treasury's state or of snapshots",
    in_all: { rounds: 2 },
  },
  lists: { bench: lists, minutes: 6, after: 'a change of the explorer or of how gateways answer' },
  'beyond-memory': {
    bench: beyondMemory,
    minutes: 25,
    after: 'a change of tables, indexes or queries; before a chain of this size is promised',
    in_all: { transactions: 10_000_000 },
  },
  hub: { bench: hub, minutes: 6, after: 'a change of the hub, or a new version of Apollo' },
  sockets: { bench: sockets, minutes: 4, after: "a change of the hub's sockets" },
  abuse: {
    bench: abuse,
    minutes: 10,
    after: 'a change of a limit, or a new way to attack',
    in_all: { seconds: 6, rounds: 2 },
  },
  pass: { bench: pass, minutes: 5, after: "a change of the watcher's tables or passes" },
  console: {
    bench: consoleBench,
    minutes: 3,
    after: 'a change of the console, or a new version of Chromium',
    in_all: { minutes: 2, rounds: 20 },
  },
  scale: {
    bench: scale,
    minutes: 10,
    after: 'a change of how services are divided, before more traffic is promised',
    in_all: { seconds: 5 },
  },
};
