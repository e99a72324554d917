/** The page by keyboard: jumps to panels, walks through rows, opens and closes, and puts the focus back where it was. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type OpenedThing, thingIn } from './parts/text.ts';

const PANELS: Readonly<Record<string, string>> = { p: 'pending', t: 'changes', o: 'pools', n: 'waste', d: 'decisions' };
const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** What the address names, and how to close it. Closing returns the focus to what had it before. */
export function useOpenedThing(): readonly [OpenedThing | undefined, () => void] {
  const [thing, setThing] = useState(thingIn(location.hash));
  const before = useRef<HTMLElement | null>(null);
  useEffect(() => {
    const changed = (): void => {
      const next = thingIn(location.hash);
      const active = document.activeElement;
      if (next !== undefined && active instanceof HTMLElement && active.closest('.sheet') === null) before.current = active;
      setThing(next);
    };
    window.addEventListener('hashchange', changed);
    return () => window.removeEventListener('hashchange', changed);
  }, []);
  const close = (): void => {
    history.pushState(null, '', `${location.pathname}${location.search}`);
    setThing(undefined);
    before.current?.focus();
  };
  return [thing, close];
}

export function useKeyboard(close: () => void): void {
  const last = useRef(close);
  last.current = close;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Escape' && thingIn(location.hash) !== undefined) return last.current();
      if (isTyping(event.target) || !actOn(event.key)) return;
      event.preventDefault();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

/** @returns whether the key means something here. */
function actOn(key: string): boolean {
  const panel = PANELS[key];
  if (panel !== undefined) return jumpTo(panel);
  const step = STEPS[key];
  if (step !== undefined) return walk(step);
  if (key === '/') document.getElementById('q')?.focus();
  else if (key === '?') location.hash = '#keys';
  else if (key === 'r') document.getElementById('show-report')?.click();
  else return false;
  return true;
}

/** To the first row of the panel, or to the panel if it has none. */
function jumpTo(id: string): boolean {
  const panel = document.getElementById(id);
  panel?.scrollIntoView({ block: 'start' });
  (panel?.querySelector<HTMLElement>('[data-row]') ?? panel)?.focus();
  return panel !== null;
}

function walk(step: number): boolean {
  const active = document.activeElement;
  const panel = active?.closest('.panel');
  if (active === null || panel === null || panel === undefined) return false;
  const rows = [...panel.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.findIndex((row) => row === active);
  if (at < 0 && active !== panel) return false;
  rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
  return rows.length > 0;
}
