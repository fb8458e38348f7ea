import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState, type FormEvent, type ReactElement } from 'react';
import type { RecordLine, TopicList } from '../../../../schemas/operations-api/answers.ts';
import { enteredOf } from '../browser.ts';
import { Age, Button, Note, Panel, Table, Tag } from '../design/parts.tsx';
import { shortened } from '../format.ts';
import { ask } from './api.ts';
import { followRecords, KEPT, placeOf, withNewest } from './record-stream.ts';
import { usePlace, useSession } from './session.ts';
import { OPS } from './text.ts';

const FIRST = 'treasury.ledger';
const FILTERS = ['topic', 'type', 'key', 'partition', 'header', 'where', 'from'] as const;

export function RecordsPage(): ReactElement {
  const { query } = usePlace();
  const filters = new URLSearchParams(query);
  if (!filters.has('topic')) filters.set('topic', FIRST);
  const text = filters.toString();
  return (
    <>
      <header>
        <h1>{OPS.records.title}</h1>
      </header>
      <Filters key={`form ${text}`} of={filters} />
      <Records key={text} query={text} />
    </>
  );
}

/** The filters go into the address, which shows them. */
function apply(event: FormEvent<HTMLFormElement>): void {
  event.preventDefault();
  const given = new URLSearchParams(enteredOf(event.currentTarget, FILTERS));
  location.hash = `#/records?${given.toString()}`;
}

function Filters({ of }: { readonly of: URLSearchParams }): ReactElement {
  const { token } = useSession();
  const words = OPS.records;
  const topics = useQuery({
    queryKey: ['topics', token],
    queryFn: ({ signal }) => ask<TopicList>('topics', token, { signal }),
    refetchInterval: false,
    staleTime: Infinity,
  });
  const known = topics.data?.topics ?? [];
  const [topic, setTopic] = useState(of.get('topic') ?? FIRST);
  const names = known.length === 0 ? [topic] : known.map(({ name }) => name);
  const type = of.get('type') ?? '';
  const types = known.find(({ name }) => name === topic)?.types ?? (type === '' ? [] : [type]);
  const field = (name: (typeof FILTERS)[number], label: string, hint = ''): ReactElement => (
    <label className={name}>
      {label}
      <input name={name} defaultValue={of.get(name) ?? ''} placeholder={hint} spellCheck={false} />
    </label>
  );
  return (
    <form className="filters" onSubmit={apply}>
      <label>
        {words.topic}
        <select name="topic" value={topic} onChange={(event) => setTopic(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        {words.type}
        <select name="type" defaultValue={type} key={`${topic} ${types.length}`}>
          <option value="">{words.anyType}</option>
          {types.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {field('key', words.key)}
      {field('partition', words.partition)}
      {field('from', words.from, words.fromHint)}
      {field('header', words.header, 'source=ops')}
      {field('where', words.where, 'amount >= 5000000 and type = MintIntended')}
      <button className="button" data-main>
        {words.show}
      </button>
    </form>
  );
}

function Records({ query }: { readonly query: string }): ReactElement {
  const { token } = useSession();
  const words = OPS.records;
  const [records, setRecords] = useState<readonly RecordLine[]>([]);
  const [wait, setWait] = useState<string>();
  const [refused, setRefused] = useState<string>();
  const [chosen, setChosen] = useState<RecordLine>();
  const [isHeld, setHeld] = useState(false);
  const [isOpen, setOpen] = useState(false);
  const held = useRef(false);
  held.current = isHeld;
  useEffect(() => {
    const stop = new AbortController();
    const listener = {
      onRecords: (arrived: readonly RecordLine[]) => {
        setOpen(true);
        if (!held.current) setRecords((before) => withNewest(before, arrived));
      },
      onWait: setWait,
      onRefused: setRefused,
    };
    void followRecords(query, token, listener, stop.signal);
    return () => stop.abort();
  }, [query, token]);
  if (refused !== undefined) return <Note role="alert">{refused}</Note>;
  return (
    <div className="two">
      <Panel
        title={new URLSearchParams(query).get('topic') ?? ''}
        aside={
          <span className="row">
            <Tag tone={wait !== undefined ? 'warn' : isHeld ? 'plain' : 'good'}>
              {wait !== undefined ? words.waiting(wait) : isHeld ? words.held : words.live}
            </Tag>
            <Button onClick={() => setHeld(!isHeld)}>{isHeld ? words.go : words.pause}</Button>
          </span>
        }
      >
        <Table
          label={words.title}
          items={records}
          keyOf={placeOf}
          empty={isOpen ? words.none : words.opening}
          columns={[
            {
              name: words.place,
              cell: (record) => (
                <button
                  type="button"
                  className="plain"
                  aria-label={`${words.open} ${record.partition}@${record.offset}`}
                  onClick={() => setChosen(record)}
                >
                  {record.partition}@{record.offset}
                </button>
              ),
            },
            {
              name: words.typeColumn,
              cell: ({ type, error }) =>
                error === undefined ? type : <Tag tone="bad">{error}</Tag>,
            },
            { name: words.keyColumn, cell: ({ key }) => shortened(key ?? '–'), isWide: true },
            { name: words.time, cell: ({ time }) => <Age of={time} />, isNumber: true },
          ]}
        />
        <p className="foot">{words.shown(KEPT)}</p>
      </Panel>
      {(chosen ?? records[0]) !== undefined && <One of={chosen ?? records[0]} />}
    </div>
  );
}

function One({ of }: { readonly of: RecordLine | undefined }): ReactElement | null {
  if (of === undefined) return null;
  const { headers, value, error } = of;
  const words = OPS.records;
  return (
    <Panel title={`${words.one} ${placeOf(of)}`} aside={<span className="quiet">{of.key}</span>}>
      <div className="inside stack">
        <p className="quiet">{words.value}</p>
        <pre className="text">{error ?? JSON.stringify(value, undefined, 2)}</pre>
        <p className="quiet">{words.headers}</p>
        <pre className="text">{JSON.stringify(headers, undefined, 2)}</pre>
      </div>
    </Panel>
  );
}
