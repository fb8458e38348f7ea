/** Kills with their times, and the failed requests that they excuse. */

/** After what was killed is ready again: connections are opened anew, caches filled. */
const GRACE_MS = 5_000;

export interface Failure {
  /** services and servers that the request needed */
  readonly needs: readonly string[];
  /** from when until when (`performance.now()`) */
  readonly begun: number;
  readonly ended: number;
  readonly told: string;
}

interface Outage {
  readonly of: string;
  readonly from: number;
  /** when it was ready again */
  until: number;
}

export class Outages {
  readonly #outages: Outage[] = [];

  /** Call what is returned once it is ready again. */
  begin(of: string): () => void {
    const outage: Outage = { of, from: performance.now(), until: Infinity };
    this.#outages.push(outage);
    return () => (outage.until = performance.now());
  }

  /** Whether something that the request needed was away during some of its time, or just before. */
  excuses({ needs, begun, ended }: Failure): boolean {
    return this.#outages.some(
      ({ of, from, until }) => needs.includes(of) && ended >= from && begun <= until + GRACE_MS,
    );
  }
}
