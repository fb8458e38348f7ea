/** The fault run of the explorer's path, for the command line. */
import { faultRun } from './driver.ts';
import { countsLine, recoveryLines, type FaultRun } from './fault-run.ts';

export const explorer: FaultRun<'kills'> = {
  about:
    'kills ingester, projectors, gateway, Kafka and Postgres at random (SIGKILL) and reorganises the chain now and then;\n' +
    'then holds the node, the log and the tables of the explorer, the ride market and the series against each other',
  options: { kills: { about: 'how many kills', default: 100 } },
  async run({ kills }, given) {
    const report = await faultRun({ kills, ...given });
    return {
      lines: [
        `killed: ${countsLine(report.kills)}; reorganisations: ${report.reorganisations}`,
        `log: ${report.events} events, ${report.repeated} of them repeated, ${report.reverted} reverts; chain: ${report.blocks} blocks, ${report.transactions} transactions appended, ${report.trips} trips`,
        ...recoveryLines(
          'from a restart until a block is shown that was born after the restarted process was ready',
          report.recoveries,
        ),
        `reader's answers by status (0: nobody listened): ${JSON.stringify(report.answers)}`,
      ],
      violations: report.violations,
    };
  },
};
