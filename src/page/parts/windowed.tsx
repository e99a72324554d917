/** Long lists: pages are read as they come into view, and only rows in view exist. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { readDocument, type Refusal } from './api-client.ts';
import { formatCount } from './text.ts';

interface PageOf<Item> {
  readonly items: readonly Item[];
  readonly total: number;
  readonly next?: string;
}

interface WindowedProps<Item> {
  /** With a question mark if it has parameters. */
  readonly path: string;
  readonly rowHeight: number;
  readonly keyOf: (item: Item) => string;
  readonly children: (item: Item) => ComponentChildren;
}

/** Rows beyond the view on both sides. */
const BEYOND = 6;

export function Windowed<Item>({ path, rowHeight, keyOf, children }: WindowedProps<Item>) {
  const { items, total, refusal, readMore } = usePages<Item>(path);
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const height = box.current?.clientHeight ?? 600;
  const first = Math.max(0, Math.floor(top / rowHeight) - BEYOND);
  const last = Math.min(items.length, Math.ceil((top + height) / rowHeight) + BEYOND);
  useEffect(() => {
    if (last >= items.length) readMore();
  }, [last, items.length]);
  if (refusal !== undefined && items.length === 0)
    return <p class="none">{refusal.kind === 'missing' ? refusal.message : 'This list cannot be read now.'}</p>;
  return (
    <>
      <p class="muted">
        {total === undefined
          ? 'Reading'
          : items.length < total
            ? `first ${formatCount(items.length)} of ${formatCount(total)}; scroll for more`
            : `${formatCount(total)} in all`}
      </p>
      <div class="win" ref={box} tabIndex={0} role="list" aria-label="Rows" onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div style={{ height: `${items.length * rowHeight}px`, position: 'relative' }}>
          {items.slice(first, last).map((item, at) => (
            <div
              key={keyOf(item)}
              role="listitem"
              class="winrow"
              style={{ top: `${(first + at) * rowHeight}px`, height: `${rowHeight}px` }}
            >
              {children(item)}
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

interface Pages<Item> {
  readonly items: readonly Item[];
  readonly total: number | undefined;
  readonly refusal: Refusal | undefined;
  readonly readMore: () => void;
}

function usePages<Item>(path: string): Pages<Item> {
  const [items, setItems] = useState<readonly Item[]>([]);
  const [total, setTotal] = useState<number>();
  const [refusal, setRefusal] = useState<Refusal>();
  const next = useRef<string | undefined>('');
  const isReading = useRef(false);
  const readMore = (): void => {
    if (isReading.current || next.current === undefined) return;
    isReading.current = true;
    const cursor = next.current === '' ? '' : `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(next.current)}`;
    void readDocument<PageOf<Item>>(`${path}${cursor}`).then((answer) => {
      isReading.current = false;
      if ('refusal' in answer) return setRefusal(answer.refusal);
      next.current = answer.document.next;
      setTotal(answer.document.total);
      setItems((before) => [...before, ...answer.document.items]);
    });
  };
  return { items, total, refusal, readMore };
}
