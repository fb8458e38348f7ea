/** Limits and rights of containers, as the kernel has them for the first process of each. */
import { expect, test } from 'vitest';
import { withDefaults } from '../support/compose.ts';
import { composed, type Composed } from './composed.ts';

/** Folders of an image that a program might write to. */
const FOLDERS = '/ /etc /usr /usr/local /var /root /home /opt /app /run';
const LOOK = `
cat /proc/1/status /proc/1/mounts
for file in memory/memory.limit_in_bytes memory.max; do
  [ -e /sys/fs/cgroup/$file ] && echo "memory: $(cat /sys/fs/cgroup/$file)"
done
for file in pids/pids.max pids.max; do
  [ -e /sys/fs/cgroup/$file ] && echo "pids: $(cat /sys/fs/cgroup/$file)"
done
for folder in ${FOLDERS}; do
  (: >"$folder/clt-written") 2>/dev/null && echo "written: $folder"
done
exit 0`;

interface Seen {
  readonly name: string;
  readonly output: string;
}

/** Asks root of each container that stays about its first process. */
async function look(system: Composed): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  for (const name of system.servers) {
    // root with the rights of the container: an account that may not write proves nothing
    const { code, stdout, stderr } = await system.exec(name, ['sh', '-c', LOOK], { user: '0:0' });
    expect(code, `${name}: ${stderr}`).toBe(0);
    seen.push({ name, output: stdout });
  }
  return seen;
}

function bytesOf(limit = ''): number {
  const [, digits = '', unit = 'm'] = /^(\d+)([mg])$/.exec(withDefaults(limit)) ?? [];
  return Number(digits) * (unit === 'g' ? 2 ** 30 : 2 ** 20);
}

test('each container has its account, no capability, no new privileges, its limits, and writes to its own folders only', async (context) => {
  const system = composed(context);
  for (const { name, output } of await look(system)) {
    const container = system.file.services[name];
    const { user = '', mem_limit, pids_limit, tmpfs = [], volumes = [] } = container ?? {};
    const field = (pattern: RegExp): string => pattern.exec(output)?.[1] ?? '';
    expect(field(/^Uid:\t(\d+)/m), name).toBe(user.split(':')[0]);
    for (const set of ['CapEff', 'CapPrm', 'CapBnd', 'CapAmb'])
      expect(field(new RegExp(`^${set}:\t0*(\\w+)$`, 'm')), `${name} ${set}`).toBe('0');
    expect(field(/^NoNewPrivs:\t(\d)/m), name).toBe('1');
    expect(Number(field(/^memory: (\d+)$/m)), name).toBe(bytesOf(mem_limit));
    expect(field(/^pids: (\d+)$/m), name).toBe(String(pids_limit));
    expect(output.match(/^written: .*$/gm), name).toBeNull();
    const own = [
      ...tmpfs.map((folder) => folder.replace(/:.*/, '')),
      ...volumes.filter((each) => !/:ro\b/.test(each)).map((each) => each.split(':')[1] ?? ''),
    ].map((folder) => folder.replace(/^\/var\/run\//, '/run/'));
    const writable = Array.from(output.matchAll(/^\S+ (\/\S*) \w+ rw,/gm), ([, at = '']) => at);
    expect(
      writable.filter((at) => !/^\/(?:dev|proc|sys)(?:\/|$)/.test(at)).toSorted(),
      name,
    ).toEqual(own.toSorted());
  }
});
