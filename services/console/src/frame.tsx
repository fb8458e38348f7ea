/** The bar with navigation and search, around every page. */
import {
  Link,
  Outlet,
  useNavigate,
  useRouter,
  type ErrorComponentProps,
} from '@tanstack/react-router';
import { useEffect, useRef, useState, type FormEvent, type ReactElement } from 'react';
import { page, type Found } from './api/explorer.ts';
import { entered } from './design/form.ts';
import icon from './design/icon.svg';
import { TEXT } from './text.ts';

export function Frame(): ReactElement {
  return (
    <>
      <div className="bar">
        <div className="bar-inside">
          <Link to="/" className="brand">
            <img src={icon} alt="" />
            {TEXT.name}
          </Link>
          <nav aria-label={TEXT.nav.label}>
            <Link to="/" activeOptions={{ exact: true }}>
              {TEXT.nav.chain}
            </Link>
            <Link to="/transactions">{TEXT.nav.transactions}</Link>
            <Link to="/validators">{TEXT.nav.validators}</Link>
            <Link to="/charts">{TEXT.nav.charts}</Link>
            <Link to="/reserve">{TEXT.nav.reserve}</Link>
          </nav>
          <Search />
        </div>
      </div>
      <main className="page">
        <Outlet />
      </main>
      <footer className="foot">
        <a href="/docs">{TEXT.foot.documentation}</a>
        <span>{TEXT.foot.keys}</span>
      </footer>
      <Keys />
    </>
  );
}

/** Goes to the block, transaction or account that the text names, whichever there is. */
function Search(): ReactElement {
  const navigate = useNavigate();
  const [problem, setProblem] = useState<string>();
  const find = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const q = entered(form, 'q');
    if (q === '') return;
    try {
      const { items } = await page<Found>('search', new AbortController().signal, { q });
      const [first] = items;
      setProblem(first === undefined ? TEXT.search.none : undefined);
      if (first === undefined) return;
      form.reset();
      await open(first);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const open = async ({ kind, identifier }: Found): Promise<void> => {
    if (kind === 'block') await navigate({ to: '/blocks/$id', params: { id: identifier } });
    else if (kind === 'transaction')
      await navigate({ to: '/transactions/$hash', params: { hash: identifier } });
    else await navigate({ to: '/accounts/$address', params: { address: identifier } });
  };
  return (
    <form className="search" role="search" onSubmit={(event) => void find(event)}>
      <input
        name="q"
        type="search"
        autoComplete="off"
        spellCheck={false}
        aria-label={TEXT.search.label}
        placeholder={TEXT.search.placeholder}
        onInput={() => setProblem(undefined)}
      />
      {problem !== undefined && (
        <p className="note search-problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

const HELP: readonly (readonly [string, string])[] = [
  ['/', TEXT.keys.search],
  ['j', TEXT.keys.next],
  ['k', TEXT.keys.previous],
  ['Enter', TEXT.keys.open],
  ['?', TEXT.keys.help],
];

/** Keys that work on every page, and the list of them. */
function Keys(): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement)
        return;
      if (event.key === '/') document.querySelector<HTMLElement>('.search input')?.focus();
      else if (event.key === '?') dialog.current?.showModal();
      else if (event.key === 'j') focusRow(1);
      else if (event.key === 'k') focusRow(-1);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <dialog ref={dialog} aria-label={TEXT.keys.title}>
      <section className="panel">
        <header>
          <h2>{TEXT.keys.title}</h2>
          <form method="dialog">
            <button className="button">{TEXT.keys.close}</button>
          </form>
        </header>
        <dl className="facts">
          {HELP.map(([key, what]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
      </section>
    </dialog>
  );
}

/** The first link of the next row of a table, or of the one before. */
function focusRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll('tbody tr')];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const to = at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step;
  rows[to]?.querySelector<HTMLElement>('a')?.focus();
}

export function NoPage(): ReactElement {
  return (
    <div className="nothing">
      <h1>{TEXT.states.missing}</h1>
      <p>{TEXT.states.missingNext}</p>
    </div>
  );
}

export function Fault({ error }: ErrorComponentProps): ReactElement {
  const router = useRouter();
  return (
    <div className="nothing" role="alert">
      <h1>{TEXT.states.broken}</h1>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <button type="button" className="button" onClick={() => void router.invalidate()}>
        {TEXT.states.reload}
      </button>
    </div>
  );
}
