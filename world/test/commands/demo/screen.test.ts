import { describe, expect, it } from 'vitest';
import { renderPicture, type Picture } from '../../../commands/demo/screen.ts';

const PICTURE: Picture = {
  seconds: 7.4,
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
      '   POOL     MIN  TARGET  READY  MAX',
      '   general    1       4      2    5  ██░░·',
      '   memory     0       0      0    2  ·· backoff',
      '   pods: 12 pending, 9 bound, after 7 s',
      '   last decision: none yet',
    ]);
  });

  it('cuts lines at the width of the terminal', () => {
    const lines = renderPicture({ ...PICTURE, decision: 'a very long decision that does not fit on one line' }, 40);
    expect(lines.at(-1)).toBe('   last decision: a very long decision …');
  });
});
