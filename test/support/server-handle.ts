import type { ServerName } from '../../infra/local/servers/servers.ts';

/** A server that a test may kill and start again on the same port and data. */
export interface ServerHandle {
  readonly name: string;
  readonly port: number;
  readonly pid: number | undefined;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** SIGKILL by default. Resolves when it has ended or is stopped, and at once for SIGCONT. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
}

/** Servers of which none is started, and the end of what they have together. */
export interface ServersOfStack {
  readonly servers: Readonly<Record<ServerName, ServerHandle>>;
  readonly release: () => Promise<void>;
}
