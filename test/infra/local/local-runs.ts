/** The command line of the stack as a person runs it, with its servers alone. */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import {
  isAlive,
  livingProcesses,
  type ProcessIdentity,
} from '../../../infra/local/process/pid-files.ts';
import { folderAt, type Folder } from '../../../infra/local/stack/folder.ts';
import { isFree } from '../../../infra/local/stack/ports.ts';
import { portVariable, type PortName } from '../../../infra/services/ports.ts';
import { runMain, type CommandRun } from '../../support/command-line.ts';
import { takePort } from '../../support/free-ports.ts';
import { removeSystem } from '../../support/kept-logs.ts';

const USED: readonly PortName[] = ['kafka', 'kafka_controller', 'registry', 'postgres', 'redis'];

export interface StackFile {
  readonly kafka_brokers: string;
  readonly postgres_url: string;
  readonly jwt_secret: string;
  readonly supervisor_pid: number;
  readonly pids: Readonly<Record<string, number>>;
}

export interface LocalRuns {
  readonly ports: ReadonlyMap<PortName, number>;
  /** of the test that runs */
  readonly folder: () => Folder;
  readonly run: (...args: readonly string[]) => CommandRun;
  /** The processes of the stack. */
  readonly running: () => ProcessIdentity[];
  readonly stackFile: () => StackFile;
  readonly expectNothingLeft: (were: readonly ProcessIdentity[]) => Promise<void>;
}

/** For the tests of a file: ports of their own, and an empty folder for each. */
export function localRuns(): LocalRuns {
  const ports = new Map<PortName, number>();
  const releases: (() => void)[] = [];
  const runs: CommandRun[] = [];
  let folder: Folder;
  let settings: Record<string, string> = {};

  beforeAll(async () => {
    for (const name of USED) {
      const taken = await takePort();
      ports.set(name, taken.port);
      releases.push(taken.release);
    }
  });
  afterAll(() => {
    for (const release of releases) release();
  });
  beforeEach(() => {
    folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-main-')));
    settings = { APP_LOCAL_DIR: folder.root };
    for (const [name, port] of ports) settings[portVariable(name)] = String(port);
  });
  afterEach(async () => {
    for (const one of runs.splice(0)) one.signal('SIGKILL');
    await runMain(['down'], settings).ended();
    removeSystem(folder);
  });

  const running = (): ProcessIdentity[] => [...livingProcesses(folder.pids).values()];
  return {
    ports,
    folder: () => folder,
    run(...args) {
      const started = runMain(args, settings);
      runs.push(started);
      return started;
    },
    running,
    stackFile() {
      const stack: StackFile = JSON.parse(readFileSync(folder.stack_file, 'utf8'));
      return stack;
    },
    async expectNothingLeft(were) {
      expect(were.filter(isAlive)).toEqual([]);
      expect(running()).toEqual([]);
      for (const port of ports.values()) expect(await isFree(port)).toBe(true);
      expect(existsSync(folder.stack_file)).toBe(false);
      expect(existsSync(folder.supervisor_file)).toBe(false);
    },
  };
}
