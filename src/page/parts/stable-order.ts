/** Lists whose rows keep their places while a person reads them. */
import { type RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import { localNow } from './browser.ts';

const KEEP_MS = 10_000;

/** The items in an order that changes at most every ten seconds, and never while the pointer or the focus is in the list. New ones come last. */
export function useStableOrder<Item>(
  items: readonly Item[],
  idOf: (item: Item) => string,
  list: RefObject<HTMLElement | null>,
): readonly Item[] {
  const order = useRef<{ readonly ids: readonly string[]; readonly atMs: number }>({ ids: [], atMs: 0 });
  const { ids, atMs } = order.current;
  const wanted = items.map(idOf);
  const element = list.current;
  const isRead = element !== null && (element.matches(':hover') || element.contains(document.activeElement));
  if (ids.length === 0 || (!isRead && localNow() - atMs >= KEEP_MS)) {
    if (wanted.join('\n') !== ids.join('\n')) order.current = { ids: wanted, atMs: localNow() };
    return items;
  }
  const known = new Map(items.map((item) => [idOf(item), item]));
  const kept = [...ids.filter((id) => known.has(id)), ...wanted.filter((id) => !ids.includes(id))];
  order.current = { ids: kept, atMs };
  return kept.flatMap((id) => known.get(id) ?? []);
}
