/** The bar with navigation and search, around every page. */
import {
  Link,
  Outlet,
  useLocation,
  useMatch,
  useRouter,
  type ErrorComponentProps,
} from '@tanstack/react-router';
import { useEffect, useRef, type ReactElement } from 'react';
import { useProblems } from './api/health.ts';
import { useKnownNames } from './api/known-names.ts';
import { Announcer, Heading } from './design/heading.tsx';
import icon from './design/icon.svg';
import { Button, Facts } from './design/parts.tsx';
import { choose, SCHEMES, useScheme } from './design/scheme.ts';
import { Search } from './search/search.tsx';
import { BAR } from './search/typed.ts';
import { TEXT } from './text.ts';
import { BROWSER_ZONE, switchZone, TIME_ZONE } from './zone.ts';

export function Frame(): ReactElement {
  const nav = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const home = useMatch({ from: '/', shouldThrow: false });
  const isWall = home?.search.wall !== undefined;
  useKnownNames();
  // on a phone the pages do not fit side by side
  useEffect(() => {
    const bar = nav.current;
    const link = bar?.querySelector('[aria-current=page]') ?? null;
    if (bar === null || link === null) return undefined;
    const resized = new ResizeObserver(() => {
      const [all, one] = [bar.getBoundingClientRect(), link.getBoundingClientRect()];
      bar.scrollLeft += one.left - all.left - (all.width - one.width) / 2;
    });
    resized.observe(bar);
    return () => resized.disconnect();
  }, [pathname]);
  return (
    <>
      {!isWall && (
        <div className="bar">
          <div className="bar-inside">
            <Link to="/" className="brand">
              <img src={icon} alt="" />
              {TEXT.name}
            </Link>
            <nav ref={nav} aria-label={TEXT.nav.label}>
              {BAR.map(([to, name]) => (
                <Link key={to} to={to} activeOptions={{ exact: to === '/' }}>
                  {name}
                </Link>
              ))}
            </nav>
            <Search />
            <SchemeSwitch />
          </div>
        </div>
      )}
      <Health />
      <main className="page">
        <Outlet />
      </main>
      {!isWall && (
        <footer className="foot">
          <a href="/docs">{TEXT.foot.documentation}</a>
          <span>{TEXT.foot.keys}</span>
          <Zone />
        </footer>
      )}
      <Keys />
      <Announcer />
    </>
  );
}

/** The zone of the times, and a switch where there is another one. */
function Zone(): ReactElement {
  const { zone, other } = TEXT.foot;
  return (
    <span>
      {zone(TIME_ZONE ?? BROWSER_ZONE)}{' '}
      {BROWSER_ZONE !== 'UTC' && (
        <button type="button" className="copy" onClick={switchZone}>
          {other(TIME_ZONE === undefined ? 'UTC' : BROWSER_ZONE)}
        </button>
      )}
    </span>
  );
}

/** Says which part of the system is away, on every page. */
function Health(): ReactElement | null {
  const problems = useProblems();
  if (problems.length === 0) return null;
  return (
    <div className="health" role="status">
      {problems.map((problem) => (
        <p key={problem}>{problem}</p>
      ))}
    </div>
  );
}

/** The next of: as the system, light, dark. */
function SchemeSwitch(): ReactElement {
  const scheme = useScheme();
  const next = SCHEMES[(SCHEMES.indexOf(scheme) + 1) % SCHEMES.length] ?? 'system';
  const label = TEXT.scheme(TEXT.schemes[scheme]);
  return (
    <button
      type="button"
      className="copy scheme"
      title={label}
      aria-label={label}
      onClick={() => choose(next)}
    >
      <svg viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden>
        {scheme === 'light' && (
          <path d="M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" />
        )}
        {scheme === 'dark' && <path d="M13.5 9.8A6 6 0 016.2 2.5a6 6 0 107.3 7.3z" />}
        {scheme === 'system' && (
          <path d="M8 2a6 6 0 100 12A6 6 0 008 2zM8 2v12M8 5h4.6M8 8h6M8 11h4.6" />
        )}
      </svg>
    </button>
  );
}

const HELP = [
  [<kbd>/</kbd>, TEXT.keys.search],
  [<kbd>j</kbd>, TEXT.keys.next],
  [<kbd>k</kbd>, TEXT.keys.previous],
  [<kbd>Enter</kbd>, TEXT.keys.open],
  [<kbd>?</kbd>, TEXT.keys.help],
] as const;

/** Keys that work on every page, and the list of them. */
function Keys(): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      // also while another field has the focus
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
        focusSearch();
        return event.preventDefault();
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement)
        return;
      if (event.key === '/') focusSearch();
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
        <Facts of={HELP} />
      </section>
    </dialog>
  );
}

function focusSearch(): void {
  document.querySelector<HTMLElement>('.search input')?.focus();
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
      <Heading title={TEXT.states.missing} />
      <p>{TEXT.states.missingNext}</p>
    </div>
  );
}

export function Fault({ error }: ErrorComponentProps): ReactElement {
  const router = useRouter();
  return (
    <div className="nothing" role="alert">
      <Heading title={TEXT.states.broken} />
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <Button onClick={() => void router.invalidate()}>{TEXT.states.reload}</Button>
    </div>
  );
}
