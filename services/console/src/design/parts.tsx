/** The components that every page is made of: docs/design.md shows when to use each. */
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  useDeferredValue,
  useEffect,
  useMemo,
  useState,
  type ComponentProps,
  type ReactElement,
  type ReactNode,
} from 'react';
import { queryText, type Parameters } from '../api/explorer.ts';
import type { Judged } from '../api/finality.ts';
import { useIsDown } from '../api/health.ts';
import { isMissing, ServiceError } from '../api/service.ts';
import { copyText } from '../browser.ts';
import {
  age,
  amountPadding,
  amountText,
  grouped,
  localClock,
  localTime,
  shortened,
} from '../format.ts';
import { CHAIN } from '../chain/text.ts';
import { TEXT, type AwayWords } from '../text.ts';
import { useNow } from './clock.ts';
import { useName } from './names.ts';

export function Panel(props: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <section className="panel" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** Something to press, which submits no form. */
export function Button(props: ComponentProps<'button'>): ReactElement {
  return <button type="button" className="button" {...props} />;
}

/** A sentence that the reader must not miss. */
export function Note({ role = 'status', ...rest }: ComponentProps<'p'>): ReactElement {
  return <p className="note" role={role} {...rest} />;
}

/** A name and its value; false: it is left out. */
export type Named = readonly [name: ReactNode, value: ReactNode] | false;

function given<Each>(all: readonly (Each | false)[]): readonly Each[] {
  return all.filter((each): each is Each => each !== false);
}

function valuesAs(className: 'figures' | 'facts') {
  return ({ of }: { readonly of: readonly Named[] }): ReactElement => (
    <dl className={className}>
      {given(of).map(([name, value], at) => (
        <div key={at}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A value under its name; several side by side. */
export const Figures = valuesAs('figures');
/** Names and values, a line each. */
export const Facts = valuesAs('facts');

export interface Column<Item> {
  readonly name: string;
  readonly cell: (item: Item) => ReactNode;
  readonly isNumber?: boolean;
  /** left out on a phone, where one tap shows it, or another column has it below its own cell */
  readonly isWide?: boolean;
  /** on a phone below the cell */
  readonly below?: (item: Item) => ReactNode;
}

interface TableProps<Item> {
  readonly label: string;
  /** false: it is left out */
  readonly columns: readonly (Column<Item> | false)[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item, index: number) => string;
  readonly empty: string;
}

interface RowsProps<Item> extends TableProps<Item> {
  /** rows that are not rendered yet */
  readonly later: number;
}

/** About as many as a screen shows. */
const FIRST_ROWS = 16;
/** The height of a row without a break in it. */
const ROW_PX = 37;

/**
 * The first rows show with the page; the others, and all that come later, are rendered in pauses
 * between keys and clicks.
 */
export function Table<Item>(props: TableProps<Item>): ReactElement {
  const later = Math.max(0, props.items.length - FIRST_ROWS);
  const first: RowsProps<Item> = { ...props, items: props.items.slice(0, FIRST_ROWS), later };
  const deferred = useDeferredValue<RowsProps<Item>>({ ...props, later: 0 }, first);
  return useMemo(() => <Rows {...deferred} />, [deferred]);
}

function Rows<Item>(props: RowsProps<Item>): ReactElement {
  const { items } = props;
  const columns = given(props.columns);
  if (items.length === 0) return <p className="nothing">{props.empty}</p>;
  const classOf = ({ isNumber, isWide }: Column<Item>): string =>
    `${isNumber === true ? 'number' : ''} ${isWide === true ? 'wide' : ''}`.trim();
  return (
    <div className="table" tabIndex={0} role="region" aria-label={props.label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, index) => (
            <tr key={props.keyOf(item, index)}>
              {columns.map((column) => (
                <td key={column.name} className={classOf(column)}>
                  {column.cell(item)}
                  {column.below !== undefined && (
                    <span className="narrow">{column.below(item)}</span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {/* so that the place that one goes back to is there at once */}
      {props.later > 0 && (
        <p className="nothing" style={{ height: ROW_PX * props.later }}>
          {TEXT.states.loading}
        </p>
      )}
    </div>
  );
}

/** Base units, exact. */
export function Amount(props: {
  readonly of: string;
  readonly unit?: string | undefined;
  /** with + before a credit, and colours */
  readonly isChange?: boolean;
}): ReactElement {
  const base = BigInt(props.of);
  const isCredit = props.isChange === true && base > 0n;
  const tone = props.isChange === true ? (isCredit ? 'good' : 'bad') : '';
  return (
    <span className={`amount ${tone}`}>
      <span className="digits">
        {isCredit && '+'}
        {amountText(base)}
        <span className="padding" aria-hidden>
          {amountPadding(base)}
        </span>
      </span>{' '}
      <span className="unit">{props.unit ?? TEXT.units.clt}</span>
    </span>
  );
}

/** Names the thing that a button copies. */
type Copied = keyof typeof TEXT.copy;

export function Copy(props: { readonly text: string; readonly what: Copied }): ReactElement {
  const [isCopied, setCopied] = useState<boolean>();
  useEffect(() => {
    if (isCopied !== true) return;
    const timer = setTimeout(() => setCopied(undefined), 1_500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const label = isCopied === true ? TEXT.copied : TEXT.copy[props.what];
  return (
    <>
      <button
        type="button"
        className="copy"
        title={label}
        aria-label={label}
        onClick={() => void copyText(props.text).then(setCopied)}
      >
        <svg viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.6" aria-hidden>
          {isCopied === true ? (
            <path d="M3 8.5l3.5 3.5L13 4.5" />
          ) : (
            <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />
          )}
        </svg>
      </button>
      {isCopied === false && (
        <span className="not-copied" role="alert">
          {TEXT.notCopied} <code>{props.text}</code>
        </span>
      )}
    </>
  );
}

/** A command for a terminal, copied whole. */
export function Command(props: { readonly of: string }): ReactElement {
  return (
    <span className="command">
      <code>{props.of}</code>
      <Copy text={props.of} what="command" />
    </span>
  );
}

/** A list as files. */
export function Exports(props: {
  readonly of: 'activity' | 'transactions';
  readonly filter: Parameters;
}): ReactElement {
  const { of, filter } = props;
  const { csv, ndjson } = TEXT.transactions;
  return (
    <>
      <a className="button" href={`/api/v1/export/${of}.csv?${queryText(filter)}`} download>
        {csv}
      </a>
      <a
        className="button"
        href={`/api/v1/export/${of}.ndjson?${queryText({ ...filter, amounts: 'string' })}`}
        download
      >
        {ndjson}
      </a>
    </>
  );
}

interface HashProps {
  readonly of: string;
  readonly what: Copied;
  /** all its characters */
  readonly isWhole?: boolean;
  /** without a button that copies it */
  readonly isBare?: boolean;
}

function Hash(props: HashProps & { readonly children: ReactNode }): ReactElement {
  return (
    <span className="hash" title={props.isWhole === true ? undefined : props.of}>
      {props.children}
      {props.isBare !== true && <Copy text={props.of} what={props.what} />}
    </span>
  );
}

function shown({ of, isWhole }: Pick<HashProps, 'of' | 'isWhole'>): string {
  return isWhole === true ? of : shortened(of);
}

/** A hash that leads nowhere. */
export function PlainHash(props: HashProps): ReactElement {
  return (
    <Hash {...props}>
      <span>{shown(props)}</span>
    </Hash>
  );
}

/** By its name where it has one; a whole one has it behind. */
export function AddressLink(props: Omit<HashProps, 'what'>): ReactElement {
  const { of, isWhole } = props;
  const name = useName(of);
  const named = name !== undefined && (
    <span className="name" title={name.is_own ? CHAIN.names.own(of) : of}>
      {name.name}
    </span>
  );
  return (
    <Hash {...props} what="address">
      <Link to="/accounts/$address" params={{ address: of }} data-address={of}>
        {named !== false && isWhole !== true ? named : shown(props)}
      </Link>
      {isWhole === true && named}
    </Hash>
  );
}

export function TransactionLink(props: Omit<HashProps, 'what'>): ReactElement {
  return (
    <Hash {...props} what="hash">
      <Link to="/transactions/$hash" params={{ hash: props.of }}>
        {shown(props)}
      </Link>
    </Hash>
  );
}

export function BlockLink(props: { readonly height: number }): ReactElement {
  return (
    <Link to="/blocks/$id" params={{ id: String(props.height) }}>
      {grouped(props.height)}
    </Link>
  );
}

/** In the zone of the browser; UTC when pointed at. */
export function Time(props: { readonly of: string }): ReactElement {
  return (
    <time dateTime={props.of} title={TEXT.time.utc(props.of)}>
      {localTime(props.of)}
    </time>
  );
}

export function Age(props: { readonly of: string }): ReactElement {
  const { of } = props;
  const now = useNow();
  const title = useMemo(() => `${localTime(of)}, ${TEXT.time.utc(of)}`, [of]);
  return (
    <time dateTime={of} title={title}>
      {age(of, now)}
    </time>
  );
}

/** Whether a block and all in it is final. In a list only one that may be replaced stands out. */
export function Finality(props: {
  readonly height: number;
  readonly of: Judged;
  readonly isShort?: boolean;
}): ReactElement {
  const { final_height: final } = props.of;
  const words = TEXT.finality;
  if (final === undefined) return <span className="quiet">{words.unknown}</span>;
  const isFinal = props.height <= final;
  if (props.isShort !== true)
    return <Tag tone={isFinal ? 'good' : 'warn'}>{isFinal ? words.final : words.open}</Tag>;
  return isFinal ? (
    <span className="quiet">{words.final}</span>
  ) : (
    <span title={words.open}>
      <Tag tone="warn">{words.openShort}</Tag>
    </span>
  );
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent';

export function Tag(props: { readonly tone?: Tone; readonly children: ReactNode }): ReactElement {
  return (
    <span className="tag" data-tone={props.tone}>
      {props.children}
    </span>
  );
}

interface AnswerProps<Data> {
  readonly of: Pick<UseQueryResult<Data>, 'data' | 'error' | 'dataUpdatedAt'>;
  /** of another server than the explorer */
  readonly words?: AwayWords;
  readonly children: (data: Data) => ReactNode;
}

/** A panel that shows one answer. */
export function AnswerPanel<Data>({
  title,
  aside,
  ...answer
}: AnswerProps<Data> & { readonly title: string; readonly aside?: ReactNode }): ReactElement {
  return (
    <Panel title={title} aside={aside}>
      <Answer {...answer} />
    </Panel>
  );
}

/**
 * Loading, missing, down, stale, or the data: every answer is shown through this. While the
 * explorer as a whole is away the frame says so, once for all answers.
 */
export function Answer<Data>(props: AnswerProps<Data>): ReactElement {
  const { data, error, dataUpdatedAt } = props.of;
  const isDown = useIsDown(props.words === undefined);
  const words: AwayWords = props.words ?? TEXT.states;
  const isGone = error instanceof ServiceError && error.status === 404;
  if (data === undefined)
    return error === null ? (
      <p className="nothing" role="status">
        {TEXT.states.loading}
      </p>
    ) : (
      <Failure error={error} down={words.down} />
    );
  return (
    <>
      {error !== null && (isGone || !isDown) && (
        <Note>{isGone ? TEXT.states.gone : words.stale(localClock(dataUpdatedAt))}</Note>
      )}
      {props.children(data)}
    </>
  );
}

function Failure(props: { readonly error: Error; readonly down: string }): ReactElement {
  const { error, down } = props;
  const status = error instanceof ServiceError ? error.status : 0;
  const isNone = isMissing(error);
  return (
    <div className="nothing" role="alert">
      <h2>{isNone ? TEXT.states.missing : down}</h2>
      {status > 0 && <p>{error.message}</p>}
      <p>{isNone ? TEXT.states.missingNext : TEXT.states.downNext}</p>
    </div>
  );
}
