import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fetchArtifact } from '../../../../infra/local/fetch/maven.ts';
import type { Report } from '../../../../infra/local/cli/report.ts';

const said: string[] = [];
const report: Report = {
  line: (text) => void said.push(text),
  now: (text) => void said.push(text),
};
let folder = '';
beforeEach(() => {
  said.length = 0;
  folder = mkdtempSync(join(tmpdir(), 'clt-test-maven-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function fetchWith(script: string | undefined, java = 'java'): Promise<void> {
  if (script !== undefined)
    writeFileSync(join(folder, 'mvn'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const run = { java, env: { PATH: folder }, report, signal: new AbortController().signal };
  await fetchArtifact('org.example:server:1', folder, run);
}

test('without Maven the error says what to install', async () => {
  await expect(fetchWith(undefined)).rejects.toThrow(
    /no mvn on the PATH[^]*apt-get install maven[^]*brew install maven/,
  );
});

test('the progress of a download is reported', async () => {
  await fetchWith(`printf 'Progress (1): 0.1/142 MB\\rProgress (1): 63/142 MB\\r'`);
  expect(said).toEqual(['fetching org.example:server:1: 63/142 MB']);
});

test('a failure shows the errors of Maven', async () => {
  const script = `echo '[INFO] Scanning'; echo '[ERROR] Could not transfer artifact org.example:server'; echo '[ERROR] [Help 1] see'; exit 1`;
  const failing = fetchWith(script);
  await expect(failing).rejects.toThrow(
    /fetching org.example:server:1 failed[^]*Could not transfer artifact/,
  );
  await expect(failing).rejects.not.toThrow('[Help');
});

test('Maven runs on the Java that was found', async () => {
  await fetchWith(`printf "Progress (1): $JAVA_HOME\\r"`, '/opt/jdk/bin/java');
  expect(said).toEqual(['fetching org.example:server:1: /opt/jdk']);
});
