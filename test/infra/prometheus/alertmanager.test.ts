import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { openAlertmanager, type Alertmanager } from '../../support/alertmanager.ts';
import { until } from '../../support/until.ts';

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
}

const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
  readFileSync(join(import.meta.dirname, '../../../infra/prometheus/alerts.yml'), 'utf8'),
);
const rules = groups.flatMap((group) => group.rules);
const causes = rules.filter(({ labels }) => labels['cause'] !== undefined);

function wordsOf({ labels }: Rule): readonly string[] {
  return labels['needs']?.split(' ') ?? [];
}

async function fire({ port }: Alertmanager, firing: readonly Rule[]): Promise<void> {
  const alerts = firing.map(({ alert, labels }) => ({ labels: { ...labels, alertname: alert } }));
  const response = await fetch(`http://127.0.0.1:${port}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alerts),
  });
  expect(response.status).toBe(200);
}

/** Those that are not held back. */
async function told({ port }: Alertmanager): Promise<ReadonlySet<string>> {
  const url = `http://127.0.0.1:${port}/api/v2/alerts?inhibited=false`;
  const alerts: readonly { readonly labels: { readonly alertname: string } }[] = Object(
    await (await fetch(url)).json(),
  );
  return new Set(alerts.map(({ labels }) => labels.alertname));
}

test('every word in `needs` is that of one cause, and every cause explains something', () => {
  const words = causes.map(({ labels }) => labels['cause']);
  expect(new Set(words).size).toBe(words.length);
  expect(rules.flatMap(wordsOf).filter((word) => !words.includes(word))).toEqual([]);
  expect(words.filter((word = '') => !rules.flatMap(wordsOf).includes(word))).toEqual([]);
});

test.for(causes)(
  'while $alert fires, alerts that need it are held back, and all others are told',
  async (cause, { skip }) => {
    const opened = await openAlertmanager(30);
    if ('missing' in opened) return skip(opened.missing);
    onTestFinished(() => opened.stop());
    // other causes would hold back theirs
    const others = rules.filter((rule) => rule === cause || !causes.includes(rule));
    await fire(opened, others);
    const word = cause.labels['cause'] ?? '';
    const freed = others.filter((rule) => !wordsOf(rule).includes(word));
    const free = new Set(freed.map(({ alert }) => alert));
    await until(
      () => opened.notifications.map(({ alert }) => alert),
      'every alert that is free to be told',
      (alerts) => new Set(alerts).isSupersetOf(free),
    );
    expect(new Set(opened.notifications.map(({ alert }) => alert))).toEqual(free);
    expect(await told(opened)).toEqual(free);
    const receivers = new Map(opened.notifications.map(({ alert, receiver }) => [alert, receiver]));
    for (const { alert, labels } of freed)
      expect([alert, receivers.get(alert)]).toEqual([
        alert,
        labels['severity'] === 'page' ? 'duty' : 'tickets',
      ]);
  },
);
