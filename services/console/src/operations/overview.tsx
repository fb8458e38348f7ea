import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { holdReasonText } from '../../../../schemas/deposit-policy.ts';
import type {
  Money as MoneyShown,
  Operations,
  Position,
  ServiceHealth,
  Staged,
} from '../../../../schemas/operations-api/answers.ts';
import { ages, amounts } from '../design/columns.tsx';
import {
  Amount,
  Answer,
  Figures,
  Panel,
  Table,
  Tag,
  type Named,
  type Tone,
} from '../design/parts.tsx';
import { durationText, grouped } from '../format.ts';
import { TEXT } from '../text.ts';
import { DustNote, WaitingTable } from './deposits.tsx';
import { Known, RecordLink } from './known.tsx';
import { OPS } from './text.ts';

export function OverviewPage(props: { readonly of: UseQueryResult<Operations> }): ReactElement {
  return (
    <>
      <header>
        <h1>{OPS.overview.title}</h1>
      </header>
      <Answer of={props.of} words={OPS.away}>
        {(operations) => <Overview {...operations} />}
      </Answer>
    </>
  );
}

function Overview(operations: Operations): ReactElement {
  const { ledger, status, quarantine, rebuilds, waiting, alerts } = operations;
  const words = OPS.overview;
  const { services = null, projections = null, node = null } = status.is ?? {};
  const { attention = [] } = status.is ?? {};
  const held = waiting.is?.deposits.length ?? 0;
  const firing = alerts?.is?.filter(({ state }) => state === 'firing');
  const problems = [
    ...[status.problem, ledger.problem, alerts?.problem ?? null].filter(
      (problem) => problem !== null,
    ),
    ...attention,
    ...(firing ?? []).map(({ name, text }) => words.fires(name, text)),
    // the list of the services may be of a moment before
    ...(attention.length === 0 && held > 0 ? [words.waits(held)] : []),
  ];
  const ready = services?.filter((service) => service.status === 'ready').length;
  return (
    <>
      <p>
        <Tag tone={problems.length === 0 ? 'good' : 'bad'}>
          {problems.length === 0 ? words.well : words.attention(problems.length)}
        </Tag>
      </p>
      <Panel title={OPS.money.title}>
        {status.is === null ? (
          <p className="nothing">{OPS.unknown}</p>
        ) : (
          <Money of={status.is.money} />
        )}
      </Panel>
      {ledger.problem === null && ledger.operators === 0 && (
        <p className="note">{words.noOperators}</p>
      )}
      {problems.length > 0 && (
        <Panel title={words.needs}>
          <ul className="faults">
            {problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </Panel>
      )}
      <Panel title={OPS.deposits.title}>
        <Known of={waiting}>
          {({ deposits, dust }) => (
            <>
              <WaitingTable deposits={deposits} />
              <div className="foot">
                <DustNote of={dust} />
              </div>
            </>
          )}
        </Known>
      </Panel>
      <Panel title={words.machines}>
        <Figures
          of={[
            [words.ready, services === null ? '–' : `${ready} / ${services.length}`],
            [words.behind, projections === null ? '–' : lagText(lagOf(projections))],
            [words.firing, firing === undefined ? '–' : String(firing.length)],
            [words.height, node === null ? '–' : grouped(node.height)],
            [words.final, node === null ? '–' : grouped(Math.max(0, node.finalized_height))],
          ]}
        />
      </Panel>
      <Panel title={OPS.projections.title}>
        <Projections of={projections} />
      </Panel>
      <div className="two">
        <Panel title={words.services}>
          <Services of={services ?? []} />
        </Panel>
        <div className="stack">
          <Panel title={OPS.alerts.title}>
            {alerts === null ? (
              <p className="nothing">{OPS.alerts.unset}</p>
            ) : (
              <Known of={alerts}>{(list) => <Alerts of={list} />}</Known>
            )}
          </Panel>
          <Panel title={OPS.leases.title}>
            <Leases of={services ?? []} />
          </Panel>
          <Panel title={OPS.rebuilds.title}>
            <Known of={rebuilds}>{(list) => <Rebuilds of={list} />}</Known>
          </Panel>
        </div>
      </div>
      <Panel title={OPS.quarantine.title}>
        <Known of={quarantine}>{(records) => <Quarantine of={records} />}</Known>
      </Panel>
    </>
  );
}

/** By the list of `ops status`, in its words. */
function Money({ of }: { readonly of: MoneyShown }): ReactElement {
  const words = OPS.money;
  const { states, waiting } = of;
  return (
    <>
      {of.amounts.length + states.length === 0 ? (
        <p className="nothing">{words.none}</p>
      ) : (
        <Figures
          of={[
            ...states.map(({ name, text, tone }): Named => [
              capital(name),
              <Tag tone={tone}>{text}</Tag>,
            ]),
            ...of.amounts.map(({ name, amount, unit }): Named => [
              capital(name),
              <Amount of={amount} unit={unit} />,
            ]),
          ]}
        />
      )}
      {waiting !== null && waiting.length > 0 && (
        <Table
          label={words.waiting}
          items={waiting}
          keyOf={({ reason }) => reason}
          empty={OPS.deposits.none}
          columns={[
            {
              name: OPS.columns.reason,
              cell: ({ reason }) => (
                <span className="wrapped">{capital(holdReasonText(reason))}</span>
              ),
            },
            { name: words.deposits, cell: ({ deposits }) => grouped(deposits), isNumber: true },
            amounts(OPS.columns.arrived, 'amount', { unit: TEXT.units.usdt }),
          ]}
        />
      )}
    </>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Services({ of }: { readonly of: readonly ServiceHealth[] }): ReactElement {
  const words = OPS.services;
  return (
    <Table
      label={OPS.overview.services}
      items={of}
      keyOf={({ name }) => name}
      empty={words.none}
      columns={[
        { name: words.name, cell: ({ name }) => name },
        {
          name: OPS.columns.state,
          cell: ({ status, phase, message }) => (
            <span title={message ?? undefined}>
              <Tag tone={status === 'ready' && message !== null ? 'bad' : toneOf(status)}>
                {status === 'ready' && phase === 'standing_by' ? words.standby : status}
              </Tag>
            </span>
          ),
        },
        {
          name: words.waits,
          cell: ({ waits_for, eta_s }) =>
            [waits_for, eta_s === null ? null : words.left(durationText(eta_s))]
              .filter((part) => part !== null)
              .join(', '),
          isWide: true,
        },
      ]}
    />
  );
}

function toneOf(status: string): Tone {
  if (status === 'ready') return 'good';
  return status === 'working' || status === 'starting' ? 'warn' : 'bad';
}

const LEASE = 'lease held';
const PARTITIONS = 'partitions watched';

function Leases({ of }: { readonly of: readonly ServiceHealth[] }): ReactElement {
  const words = OPS.leases;
  return (
    <Table
      label={words.title}
      items={of.filter(({ metrics }) => LEASE in metrics || PARTITIONS in metrics)}
      keyOf={({ name }) => name}
      empty={words.none}
      columns={[
        { name: words.service, cell: ({ name }) => name },
        {
          name: words.held,
          cell: ({ metrics }) =>
            LEASE in metrics ? (
              <Tag tone={metrics[LEASE] === 1 ? 'good' : 'plain'}>
                {metrics[LEASE] === 1 ? words.works : words.standby}
              </Tag>
            ) : (
              words.partitions(metrics[PARTITIONS] ?? 0)
            ),
        },
      ]}
    />
  );
}

interface Shown {
  readonly name: string;
  readonly records: bigint;
  /** undefined: not known */
  readonly lag: bigint | undefined;
  readonly rate: number;
  readonly idle: number;
  readonly isLoading: boolean;
}

/** A row a projection, over all partitions that it reads. */
function rowsOf(positions: readonly Position[]): readonly Shown[] {
  const names = new Set(positions.map(({ projection, version }) => `${projection} v${version}`));
  return [...names].map((name) => {
    const own = positions.filter(({ projection, version }) => `${projection} v${version}` === name);
    return {
      name,
      records: own.reduce((sum, { next_offset: nextOffset }) => sum + BigInt(nextOffset), 0n),
      lag: lagOf(own),
      rate: own.reduce((sum, { rate }) => sum + rate, 0),
      idle: Math.round(Math.min(...own.map(({ idle_seconds: idleSeconds }) => idleSeconds))),
      isLoading: own.some(({ loading }) => loading),
    };
  });
}

function lagOf(positions: readonly Position[]): bigint | undefined {
  if (positions.some(({ lag }) => lag === null)) return undefined;
  return positions.reduce((sum, { lag }) => sum + BigInt(lag ?? 0), 0n);
}

function lagText(lag: bigint | undefined): string {
  return lag === undefined ? '–' : grouped(lag);
}

/** null: not known */
function Projections({ of }: { readonly of: readonly Position[] | null }): ReactElement {
  const words = OPS.projections;
  return (
    <Table
      label={words.title}
      items={rowsOf(of ?? [])}
      keyOf={({ name }) => name}
      empty={of === null ? OPS.unknown : words.none}
      columns={[
        { name: OPS.columns.projection, cell: ({ name }) => name },
        {
          name: OPS.columns.state,
          cell: ({ lag, isLoading }) => {
            if (isLoading) return <Tag tone="warn">{words.loading}</Tag>;
            if (lag === undefined) return <Tag>{OPS.unknown}</Tag>;
            if (lag < 0n) return <Tag tone="bad">{words.lost}</Tag>;
            return <Tag tone="good">{lag === 0n ? words.current : words.late}</Tag>;
          },
        },
        { name: words.behind, cell: ({ lag }) => lagText(lag), isNumber: true },
        { name: words.rate, cell: ({ rate }) => grouped(rate), isNumber: true },
        {
          name: OPS.columns.records,
          cell: ({ records }) => grouped(records),
          isNumber: true,
          isWide: true,
        },
        {
          name: words.moved,
          cell: ({ idle }) => words.ago(durationText(idle)),
          isNumber: true,
          isWide: true,
        },
      ]}
    />
  );
}

function Alerts(props: {
  readonly of: NonNullable<NonNullable<Operations['alerts']>['is']>;
}): ReactElement {
  const words = OPS.alerts;
  return (
    <Table
      label={words.title}
      items={props.of}
      keyOf={({ name, service }, index) => `${name} ${service} ${index}`}
      empty={words.none}
      columns={[
        { name: words.name, cell: ({ name }) => name },
        {
          name: OPS.columns.state,
          cell: ({ state }) => <Tag tone={state === 'firing' ? 'bad' : 'warn'}>{state}</Tag>,
        },
        ages(words.since, 'since'),
        { name: words.text, cell: ({ text }) => <span className="wrapped">{text}</span> },
      ]}
    />
  );
}

function Quarantine(props: {
  readonly of: NonNullable<Operations['quarantine']['is']>;
}): ReactElement {
  const words = OPS.quarantine;
  return (
    <Table
      label={words.title}
      items={props.of}
      keyOf={({ projection, topic, partition, offset }) =>
        `${projection} ${topic}/${partition}@${offset}`
      }
      empty={words.none}
      columns={[
        { name: OPS.columns.projection, cell: ({ projection }) => projection },
        { name: OPS.columns.record, cell: (record) => <RecordLink {...record} /> },
        {
          name: OPS.columns.state,
          cell: ({ state }) => <Tag tone={state === 'halts' ? 'bad' : 'plain'}>{state}</Tag>,
        },
        ages(words.found, 'found_at'),
        { name: words.error, cell: ({ error }) => <span className="wrapped">{error}</span> },
      ]}
    />
  );
}

function Rebuilds({ of }: { readonly of: readonly Staged[] }): ReactElement {
  const words = OPS.rebuilds;
  return (
    <Table
      label={words.title}
      items={of}
      keyOf={({ projection, task }) => `${projection} ${task}`}
      empty={words.none}
      columns={[
        {
          name: OPS.columns.projection,
          cell: ({ projection, version }) => `${projection} v${version}`,
        },
        { name: words.task, cell: ({ task }) => task },
        {
          name: OPS.columns.state,
          cell: ({ state, by }) => (
            <span title={by ?? undefined}>
              <Tag tone={state === 'stopped' ? 'warn' : 'accent'}>{words.states[state]}</Tag>
            </span>
          ),
        },
        {
          name: OPS.columns.records,
          cell: ({ records }) => grouped(BigInt(records)),
          isNumber: true,
        },
        { name: words.part, cell: (staged) => <Part of={staged} />, isWide: true },
      ]}
    />
  );
}

function Part({ of }: { readonly of: Staged }): ReactElement {
  const all = Number(of.records_all ?? 0);
  if (all === 0) return <>–</>;
  const percent = Math.min(100, Math.floor((100 * Number(of.records)) / all));
  return (
    <progress max={100} value={percent} aria-label={OPS.rebuilds.part}>
      {percent} %
    </progress>
  );
}
