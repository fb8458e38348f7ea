/**
 * Which branches of the code run, and what it compares. The plug-ins of Jazzer.js put a counter
 * into each branch, and a call into each comparison with a constant
 * (docs/decisions/dependencies.md).
 */
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@babel/core';
import { compareHooks } from '@jazzer.js/instrumentor/dist/plugins/compareHooks.js';
import { esmCodeCoverage } from '@jazzer.js/instrumentor/dist/plugins/esmCodeCoverage.js';

/** Parts of paths: the project, and the packages that decode for it. */
const COVERED =
  /\/(?:schemas|projections|services|packages\/wallet\/src|node_modules\/(?:avsc|graphql|graphql-ws|jose))\//;
const BRANCHES_MAX = 2 ** 18;

/** How often each branch ran since this was last cleared: 255 is followed by 1. */
export const counters = new Uint8Array(BRANCHES_MAX);
let used = 0;

/** Branches of all modules loaded so far. */
export function branches(): number {
  return used;
}

type Comparable = string | number;
/** A value that the code had, and the constant that it compared it with. */
export type Compared = readonly [had: Comparable, wanted: Comparable];

const COMPARED_MAX = 256;
const CHARACTERS_MAX = 64;
/** The unequal ones since this was last cleared, the later ones in the place of earlier ones. */
export const compared: Compared[] = [];
let comparisons = 0;

function note(one: unknown, other: unknown): void {
  if (one === other || !isComparable(one) || !isComparable(other)) return;
  if (compared.length < COMPARED_MAX) compared.push([one, other]);
  else compared[comparisons++ % COMPARED_MAX] = [one, other];
}

function isComparable(value: unknown): value is Comparable {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= CHARACTERS_MAX);
}

type Compare = (one: never, other: never) => boolean;
const COMPARE: Readonly<Record<string, Compare>> = {
  // eslint-disable-next-line eslint/eqeqeq -- as the instrumented code compares
  '==': (one, other) => one == other,
  '===': (one, other) => one === other,
  // eslint-disable-next-line eslint/eqeqeq
  '!=': (one, other) => one != other,
  '!==': (one, other) => one !== other,
  '<': (one, other) => one < other,
  '<=': (one, other) => one <= other,
  '>': (one, other) => one > other,
  '>=': (one, other) => one >= other,
};

function compare(one: never, other: never, operator: string): boolean {
  note(one, other);
  return COMPARE[operator]?.(one, other) ?? false;
}

/** The names by which instrumented code calls what is here. */
const RUNTIME = {
  coverageTracker: {
    createModuleCounters(size: number): Uint8Array {
      if (used + size > BRANCHES_MAX) throw new RangeError(`more than ${BRANCHES_MAX} branches`);
      used += size;
      return counters.subarray(used - size, used);
    },
  },
  tracer: {
    traceStrCmp: compare,
    traceNumberCmp: compare,
    traceAndReturn(current: unknown, target: unknown): unknown {
      note(current, target);
      return target;
    },
  },
};

/** Every covered module that this thread loads from now on counts its branches. */
export function cover(): void {
  Object.assign(globalThis, { Fuzzer: RUNTIME });
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const { format = '', source } = loaded;
      if (!COVERED.test(url) || !/^(?:module|commonjs)/.test(format ?? '') || !source)
        return loaded;
      const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
      return {
        ...loaded,
        format: format?.startsWith('module') ? 'module' : 'commonjs',
        source: instrumented(text, fileURLToPath(url), format ?? ''),
      };
    },
  });
}

function instrumented(source: string, filename: string, format: string): string {
  const text = format.endsWith('-typescript') ? stripTypeScriptTypes(source) : source;
  const { plugin, edgeCount } = esmCodeCoverage();
  const transformed = transformSync(text, {
    filename,
    plugins: [plugin, compareHooks],
    sourceType: format.startsWith('module') ? 'module' : 'script',
    babelrc: false,
    configFile: false,
    compact: false,
    retainLines: true,
  });
  const code = `${transformed?.code ?? text}${format === 'commonjs' ? exportsOf(text) : ''}`;
  return edgeCount() === 0
    ? code
    : `const __jazzer_cov = Fuzzer.coverageTracker.createModuleCounters(${edgeCount()});${code}`;
}

/** Node finds the names of a CommonJS module's exports in its text, and not behind counters. */
function exportsOf(source: string): string {
  const names = [...source.matchAll(/Object\.defineProperty\(exports, '(\w+)'/g)];
  return `\n0 && (module.exports = { ${names.map(([, name]) => name).join(', ')} });`;
}
