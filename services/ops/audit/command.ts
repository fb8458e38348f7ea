import { INVARIANTS } from './findings.ts';
import type { Commands, Run } from '../usage.ts';

const LIST = Object.entries(INVARIANTS).map(([name, text]) => `  ${name}  ${text}`);

export function addAudit(commands: Commands, run: Run): void {
  commands.command(
    'audit',
    'read the logs from their beginnings and check every invariant of the money',
    (command) =>
      command.epilogue(
        `Reads deposit.addresses, tron.transfers, treasury.ledger, chain.blocks and reserve.runs from offset 0 and checks:\n\n${LIST.join('\n')}\n\n` +
          'Exits 0 when all hold, 2 with the first violation and its topic, partition and offset, or when something did not answer.',
      ),
    run(async (args) => (await import('./audit.ts')).audit(args)),
  );
}
