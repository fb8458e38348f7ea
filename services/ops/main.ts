/** `npx ops <command>`: exits 0 done, 1 refused or bad usage, 2 fault. */
import { runOps } from './cli.ts';

process.exitCode = await runOps(process.argv.slice(2));
// a connection to a server that is silent keeps no process
setTimeout(() => process.exit(), 500).unref();
