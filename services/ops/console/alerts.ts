/** The alerts of a Prometheus that a setting names. */
import type { Alert } from '../../../schemas/operations-api/answers.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';

const ANSWER_MS = 3_000;
const ALERTS_MAX = 200;

interface Answer {
  readonly data: {
    readonly alerts: readonly {
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>;
      readonly state: string;
      readonly activeAt: string;
    }[];
  };
}

/** Firing ones first. Throws a fault with retry when Prometheus does not answer. */
export async function readAlerts(url: string): Promise<readonly Alert[]> {
  let answer: Answer;
  try {
    const response = await fetch(`${url}/api/v1/alerts`, {
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    answer = await response.json();
    return answer.data.alerts
      .map(({ labels, annotations = {}, state, activeAt }) => ({
        name: labels['alertname'] ?? '',
        state,
        severity: labels['severity'] ?? null,
        service: labels['service'] ?? null,
        text: ['summary', 'action'].flatMap((name) => annotations[name] ?? []).join('. '),
        since: activeAt,
      }))
      .toSorted((a, b) => Number(b.state === 'firing') - Number(a.state === 'firing'))
      .slice(0, ALERTS_MAX);
  } catch (error) {
    throw new Fault('prometheus_away', `Prometheus does not answer: ${messageOf(error)}`, {
      retry: true,
      cause: error,
    });
  }
}
