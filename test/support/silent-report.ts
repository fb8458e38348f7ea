import type { Report } from '../../infra/local/cli/report.ts';

export const silentReport: Report = { line: () => undefined, now: () => undefined };
