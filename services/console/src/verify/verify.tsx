/** Recomputes a reserve run in the browser of the reader, step by step. */
import { useEffect, useRef, useState, type ReactElement } from 'react';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import {
  Amount,
  BlockLink,
  Button,
  Facts,
  Figures,
  Panel,
  PlainHash,
  Tag,
  Time,
  type Named,
  type Tone,
} from '../design/parts.tsx';
import { grouped, wordFor } from '../format.ts';
import { RunLink } from '../reserve/run-parts.tsx';
import { TEXT } from '../text.ts';
import type { Told } from './reading.ts';
import { VERIFY } from './text.ts';
import type { Difference, Figure, State, Step } from './verification.ts';

const TONES: Readonly<Record<State, Tone>> = {
  waiting: 'plain',
  running: 'accent',
  good: 'good',
  believed: 'warn',
  bad: 'bad',
  stopped: 'plain',
};

/** The run that was begun with stays, also when a newer one is passed. */
export function Verify({ run: newest }: { readonly run: RecordedRun }): ReactElement {
  const [shown, setShown] = useState<{ readonly run: RecordedRun; readonly told: Told }>();
  const worker = useRef<Worker>(undefined);
  const end = (): void => worker.current?.terminate();
  useEffect(() => end, []);
  const start = (): void => {
    end();
    const run = newest;
    const started = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.current = started;
    started.addEventListener('message', ({ data: told }: MessageEvent<Told>) =>
      setShown({ run, told }),
    );
    started.addEventListener('error', () =>
      setShown({ run, told: { ...NOTHING, isOver: true, problem: VERIFY.problems.noScript } }),
    );
    setShown({ run, told: NOTHING });
    started.postMessage(run, []);
  };
  const stop = (): void => {
    end();
    setShown((last) => last && { run: last.run, told: stopped(last.told) });
  };
  const isRunning = shown?.told.isOver === false;
  return (
    <Panel
      title={VERIFY.title}
      aside={
        <Button onClick={isRunning ? stop : start}>
          {isRunning ? VERIFY.stop : shown === undefined ? VERIFY.start : VERIFY.again}
        </Button>
      }
    >
      <div className="inside verify">
        <p className="quiet">{VERIFY.intro}</p>
        {shown !== undefined && <Outcome {...shown} />}
      </div>
    </Panel>
  );
}

const NOTHING: Told = { steps: [], blocks: 0, isOver: false };

function Outcome(props: { readonly run: RecordedRun; readonly told: Told }): ReactElement {
  const { run, told } = props;
  return (
    <>
      <p>
        {VERIFY.runOf}{' '}
        <RunLink id={run.run_id}>
          <Time of={run.run_at} />
        </RunLink>
      </p>
      <Progress told={told} run={run} />
      {told.steps.length > 0 && (
        <ol>
          {told.steps.map((step) => (
            <Shown key={step.name} step={step} />
          ))}
        </ol>
      )}
      <Believed steps={told.steps} />
    </>
  );
}

/** As it is when the reader has ended it: what was not checked stays so. */
function stopped({ steps, blocks }: Told): Told {
  return {
    steps: steps.map((step) =>
      step.state === 'running' || step.state === 'waiting' ? { ...step, state: 'stopped' } : step,
    ),
    blocks,
    isOver: true,
    problem: VERIFY.stopped,
  };
}

function Progress(props: { readonly told: Told; readonly run: RecordedRun }): ReactElement {
  const { steps, blocks, isOver, problem } = props.told;
  const all = props.run.block_height + 1;
  const isBad = steps.some(({ state }) => state === 'bad');
  const last = grouped(blocks - 1);
  const words = isBad
    ? VERIFY.bad
    : problem !== undefined
      ? VERIFY.ended(VERIFY.covered(blocks, last), problem)
      : !isOver
        ? VERIFY.progress(grouped(blocks), grouped(all))
        : steps.some(({ state }) => state === 'believed')
          ? VERIFY.partly(last)
          : VERIFY.good(last);
  return (
    <>
      {!isOver && <progress max={all} value={blocks} aria-label={VERIFY.title} />}
      <p role={isOver ? 'status' : undefined} className={isBad ? 'bad' : undefined}>
        {words}
      </p>
    </>
  );
}

function Shown({ step }: { readonly step: Step }): ReactElement {
  const { name, state, figures, difference } = step;
  const shown = figures.filter(([each]) => each !== difference?.of);
  return (
    <li data-step={name} data-state={state}>
      <p className="row">
        <Tag tone={TONES[state]}>{VERIFY.states[state]}</Tag>
        <span>{VERIFY.steps[name]}</span>
      </p>
      {shown.length > 0 && (
        <Figures
          of={shown.map(([of, value]): Named => [
            wordFor(VERIFY.figures, of),
            <Value name={of} of={value} />,
          ])}
        />
      )}
      {difference !== undefined && <Differs of={difference} />}
    </li>
  );
}

/** Amounts that are compared with custody. */
const IN_USDT: ReadonlySet<string> = new Set(['liability', 'custody', 'surplus', 'uncovered']);

function Value({ name, of }: { readonly name: string; readonly of: Figure[1] }): ReactElement {
  if (typeof of === 'bigint')
    return <Amount of={String(of)} unit={IN_USDT.has(name) ? TEXT.units.usdt : TEXT.units.clt} />;
  if (typeof of === 'number') return <>{grouped(of)}</>;
  return of.startsWith('0x') ? (
    <PlainHash of={of} what={of.length === 42 ? 'address' : 'hash'} />
  ) : (
    <>{wordFor(TEXT.reserve.statuses, of)}</>
  );
}

/** The two figures that are not the same, and the block that shows it. */
function Differs({ of }: { readonly of: Difference }): ReactElement {
  const { computed, said, height, reason } = of;
  const name = wordFor(VERIFY.figures, of.of);
  return (
    <div className="bad" role="alert">
      <Facts
        of={[
          computed !== '' && [VERIFY.computed(name), <Value name={of.of} of={computed} />],
          said !== '' && [VERIFY.said(name), <Value name={of.of} of={said} />],
          height !== undefined && [VERIFY.inBlock, <BlockLink height={height} />],
          reason !== undefined && [VERIFY.reason, reason],
        ]}
      />
    </div>
  );
}

function Believed({ steps }: { readonly steps: readonly Step[] }): ReactElement {
  const isPartly = (of: Step['name']): boolean =>
    steps.some(({ name, state }) => name === of && state === 'believed');
  const inputs = [
    ...(isPartly('transactions') ? [VERIFY.unknown] : []),
    ...(isPartly('verdict') ? [VERIFY.tolerance] : []),
    ...(isPartly('supply') ? [VERIFY.baseline] : []),
    ...VERIFY.inputs,
  ];
  return (
    <>
      <h3>{VERIFY.believed}</h3>
      <ul>
        {inputs.map((input) => (
          <li key={input}>{input}</li>
        ))}
      </ul>
    </>
  );
}
