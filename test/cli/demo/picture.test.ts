import { describe, expect, it } from 'vitest';
import { renderPicture, type Picture } from '../../../src/cli/demo/picture.ts';

const PICTURE: Picture = {
  seconds: 7.4,
  chapter: 'a burst of pods',
  pools: [
    { name: 'general', min: 1, target: 4, ready: 2, max: 5, note: '' },
    { name: 'memory', min: 0, target: 0, ready: 0, max: 2, note: 'backoff' },
  ],
  pods: { pending: 12, bound: 9 },
  decision: '',
};

describe('the demo table', () => {
  it('shows ready nodes, nodes on their way and room to grow', () => {
    expect(renderPicture(PICTURE, 80)).toEqual([
      '[ 7 s] a burst of pods',
      'pool     min  target  ready  max',
      'general    1       4      2    5  ██░░·',
      'memory     0       0      0    2  ·· backoff',
      'pods: 12 pending, 9 bound',
      'last decision: none yet',
    ]);
  });

  it('cuts lines at the width of the terminal', () => {
    const lines = renderPicture({ ...PICTURE, decision: 'a very long decision that does not fit on one line' }, 40);
    expect(lines.at(-1)).toBe('last decision: a very long decision tha…');
  });
});
