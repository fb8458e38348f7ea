/** Schemathesis makes its own requests from the documents of explorer and deposits. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { cacheFolder } from '../../infra/local/fetch/cache.ts';
import { propertyOf } from '../../services/runtime/process/errors.ts';
import type { FaultRun } from './fault-run.ts';
import { withGateways } from './gateways.ts';

const VERSION = '4.32.5';
/**
 * Without those that do not fit: unknown parameters are ignored, a fitting text may be no cursor,
 * and the services' own routes need no token.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
].join();
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const run = promisify(execFile);

export const schemathesis: FaultRun<'examples'> = {
  about:
    'schemathesis (of PyPI; needs Python 3.10) against explorer and deposits, by their documents:\n' +
    'every response as documented, no 5xx, nothing in the log at level error',
  options: { examples: { about: 'at most, of each operation', default: 500 } },
  async run({ examples }, given) {
    const { seed, progress } = given;
    const program = await installed();
    return withGateways(given, async (gateways) => {
      const lines: string[] = [];
      const violations: string[] = [];
      for (const name of ['explorer-gateway', 'deposit-gateway'] as const) {
        const options = ['--max-examples', examples, '--seed', seed, '--checks', CHECKS];
        const header = ['--header', `Authorization: Bearer ${gateways.token}`];
        const document = `${gateways.url(name)}/openapi.json`;
        const { text, isWrong } = await said(program, [
          'run',
          ...options.map(String),
          ...(name === 'deposit-gateway' ? header : []),
          '--no-color',
          document,
        ]);
        const [, summary = text] = /=+ SUMMARY =+\n([^]*)/.exec(text) ?? [];
        lines.push(`${name}:`, summary);
        if (isWrong) violations.push(`${name}: ${text}`);
        progress(`${name} done`);
      }
      violations.push(...(await gateways.faults()));
      return { lines, violations };
    });
  },
};

/** The path of the program, which is installed once for all checkouts. */
async function installed(): Promise<string> {
  const folder = join(cacheFolder(process.env), `schemathesis-${VERSION}`);
  const program = join(folder, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  await run('python3', ['-m', 'venv', '--clear', folder]);
  await run(join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
  return program;
}

async function said(
  program: string,
  args: readonly string[],
): Promise<{ readonly text: string; readonly isWrong: boolean }> {
  // it remembers failures there, which would change the next run
  const cwd = mkdtempSync(join(tmpdir(), 'schemathesis-'));
  try {
    const { stdout } = await run(program, [...args], { cwd, maxBuffer: OUTPUT_BYTES_MAX });
    return { text: stripVTControlCharacters(stdout), isWrong: false };
  } catch (error) {
    // it exits with 1 when a check fails
    if (propertyOf(error, 'code') !== 1) throw error;
    return { text: stripVTControlCharacters(String(propertyOf(error, 'stdout'))), isWrong: true };
  } finally {
    rmSync(cwd, { recursive: true });
  }
}
