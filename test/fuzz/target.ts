/** A fuzz target: a decoder, and the claims that hold for any bytes. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Target {
  /** a sentence for `--help` */
  readonly about: string;
  /** inputs to begin with, so that most inputs pass the first checks of the decoder */
  readonly seeds: readonly (string | Buffer)[];
  /** pieces that inputs are made of, such as those that the decoder compares with */
  readonly words?: readonly (string | Buffer)[];
  /** Throws or rejects when a claim does not hold. */
  readonly fuzz: (bytes: Buffer) => void | Promise<void>;
}

const TARGETS = new URL('targets/', import.meta.url);
const CORPUS = new URL('corpus/', import.meta.url);

export const TARGET_NAMES: readonly string[] = readdirSync(TARGETS).map((file) =>
  file.replace(/\.ts$/, ''),
);

export async function loadTarget(name: string): Promise<Target> {
  const target: Target = await import(new URL(`${name}.ts`, TARGETS).href);
  return target;
}

/** The seeds, then the kept inputs. */
export function inputsOf(name: string, { seeds }: Target): readonly Buffer[] {
  return [...seeds.map((seed) => Buffer.from(seed)), ...readInputs(new URL(`${name}.txt`, CORPUS))];
}

/** A line for each input: its bytes as a JSON text of the characters 0 to 255. None: no file. */
function readInputs(file: URL): readonly Buffer[] {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (Object(error).code === 'ENOENT') return [];
    throw error;
  }
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => Buffer.from(String(JSON.parse(line)), 'latin1'));
}

const PROTOTYPES: readonly object[] = [Object, Array, Function, String].map(
  (each): object => each.prototype,
);
const namesOfPrototypes = (): number =>
  PROTOTYPES.reduce((sum, each) => sum + Object.getOwnPropertyNames(each).length, 0);
const names = namesOfPrototypes();

/** Runs the target once, on bytes of its own. Rejects when a shared prototype has changed. */
export async function check({ fuzz }: Pick<Target, 'fuzz'>, bytes: Buffer): Promise<void> {
  const running = fuzz(Buffer.from(bytes));
  // awaiting what is no promise takes longer than many decoders
  if (running !== undefined) await running;
  if (namesOfPrototypes() !== names) throw new Error('a prototype of all objects got a property');
}
