/** One change on the time axis: a shape per kind, a label, and on a click the time, the cause and who made it. */
import type { TimelineMark } from '../../api/documents/timeline.ts';
import { Glyph, type GlyphName } from '../parts/parts.tsx';
import { changeText, formatFull, hashFor, poolLabel } from '../parts/text.ts';

export const MARKS: Readonly<Record<TimelineMark['kind'], { readonly glyph: GlyphName; readonly css: string; readonly words: string }>> = {
  increase: { glyph: 'up', css: 'up', words: 'increase' },
  removal: { glyph: 'down', css: 'dn', words: 'removal' },
  try: { glyph: 'cross', css: 'xx', words: 'failed' },
  'other-writer': { glyph: 'diamond', css: 'ot', words: 'another writer' },
  eviction: { glyph: 'hollow', css: 'ev', words: 'eviction' },
};

interface MarkProps {
  readonly mark: TimelineMark;
  readonly left: number;
  readonly top: number;
  readonly isLabelled: boolean;
  readonly isOpen: boolean;
  readonly toggle: (isOpen: boolean) => void;
}

export function Mark({ mark, left, top, isLabelled: hasLabel, isOpen, toggle }: MarkProps) {
  const { glyph, css, words } = MARKS[mark.kind];
  const ms = Date.parse(mark.at);
  const text = `${mark.pool === undefined ? '' : `${poolLabel(mark.pool)} `}${changeText(mark)}`;
  const isRight = left > 0.6;
  const by = mark.actorName ?? (mark.actor === 'autoscaler' ? 'the autoscaler' : words);
  return (
    <>
      <button
        type="button"
        class={`mk ${css}`}
        style={{ left: `${left * 100}%`, top: `${top}px` }}
        aria-label={`${words} at ${formatFull(ms)}: ${text}`}
        aria-expanded={isOpen}
        title={`${formatFull(ms)}: ${text}`}
        data-row
        onClick={() => toggle(!isOpen)}
        onKeyDown={(event) => event.key === 'Escape' && isOpen && (event.stopPropagation(), toggle(false))}
      >
        <Glyph name={glyph} />
      </button>
      {hasLabel && (
        <span
          class={`lb ${css}${isRight ? ' r' : ''}`}
          aria-hidden="true"
          style={{ left: `calc(${left * 100}% ${isRight ? '- 9px' : '+ 9px'})`, top: `${Math.max(8, top - 11)}px` }}
        >
          {text}
        </span>
      )}
      {isOpen && (
        <div class={`tip${isRight ? ' r' : ''}`} style={{ left: `${left * 100}%`, top: `${top + 12}px` }}>
          <b>{text}</b>
          <br />
          {formatFull(ms)}, by {by}
          {mark.decision !== undefined && (
            <>
              , <a href={hashFor('decision', mark.decision)}>decision</a>
            </>
          )}
        </div>
      )}
    </>
  );
}
